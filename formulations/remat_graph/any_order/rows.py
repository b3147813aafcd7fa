"""Writer of the any-order cut: its columns and rows; `cut` has the model."""

# The symbols of the model are the names of the code.
# ruff: noqa: N806

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.formulations.remat_graph.any_order.milestones import Milestone, Precedence
from jettison.instances.remat_graph.problem import RematGraph


class _Computed:
    """Column P of one milestone, or a constant, for each node.

    Attributes
    ----------
    certain, possible
        The nodes for which it is 1, and for which it can be.
    column
        The column P of each node for which it can be 0 or 1.
    """

    def __init__(self, certain: set[int], possible: set[int]) -> None:
        self.certain = certain
        self.possible = possible
        self.column: dict[int, int] = {}


class AnyOrderWriter:
    """Writer of the columns and rows, window by window.

    Parameters
    ----------
    problem
        The instance and its memory.
    milestones
        Each before the next in every schedule.
    precedence
        Precedence of the instance's nodes.

    Attributes
    ----------
    R
        For each window, the column of each needed node.
    Y
        For each milestone, the column of each node that may be its last one.
    memory_scale, time_scale
        Scales of the model's bytes and nanoseconds.
    """

    def __init__(
        self, problem: RematGraph, milestones: Sequence[Milestone], precedence: Precedence
    ) -> None:
        graph = self.graph = problem.instance
        self.milestones = milestones
        self.precedence = precedence
        sizes = [size for node in graph.nodes for size in (node.output_bytes, node.workspace_bytes)]
        self.memory_scale = IntegerScale.of(sizes)
        self.time_scale = IntegerScale.of(node.duration_ns for node in graph.nodes)
        self.limit = self.memory_scale.to_model(problem.memory_bytes)
        self.outputs = [self.memory_scale.to_model(node.output_bytes) for node in graph.nodes]
        self.builder = ArrayModelBuilder("any_order_cut")
        everything = frozenset(range(len(graph)))
        # One more than there are milestones: at the end everything has been computed.
        self.P = [_Computed(precedence.certain(m), precedence.possible(m)) for m in milestones]
        self.P.append(_Computed(set(everything), set(everything)))
        for earlier, later in pairwise(self.P):
            later.certain |= earlier.certain
        for later, earlier in pairwise(reversed(self.P)):
            earlier.possible &= later.possible
        self.R: list[dict[int, int]] = []
        self.S: list[dict[int, int]] = []
        self.Y: list[dict[int, int]] = []

    def model(self) -> ArrayModel:
        """Write everything, and return the model."""
        windows = range(len(self.milestones))
        for w in windows:
            self._add_columns(w)
        for w in windows:
            self._add_order(w)
            self._add_window(w)
            self._add_memory(w)
        for w in windows[:-1]:
            self._add_closure(w)
        return self.builder.build()

    def _add_columns(self, w: int) -> None:
        builder, P = self.builder, self.P[w]
        free = sorted(P.possible - P.certain)
        columns = builder.add_columns([f"P_{w}_{i}" for i in free], upper=1, integer=True)
        P.column = dict(zip(free, columns.tolist(), strict=True))
        last = sorted(self.precedence.last(self.milestones[w]) & P.possible)
        columns = builder.add_columns([f"Y_{w}_{i}" for i in last], upper=1, integer=True)
        self.Y.append(dict(zip(last, columns.tolist(), strict=True)))
        needed = sorted(self._needed(w))
        costs = [self.time_scale.to_model(self.graph.nodes[i].duration_ns) for i in needed]
        columns = builder.add_columns(
            [f"R_{w}_{i}" for i in needed],
            upper=[i not in self.graph.computed_once for i in needed],
            cost=costs,
            integer=True,
        )
        self.R.append(dict(zip(needed, columns.tolist(), strict=True)))
        columns = builder.add_columns([f"S_{w}_{i}" for i in needed], upper=1, integer=True)
        self.S.append(dict(zip(needed, columns.tolist(), strict=True)))

    def _needed(self, w: int) -> set[int]:
        """Return A: the nodes that may be read after the milestone, with their ancestors."""
        P, graph = self.P[w], self.graph
        needed = {
            p
            for p in P.possible
            if graph.nodes[p].keep or any(j not in P.certain for j in graph.users[p])
        }
        waiting = list(needed)
        while waiting:
            for source in graph.inputs[waiting.pop()]:
                if source not in needed:
                    needed.add(source)
                    waiting.append(source)
        return needed

    def _at_least(self, name: str, terms: Sequence[tuple[float, int]], constant: float) -> None:
        """Add the row that the terms and the constant together are at least 0."""
        self.builder.add_row(
            name,
            [column for _, column in terms],
            [coefficient for coefficient, _ in terms],
            lower=-constant,
        )

    def _computed(self, w: int, i: int, sign: int) -> tuple[list[tuple[float, int]], float]:
        """Return P times `sign`, as terms and a constant."""
        P = self.P[w]
        if i in P.column:
            return [(sign, P.column[i])], 0
        return [], sign if i in P.certain else 0

    def _add_order(self, w: int) -> None:
        P, Y, graph = self.P[w], self.Y[w], self.graph
        for i, column in P.column.items():
            for p in graph.inputs[i]:
                if p in P.column:
                    self._at_least(f"down_{w}_{i}_{p}", [(1, P.column[p]), (-1, column)], 0)
            if w + 1 < len(self.milestones):
                later, constant = self._computed(w + 1, i, 1)
                if not constant:
                    self._at_least(f"grow_{w}_{i}", [*later, (-1, column)], 0)
        milestone = self.milestones[w]
        free = [P.column[i] for i in sorted(milestone.nodes) if i in P.column]
        if free:
            left = milestone.count - len(milestone.nodes & P.certain)
            self.builder.add_row(f"count_{w}", free, [1] * len(free), lower=left, upper=left)
        self.builder.add_row(f"last_{w}", list(Y.values()), [1] * len(Y), lower=1, upper=1)
        for i, last in Y.items():
            if i in P.column:
                self._at_least(f"lastin_{w}_{i}", [(1, P.column[i]), (-1, last)], 0)
            for j in graph.users[i]:
                if j in P.possible:
                    terms, constant = self._computed(w, j, -1)
                    self._at_least(f"lastof_{w}_{i}_{j}", [*terms, (-1, last)], 1 + constant)
            if w and i in self.P[w - 1].possible:
                terms, constant = self._computed(w - 1, i, -1)
                self._at_least(f"fresh_{w}_{i}", [*terms, (-1, last)], 1 + constant)

    def _add_window(self, w: int) -> None:
        P, R, S, graph = self.P[w], self.R[w], self.S[w], self.graph
        for p in R:
            before, one = self._computed(w, p, -1)
            for j in graph.users[p]:
                if j in P.certain or j not in self.P[w + 1].possible or p not in P.possible:
                    continue
                later, gained = self._computed(w + 1, j, -1)
                earlier, _ = self._computed(w, j, 1)
                self._at_least(
                    f"need_{w}_{p}_{j}",
                    [(1, R[p]), (1, S[p]), *before, *later, *earlier],
                    one + gained + 1,
                )
            if w + 1 == len(self.milestones) and graph.nodes[p].keep and p in P.possible:
                self._at_least(f"keep_{w}_{p}", [(1, R[p]), (1, S[p]), *before], one)
        for i in R:
            for p in graph.inputs[i]:
                self._at_least(f"again_{w}_{i}_{p}", [(1, R[p]), (1, S[p]), (-1, R[i])], 0)
        if w + 1 == len(self.milestones):
            return
        for i, stored in self.S[w + 1].items():
            if i in P.possible:
                before, one = self._computed(w, i, -1)
                self._at_least(
                    f"stay_{w + 1}_{i}", [(1, R[i]), (1, S[i]), *before, (-1, stored)], 1 + one
                )

    def _add_memory(self, w: int) -> None:
        S, Y, graph = self.S[w], self.Y[w], self.graph
        in_use: dict[int, list[int]] = {}
        for i, last in Y.items():
            for p in (i, *graph.inputs[i]):
                in_use.setdefault(p, []).append(last)
        columns, sizes = [], []
        for i in sorted(S.keys() | in_use.keys()):
            if i not in in_use:
                columns.append(S[i])
            else:
                occupied = self.builder.add_column(f"O_{w}_{i}", upper=1)
                running = [(-1, last) for last in in_use[i]]
                self._at_least(f"runs_{w}_{i}", [(1, occupied), *running], 0)
                if i in S:
                    self._at_least(f"stored_{w}_{i}", [(1, occupied), (-1, S[i])], 0)
                columns.append(occupied)
            sizes.append(self.outputs[i])
        for i, last in Y.items():
            columns.append(last)
            sizes.append(self.memory_scale.to_model(graph.nodes[i].workspace_bytes))
        self.builder.add_row(f"memory_{w}", columns, sizes, upper=self.limit)

    def _add_closure(self, w: int) -> None:
        P, S, graph = self.P[w], self.S[w], self.graph
        names = [f"Z_{w}_{i}" for i in S]
        Z = dict(zip(S, self.builder.add_columns(names, upper=1).tolist(), strict=True))
        for i, once in Z.items():
            windows = [(1, R[i]) for R in self.R[w:] if i in R]
            self._at_least(f"ever_{w}_{i}", [*windows, (-1, once)], 0)
            for p in graph.inputs[i]:
                self._at_least(f"path_{w}_{i}_{p}", [(1, Z[p]), (1, S[p]), (-1, once)], 0)
            if i not in P.possible:
                continue
            before, one = self._computed(w, i, -1)
            stored = [(1, once), (1, S[i]), *before]
            if graph.nodes[i].keep:
                self._at_least(f"lost_{w}_{i}", stored, one)
            for j in graph.users[i]:
                if j not in P.certain:
                    later, _ = self._computed(w, j, 1)
                    self._at_least(f"lost_{w}_{i}_{j}", [*stored, *later], one)
