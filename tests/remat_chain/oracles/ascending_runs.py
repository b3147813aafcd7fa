r"""Rematerialization without Checkmate's stages: any order of computations, cut into runs.

Checkmate (MLSys 2020, Section 4) computes the nodes for the first time in the order of the graph,
one in each stage. That rules out schedules, and with them the optimum of some graphs. But every
sequence of computations falls into *runs* in which nodes ascend: a new run begins where a node is
not above the one before it. A model in which each of :math:`T` runs may compute any nodes, and none
must be computed in a given run, holds all schedules of at most :math:`T` runs.

Nodes :math:`0 \le i < n` with durations :math:`C_i`, outputs :math:`M_i` and workspaces
:math:`W_i`, memory :math:`B`, kept nodes :math:`K`; :math:`\mathrm{in}(k)` and
:math:`\mathrm{us}(i)` are inputs and users. Runs :math:`0 \le t < T`.

Columns
-------
================================= =========================================================
:math:`R_{t,i}`, ``R_t_i``        run :math:`t` computes :math:`i`
:math:`S_{t,i}`, ``S_t_i``        :math:`i` is in memory when run :math:`t` begins,
                                  :math:`1 \le t`; :math:`S_{T,i}`, for :math:`i \in K`: when
                                  the last one ends
:math:`F_{t,i,k}`, ``FREE_t_i_k`` run :math:`t` frees :math:`i \in \mathrm{in}(k) \cup \{k\}`
                                  after it has computed :math:`k`
:math:`U_{t,k}`, ``U_t_k``        bytes of values in memory while run :math:`t` computes
                                  :math:`k`, the output of :math:`k` included
================================= =========================================================

:math:`R, S` are binary, :math:`0 \le F \le 1`, :math:`U \ge 0`; :math:`S` that do not exist are 0.

Model
-----
.. math::
    \text{(objective)} \quad & \min \sum_{t,i} C_i R_{t,i} \\
    \text{(once)} \quad & \sum_t R_{t,i} \ge 1 && \forall i \\
    \text{(dependency)} \quad & R_{t,j} \le R_{t,i} + S_{t,i}
        && \forall t, j,\; i \in \mathrm{in}(j) \\
    \text{(checkpoint)} \quad & S_{t,i} \le R_{t-1,i} + S_{t-1,i} && \forall t \ge 1, i \\
    \text{(keep)} \quad & S_{T,i} = 1 && \forall i \in K \\
    \text{(free\_computed)} \quad & F_{t,i,k} \le R_{t,k} \\
    \text{(free\_stored)} \quad & F_{t,i,k} \le 1 - S_{t+1,i} \\
    \text{(free\_used)} \quad & F_{t,i,k} \le 1 - R_{t,j}
        && \forall j \in \mathrm{us}(i),\; k < j \\
    \text{(start)} \quad & U_{t,0} = \sum_i M_i S_{t,i} + M_0 R_{t,0} && \forall t \\
    \text{(step)} \quad & U_{t,k+1} = U_{t,k} + M_{k+1} R_{t,k+1}
        - \sum_{i \in \mathrm{in}(k) \cup \{k\}} M_i F_{t,i,k} && \forall t,\; k < n - 1 \\
    \text{(memory)} \quad & U_{t,k} + W_k R_{t,k} \le B && \forall t, k

These are the rows of `formulations.checkmate` but for (frontier), in place of which (once) stands.
Row names are the labels, followed by the indices.

Of a backward node (once) is an equation. Checkmate lets one run again; a chain does not.

Size: :math:`T (n + |E|)` columns :math:`F` and about :math:`T \sum_i |\mathrm{us}(i)|^2 / 2` rows
(free\_used) dominate.
"""

# The symbols of the model are the names of the code.
# ruff: noqa: N806

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jettison import Graph, InputError, RematGraph
from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.milp.integer_scale import IntegerScale


@dataclass(frozen=True)
class AscendingRunsModel:
    """A built model, and how to read its values.

    Attributes
    ----------
    graph
        The instance.
    runs
        The number :math:`T`.
    model
        The model.
    time_scale
        For its objective.
    """

    graph: Graph
    runs: int
    model: ArrayModel
    time_scale: IntegerScale

    def computations(self, values: Floats) -> tuple[int, ...]:
        """Return the nodes that a point of the model computes, run by run, in order."""
        count = len(self.graph)
        # The columns R come first, run by run.
        return tuple(place % count for place in range(self.runs * count) if values[place] > 0.5)


@dataclass(frozen=True)
class AscendingRuns:
    """Number of ascending runs, the size of the model in the docstring of this module.

    Attributes
    ----------
    runs
        The number :math:`T` of ascending runs.

    Raises
    ------
    InputError
        If there is no run.
    """

    runs: int

    def __post_init__(self) -> None:
        if self.runs < 1:
            raise InputError(f"{self.runs}", field="runs", expected="allow at least one run")

    def build(self, problem: RematGraph) -> AscendingRunsModel:
        """Build the model."""
        return _Writer(self, problem).model()


