r"""Checkmate's rematerialization ILP as a PuLP model.

A step of a graph in stages: stage :math:`t` recomputes some nodes before :math:`t`, in their
order, and then computes :math:`t` for the first time. Nodes and stages are counted from 0 to
:math:`n-1`, as in `Graph`; :math:`\mathrm{in}(k)` are the inputs of :math:`k` and
:math:`\mathrm{us}(i)` the users of :math:`i`.

Instance: durations :math:`C_i`, outputs :math:`M_i` and workspaces :math:`W_i`, memory :math:`B`,
the set :math:`K` of the kept nodes.

Columns
-------
================================= =========================================================
:math:`R_{t,i}`, ``R_t_i``        stage :math:`t` computes :math:`i \le t`; fixed to 0 for
                                  :math:`i < t` where the choice of recomputations
                                  (`Recomputation`) does not permit it, as for nodes that are
                                  computed once
:math:`S_{t,i}`, ``S_t_i``        :math:`i < t` is in memory when stage :math:`t` begins;
                                  :math:`S_{n,i}`, for :math:`i \in K`: when the last one ends
:math:`F_{t,i,k}`, ``FREE_t_i_k`` stage :math:`t` frees :math:`i \in \mathrm{in}(k) \cup \{k\}`
                                  after it has computed :math:`k < t`
:math:`U_{t,k}`, ``U_t_k``        bytes of values in memory while stage :math:`t` computes
                                  :math:`k \le t`, the output of :math:`k` included
================================= =========================================================

:math:`R` and :math:`S` are binary, :math:`U \ge 0`. Let
:math:`h_{t,i,k} = (1 - R_{t,k}) + S_{t+1,i} + \sum_{j \in \mathrm{us}(i),\, k < j \le t} R_{t,j}`
count the reasons not to free :math:`i`, with :math:`S_{n,i} = 0` where :math:`i \notin K`, and let
:math:`\kappa_{t,i,k}` be the number of its terms.

Model
-----
What is computed and what is stored:

.. math::
    \text{(objective)} \quad & \min \sum_t \sum_{i<t} C_i R_{t,i} \\
    \text{(frontier)} \quad & R_{t,t} = 1 && \forall t \\
    \text{(dependency)} \quad & R_{t,j} \le R_{t,i} + S_{t,i}
        && \forall t,\; j \le t,\; i \in \mathrm{in}(j) \\
    \text{(checkpoint)} \quad & S_{t,i} \le R_{t-1,i} + S_{t-1,i} && \forall t,\; i < t \\
    \text{(keep)} \quad & S_{n,i} = 1 && \forall i \in K

What is freed: :math:`F_{t,i,k} = 1` only if :math:`h_{t,i,k} = 0`. `Disaggregated` has a row for
each reason. Nothing makes :math:`F` 1 where it may be, for that would only free more memory, and
so :math:`0 \le F \le 1` need not be integer either:

.. math::
    \text{(free\_computed)} \quad & F_{t,i,k} \le R_{t,k} \\
    \text{(free\_stored)} \quad & F_{t,i,k} \le 1 - S_{t+1,i} \\
    \text{(free\_used)} \quad & F_{t,i,k} \le 1 - R_{t,j}
        && \forall j \in \mathrm{us}(i),\; k < j \le t

`Aggregated` is Checkmate's way, with :math:`F` binary:

.. math::
    \text{(free\_if)} \quad & 1 - F_{t,i,k} \le h_{t,i,k} \\
    \text{(free\_only\_if)} \quad & h_{t,i,k} \le \kappa_{t,i,k} (1 - F_{t,i,k})

What that takes:

.. math::
    \text{(start)} \quad & U_{t,0} = \sum_{i<t} M_i S_{t,i} + M_0 R_{t,0} && \forall t \\
    \text{(step)} \quad & U_{t,k+1} = U_{t,k} + M_{k+1} R_{t,k+1}
        - \sum_{i \in \mathrm{in}(k) \cup \{k\}} M_i F_{t,i,k} && \forall t,\; k < t \\
    \text{(memory)} \quad & U_{t,k} + W_k R_{t,k} \le B && \forall t,\; k \le t

A row is named after its label and its indices: ``frontier_t``, ``dependency_t_j_i``,
``checkpoint_t_i``, ``keep_i``, ``free_computed_t_i_k`` and so on, ``free_used_t_i_k_j``,
``start_t``, ``step_t_k``, ``memory_t_k``. `Peak` has another objective: :math:`B` is a column,
``B``, at most the memory of the problem, and (objective) is :math:`\min B`.

The equations in print (KIWI, Appendix 7.1, which follows Checkmate, Section 4, and calls :math:`A`
and :math:`B` what is :math:`R` and :math:`S` here): (dependency) is (12), (checkpoint) is (13),
(frontier) is (14), (memory) is (16), (start) is (17), (step) is (18) with (19), and the rows about
:math:`F` linearise (20).

The results of an operator without a value come directly after it. So nothing is computed again in
their stages (:math:`R_{t,i} = 0`), and the operator is stored there only (:math:`S_{t,o} = 0` in
all other stages): elsewhere (dependency) computes it again before its results.

Corrections of the print
------------------------
* (14) fixes :math:`R_{t,i}, S_{t,i}` beyond the frontier to 0; these columns do not exist here.
* (16) asks for *less* than the device's memory; a step may fill it.
* (19) frees the inputs of :math:`k` only, although the text frees :math:`k` too.
* (20) has the factor :math:`R_{t,k}`, and its linearisation must not lose it: without
  (free_computed), or without the term :math:`1 - R_{t,k}` of :math:`h`, a model frees what is not
  in memory, and its optimum is too low.
* :math:`U_{t,k}` counts the output of :math:`k` before anything is freed. It has no place for
  workspace, which counts while :math:`k` runs and never after; (memory) adds it.
* Nothing in the print keeps a value to the end. Here the stage :math:`n` that never runs holds the
  kept nodes. Parameters, which (15) keeps, are no nodes of our graphs.
* :math:`C_t R_{t,t}` is a constant and left out: it would only cost the solver digits.
* Bytes and nanoseconds enter the model as multiples of their greatest common divisor, to which
  :math:`B` is rounded down and never up, and divided by a power of two (`IntegerScale`).

Size: :math:`n (n + |E|) / 2` columns :math:`F` dominate; `Checkmate.estimated_coefficients`.

Without the stages, (frontier) and the triangles, it is
`jettison.formulations.remat_graph.checkmate_unpartitioned`.
"""

