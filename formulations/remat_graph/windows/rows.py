"""Writer of the windowed frontier: its columns and rows; `frontier` has the model."""

# The symbols of the model are the names of the code.
# ruff: noqa: N806

from __future__ import annotations

from typing import TYPE_CHECKING

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.formulations.remat_graph.recomputation import permits_before_reading
from jettison.formulations.remat_graph.windows.closure import add_closure
from jettison.formulations.remat_graph.windows.needed_sets import (
    kept_until,
    needed_sets,
    read_in_window,
)
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass

if TYPE_CHECKING:
    from jettison.formulations.remat_graph.windows.frontier import WindowedFrontier


class WindowWriter:
    """Writer of the columns and rows, window by window.

    Parameters
    ----------
    problem
        The instance and its memory.
    frontier
        The cuts and slots.

    Attributes
    ----------
    R, S
        For each window, the columns of each needed node.
    memory_scale, time_scale
        Scales of the model's bytes and nanoseconds.
    """

    def __init__(self, problem: RematGraph, frontier: WindowedFrontier) -> None:
        graph = problem.instance
        self.frontier = frontier
        self.cuts = frontier.cuts
        self.recomputation = frontier.recomputation
        self.fixings = frontier.fixings
        self.once = frontier.fixings.computed_once | problem.instance.computed_once
        self.graph = graph
        sizes = [size for node in graph.nodes for size in (node.output_bytes, node.workspace_bytes)]
        self.memory_scale = IntegerScale.of(sizes)
        self.time_scale = IntegerScale.of(node.duration_ns for node in graph.nodes)
        self.limit = self.memory_scale.to_model(problem.memory_bytes)
        self.outputs = [self.memory_scale.to_model(node.output_bytes) for node in graph.nodes]
        self.workspaces = [self.memory_scale.to_model(node.workspace_bytes) for node in graph.nodes]
        self.builder = ArrayModelBuilder("windowed_frontier")
        self.R: list[dict[int, int]] = []
        self.S: list[dict[int, int]] = []

    def model(self) -> ArrayModel:
        """Write everything, and return the model."""
        needed_in = needed_sets(self.graph, self.cuts, self.once)
        staged = self.frontier.valid_for is ScheduleClass.STAGED
        ends = (*self.cuts[1:], len(self.graph) - 1 if staged else len(self.graph))
        for t, end, needed in zip(self.cuts, ends, needed_in, strict=True):
            self._add_columns(t, range(t + 1, end + 1), sorted(needed))
        for w in range(len(self.cuts)):
            self._add_window(w)
            self._add_memory(w)
            self._add_twins(w)
        closed = {*self.frontier.closed_cuts}
        for w, t in enumerate(self.cuts[:-1]):
            if t in closed:
                add_closure(self.builder, self.graph, self.once, t, self.R[w:], self.S[w])
        self._add_once()
        window_of = {t: w for w, t in enumerate(self.cuts)}
        for t, q in self.frontier.slots:
            if q in self.R[window_of[t - 1]]:
                self._add_slot(t, q, window_of[t - 1])
        return self.builder.build()

    def _add_columns(self, t: int, stages: range, nodes: list[int]) -> None:
        """Add R and S of the window after `t`, which has these stages."""
        permits = self.recomputation.permits
        graph = self.graph
        # Between an operator without a value and its results nothing is computed.
        stages_again = [
            stage for stage in stages if stage == len(graph) or not graph.comes_in_a_run(stage)
        ]
        permitted = [
            i not in self.once and any(permits(graph, stage, i) for stage in stages_again)
            for i in nodes
        ]
        runs = graph.results_after
        stay = [i not in runs or t + 1 in runs[i] for i in nodes]
        costs = [self.time_scale.to_model(self.graph.nodes[i].duration_ns) for i in nodes]
        R = self.builder.add_columns(
            [f"R_{t}_{i}" for i in nodes], upper=permitted, cost=costs, integer=True
        )
        S = self.builder.add_columns([f"S_{t}_{i}" for i in nodes], upper=stay, integer=True)
        self.R.append(dict(zip(nodes, R.tolist(), strict=True)))
        self.S.append(dict(zip(nodes, S.tolist(), strict=True)))

    def _add_window(self, w: int) -> None:
        R, S, cuts, graph = self.R[w], self.S[w], self.cuts, self.graph
        t = cuts[w]
        is_last = w == len(cuts) - 1
        needed = read_in_window(graph, t, len(graph) - 1 if is_last else cuts[w + 1])
        if is_last:
            needed |= kept_until(graph, t)
        end = len(graph) if is_last else cuts[w + 1]
        for p in sorted(needed):
            in_time = permits_before_reading(self.recomputation, graph, t, p, end)
            self.builder.add_row(f"need_{t}_{p}", [R[p], S[p]], [in_time, 1], lower=1)
        for i in R:
            for p in self._inputs_again(i):
                if p in graph.results_after:
                    self.builder.add_row(f"again_{t}_{i}_{p}", [R[p], R[i]], [1, -1], lower=0)
                    continue
                self.builder.add_row(f"again_{t}_{i}_{p}", [R[p], S[p], R[i]], [1, 1, -1], lower=0)
        if is_last:
            return
        for i, stored in self.S[w + 1].items():
            if i <= t:
                self.builder.add_row(
                    f"stay_{cuts[w + 1]}_{i}", [R[i], S[i], stored], [1, 1, -1], lower=0
                )

    def _add_memory(self, w: int) -> None:
        t = self.cuts[w]
        inputs = self.graph.inputs[t]
        beside = [i for i in self.S[w] if i < t and i not in inputs]
        running = self.outputs[t] + self.workspaces[t] + sum(self.outputs[p] for p in inputs)
        self.builder.add_row(
            f"memory_{t}",
            [self.S[w][i] for i in beside],
            [self.outputs[i] for i in beside],
            upper=self.limit - running,
        )

    def _add_once(self) -> None:
        """Add the rows (once) where the choice of recomputations has a boundary."""
        boundary = self.recomputation.once_after(self.graph)
        if boundary is None:
            return
        behind = self.cuts.index(boundary)
        for i, stored in self.S[behind].items():
            again = [R[i] for R in self.R[behind:] if i in R]
            self.builder.add_row(f"once_{i}", [stored, *again], [1] * (1 + len(again)), upper=1)

    def _add_twins(self, w: int) -> None:
        t, S = self.cuts[w], self.S[w]
        for i, j in self.fixings.twins:
            if i in S and j in S:
                self.builder.add_row(f"twin_{t}_{i}_{j}", [S[i], S[j]], [1, -1], upper=0)

    def _inputs_again(self, i: int) -> tuple[int, ...]:
        """Return the inputs of a node if it may be computed again, else nothing."""
        return () if i in self.once else self.graph.inputs[i]

    def _add_slot(self, t: int, q: int, w: int) -> None:
        R, S = self.R[w], self.S[w]
        columns = [R[q], S[q]]
        sizes = [self.outputs[q] + self.workspaces[q], self.outputs[q]]
        room = self.limit
        for i in R:
            if i > q:
                columns.append(S[i])
                sizes.append(self.outputs[i])
            elif i < q and t in self.graph.users[i]:
                room -= self.outputs[i]
            elif i < q:
                reason = self._reason_to_stay(t, q, w, i)
                if reason is not None:
                    columns.append(reason)
                    sizes.append(self.outputs[i])
        self.builder.add_row(f"slot_{t}_{q}", columns, sizes, upper=room)

    def _reason_to_stay(self, t: int, q: int, w: int, i: int) -> int | None:
        """Return the column L, or its only term; None if it would have no term."""
        reasons = {
            f"later_{t}_{q}_{i}_{j}": self.R[w][j]
            for j in self.graph.users[i]
            if q <= j < t and j in self.R[w]
        }
        if i in self.S[w + 1]:
            reasons[f"later_{t}_{q}_{i}"] = self.S[w + 1][i]
        if len(reasons) < 2:
            return next(iter(reasons.values()), None)
        later = self.builder.add_column(f"L_{t}_{q}_{i}", upper=1)
        for name, column in reasons.items():
            self.builder.add_row(name, [later, column], [1, -1], lower=0)
        return later
