"""Writer of what Checkmate's programs share, with stages or in rounds.

The rows (dependency), (keep), all rows about the columns FREE, and those about memory are the same
in `jettison.formulations.remat_graph.checkmate` and in
`jettison.formulations.remat_graph.checkmate_unpartitioned`, whose docstrings state them. The two
differ in the columns R and S that exist: a writer adds those first, and everything else is about
the columns that are there.
"""

# The symbols of the model are the names of the code.
# ruff: noqa: N806, SIM300

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

import lazy_loader as lazy

from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.instances.remat_graph.graph import Graph

if TYPE_CHECKING:
    import pulp
else:
    pulp = lazy.load("pulp")


@dataclass(frozen=True, slots=True)
class Disaggregated:
    """Form with one row for each reason not to free a value: more rows, a better relaxation."""


@dataclass(frozen=True, slots=True)
class Aggregated:
    """Form with all reasons not to free a value in one row, as Checkmate writes them."""


@dataclass(frozen=True)
class CheckmateModel:
    """Built Checkmate model, with the translation of its points to computations.

    Attributes
    ----------
    graph
        The instance.
    problem
        The PuLP problem.
    memory_scale
        Scale of the column B and the columns U.
    time_scale
        Scale of an objective that is a time.
    constant_ns
        What such an objective leaves out of the time of the step.
    computed
        Stage and node of each column R, in the order of computation.
    """

    graph: Graph
    problem: pulp.LpProblem
    memory_scale: IntegerScale
    time_scale: IntegerScale
    constant_ns: int
    computed: tuple[tuple[int, int], ...]

    def time_ns(self, objective: float) -> int:
        """Return the time of the step that an objective stands for."""
        return self.constant_ns + self.time_scale.from_model(objective)

    def bound_ns(self, dual_bound: float) -> int:
        """Return the least time that a lower bound on the objective does not rule out."""
        bound_ns = self.constant_ns + self.time_scale.bound_from_model(dual_bound)
        return max(bound_ns, self.graph.base_time_ns)

    def computations(self, values: Mapping[str, float]) -> tuple[int, ...]:
        """Return the nodes that a point of the model computes, stage by stage, in order.

        Parameters
        ----------
        values
            Value of each column by its name. Only the columns R are read: what is freed and when
            follows from them, and a schedule that frees as early as it can needs no more memory
            than the point says.
        """
        return tuple(node for stage, node in self.computed if values[f"R_{stage}_{node}"] > 0.5)


