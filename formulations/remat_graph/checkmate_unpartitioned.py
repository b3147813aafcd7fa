r"""Checkmate's rematerialization ILP before its partition into frontier-advancing stages.

A step of a graph of :math:`n` nodes in :math:`n` rounds, each of which computes some nodes, in the
order of the graph. Nothing says which: round :math:`t` need not compute node :math:`t`, and a node
may be computed for the first time in any round. This is the program of Checkmate (MLSys 2020),
Section 4.3, which calls rounds stages; with the stages of its Section 4.6 it is
`jettison.formulations.remat_graph.checkmate`, whose symbols these are. It has twice the columns,
far more symmetric points, and a relaxation that is next to nothing: that is what the stages are
for.

Columns
-------
================================= =========================================================
:math:`R_{t,i}`, ``R_t_i``        round :math:`t` computes :math:`i`
:math:`S_{t,i}`, ``S_t_i``        :math:`i` is in memory when round :math:`t` begins;
                                  :math:`S_{n,i}`, for :math:`i \in K`: when the last one ends
:math:`F_{t,i,k}`, ``FREE_t_i_k`` round :math:`t` frees :math:`i \in \mathrm{in}(k) \cup \{k\}`
                                  after it has computed :math:`k < n-1`
:math:`U_{t,k}`, ``U_t_k``        bytes of values in memory while round :math:`t` computes
                                  :math:`k`, the output of :math:`k` included
================================= =========================================================

:math:`R` and :math:`S` are binary, :math:`U \ge 0`. Let
:math:`h_{t,i,k} = (1 - R_{t,k}) + S_{t+1,i} + \sum_{j \in \mathrm{us}(i),\, k < j} R_{t,j}`
count the reasons not to free :math:`i`, with :math:`S_{n,i} = 0` where :math:`i \notin K`, and let
:math:`\kappa_{t,i,k}` be the number of its terms.

Model
-----
Rounds :math:`t` and nodes :math:`i, j, k` are counted from 0 to :math:`n-1`:

.. math::
    \text{(objective)} \quad & \min \sum_t \sum_i C_i R_{t,i} \\
    \text{(dependency)} \quad & R_{t,j} \le R_{t,i} + S_{t,i}
        && \forall t,\; j,\; i \in \mathrm{in}(j) \\
    \text{(checkpoint)} \quad & S_{t,i} \le R_{t-1,i} + S_{t-1,i} && \forall t \ge 1,\; i \\
    \text{(empty)} \quad & \sum_i S_{0,i} = 0 \\
    \text{(terminal)} \quad & \sum_t R_{t,i} \ge 1 && \forall i : \mathrm{us}(i) = \emptyset \\
    \text{(keep)} \quad & S_{n,i} = 1 && \forall i \in K \\
    \text{(once)} \quad & \sum_t R_{t,i} \le 1 && \forall i \text{ that is computed once}

(checkpoint) holds for :math:`S_{n,i}` as well. What is freed, in the form `Disaggregated`, where
:math:`0 \le F \le 1` need not be integer,

.. math::
    \text{(free\_computed)} \quad & F_{t,i,k} \le R_{t,k} \\
    \text{(free\_stored)} \quad & F_{t,i,k} \le 1 - S_{t+1,i} \\
    \text{(free\_used)} \quad & F_{t,i,k} \le 1 - R_{t,j}
        && \forall j \in \mathrm{us}(i),\; k < j

or in the form of the paper, `Aggregated`, with :math:`F` binary,

.. math::
    \text{(free\_if)} \quad & 1 - F_{t,i,k} \le h_{t,i,k} \\
    \text{(free\_only\_if)} \quad & h_{t,i,k} \le \kappa_{t,i,k} (1 - F_{t,i,k})

and what that takes:

.. math::
    \text{(start)} \quad & U_{t,0} = \sum_i M_i S_{t,i} + M_0 R_{t,0} && \forall t \\
    \text{(step)} \quad & U_{t,k+1} = U_{t,k} + M_{k+1} R_{t,k+1}
        - \sum_{i \in \mathrm{in}(k) \cup \{k\}} M_i F_{t,i,k} && \forall t,\; k < n-1 \\
    \text{(memory)} \quad & U_{t,k} + W_k R_{t,k} \le B && \forall t,\; k

A row is named after its label and its indices, as there.

The equations in print (Checkmate, Section 4): (objective) is (1a), (dependency) is (1b),
(checkpoint) is (1c), (empty) is (1d), (terminal) is (1e), the columns are (1f), (start) is (2),
(step) is (3) with (4), the rows about :math:`F` are (7b) and (7c), which linearise (5) by way of
(6). Its stages, counted from 1, are our rounds from 0.

What the model means
--------------------
Its points are the schedules whose computations are at most :math:`n` rounds, each in the order of
the graph. Staged schedules are among them, and so its optimum is a lower bound on theirs; of
schedules in another order it has those with few enough rounds. (terminal) asks for every node that
nobody reads, where the paper has one last node, and the nodes before these follow.

The results of an operator without a value come directly after it: such operators are never stored
(:math:`S_{t,o} = 0`).

The corrections of the print are those of `jettison.formulations.remat_graph.checkmate`. (1a) is
written in full here, for nothing in the linear relaxation makes it at least one computation of each
node.

Size: :math:`n (n + |E|)` columns :math:`F` dominate; `estimated_coefficients`.
"""

