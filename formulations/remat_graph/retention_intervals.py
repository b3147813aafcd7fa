r"""Retention intervals (Moccasin): each node is computed a few times at most, and kept for a while.

Every computation of a node opens an interval, from the computation to the moment when its value is
freed; a node has at most :math:`c` intervals. Source: Moccasin (Bartan et al., ICML 2023,
arXiv:2304.14463), a constraint program over the starts and ends of intervals, with a fixed order of
first computations and a cumulative constraint for the memory. Here it is a MILP over the same
points, in the paper's staged form: its moments are the recomputation slots, *slots* for short,
:math:`(t, q)`, :math:`0 \le q \le t < n`, one after the other, which the paper numbers
:math:`t (t+1) / 2 + q`. An interval of :math:`v` starts at a slot :math:`(t, v)`, its first one at
:math:`(v, v)`.

Nodes are counted from 0 to :math:`n-1`, as in `Graph`; :math:`\mathrm{in}(k)` are the inputs of
:math:`k`. Durations are :math:`C_v`, outputs :math:`M_v`, workspaces :math:`W_v`, the memory is
:math:`B`, the set of kept nodes :math:`K`. :math:`\sigma - 1` is the slot before :math:`\sigma`.

Columns
-------
===================================== =====================================================
:math:`R_{t,v}`, ``R_t_v``            an interval of :math:`v` starts at slot :math:`(t, v)`;
                                      binary, for :math:`t \ge v`; for :math:`t > v` where the
                                      choice of recomputations (`Recomputation`) permits it
:math:`P_{\sigma,v}`, ``P_t_q_v``     an interval of :math:`v` covers :math:`\sigma = (t, q)`; from
                                      0 to 1, for slots from :math:`(v, v)` on, and 0 before
===================================== =====================================================

Model
-----
.. math::
    \text{(objective)} \quad & \min \sum_v \sum_{t > v} C_v R_{t,v} \\
    \text{(first)} \quad & R_{v,v} = 1 && \forall v \\
    \text{(start)} \quad & P_{(t,v),v} \ge R_{t,v} && \forall v,\; t \ge v \\
    \text{(retain)} \quad & P_{(t,q),v} \le P_{(t,q)-1,v} \;(+\, R_{t,v} \text{ if } q = v)
        && \forall v,\; (t,q) > (v,v) \\
    \text{(precedence)} \quad & P_{(t,v),u} \ge R_{t,v}
        && \forall v,\; t \ge v,\; u \in \mathrm{in}(v) \\
    \text{(keep)} \quad & P_{(n-1,n-1),v} = 1 && \forall v \in K \\
    \text{(intervals)} \quad & \sum_{t \ge v} R_{t,v} \le c && \forall v \\
    \text{(memory)} \quad & \sum_v M_v P_{(t,q),v} + W_q R_{t,q} \le B && \forall (t, q)

Rows are named ``first_v``, ``start_t_v``, ``retain_t_q_v``, ``precedence_t_v_u``, ``keep_v``,
``intervals_v`` and ``memory_t_q``. An interval ends at the last slot that it covers before the next
one starts; since those of a node are disjoint, they need no index of their own. :math:`P` need not
be integer: given :math:`R`, the least :math:`P` is, and it takes the least memory.

Without (intervals), or with :math:`c = n`, the points are the staged schedules: a node has at most
:math:`n` stages. A smaller :math:`c` forbids some of them; the paper takes a small one, and there
are graphs whose best schedule, or only one, computes a node more often. Workspaces and kept nodes
are added here.

Size: about :math:`n^2 / 2` binaries, :math:`n^3 / 3` columns :math:`P` and as many rows, for a
comparison on some dozens of nodes. The paper's program has :math:`O(c n)` integer variables.
"""

# The symbols of the model are the names of the code.
# ruff: noqa: N806

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.formulations.remat_graph.recomputation import AnyNode, Recomputation
from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph

Slot = tuple[int, int]


