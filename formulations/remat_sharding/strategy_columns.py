r"""Columns and rows that choose a strategy for each operator: Alpa's integer program.

.. math::
    \text{(one)} \quad & \sum_k s_{ik} = 1 && \forall i \\
    \text{(from)} \quad & \sum_b e^{ji}_{ab} = s_{ja} && \forall j, i, a \\
    \text{(to)} \quad & \sum_a e^{ji}_{ab} = s_{ib} && \forall j, i, b

with binary :math:`s` and :math:`e` from 0 to 1; operators that have one choice together share the
columns :math:`s`, and all edges between two choices the columns :math:`e`. With whole :math:`s`,
:math:`e^{ji}_{ab} = s_{ja} s_{ib}` is the only point. Strategies of :math:`j` whose rows are equal
in all tables between two choices share a column :math:`e` for each strategy of :math:`i`, and
equal columns of the tables likewise: then :math:`s` in (from) and (to) is a sum over such a class.
Resharding depends on how a value is split, and many strategies split it alike.

An operator that is computed :math:`\nu_i` times costs :math:`\nu_i` times its strategy and the
resharding of its inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph, Table

Columns = list[int]


@dataclass(frozen=True)
class PairColumns:
    """Columns e of the pairs of strategies of two choices.

    Attributes
    ----------
    rows, columns
        The strategies of source and target, in classes of those that all tables treat alike.
    e
        One column per class of the source and class of the target.
    """

    rows: list[list[int]]
    columns: list[list[int]]
    e: list[Columns]


class StrategyColumns:
    """Writer of the columns s and e, their costs and their rows, into a model.

    Parameters
    ----------
    builder
        Builder of the model.
    sharded
        The instance.
    times
        How often each operator is computed, as far as its strategy pays for it.
    readings
        How often it is, as far as the columns e pay for the resharding of its inputs; by default
        the same.

    Attributes
    ----------
    s
        For each leader, the columns of its strategies.
    e
        For each pair of leaders with an edge that costs something, its columns.
    m
        For each operator and strategy, the memory as the model counts it.
    memory_scale, time_scale
        Scales of the model's bytes and nanoseconds.
    """

    def __init__(
        self,
        builder: ArrayModelBuilder,
        sharded: ShardedGraph,
        times: Sequence[int],
        readings: Sequence[int] | None = None,
    ) -> None:
        self._builder = builder
        self._sharded = sharded
        self._times = times
        self._readings = times if readings is None else readings
        allowed = [op.strategies[k] for op in sharded.operators for k in op.allowed]
        costs = [cost for item in sharded.resharding for row in item.cost_ns for cost in row]
        self.memory_scale = IntegerScale.of(item.memory_bytes for item in allowed)
        self.time_scale = IntegerScale.of(
            [*(item.cost_ns for item in allowed), *(cost for cost in costs if cost is not None)]
        )
        self.m = [
            [self.memory_scale.to_model(strategy.memory_bytes) for strategy in op.strategies]
            for op in sharded.operators
        ]
        self.s: dict[int, Columns] = {}
        self.e: dict[tuple[int, int], PairColumns] = {}

    def of(self, i: int) -> Columns:
        """Return the columns s of an operator: those of the one that it follows."""
        return self.s[self._sharded.leader[i]]

    def sizes(self, operators: Iterable[int]) -> tuple[Columns, list[float]]:
        """Return columns s and coefficients of the memory that operators take."""
        listed = sorted(operators)
        columns = [column for i in listed for column in self.of(i)]
        return columns, [size for i in listed for size in self.m[i]]

    def cost(self, i: int, k: int) -> float:
        """Return the time of one computation, with resharding inside its group; 0 if forbidden.

        In the scale of the model.
        """
        strategy = self._sharded.operators[i].strategies[k]
        return self.time_scale.to_model(
            (0 if strategy.is_forbidden else strategy.cost_ns) + self._within_ns(i, k)
        )

    def write(self) -> None:
        """Add everything; :math:`O(n k + |E| k^2)` for `k` strategies."""
        for group in self._sharded.groups:
            self._add_choice(group)
        self._add_pairs()

    def _add_choice(self, group: Sequence[int]) -> None:
        i = group[0]
        places = range(len(self._sharded.operators[i].strategies))
        self.s[i] = self._builder.add_columns(
            [f"s_{i}_{k}" for k in places],
            upper=[self._is_free(group, k) for k in places],
            cost=[sum(self._times[p] * self.cost(p, k) for p in group) for k in places],
            integer=True,
        ).tolist()
        self._builder.add_row(f"one_{i}", self.s[i], [1] * len(places), lower=1, upper=1)

    def _is_free(self, group: Sequence[int], k: int) -> bool:
        """Tell whether a strategy is allowed for all operators of a group, and between them."""
        return all(
            not self._sharded.operators[p].strategies[k].is_forbidden
            and all(table[k][k] is not None for table in self._tables_within(p))
            for p in group
        )

    def _within_ns(self, p: int, k: int) -> int:
        """Return the time to reshard inputs of the same group for one computation."""
        return sum(table[k][k] or 0 for table in self._tables_within(p))

    def _tables_within(self, p: int) -> list[Table]:
        leader, tables = self._sharded.leader, self._sharded.tables
        return [
            tables[j, p]
            for j in self._sharded.inputs[p]
            if leader[j] == leader[p] and (j, p) in tables
        ]

    def _add_pairs(self) -> None:
        for (g, h), between in _edges_that_cost(self._sharded).items():
            tables = [self._sharded.tables[edge] for edge in between]
            rows, columns = _classes(tables)
            e: list[Columns] = []
            for a in (same[0] for same in rows):
                costs = [
                    [
                        None if cost is None else self._readings[i] * cost
                        for (_, i), table in zip(between, tables, strict=True)
                        for cost in (table[a][same[0]],)
                    ]
                    for same in columns
                ]
                e.append(
                    self._builder.add_columns(
                        [f"e_{g}_{h}_{a}_{same[0]}" for same in columns],
                        upper=[None not in found for found in costs],
                        cost=[
                            self.time_scale.to_model(sum(cost or 0 for cost in found))
                            for found in costs
                        ],
                    ).tolist()
                )
            for same, of_row in zip(rows, e, strict=True):
                self._equal(f"from_{g}_{h}_{same[0]}", of_row, [self.s[g][a] for a in same])
            for place, same in enumerate(columns):
                self._equal(
                    f"to_{g}_{h}_{same[0]}",
                    [of_row[place] for of_row in e],
                    [self.s[h][b] for b in same],
                )
            self.e[g, h] = PairColumns(rows, columns, e)

    def _equal(self, name: str, columns: Columns, others: Columns) -> None:
        """Add the row that two sums of columns are equal."""
        coefficients = [*(1 for _ in columns), *(-1 for _ in others)]
        self._builder.add_row(name, [*columns, *others], coefficients, lower=0, upper=0)


def num_choice_columns(sharded: ShardedGraph) -> int:
    """Return the number of columns s and e, without writing them; linear in the tables."""
    pairs = 0
    for between in _edges_that_cost(sharded).values():
        rows, columns = _classes([sharded.tables[edge] for edge in between])
        pairs += len(rows) * len(columns)
    return pairs + sum(len(sharded.operators[group[0]].strategies) for group in sharded.groups)


def _edges_that_cost(sharded: ShardedGraph) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """Return the edges between two choices that cost something, by the leaders of these."""
    edges: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for (j, i), table in sharded.tables.items():
        ends = (sharded.leader[j], sharded.leader[i])
        if ends[0] != ends[1] and any(cost != 0 for row in table for cost in row):
            edges.setdefault(ends, []).append((j, i))
    return edges


def _classes(tables: Sequence[Table]) -> tuple[list[list[int]], list[list[int]]]:
    """Return the strategies of source and target in classes that all tables treat alike."""
    rows = alike([tuple(table[a] for table in tables) for a in range(len(tables[0]))])
    columns = alike(
        [
            tuple(tuple(row[b] for row in table) for table in tables)
            for b in range(len(tables[0][0]))
        ]
    )
    return rows, columns


def alike(signatures: Sequence[object]) -> list[list[int]]:
    """Return the positions of equal signatures, class by class."""
    classes: dict[object, list[int]] = {}
    for place, signature in enumerate(signatures):
        classes.setdefault(signature, []).append(place)
    return list(classes.values())