class CheckmateWriter:
    """Base of the writers: the shared columns and rows, for the columns R and S that there are.

    Parameters
    ----------
    graph
        The instance.
    form
        Form of the rows about FREE.
    time_scale
        Scale of an objective that is a time.
    problem
        The empty PuLP problem.

    Attributes
    ----------
    R, S
        The columns by stage and node, to be filled first: those of a stage's R are the first nodes
        of the graph, in order.
    B
        The limit on memory, a number or a column, to be set before its rows are added.
    """

    R: dict[tuple[int, int], pulp.LpVariable]
    S: dict[tuple[int, int], pulp.LpVariable]
    B: float | pulp.LpVariable

    def __init__(
        self,
        graph: Graph,
        form: Disaggregated | Aggregated,
        time_scale: IntegerScale,
        problem: pulp.LpProblem,
    ) -> None:
        sizes = [size for node in graph.nodes for size in (node.output_bytes, node.workspace_bytes)]
        self.graph = graph
        self.count = len(graph)
        self.form = form
        self.time_scale = time_scale
        self.memory_scale = IntegerScale.of(sizes)
        self.outputs = [self.memory_scale.to_model(node.output_bytes) for node in graph.nodes]
        self.pulp = problem

    def built(self, constant_ns: int) -> CheckmateModel:
        """Return the model, once all is written."""
        return CheckmateModel(
            self.graph, self.pulp, self.memory_scale, self.time_scale, constant_ns, tuple(self.R)
        )

    def binary(self, name: str) -> pulp.LpVariable:
        """Add a column of 0 or 1."""
        return self.pulp.add_variable(name, cat=pulp.LpBinary)

    def add_free_and_memory_columns(self) -> None:
        """Add the columns FREE and U: FREE after every column R but the last one of a stage."""
        kind = pulp.LpBinary if self.form == Aggregated() else pulp.LpContinuous
        self.FREE = {
            (t, i, k): self.pulp.add_variable(f"FREE_{t}_{i}_{k}", 0, 1, kind)
            for t, k in self.R
            if (t, k + 1) in self.R
            for i in self._freed_after(k)
        }
        self.U = {(t, k): self.pulp.add_variable(f"U_{t}_{k}", 0) for t, k in self.R}

    def _freed_after(self, node: int) -> tuple[int, ...]:
        return (*self.graph.inputs[node], node)

    def _later_users(self, t: int, i: int, k: int) -> list[int]:
        return [j for j in self.graph.users[i] if k < j and (t, j) in self.R]

    def add_dependencies(self) -> None:
        """Add the rows (dependency)."""
        R, S = self.R, self.S
        for t, j in R:
            for i in self.graph.inputs[j]:
                self.pulp += R[t, j] <= R[t, i] + S[t, i], f"dependency_{t}_{j}_{i}"

    def add_kept(self) -> None:
        """Add the rows (keep), about the stage that never runs."""
        for t, i in self.S:
            if t == self.count:
                self.pulp += self.S[t, i] == 1, f"keep_{i}"

    def add_free_and_memory(self) -> None:
        """Add the rows about FREE and those about memory."""
        match self.form:
            case Disaggregated():
                self._add_free_disaggregated()
            case Aggregated():
                self._add_free_aggregated()
            case other:
                assert_never(other)
        self._add_memory()

    def _add_free_disaggregated(self) -> None:
        R, S = self.R, self.S
        for (t, i, k), FREE in self.FREE.items():
            self.pulp += FREE <= R[t, k], f"free_computed_{t}_{i}_{k}"
        for (t, i, k), FREE in self.FREE.items():
            if (t + 1, i) in S:
                self.pulp += FREE <= 1 - S[t + 1, i], f"free_stored_{t}_{i}_{k}"
        for (t, i, k), FREE in self.FREE.items():
            for j in self._later_users(t, i, k):
                self.pulp += FREE <= 1 - R[t, j], f"free_used_{t}_{i}_{k}_{j}"

    def _add_free_aggregated(self) -> None:
        for (t, i, k), FREE in self.FREE.items():
            h, _ = self._reasons_to_stay(t, i, k)
            self.pulp += 1 - FREE <= h, f"free_if_{t}_{i}_{k}"
        for (t, i, k), FREE in self.FREE.items():
            h, kappa = self._reasons_to_stay(t, i, k)
            self.pulp += h <= kappa * (1 - FREE), f"free_only_if_{t}_{i}_{k}"

    def _reasons_to_stay(self, t: int, i: int, k: int) -> tuple[pulp.LpAffineExpression, int]:
        """Return h and the number of its terms."""
        terms = [1 - self.R[t, k]]
        if (t + 1, i) in self.S:
            terms.append(self.S[t + 1, i])
        terms.extend(self.R[t, j] for j in self._later_users(t, i, k))
        return pulp.lpSum(terms), len(terms)

    def _add_memory(self) -> None:
        R, S, FREE, U, M = self.R, self.S, self.FREE, self.U, self.outputs
        for t in range(self.count):
            stored = pulp.lpSum(M[i] * S[t, i] for i in range(self.count) if (t, i) in S)
            self.pulp += U[t, 0] == stored + M[0] * R[t, 0], f"start_{t}"
        for t, k in R:
            if (t, k + 1) in R:
                freed = pulp.lpSum(M[i] * FREE[t, i, k] for i in self._freed_after(k))
                after = U[t, k] + M[k + 1] * R[t, k + 1] - freed
                self.pulp += U[t, k + 1] == after, f"step_{t}_{k}"
        W = [self.memory_scale.to_model(node.workspace_bytes) for node in self.graph.nodes]
        for t, k in R:
            self.pulp += U[t, k] + W[k] * R[t, k] <= self.B, f"memory_{t}_{k}"
