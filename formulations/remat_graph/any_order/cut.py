r"""Any-order cut: a lower bound on recomputation between milestones, for all schedules.

`windows.frontier` knows what has been computed before a cut, for it fixes the order of first
computations. Here that is a variable, so that the optimum bounds every valid schedule.

Symbols are those of `windows.frontier`: inputs :math:`\mathrm{in}(i)`, users
:math:`\mathrm{us}(i)`, durations :math:`C_i`, outputs :math:`M_i`, workspaces :math:`W_i`, the
memory :math:`B`, the kept nodes :math:`K`. The moments are milestones
:math:`(X_1, k_1), \dots, (X_m, k_m)`, each before the next in every schedule (`milestones`).
*Window* :math:`w` goes from milestone :math:`w` to the next one, the last window to the end of the
step.

Columns
-------
For every milestone :math:`w` and, for R, S and Z, the nodes :math:`i \in A_w` that may be read
later: those that may have been computed at the milestone and are kept or have a user that may not,
with all ancestors.

============================ ==============================================================
:math:`P_{w,i}`, ``P_w_i``   :math:`i` has been computed at the milestone; binary, and a constant
                             where precedence alone decides; :math:`P_{m+1,i} = 1`
:math:`Y_{w,i}`, ``Y_w_i``   :math:`i \in X_w` has just been computed for the first time; binary
:math:`R_{w,i}`, ``R_w_i``   :math:`i` had been computed at the milestone and is computed again in
                             window :math:`w`; binary, and 0 for nodes that are computed once
:math:`S_{w,i}`, ``S_w_i``   the value of :math:`i` is in memory at the milestone and is read before
                             :math:`i` is computed next, or is kept; binary
:math:`O_{w,i}`, ``O_w_i``   :math:`i` is in memory while the last node of the milestone is
                             computed; from 0 to 1, for nodes that this one may be or read
:math:`Z_{w,i}`, ``Z_w_i``   :math:`i` had been computed at the milestone and is computed again in
                             this window or a later one; from 0 to 1, for :math:`w < m`
============================ ==============================================================

Model
-----
.. math::
    \text{(objective)} \quad & \min \sum_w \sum_{i \in A_w} C_i R_{w,i} \\
    \text{(down)} \quad & P_{w,p} \ge P_{w,i} && \forall i,\; p \in \mathrm{in}(i) \\
    \text{(grow)} \quad & P_{w+1,i} \ge P_{w,i} && \forall w < m,\; i \\
    \text{(count)} \quad & \textstyle\sum_{i \in X_w} P_{w,i} = k_w \\
    \text{(last)} \quad & \textstyle\sum_{i \in X_w} Y_{w,i} = 1 \\
    \text{(lastin)} \quad & P_{w,i} \ge Y_{w,i} && \forall i \in X_w \\
    \text{(lastof)} \quad & P_{w,j} + Y_{w,i} \le 1 && \forall i \in X_w,\; j \in \mathrm{us}(i) \\
    \text{(fresh)} \quad & P_{w-1,i} + Y_{w,i} \le 1 && \forall w > 1,\; i \in X_w \\
    \text{(need)} \quad & S_{w,p} + R_{w,p} \ge P_{w,p} + P_{w+1,j} - P_{w,j} - 1
        && \forall p,\; j \in \mathrm{us}(p) \\
    \text{(keep)} \quad & S_{m,i} + R_{m,i} \ge P_{m,i} && \forall i \in K \\
    \text{(again)} \quad & S_{w,p} + R_{w,p} \ge R_{w,i}
        && \forall i \in A_w,\; p \in \mathrm{in}(i) \\
    \text{(stay)} \quad & S_{w+1,i} \le S_{w,i} + R_{w,i} + 1 - P_{w,i} && \forall w < m,\; i \\
    \text{(stored)} \quad & O_{w,i} \ge S_{w,i} \\
    \text{(runs)} \quad & O_{w,i} \ge Y_{w,i} + \textstyle\sum_{y \in \mathrm{us}(i)} Y_{w,y} \\
    \text{(memory)} \quad & \textstyle\sum_i M_i O_{w,i} + \sum_{y \in X_w} W_y Y_{w,y} \le B

with :math:`S_{w,i}` in place of :math:`O_{w,i}` in (memory) where there is no such column, and, so
that the linear relaxation cannot spread one recomputation thinly over windows, for :math:`w < m`

.. math::
    \text{(ever)} \quad & Z_{w,i} \le \textstyle\sum_{v \ge w} R_{v,i} \\
    \text{(path)} \quad & Z_{w,p} + S_{w,p} \ge Z_{w,i} && \forall p \in \mathrm{in}(i) \\
    \text{(lost)} \quad & Z_{w,p} + S_{w,p} \ge P_{w,p} - P_{w,j} && \forall j \in \mathrm{us}(p),
        \quad\text{and } Z_{w,i} + S_{w,i} \ge P_{w,i} \;\; \forall i \in K

Rows are named after their label, the number of the milestone from 0, and the nodes. The time of
every valid schedule is at least :math:`\sum_i C_i` and the optimum.

Proof
-----
Take any valid schedule, and let the columns be what they say.

1. At a milestone the computed nodes hold the inputs of their members (down), the earlier milestones
   are over (grow, fresh), :math:`k_w` nodes of :math:`X_w` have been computed (count), and one of
   them has just been (last, lastin), before all of its users (lastof).
2. (need) asks for something only if :math:`p` has been computed at the milestone, and its user
   :math:`j` is computed in the window for the first time. That computation finds :math:`p` in
   memory: it has been there since the milestone (S), or was computed in the window (R). The same
   holds for what a recomputation in the window reads (again): if :math:`R_{w,i} = 1`, then
   :math:`i`, and so :math:`p`, had been computed at the milestone. A kept node is in memory at the
   end (keep).
3. What is in memory at milestone :math:`w + 1` and had been computed at milestone :math:`w` was in
   memory then, and has not been computed since, or was computed in the window (stay).
4. While the last node of the milestone is computed, its value, its inputs and its workspace are in
   memory together with all that is in memory when it ends, for nothing else is computed meanwhile:
   (stored), (runs), (memory).
5. :math:`Z_{w,i}`, as the table defines it, is at most the sum in (ever), since who had been
   computed at milestone :math:`w` had been so at the later ones. (path) and (lost) are (again),
   (need) and (keep) for one window from the milestone to the end.
6. Windows do not overlap, and :math:`R_{w,i}` counts no first computation, since :math:`i` had been
   computed before. So the objective is at most what is spent beyond :math:`\sum_i C_i`.

Rows :math:`R \le P` and :math:`S \le P` are valid and would change nothing, not even the
relaxation: replace each R, S and Z by its minimum with P. In every row that asks for them the right
side is then at most :math:`P_{w,p}`, for P falls along edges; (ever) stays, for P grows from window
to window; and (stay) has at least :math:`P + 1 - P` on its right side. A node that is not in
:math:`A_w` is left out of (memory), which relaxes; no other row of the window has it.

Special cases
-------------
Where the graph has one topological order only, all P and Y are constants, and this is the model of
`windows.frontier` with the same cuts. With a milestone :math:`(V, k)` for each
:math:`k = 1, \dots, n` over all nodes :math:`V`, the P say which order it is, and the optimum is
the least, over all orders, of that of `windows.frontier` with every node a cut.

The first step of the proof is where the order matters: with :math:`P = \{0, \dots, t\}`, as the
order of the graph has it, the optimum is no bound for other orders.

Size: at most :math:`5 m n` columns and :math:`O(m |E|)` rows for :math:`m` milestones of one node
each; (lastof) has :math:`|E|` rows more for each milestone of many nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.formulations.remat_graph.any_order.milestones import Milestone, Precedence
from jettison.formulations.remat_graph.any_order.rows import AnyOrderWriter
from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.instances.remat_graph.reordered_graph import ReorderedGraph


@dataclass(frozen=True)
class AnyOrderPlan:
    """Plan that a point of the model suggests: an order, and computations.

    Attributes
    ----------
    reordered
        The graph in an order of first computations that passes the milestones as the point does.
    places
        The place of the last node of each milestone in that order.
    computations
        All computations, by place. They become a valid schedule of the reordered graph
        (`GraphSchedule.from_computations`) but for its memory, which the model knows at the
        milestones only.
    """

    reordered: ReorderedGraph
    places: tuple[int, ...]
    computations: tuple[int, ...]


@dataclass(frozen=True)
class AnyOrderModel:
    """Built any-order model, with the translation of its points to plans.

    Attributes
    ----------
    graph
        The instance.
    milestones
        The milestones at which the windows begin.
    model
        The model.
    computed
        For each milestone, the column P of each node, or 0 or 1 where it is a constant.
    last, recomputed
        For each milestone, the columns Y and R of the nodes that have one.
    memory_scale, time_scale
        Scales of the memory rows and of the objective.
    """

    graph: Graph
    milestones: tuple[Milestone, ...]
    model: ArrayModel
    computed: tuple[tuple[Mapping[int, int], frozenset[int]], ...]
    last: tuple[Mapping[int, int], ...]
    recomputed: tuple[Mapping[int, int], ...]
    memory_scale: IntegerScale
    time_scale: IntegerScale

    def plan(self, values: Floats) -> AnyOrderPlan:
        """Return the order and the computations that an integer point of the model suggests.

        Between two milestones first computations keep the order of the graph, but the milestone's
        last node is the last one. What a window computes again comes before the first of its users
        in the window, or at its end. :math:`O(m (n + |E|))` for m milestones.

        Parameters
        ----------
        values
            Value of each column.
        """
        count = len(self.graph)
        order: list[int] = []
        places: list[int] = []
        for (columns, certain), last in zip(self.computed, self.last, strict=True):
            seen = set(order)
            done = certain | {i for i, column in columns.items() if values[column] > 0.5}
            (final,) = (i for i, column in last.items() if values[column] > 0.5)
            order += [i for i in sorted(done - seen) if i != final]
            order.append(final)
            places.append(len(order) - 1)
        seen = set(order)
        order += [i for i in range(count) if i not in seen]
        reordered = ReorderedGraph(self.graph, tuple(order))
        again: list[list[int]] = [[] for _ in range(count + 1)]
        for start, end, recomputed in zip(
            places, (*places[1:], count), self.recomputed, strict=True
        ):
            chosen = {
                reordered.place_of[i] for i, column in recomputed.items() if values[column] > 0.5
            }
            stage_of: dict[int, int] = {}
            for place in sorted(chosen, reverse=True):
                stages = [
                    user if user > start else stage_of[user]
                    for user in reordered.graph.users[place]
                    if user in stage_of or start < user <= end
                ]
                stage_of[place] = min(stages, default=end)
                again[stage_of[place]].append(place)
        sequence: list[int] = []
        for stage, nodes in enumerate(again):
            sequence.extend(sorted(nodes))
            if stage < count:
                sequence.append(stage)
        return AnyOrderPlan(reordered, tuple(places), tuple(sequence))


@dataclass(frozen=True)
class AnyOrderCut:
    """Any-order cut at some milestones; the model is in the docstring of this module.

    Attributes
    ----------
    milestones
        At least one, each before the next in every schedule.

    Raises
    ------
    InputError
        If there is none.
    """

    milestones: tuple[Milestone, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "milestones", tuple(self.milestones))
        if not self.milestones:
            raise InputError("there is none", field="milestones", expected="name at least one")

    def build(self, problem: RematGraph, precedence: Precedence | None = None) -> AnyOrderModel:
        """Build the model; some microseconds for each coefficient.

        Parameters
        ----------
        problem
            The instance and its memory.
        precedence
            Precedence of the instance's nodes, if it is known already.

        Raises
        ------
        InputError
            If a milestone has a node that is not in the graph, or is not known to be before the
            next one.
        """
        graph = problem.instance
        if precedence is None:
            precedence = Precedence(graph)
        _check(self.milestones, precedence)
        writer = AnyOrderWriter(problem, self.milestones, precedence)
        model = writer.model()
        return AnyOrderModel(
            graph=graph,
            milestones=self.milestones,
            model=model,
            computed=tuple((P.column, frozenset(P.certain)) for P in writer.P[:-1]),
            last=tuple(writer.Y),
            recomputed=tuple(writer.R),
            memory_scale=writer.memory_scale,
            time_scale=writer.time_scale,
        )


def _check(milestones: Sequence[Milestone], precedence: Precedence) -> None:
    count = len(precedence.graph)
    for place, milestone in enumerate(milestones):
        if max(milestone.nodes) >= count:
            raise InputError(
                f"{max(milestone.nodes)}",
                field=f"milestones[{place}]",
                expected=f"name nodes of the graph, 0 to {count - 1}",
            )
    for place, (earlier, later) in enumerate(pairwise(milestones)):
        if not precedence.is_before(earlier, later):
            raise InputError(
                "it need not be before the next one in every schedule",
                field=f"milestones[{place}]",
                expected="name milestones in an order that holds in every schedule",
            )
