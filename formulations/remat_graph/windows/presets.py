r"""Presets of the windowed frontier: named choices of its cuts, slots and closures.

Each is a type with a `windows` method, which says what the choice is on a graph. With every node a
cut, :math:`t_w = w`, a window is what Checkmate calls a stage: *stage* :math:`t` is window
:math:`w = t - 1`, which computes some nodes before :math:`t` again and then :math:`t` for the first
time, and stage :math:`n` follows the last first computation. Then :math:`A_w` are the nodes before
:math:`t` that are kept, or ancestors of a kept node or of one from :math:`t` on. Written with
:math:`R_{t,i}` and :math:`S_{t,i}` for what is called :math:`R_{w,i}` and :math:`S_{w,i}` there,
and ``R_w_i`` and ``S_w_i`` in the model, the rows are

.. math::
    \text{(need)} \quad & R_{t,i} + S_{t,i} \ge 1 && \forall t < n,\; i \in \mathrm{in}(t),
        \text{ and } t = n,\; i \in K \\
    \text{(again)} \quad & R_{t,j} \le R_{t,i} + S_{t,i}
        && \forall t,\; j \in A_t,\; i \in \mathrm{in}(j) \\
    \text{(stay)} \quad & S_{t,i} \le R_{t-1,i} + S_{t-1,i}
        && \forall t,\; i \in A_t,\; i < t-1 \\
    \text{(memory)} \quad & M_t + W_t + \sum_{p \in \mathrm{in}(t)} M_p
        + \sum_{i \in A_{t+1},\; i < t,\; i \notin \mathrm{in}(t)} M_i S_{t+1,i} \le B
        && \forall t < n

In the numbers of KIWI (Appendix 7.1), which follows Checkmate (MLSys 2020, Section 4), (need) and
(again) are (12), the first with (14) put in, (stay) is (13), and (memory) is (16) for the first
computation of a stage. The rows (slot) and (later) are (16) for the other computations; they stand
in place of (17) to (20), without columns for what is freed. No print has (ever), (lost) and (path).
Corrections of the print are in `checkmate`, proofs in `frontier`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from jettison.formulations.remat_graph.recomputation import (
    AnyNode,
    ForwardNodesInBackwardStages,
    Recomputation,
    SavedOrOnce,
)
from jettison.formulations.remat_graph.windows.built import WindowedModel
from jettison.formulations.remat_graph.windows.frontier import (
    ChosenCuts,
    EveryCut,
    WindowedFrontier,
)
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass


class WindowPreset(ABC):
    """Preset: a choice of cuts, slots and closures that may depend on the graph."""

    @abstractmethod
    def windows(self, graph: Graph) -> WindowedFrontier:
        """Return the choice for this graph."""

    def build(self, problem: RematGraph) -> WindowedModel:
        """Build the model; about 3 µs for each coefficient."""
        return self.windows(problem.instance).build(problem)


@dataclass(frozen=True)
class Frontier(WindowPreset):
    """Relaxation with one memory row for each first computation, and none for recomputations.

    Rows: (need), (again), (stay) and (memory), with every node a cut. It relaxes the problem for
    every schedule whose first computations follow the order of the graph.

    Size: :math:`n (n+1)` columns and :math:`n (n + |E|) / 2` rows at most.

    Attributes
    ----------
    recomputation
        Recomputations that the model allows.
    """

    recomputation: Recomputation = field(default_factory=AnyNode)

    def windows(self, graph: Graph) -> WindowedFrontier:
        """Return every cut, and no closure."""
        cuts = tuple(range(len(graph)))
        return WindowedFrontier(cuts, closure=ChosenCuts(), recomputation=self.recomputation)


@dataclass(frozen=True)
class CutClosure(WindowPreset):
    """`Frontier` with closures, which keep its relaxation from recomputing a little per stage.

    In the linear relaxation of `Frontier` each of many stages may compute a small part of a node
    and drop it again. Seen from one cut that is not enough: what is lost there must be computed
    again later as a whole. No integer point is lost.

    Rows: (need), (again), (stay), (memory), and at the chosen cuts (ever), (lost) and (path): many
    for all cuts of a large graph. Most of their use is at the few stages that need most memory.

    Attributes
    ----------
    cuts
        Cuts that have a closure.
    recomputation
        Recomputations that the model allows.
    """

    cuts: EveryCut | ChosenCuts = field(default_factory=EveryCut)
    recomputation: Recomputation = field(default_factory=AnyNode)

    def windows(self, graph: Graph) -> WindowedFrontier:
        """Return every cut, and the chosen closure."""
        cuts = tuple(range(len(graph)))
        return WindowedFrontier(cuts, closure=self.cuts, recomputation=self.recomputation)


@dataclass(frozen=True)
class Residency(WindowPreset):
    r"""Exact model of staged schedules: every node is a cut and every pair of nodes a slot.

    Rows: (need), (again), (stay), (memory), (slot), (later), and (ever), (lost), (path), which
    change the relaxation only.

    Every staged schedule that frees as early as it can is a point, and every point becomes a staged
    schedule that fits: compute what :math:`R` says, stage by stage, in ascending order, and free
    after last reads. Let :math:`i` be in memory while stage :math:`t`, window :math:`w = t - 1`,
    computes :math:`q`, so that a later operation reads it before :math:`i` is computed again, or
    the end keeps it.

    * :math:`i > q`: in this stage only nodes after :math:`i` read it, so that :math:`R_{w,i} = 0`,
      or they would read what :math:`i` computes then. By (need) and (again) if it is read in this
      stage, and by these and a chain of (stay) if later, :math:`S_{w,i} = 1`.
    * :math:`i < q`: it is read by a :math:`j \ge q` of this stage, or by :math:`t`, or in a later
      stage and then :math:`S_{w+1,i} = 1` by the same chain. Each is a reason for
      :math:`L_{t,q,i}`.
    * :math:`i = q`: counted with its workspace.

    So (slot) bounds the memory of every recomputation, and (memory) that of every first
    computation. The objective is the time of the recomputations in :math:`R`, and leaving out those
    that nobody reads only lowers it: the optimum is that of the best staged schedule. The same
    holds with slots where `Recomputation` permits recomputing, for the others are never used.

    Size: :math:`O(n^2)` binaries, :math:`n (n-1) / 2` slots, and :math:`O(n^3)` coefficients and
    columns L; for graphs of some dozens of nodes.

    Attributes
    ----------
    recomputation
        Recomputations that the model allows.
    """

    recomputation: Recomputation = field(default_factory=AnyNode)

    def windows(self, graph: Graph) -> WindowedFrontier:
        """Return every cut, and every slot where something may be computed again."""
        return _staged(graph, EverySlot(), self.recomputation)


@dataclass(frozen=True, slots=True)
class EverySlot:
    """All recomputation slots: the model is exact for the schedules that it allows."""


@dataclass(frozen=True, slots=True)
class ChosenSlots:
    """Some recomputation slots, or none.

    Attributes
    ----------
    slots
        Pairs of a stage and a node; those where nothing may be computed again add nothing.
    """

    slots: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Restricted(WindowPreset):
    """`Residency` for the usual schedules, which recompute forward nodes in the backward pass only.

    Forward values are computed again in the backward pass, and nothing else
    (`ForwardNodesInBackwardStages`). With all slots its points are the restricted staged schedules,
    and so its optimum is an upper bound on the staged one, rarely far from it. A lower bound it is
    not. With fewer slots the memory of some recomputations is not counted: the replay says which
    are missing.

    Rows: (need), (again), (stay), (memory), (slot), (later), (ever), (lost) and (path).

    Attributes
    ----------
    slots
        Recomputation slots at which memory is counted.
    """

    slots: EverySlot | ChosenSlots = field(default_factory=EverySlot)

    def windows(self, graph: Graph) -> WindowedFrontier:
        """Return every cut and the chosen slots."""
        return _staged(graph, self.slots, ForwardNodesInBackwardStages())


@dataclass(frozen=True)
class SavedBetweenPasses(WindowPreset):
    r"""`Restricted` for schedules of compilers: a value is saved, or recomputed once.

    Between the passes, at the boundary :math:`b`, a value is saved for the backward pass, or it is
    computed again there, once, and stays to its last use (`SavedOrOnce`). A schedule of
    `Restricted` may do more: read a value that was saved, drop it and compute it again, and compute
    it again in as many backward stages as it likes. With all slots the points are the schedules of
    `ScheduleClass.SAVED_OR_ONCE`, and the optimum is that of the class; a relaxation bounds that.

    Rows: (need), (again), (stay), (memory), (slot), (later), (once), (ever), (lost) and (path).

    Take a schedule of the class in the form of `Residency`. If :math:`i` is computed again it is so
    in one window, and its value of the forward pass is not read behind :math:`b`, so that
    :math:`S_{b,i} = 0`: (once). A point is decoded as that of `Residency`: :math:`i` is computed
    once, before the first of its readers behind :math:`b`. None of them can have read a value that
    was there before, for by (need), (again) and a chain of (stay) that takes :math:`S_{b,i} = 1`.

    Attributes
    ----------
    slots
        Recomputation slots at which memory is counted.
    """

    slots: EverySlot | ChosenSlots = field(default_factory=EverySlot)

    def windows(self, graph: Graph) -> WindowedFrontier:
        """Return every cut and the chosen slots."""
        return _staged(graph, self.slots, SavedOrOnce())


@dataclass(frozen=True)
class SingleCut(WindowPreset):
    r"""Relaxation with one cut: a model of :math:`2n` binaries, at most.

    The moment is the end of the first computation of the cut :math:`t`. What is needed after it and
    is not in memory then must be computed again.

    Rows: (need), (again) and (memory). The time of every schedule whose first computations follow
    the order of the graph is at least :math:`\sum_i C_i` and the optimum, for each :math:`t`; the
    optimum is never more than that of `Frontier`. The best :math:`t` is where the memory costs
    most, by a knapsack (`solvers.remat_graph.cuts.eviction_cost`), which need not be where the
    step without recomputation needs most of it.

    Attributes
    ----------
    cut
        The node after whose first computation memory is looked at, counted from 0.
    recomputation
        Recomputations that the model allows.
    """

    cut: int
    recomputation: Recomputation = field(default_factory=AnyNode)

    def windows(self, graph: Graph) -> WindowedFrontier:
        """Return the cut."""
        return WindowedFrontier((self.cut,), recomputation=self.recomputation)


def _staged(
    graph: Graph, slots: EverySlot | ChosenSlots, recomputation: Recomputation
) -> WindowedFrontier:
    stages = range(len(graph))
    chosen = (
        tuple((t, q) for t in stages for q in range(t) if recomputation.permits(graph, t, q))
        if isinstance(slots, EverySlot)
        else slots.slots
    )
    return WindowedFrontier(tuple(stages), chosen, ScheduleClass.STAGED, recomputation)