# The symbols of the model are the names of the code.
# ruff: noqa: N806

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import lazy_loader as lazy

from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.formulations.milp.watched_writing import Watch, unwatched, watched_problem
from jettison.formulations.remat_graph.checkmate_writer import (
    Aggregated,
    CheckmateModel,
    CheckmateWriter,
    Disaggregated,
)
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph

if TYPE_CHECKING:
    import pulp
else:
    pulp = lazy.load("pulp")


@dataclass(frozen=True)
class UnpartitionedCheckmate:
    """Checkmate's ILP without stages; the model is in the docstring of this module.

    Attributes
    ----------
    form
        Form of the rows that tie the columns FREE to R and S.
    """

    form: Disaggregated | Aggregated = field(default_factory=Disaggregated)

    def build(self, problem: RematGraph, watch: Watch = unwatched) -> CheckmateModel:
        """Build the model; about 10 µs for each coefficient. `watch` may end that."""
        return _Writer(self, problem, watch).model()

    def estimated_coefficients(self, graph: Graph) -> int:
        """Return how many coefficients the disaggregated model has at most, in :math:`O(n + |E|)`.

        Those of sizes that are zero count too; the other form has about as many.
        """
        count = len(graph)
        reads = sum(map(len, graph.inputs))
        # Each user is a row for FREE of the node itself and of every earlier user.
        uses = sum(len(users) * (len(users) + 1) for users in graph.users)
        stage = 3 * reads + 5 * (reads + count) + uses + 10 * count + 2
        return count * (stage + len(graph.computed_once)) + 5 * count


class _Writer(CheckmateWriter):
    """Writer of the columns and rows, in the order of the docstring."""

    def __init__(self, options: UnpartitionedCheckmate, problem: RematGraph, watch: Watch) -> None:
        graph = problem.instance
        time_scale = IntegerScale.of(node.duration_ns for node in graph.nodes)
        empty = watched_problem("checkmate-unpartitioned", watch)
        super().__init__(graph, options.form, time_scale, empty)
        self.B = self.memory_scale.to_model(problem.memory_bytes)

    def model(self) -> CheckmateModel:
        self._add_columns()
        self._add_objective()
        self._add_stages()
        self.add_free_and_memory()
        return self.built(constant_ns=0)

    def _add_columns(self) -> None:
        nodes = stages = range(self.count)
        kept = [i for i, node in enumerate(self.graph.nodes) if node.keep]
        self.R = {(t, i): self.binary(f"R_{t}_{i}") for t in stages for i in nodes}
        self.S = {(t, i): self.binary(f"S_{t}_{i}") for t in stages for i in nodes}
        self.S |= {(self.count, i): self.binary(f"S_{self.count}_{i}") for i in kept}
        for (_, i), S in self.S.items():
            if i in self.graph.results_after:
                S.upBound = 0
        self.add_free_and_memory_columns()

    def _add_objective(self) -> None:
        C = [self.time_scale.to_model(node.duration_ns) for node in self.graph.nodes]
        self.pulp += pulp.lpSum(C[i] * R for (_, i), R in self.R.items())

    def _add_stages(self) -> None:
        R, S = self.R, self.S
        self.add_dependencies()
        for t, i in S:
            if t > 0:
                self.pulp += S[t, i] <= R[t - 1, i] + S[t - 1, i], f"checkpoint_{t}_{i}"
        self.pulp += pulp.lpSum(S[0, i] for i in range(self.count)) == 0, "empty"
        for i in range(self.count):
            if not self.graph.users[i]:
                total = pulp.lpSum(R[t, i] for t in range(self.count))
                self.pulp += total >= 1, f"terminal_{i}"
        self.add_kept()
        for i in sorted(self.graph.computed_once):
            total = pulp.lpSum(R[t, i] for t in range(self.count))
            self.pulp += total <= 1, f"once_{i}"
