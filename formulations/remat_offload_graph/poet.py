r"""POET: rematerialization and paging as one integer program, in stages.

Source: Patil, Jain, Dutta, Stoica and Gonzalez, *POET: Training Neural Networks on Tiny Devices
with Integrated Rematerialization and Paging*, ICML 2022, arXiv:2207.07697, and the authors'
released program. It is Checkmate's program with a second store: stage :math:`t` computes node
:math:`t` for the first time, and may compute earlier ones again, in the order of the graph. Symbols
are those of
`first_starts`; :math:`\Phi_i` and :math:`\Psi_i` are what a computation and a copy, in either
direction, of :math:`i` cost. POET's costs are energies; with times as costs the objective is the
time of a step in which nothing overlaps.

Columns
-------
=================================== =============================================================
:math:`R_{t,i}`, ``R_t_i``          :math:`i` is computed in stage :math:`t`; :math:`i \le t`
:math:`S_{t,i}`, ``S_t_i``          its value is on the device when stage :math:`t` starts;
                                    :math:`i < t`
:math:`H_{t,i}`, ``H_t_i``          a copy of it is on the host then; :math:`i < t`
:math:`A_{t,i}`, ``A_t_i``          it is copied to the host in stage :math:`t`; :math:`i < t`
:math:`B_{t,i}`, ``B_t_i``          it comes back at the end of stage :math:`t`; :math:`i < t`
:math:`F_{t,i,k}`, ``F_t_i_k``      it is freed in stage :math:`t` after the run of :math:`k`;
                                    :math:`k = i` or :math:`i \in \operatorname{in}(k)`
:math:`U_{t,k}`, ``U_t_k``          memory in use in stage :math:`t` after the run of :math:`k`
=================================== =============================================================

All but :math:`0 \le U \le M` are binary. :math:`H, A, B` are there for values that can be moved.

Model
-----
.. math::
    \text{(objective)} \quad & \min \sum_{t,i} \Phi_i R_{t,i} + \Psi_i (A_{t,i} + B_{t,i}) \\
    \text{(first)} \quad & R_{t,t} = 1 \\
    \text{(reads)} \quad & R_{t,i} \le R_{t,p} + S_{t,p} && \forall p \in \operatorname{in}(i) \\
    \text{(stays)} \quad & S_{t+1,i} \le S_{t,i} + R_{t,i} + B_{t,i} \\
    \text{(copy)} \quad & H_{t+1,i} \le H_{t,i} + A_{t,i} \\
    \text{(in)} \quad & B_{t,i} \le H_{t,i} \\
    \text{(out)} \quad & A_{t,i} \le S_{t,i} \\
    \text{(kept)} \quad & S_{n,i} + R_{n,i} + B_{n,i} \ge 1 && \forall i \text{ kept} \\
    \text{(start)} \quad & U_{t,1} = \sum_i M_i S_{t,i} + M_1 R_{t,1} \\
    \text{(memory)} \quad & U_{t,k+1} = U_{t,k} - \sum_i M_i F_{t,i,k} + M_{k+1} R_{t,k+1} \\
    \text{(limit)} \quad & U_{t,k} + W_k R_{t,k} \le M \\
    \text{(free)} \quad & F_{t,i,k} \le R_{t,k},\; F_{t,i,k} \le 1 - S_{t+1,i},\;
        F_{t,i,k} \le 1 - R_{t,j} && \forall j > k \text{ that reads } i \\
    \text{(deadline)} \quad & \sum_{t,i} C_i R_{t,i} \le T

The nodes and stages are counted from 1 here and from 0 in names.

What POET says otherwise: its released program frees no value by its own computation, and lets one
be freed by an operation that does not run; (free) has both (`corrections` of Checkmate's program).
Workspaces, kept values, and nodes that are computed once, of which :math:`R_{t,i} = 0` for
:math:`i < t`, are added.

What POET omits, beside what overlaps: copies take no time in (deadline); what comes back has no
memory before the next stage; and a link that carries one copy at a time. So its optimum bounds
nothing here: a schedule of its plan is replayed with copies beside the computations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.instances.remat_offload_graph.problem import RematOffloadGraph

_LARGEST_IN_MODEL_BITS = 12


@dataclass(frozen=True, slots=True)
class Poet:
    """POET's program; it is in the docstring of this module.

    Attributes
    ----------
    compute_weight, transfer_weight
        The cost of a computation, and of a copy, for each nanosecond that it takes: their powers.
    deadline
        The time of all computations at most, as a multiple of the base time.
    """

    compute_weight: float = 1.0
    transfer_weight: float = 1.0
    deadline: float = math.inf

    def build(self, problem: RematOffloadGraph) -> PoetModel:
        """Build the model, in powers of two of bytes and nanoseconds; :math:`O(n (n + |E|))`."""
        return _Writer(problem, self).write()


Columns = Mapping[tuple[int, int], int]


@dataclass(frozen=True, eq=False)
class PoetModel:
    """POET's model with its columns, by (stage, node).

    Attributes
    ----------
    computed, stays, sent, back
        :math:`R, S, A, B`.
    """

    model: ArrayModel
    computed: Columns
    stays: Columns
    sent: Columns
    back: Columns

    def chosen(self, columns: Columns, values: Floats) -> set[tuple[int, int]]:
        """Return the pairs of which a binary is 1 at a point."""
        return {key for key, column in columns.items() if values[column] > 0.5}


def _unit(amount: int) -> int:
    return 1 << max(0, amount.bit_length() - _LARGEST_IN_MODEL_BITS)


@dataclass(eq=False)
class _Writer:
    problem: RematOffloadGraph
    form: Poet
    computed: dict[tuple[int, int], int] = field(default_factory=dict)
    stays: dict[tuple[int, int], int] = field(default_factory=dict)
    hosted: dict[tuple[int, int], int] = field(default_factory=dict)
    sent: dict[tuple[int, int], int] = field(default_factory=dict)
    back: dict[tuple[int, int], int] = field(default_factory=dict)
    used: dict[tuple[int, int], int] = field(default_factory=dict)

    def write(self) -> PoetModel:
        self.graph = self.problem.instance
        self.count = len(self.graph)
        self.model = ArrayModelBuilder("poet")
        byte_unit = _unit(self.problem.memory_bytes)
        self.time_unit_ns = _unit(self.graph.base_time_ns)
        self.sizes = [node.output_bytes / byte_unit for node in self.graph.nodes]
        self.workspaces = [node.workspace_bytes / byte_unit for node in self.graph.nodes]
        self.limit = self.problem.memory_bytes / byte_unit
        self.add_columns()
        for t in range(self.count):
            self.add_rows_of_stage(t)
            self.add_memory_rows(t)
        self.add_deadline()
        return PoetModel(self.model.build(), self.computed, self.stays, self.sent, self.back)

    def add_columns(self) -> None:
        graph, link, model = self.graph, self.problem.link, self.model
        for t in range(self.count):
            for i in range(t + 1):
                name, key = f"{t}_{i}", (t, i)
                is_fixed = i < t and i in graph.computed_once
                time = graph.nodes[i].duration_ns / self.time_unit_ns
                self.computed[key] = model.add_column(
                    f"R_{name}",
                    lower=1 if i == t else 0,
                    upper=0 if is_fixed else 1,
                    cost=self.form.compute_weight * time,
                    integer=True,
                )
                self.used[key] = model.add_column(f"U_{name}", upper=self.limit)
                if i == t:
                    continue
                self.stays[key] = model.add_column(f"S_{name}", upper=1, integer=True)
                if i in self.problem.movable and link is not None:
                    copy = link.transfer_ns(graph.nodes[i].output_bytes) / self.time_unit_ns
                    cost = self.form.transfer_weight * copy
                    self.hosted[key] = model.add_column(f"H_{name}", upper=1, integer=True)
                    self.sent[key] = model.add_column(f"A_{name}", upper=1, integer=True, cost=cost)
                    self.back[key] = model.add_column(f"B_{name}", upper=1, integer=True, cost=cost)

    def at_most(self, name: str, left: int, right: list[int]) -> None:
        """Add the row that a column is at most the sum of others."""
        self.model.add_row(name, [left, *right], [1.0, *[-1.0] * len(right)], upper=0)

    def sources(self, t: int, i: int) -> list[int]:
        """Return the columns of which one is 1 if a value is there at the end of a stage."""
        found = (self.computed, self.stays, self.back)
        return [columns[t, i] for columns in found if (t, i) in columns]

    def add_rows_of_stage(self, t: int) -> None:
        graph, last = self.graph, self.count - 1
        for i in range(t + 1):
            for p in graph.inputs[i]:
                self.at_most(
                    f"reads_{t}_{p}_{i}",
                    self.computed[t, i],
                    [self.computed[t, p], self.stays[t, p]],
                )
            if t < last:
                self.at_most(f"stays_{t}_{i}", self.stays[t + 1, i], self.sources(t, i))
            elif graph.nodes[i].keep:
                columns = self.sources(t, i)
                self.model.add_row(f"kept_{i}", columns, [1.0] * len(columns), lower=1)
            if t < last and (t + 1, i) in self.hosted:
                earlier = [self.hosted[t, i], self.sent[t, i]] if i < t else []
                self.at_most(f"copy_{t}_{i}", self.hosted[t + 1, i], earlier)
            if (t, i) in self.hosted:
                self.at_most(f"in_{t}_{i}", self.back[t, i], [self.hosted[t, i]])
                self.at_most(f"out_{t}_{i}", self.sent[t, i], [self.stays[t, i]])

    def add_memory_rows(self, t: int) -> None:
        graph, model = self.graph, self.model
        held = [(self.stays[t, i], -self.sizes[i]) for i in range(t)]
        model.add_row(
            f"start_{t}",
            [self.used[t, 0], self.computed[t, 0], *(column for column, _ in held)],
            [1.0, -self.sizes[0], *(size for _, size in held)],
            lower=0,
            upper=0,
        )
        for k in range(t + 1):
            model.add_row(
                f"limit_{t}_{k}",
                [self.used[t, k], self.computed[t, k]],
                [1.0, self.workspaces[k]],
                upper=self.limit,
            )
            if k == t:
                continue
            freed = {i: self.add_free(t, i, k) for i in (*graph.inputs[k], k)}
            model.add_row(
                f"memory_{t}_{k}",
                [self.used[t, k + 1], self.used[t, k], self.computed[t, k + 1], *freed.values()],
                [1.0, -1.0, -self.sizes[k + 1], *(self.sizes[i] for i in freed)],
                lower=0,
                upper=0,
            )

    def add_free(self, t: int, i: int, k: int) -> int:
        name = f"{t}_{i}_{k}"
        column = self.model.add_column(f"F_{name}", upper=1, integer=True)
        self.at_most(f"free_{name}", column, [self.computed[t, k]])
        later = [(f"read_{j}", self.computed[t, j]) for j in self.graph.users[i] if k < j <= t]
        if t + 1 < self.count:
            later.append(("stays", self.stays[t + 1, i]))
        elif self.graph.nodes[i].keep:
            self.model.add_row(f"free_{name}_kept", [column], [1.0], upper=0)
        for label, other in later:
            self.model.add_row(f"free_{name}_{label}", [column, other], [1.0, 1.0], upper=1)
        return column

    def add_deadline(self) -> None:
        if math.isinf(self.form.deadline):
            return
        times = [self.graph.nodes[i].duration_ns / self.time_unit_ns for _, i in self.computed]
        self.model.add_row(
            "deadline",
            list(self.computed.values()),
            times,
            upper=self.form.deadline * self.graph.base_time_ns / self.time_unit_ns,
        )