class _Writer:
    """Adds the columns and the rows, in the order of the docstring."""

    def __init__(self, options: AscendingRuns, problem: RematGraph) -> None:
        self.graph = problem.instance
        self.options = options
        self.runs = range(options.runs)
        self.nodes = range(len(self.graph))
        sizes = [
            size for node in self.graph.nodes for size in (node.output_bytes, node.workspace_bytes)
        ]
        self.memory_scale = IntegerScale.of(sizes)
        self.time_scale = IntegerScale.of(node.duration_ns for node in self.graph.nodes)
        self.output = [self.memory_scale.to_model(node.output_bytes) for node in self.graph.nodes]
        self.limit = self.memory_scale.to_model(problem.memory_bytes)
        self.array = ArrayModelBuilder("ascending_runs")

    def model(self) -> AscendingRunsModel:
        self._add_columns()
        self._add_runs()
        self._add_free()
        self._add_memory()
        return AscendingRunsModel(
            self.graph, self.options.runs, self.array.build(), self.time_scale
        )

    def _add_columns(self) -> None:
        durations = [self.time_scale.to_model(node.duration_ns) for node in self.graph.nodes]
        self.R = {
            (t, i): self.array.add_column(f"R_{t}_{i}", upper=1, cost=durations[i], integer=True)
            for t in self.runs
            for i in self.nodes
        }
        self.S = {
            (t, i): self.array.add_column(f"S_{t}_{i}", upper=1, integer=True)
            for t in range(1, self.options.runs + 1)
            for i in self.nodes
            if t < self.options.runs or self.graph.nodes[i].keep
        }
        self.FREE = {
            (t, i, k): self.array.add_column(f"FREE_{t}_{i}_{k}", upper=1)
            for t in self.runs
            for k in self.nodes
            for i in self._freed_after(k)
        }
        self.U = {
            (t, k): self.array.add_column(f"U_{t}_{k}") for t in self.runs for k in self.nodes
        }

    def _freed_after(self, node: int) -> Sequence[int]:
        return (*self.graph.inputs[node], node)

    def _stored(self, t: int, i: int) -> list[int]:
        """Return the column S, or nothing where it is 0."""
        return [self.S[t, i]] if (t, i) in self.S else []

    def _add_runs(self) -> None:
        R, S, add = self.R, self.S, self.array.add_row
        for i in self.nodes:
            most = 1 if self.graph.nodes[i].backward else len(self.runs)
            add(
                f"once_{i}", [R[t, i] for t in self.runs], [1] * len(self.runs), lower=1, upper=most
            )
        for t, j in R:
            for i in self.graph.inputs[j]:
                there = [R[t, i], *self._stored(t, i)]
                add(f"dependency_{t}_{j}_{i}", [R[t, j], *there], [1, *[-1] * len(there)], upper=0)
        for t, i in S:
            there = [R[t - 1, i], *self._stored(t - 1, i)]
            add(f"checkpoint_{t}_{i}", [S[t, i], *there], [1, *[-1] * len(there)], upper=0)
        for t, i in S:
            if t == self.options.runs:
                add(f"keep_{i}", [S[t, i]], [1], lower=1)

    def _add_free(self) -> None:
        add = self.array.add_row
        for (t, i, k), free in self.FREE.items():
            add(f"free_computed_{t}_{i}_{k}", [free, self.R[t, k]], [1, -1], upper=0)
        for (t, i, k), free in self.FREE.items():
            for stored in self._stored(t + 1, i):
                add(f"free_stored_{t}_{i}_{k}", [free, stored], [1, 1], upper=1)
        for (t, i, k), free in self.FREE.items():
            for j in self.graph.users[i]:
                if j > k:
                    add(f"free_used_{t}_{i}_{k}_{j}", [free, self.R[t, j]], [1, 1], upper=1)

    def _add_memory(self) -> None:
        R, S, U, M, add = self.R, self.S, self.U, self.output, self.array.add_row
        for t in self.runs:
            stored = [i for i in self.nodes if (t, i) in S]
            add(
                f"start_{t}",
                [U[t, 0], R[t, 0], *(S[t, i] for i in stored)],
                [1, -M[0], *(-M[i] for i in stored)],
                lower=0,
                upper=0,
            )
        for t, k in R:
            if k + 1 in self.nodes:
                freed = self._freed_after(k)
                add(
                    f"step_{t}_{k}",
                    [U[t, k + 1], U[t, k], R[t, k + 1], *(self.FREE[t, i, k] for i in freed)],
                    [1, -1, -M[k + 1], *(M[i] for i in freed)],
                    lower=0,
                    upper=0,
                )
        for t, k in R:
            working = self.memory_scale.to_model(self.graph.nodes[k].workspace_bytes)
            add(f"memory_{t}_{k}", [U[t, k], R[t, k]], [1, working], upper=self.limit)