# The symbols of the model are the names of the code.
# ruff: noqa: N806

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

import lazy_loader as lazy

from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.formulations.milp.watched_writing import Watch, unwatched, watched_problem
from jettison.formulations.remat_graph.checkmate_writer import (
    Aggregated,
    CheckmateModel,
    CheckmateWriter,
    Disaggregated,
)
from jettison.formulations.remat_graph.recomputation import AnyNode, Recomputation
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph

if TYPE_CHECKING:
    import pulp
else:
    pulp = lazy.load("pulp")


@dataclass(frozen=True, slots=True)
class Time:
    """Objective: the time of recomputation, within the memory of the problem."""


@dataclass(frozen=True, slots=True)
class Peak:
    """Objective: the peak, whatever the time, up to the memory of the problem.

    Attributes
    ----------
    at_least_bytes
        A peak below which no staged schedule exists.
    """

    at_least_bytes: int = 0


@dataclass(frozen=True)
class Checkmate:
    """Checkmate's ILP in one of its variants; the model is in the docstring of this module.

    Attributes
    ----------
    form
        Form of the rows that tie the columns FREE to R and S.
    objective
        Objective of the model.
    recomputation
        Recomputations that the model allows.
    """

    form: Disaggregated | Aggregated = field(default_factory=Disaggregated)
    objective: Time | Peak = field(default_factory=Time)
    recomputation: Recomputation = field(default_factory=AnyNode)

    def build(self, problem: RematGraph, watch: Watch = unwatched) -> CheckmateModel:
        """Build the model; about 10 µs for each coefficient. `watch` may end that."""
        return _Writer(self, problem, watch).model()

    def estimated_coefficients(self, graph: Graph) -> int:
        """Return how many coefficients the disaggregated model has at most, in :math:`O(n + |E|)`.

        Those of sizes that are zero count too; the other form has about as many.
        """
        count = len(graph)
        kept = sum(node.keep for node in graph.nodes)
        total = 9 * count * (count - 1) // 2 + 5 * count + 4 * kept
        for node, (inputs, users) in enumerate(zip(graph.inputs, graph.users, strict=True)):
            total += 5 * (len(inputs) + 1) * (count - node - 1) + 3 * len(inputs) * (count - node)
            # Each user is a row for FREE of the node itself and of every earlier user.
            total += sum(2 * (count - user) * (place + 1) for place, user in enumerate(users))
        return total


class _Writer(CheckmateWriter):
    """Writer of the columns and rows, in the order of the docstring."""

    def __init__(self, options: Checkmate, problem: RematGraph, watch: Watch) -> None:
        graph = problem.instance
        # The last node is never recomputed.
        time_scale = IntegerScale.of(node.duration_ns for node in graph.nodes[:-1])
        super().__init__(graph, options.form, time_scale, watched_problem("checkmate", watch))
        self.options = options
        self._add_columns(problem)

    def model(self) -> CheckmateModel:
        self._add_objective()
        self._add_stages()
        self.add_free_and_memory()
        return self.built(constant_ns=self.graph.base_time_ns)

    def _add_columns(self, problem: RematGraph) -> None:
        stages = range(self.count)
        kept = [i for i, node in enumerate(self.graph.nodes) if node.keep]
        self.R = {(t, i): self.binary(f"R_{t}_{i}") for t in stages for i in range(t + 1)}
        self.S = {(t, i): self.binary(f"S_{t}_{i}") for t in stages for i in range(t)}
        self.S |= {(self.count, i): self.binary(f"S_{self.count}_{i}") for i in kept}
        for (t, i), R in self.R.items():
            is_in_a_run = self.graph.comes_in_a_run(t)
            if i < t and (is_in_a_run or not self.options.recomputation.permits(self.graph, t, i)):
                R.upBound = 0
        for (t, i), S in self.S.items():
            if i in self.graph.results_after and t not in self.graph.results_after[i]:
                S.upBound = 0
        self.add_free_and_memory_columns()
        limit = self.memory_scale.to_model(problem.memory_bytes)
        match self.options.objective:
            case Time():
                self.B = limit
            case Peak(at_least_bytes):
                least = self.memory_scale.to_model(at_least_bytes)
                self.B = self.pulp.add_variable("B", least, limit)
            case other:
                assert_never(other)

    def _add_objective(self) -> None:
        if isinstance(self.options.objective, Peak):
            self.pulp += self.B
            return
        C = [self.time_scale.to_model(node.duration_ns) for node in self.graph.nodes]
        self.pulp += pulp.lpSum(C[i] * R for (t, i), R in self.R.items() if i < t)

    def _add_stages(self) -> None:
        R, S = self.R, self.S
        for t in range(self.count):
            self.pulp += R[t, t] == 1, f"frontier_{t}"
        self.add_dependencies()
        for t, i in S:
            before = R[t - 1, i] + S.get((t - 1, i), 0)
            self.pulp += S[t, i] <= before, f"checkpoint_{t}_{i}"
        self.add_kept()