@dataclass(frozen=True)
class RetentionModel:
    """Built retention model, with the translation of its points to computations and intervals.

    Attributes
    ----------
    graph
        The instance.
    model
        The model.
    recomputed
        The column R of each stage and each earlier node that it may compute again.
    memory_scale, time_scale
        Scales of the memory rows and of the objective.
    present
        The column P of each slot and node.
    """

    graph: Graph
    model: ArrayModel
    recomputed: Mapping[tuple[int, int], int]
    memory_scale: IntegerScale
    time_scale: IntegerScale
    present: Mapping[tuple[Slot, int], int]

    def computations(self, values: Floats) -> tuple[int, ...]:
        """Return the nodes that an integer point computes, stage by stage, in order.

        Parameters
        ----------
        values
            Value of each column.
        """
        stages: list[list[int]] = [[] for _ in self.graph.nodes]
        for (stage, node), column in self.recomputed.items():
            if values[column] > 0.5:
                stages[stage].append(node)
        return tuple(node for stage, again in enumerate(stages) for node in (*sorted(again), stage))

    def intervals(self, values: Floats) -> dict[int, list[tuple[Slot, Slot]]]:
        """Return the intervals of each node: first and last slot, in order.

        Parameters
        ----------
        values
            Value of each column, those of R integer.
        """
        found: dict[int, list[tuple[Slot, Slot]]] = {v: [] for v in range(len(self.graph))}
        for (slot, v), column in self.present.items():
            t, q = slot
            again = self.recomputed.get((t, v))
            starts = q == v and (t == v or (again is not None and values[again] > 0.5))
            if starts:
                found[v].append((slot, slot))
            elif values[column] > 0.5:
                found[v][-1] = (found[v][-1][0], slot)
        return found


@dataclass(frozen=True)
class RetentionIntervals:
    """Retention interval model; it is in the docstring of this module.

    Attributes
    ----------
    per_node
        How many intervals a node may have, at least 1.
    recomputation
        Recomputations that the model allows.

    Raises
    ------
    InputError
        If a node may have no interval.
    """

    per_node: int
    recomputation: Recomputation = field(default_factory=AnyNode)

    def __post_init__(self) -> None:
        if self.per_node < 1:
            raise InputError(
                f"{self.per_node}",
                field="per_node",
                expected="allow each node 1 interval or more: it is computed at least once",
            )

    def build(self, problem: RematGraph) -> RetentionModel:
        """Build the model; about 3 µs for each coefficient."""
        graph, n = problem.instance, len(problem.instance)
        sizes = [size for node in graph.nodes for size in (node.output_bytes, node.workspace_bytes)]
        memory_scale = IntegerScale.of(sizes)
        time_scale = IntegerScale.of(node.duration_ns for node in graph.nodes)
        slots = [(t, q) for t in range(n) for q in range(t + 1)]

        model = ArrayModelBuilder("retention_intervals")
        R, P = {}, {}
        for v in range(n):
            C = time_scale.to_model(graph.nodes[v].duration_ns)
            R[v, v] = model.add_column(f"R_{v}_{v}", upper=1, integer=True)
            for t in range(v + 1, n):
                if self.recomputation.permits(graph, t, v):
                    R[t, v] = model.add_column(f"R_{t}_{v}", upper=1, cost=C, integer=True)
        for t, q in slots:
            for v in range(n):
                if (t, q) >= (v, v):
                    P[(t, q), v] = model.add_column(f"P_{t}_{q}_{v}", upper=1)

        for v in range(n):
            model.add_row(f"first_{v}", [R[v, v]], [1], lower=1, upper=1)
        for (t, v), start in R.items():
            model.add_row(f"start_{t}_{v}", [P[(t, v), v], start], [1, -1], lower=0)
        for before, (t, q) in pairwise(slots):
            for v in range(n):
                if (t, q) > (v, v):
                    columns = [P[(t, q), v], P[before, v]]
                    if q == v and (t, v) in R:
                        columns.append(R[t, v])
                    ones = [-1.0] * (len(columns) - 1)
                    model.add_row(f"retain_{t}_{q}_{v}", columns, [1, *ones], upper=0)
        for (t, v), start in R.items():
            for u in graph.inputs[v]:
                columns = [P[(t, v), u], start]
                model.add_row(f"precedence_{t}_{v}_{u}", columns, [1, -1], lower=0)
        for v in range(n):
            if graph.nodes[v].keep:
                model.add_row(f"keep_{v}", [P[slots[-1], v]], [1], lower=1, upper=1)
        for v in range(n):
            starts = [R[t, v] for t in range(v, n) if (t, v) in R]
            model.add_row(f"intervals_{v}", starts, [1] * len(starts), upper=self.per_node)
        M = [memory_scale.to_model(node.output_bytes) for node in graph.nodes]
        W = [memory_scale.to_model(node.workspace_bytes) for node in graph.nodes]
        B = memory_scale.to_model(problem.memory_bytes)
        for t, q in slots:
            there = [v for v in range(n) if ((t, q), v) in P]
            columns, amounts = [P[(t, q), v] for v in there], [M[v] for v in there]
            if (t, q) in R:
                columns.append(R[t, q])
                amounts.append(W[q])
            model.add_row(f"memory_{t}_{q}", columns, amounts, upper=B)
        recomputed = {(t, v): column for (t, v), column in R.items() if t > v}
        return RetentionModel(graph, model.build(), recomputed, memory_scale, time_scale, P)
