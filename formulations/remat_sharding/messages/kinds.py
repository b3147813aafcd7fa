r"""Graph of states of a sharded graph whose operators have kinds: what a plan does with a value.

Nodes are choices, one for each group of operators that have one strategy together, and operators
with more than one kind; a group in which one operator alone has kinds is one node. Costs:

===================== =====================================================================
node of a choice      :math:`\sum_i t_{ik}` over its operators, with resharding inside it
node of an operator   :math:`t_{ik}` times the number of its recomputations in the kind
===================== =====================================================================

Edges, by source j and reader i, with c the recomputations of i:

=================== =======================================================================
with a table X      :math:`X_{ab} (1 + |c|)`; where several lead from one choice to another,
                    :math:`X_{ab}` of all of them between the choices, and
                    :math:`X_{ab} |c|` between operators
within a choice     equal places, a forest of them for each choice
every one           only kinds of j that the recomputations c of i allow
=================== =======================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jettison.formulations.remat_sharding.messages.arrays import (
    FORBIDDEN,
    StateEdge,
    StateGraph,
    StateSpan,
)
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph, Table


@dataclass(frozen=True)
class Kinds:
    """Kinds of an operator's value.

    Attributes
    ----------
    again
        For each kind the recomputations, as a set of what is told apart (windows, say).
    """

    again: tuple[frozenset[int], ...]

    def __len__(self) -> int:
        return len(self.again)


class KindedGraph:
    """Writer of the nodes and edges of a sharded graph.

    Parameters
    ----------
    sharded
        The instance.
    kinds
        The kinds of each operator.
    allows
        Given an input, a kind of it, its reader, and recomputations of that one, whether they go
        together.

    Attributes
    ----------
    graph
        The graph, to which rows are added.
    choice
        For each operator, the node of its choice.
    node
        For each operator the node whose kinds are its own; that of the choice if it has one kind.
    """

    def __init__(
        self,
        sharded: ShardedGraph,
        kinds: Sequence[Kinds],
        allows: Callable[[int, int, int, frozenset[int]], bool],
    ) -> None:
        self.graph = StateGraph()
        self.choice = [-1] * len(sharded)
        self.node = [-1] * len(sharded)
        self._sharded = sharded
        self._kinds = kinds
        self._allows = allows
        self._alone = {
            group[0]: members[0]
            for group in sharded.groups
            for members in [[i for i in group if len(kinds[i]) > 1]]
            if len(members) == 1
        }
        for i in range(len(sharded)):
            self._add_nodes(i)
        joined = self._add_edges()
        for group in sharded.groups:
            self._join(group, joined)

    def add_sizes(self, i: int, spans: Sequence[tuple[int, int, Sequence[bool]]]) -> None:
        """Add what an operator takes, in spans of rows, first and last, with the kinds there."""
        sizes = [strategy.memory_bytes for strategy in self._sharded.operators[i].strategies]
        node = self.node[i]
        kinds = self.graph.nodes[node].kinds
        self.graph.add_sizes(
            node,
            sizes,
            [
                StateSpan(first, last, tuple(held) if len(held) == kinds else (held[0],) * kinds)
                for first, last, held in spans
            ],
        )

    def _add_nodes(self, i: int) -> None:
        sharded, graph = self._sharded, self.graph
        leader = sharded.leader[i]
        if leader == i:
            group = next(group for group in sharded.groups if group[0] == i)
            alone = self._alone.get(i)
            kinds = Kinds((frozenset(),)) if alone is None else self._kinds[alone]
            node = self._add_choice(group, alone, kinds)
            for member in group:
                self.choice[member] = self.node[member] = node
        if len(self._kinds[i]) > 1 and leader not in self._alone:
            costs = [self._cost(i, k) for k in range(len(sharded.operators[i].strategies))]
            again = self._kinds[i].again
            every = [
                FORBIDDEN if cost is None else cost * len(times)
                for cost in costs
                for times in again
            ]
            self.node[i] = graph.add_node(len(costs), len(again), every)

    def _add_choice(self, group: Sequence[int], alone: int | None, kinds: Kinds) -> int:
        places = range(len(self._sharded.operators[group[0]].strategies))
        every: list[int] = []
        for k in places:
            costs = [self._cost(p, k) for p in group]
            again = 0 if alone is None else self._cost(alone, k)
            if None in costs or again is None:
                every += [FORBIDDEN] * len(kinds)
            else:
                once = sum(
                    (cost or 0) * (1 + self._repeated(p))
                    for p, cost in zip(group, costs, strict=True)
                )
                every += [once + again * len(times) for times in kinds.again]
        return self.graph.add_node(len(places), len(kinds), every)

    def _repeated(self, i: int) -> int:
        """Return how often an operator with one kind is computed again."""
        again = self._kinds[i].again
        return len(again[0]) if len(again) == 1 else 0

    def _cost(self, i: int, k: int) -> int | None:
        """Return the time of a computation, with resharding inside its group; None if forbidden."""
        strategy = self._sharded.operators[i].strategies[k]
        inside = [table[k][k] for _, table in self._tables_inside(i)]
        if strategy.is_forbidden or None in inside:
            return None
        return strategy.cost_ns + sum(cost or 0 for cost in inside)

    def _tables_inside(self, i: int) -> list[tuple[int, Table]]:
        leader, tables = self._sharded.leader, self._sharded.tables
        return [
            (j, tables[j, i])
            for j in self._sharded.inputs[i]
            if leader[j] == leader[i] and (j, i) in tables
        ]

    def _add_edges(self) -> set[tuple[int, int]]:
        """Add the edges of operators and choices; return the pairs of a group that are equal."""
        sharded = self._sharded
        between: dict[tuple[int, int], list[tuple[int, int]]] = {}
        joined: set[tuple[int, int]] = set()
        for i in range(len(sharded)):
            for j in sharded.inputs[i]:
                ends = (self.choice[j], self.choice[i])
                if ends[0] != ends[1] and self._table(j, i) is not None:
                    between.setdefault(ends, []).append((j, i))
        for (g, h), edges in between.items():
            if len(edges) > 1:
                self._add_first_computations(g, h, edges)
        for i in range(len(sharded)):
            for j in sharded.inputs[i]:
                ends = (self.choice[j], self.choice[i])
                if ends[0] == ends[1]:
                    if self.node[i] != self.node[j] and self._add_inside(j, i):
                        joined.add((j, i))
                    continue
                table = self._table(j, i)
                is_alone = len(between.get(ends, ())) == 1
                self._add_edge(j, i, table, 1 if is_alone else 0)
        return joined

    def _table(self, j: int, i: int) -> Table | None:
        table = self._sharded.tables.get((j, i))
        return table if table is not None and any(c != 0 for row in table for c in row) else None

    def _add_first_computations(self, g: int, h: int, edges: Sequence[tuple[int, int]]) -> None:
        tables = [self._sharded.tables[edge] for edge in edges]
        total = tuple(
            tuple(
                None if None in costs else sum(cost or 0 for cost in costs)
                for costs in zip(*rows, strict=True)
            )
            for rows in zip(*tables, strict=True)
        )
        kinds = (self.graph.nodes[g].kinds, self.graph.nodes[h].kinds)
        self.graph.edges.append(
            StateEdge(g, h, total, (1,), ((True,),), (0,) * kinds[0], (0,) * kinds[1])
        )

    def _add_inside(self, j: int, i: int) -> bool:
        """Add the edge of two operators of one choice, both with kinds; tell if there is one."""
        if self.choice[i] in (self.node[i], self.node[j]):
            return False
        self._add_edge(j, i, None, 0, is_identity=True)
        return True

    def _add_edge(
        self, j: int, i: int, table: Table | None, first: int, *, is_identity: bool = False
    ) -> None:
        source_kinds, reader_kinds = self._kinds[j], self._kinds[i]
        recomputed = sorted(set(reader_kinds.again), key=sorted)
        allowed = [
            tuple(self._allows(j, kind, i, again) for kind in range(len(source_kinds)))
            for again in recomputed
        ]
        is_free = all(map(all, allowed)) and not is_identity
        times = tuple(first + len(again) for again in recomputed)
        if is_free and (table is None or not any(times)):
            return
        columns = list(zip(*allowed, strict=True))
        patterns = sorted(set(columns))
        source_type = [patterns.index(column) for column in columns]
        reader_type = [recomputed.index(again) for again in reader_kinds.again]
        source, reader = self.node[j], self.node[i]
        self.graph.edges.append(
            StateEdge(
                source,
                reader,
                table,
                times,
                tuple(zip(*patterns, strict=True)),
                _of_kinds(source_type, self.graph.nodes[source].kinds),
                _of_kinds(reader_type, self.graph.nodes[reader].kinds),
                is_identity,
            )
        )

    def _join(self, group: Sequence[int], joined: set[tuple[int, int]]) -> None:
        """Ask for equal places in a group: a forest of its edges, each tree tied to the choice."""
        members = [i for i in group if self.node[i] != self.choice[i]]
        tree = {i: i for i in members}

        def root(i: int) -> int:
            while tree[i] != i:
                i = tree[i]
            return i

        for j, i in sorted(joined):
            if j in tree and i in tree:
                tree[root(i)] = root(j)
        for i in members:
            if root(i) != i:
                continue
            kinds = self.graph.nodes[self.node[i]].kinds
            choice = self.choice[i]
            self.graph.edges.append(
                StateEdge(
                    choice,
                    self.node[i],
                    None,
                    (0,),
                    ((True,),),
                    (0,) * self.graph.nodes[choice].kinds,
                    (0,) * kinds,
                    is_identity=True,
                )
            )


def _of_kinds(types: Sequence[int], kinds: int) -> tuple[int, ...]:
    """Return the type of each kind of a node; an operator with one kind has one type."""
    return tuple(types) if len(types) == kinds else (types[0],) * kinds
