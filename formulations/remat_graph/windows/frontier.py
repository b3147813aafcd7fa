r"""Windowed frontier: a lower bound on recomputation between cuts of a graph, in its order.

A cut is the end of the first computation of a node; there the model counts the memory. With one cut
it is a model of at most :math:`2n` binaries (`SingleCut`); with every node a cut it has one memory
row for each first computation (`Frontier`, `CutClosure`); and with all recomputation slots besides
it is exact (`Residency`), for then each stage is a window of its own and a point becomes a staged
schedule. `presets` has these choices by name.

Nodes are counted from 0 to :math:`n-1`, as in `Graph`; :math:`\mathrm{in}(k)` are the inputs of
:math:`k` and :math:`\mathrm{us}(i)` the users of :math:`i`. Durations are :math:`C_i`, outputs
:math:`M_i`, workspaces :math:`W_i`, the memory is :math:`B`, the set of kept nodes :math:`K`.

*Cuts* are nodes :math:`t_1 < \dots < t_k`. *Window* :math:`w` goes from the end of the first
computation of :math:`t_w` to the end of that of :math:`t_{w+1}`, the last one to the end of the
step. The nodes :math:`t_w < j \le t_{w+1}` are computed in it for the first time (up to
:math:`n-1` in the last). What its first computations read of what is there before,

.. math::
    N_w = \{p \le t_w : p \in \mathrm{in}(j),\, t_w < j \le t_{w+1}\}
        \;\bigl(\cup\, \{i \in K : i \le t_k\} \text{ if } w = k\bigr),

and what the later windows need, with all ancestors, is the *needed set* :math:`A_w`, from the last
window down: the least set with :math:`N_w \subseteq A_w`,
:math:`A_{w+1} \cap \{0, \dots, t_w\} \subseteq A_w` and the inputs of its members.

Columns
-------
For every window and :math:`i \in A_w`, with :math:`t = t_w` in the names:

============================ ==============================================================
:math:`R_{w,i}`, ``R_t_i``   :math:`i` is computed, again, in window :math:`w`; binary
:math:`S_{w,i}`, ``S_t_i``   the value of :math:`i` is in memory when window :math:`w` begins
                             and is read before :math:`i` is computed next, or is kept; binary
:math:`Z_{w,i}`, ``Z_t_i``   :math:`i` is computed again in this window or a later one; from 0 to
                             1, for :math:`w < k` and what one cut at :math:`t` would need
============================ ==============================================================

Model
-----
.. math::
    \text{(objective)} \quad & \min \sum_w \sum_{i \in A_w} C_i R_{w,i} \\
    \text{(need)} \quad & S_{w,p} + R_{w,p} \ge 1 && \forall w,\; p \in N_w \\
    \text{(again)} \quad & S_{w,p} + R_{w,p} \ge R_{w,i}
        && \forall w,\; i \in A_w,\; p \in \mathrm{in}(i) \\
    \text{(stay)} \quad & S_{w+1,i} \le S_{w,i} + R_{w,i}
        && \forall w < k,\; i \in A_{w+1},\; i \le t_w \\
    \text{(memory)} \quad & M_t + W_t + \sum_{p \in \mathrm{in}(t)} M_p
        + \sum_{i \in A_w,\; i < t,\; i \notin \mathrm{in}(t)} M_i S_{w,i} \le B
        && \forall w,\; t = t_w

and, so that the linear relaxation cannot spread one recomputation thinly over windows, what one cut
at :math:`t_w`, :math:`w < k`, would have, the *closure* of the cut. Every cut has one unless
`ChosenCuts` says otherwise. :math:`N'_w` is :math:`N_w` of that cut alone:

.. math::
    \text{(ever)} \quad & Z_{w,i} \le \sum_{v \ge w} R_{v,i} && \forall i \\
    \text{(lost)} \quad & Z_{w,p} + S_{w,p} \ge 1 && \forall p \in N'_w \\
    \text{(path)} \quad & Z_{w,p} + S_{w,p} \ge Z_{w,i} && \forall i,\; p \in \mathrm{in}(i)

Where the choice of recomputations has a boundary :math:`b` (`Recomputation.once_after`), which is a
cut then, what is needed behind it is there, or computed again, once in all:

.. math::
    \text{(once)} \quad & S_{w,i} + \sum_{v \ge w} R_{v,i} \le 1 && t_w = b,\; \forall i \in A_w

Where the choice of recomputations (`Recomputation`) lets no stage of the window compute :math:`i`
again, :math:`R_{w,i} = 0`, and where it lets none up to the first that reads :math:`p`, (need) is
:math:`S_{w,p} \ge 1`.

Rows are named ``need_t_p``, ``again_t_i_p``, ``stay_u_i`` with :math:`u = t_{w+1}`, ``memory_t``,
``ever_t_i``, ``lost_t_p``, ``path_t_i_p`` and ``once_i``.
The time of a step is at least :math:`\sum_i C_i` and the optimum.

Proof, for all schedules whose first computations follow the order of the graph
-------------------------------------------------------------------------------
Nothing is assumed of recomputations: any number of times, in any order, of any node. Take a valid
schedule, and let the columns be what they say.

1. In window :math:`w`, a computation that reads :math:`p \le t_w` finds it in memory. Either it was
   there when the window began and has not been computed in between (:math:`S_{w,p} = 1`), or it was
   computed in the window (:math:`R_{w,p} = 1`): (need) for first computations, (again) for others.
   A kept node is in memory at the end, which is the same for the last window.
2. What is in memory at the end of the first computation of :math:`t_{w+1}`, and is older than
   :math:`t_w`, was there when the window began or was computed in it. If it was there only, it has
   not been computed since, and is read or kept later: (stay).
3. While :math:`t` is computed for the first time, its output, its workspace and its inputs are in
   memory, and every other value of an :math:`i < t` that is in memory when :math:`t` ends, since
   nothing else is computed meanwhile: (memory).
4. With :math:`Z_{w,i} = \max_{v \ge w} R_{v,i}` the rows (lost) and (path) are 1 and (need),
   (again) for one cut at :math:`t_w`. Integer points of the other rows satisfy them as well: they
   change the relaxation only.
5. All :math:`i \in A_w` have been computed when window :math:`w` begins. Its windows are disjoint
   in time, so the objective counts no computation twice, and no first one.

Leaving the columns out whose :math:`i \notin A_w` relaxes (memory); no other row has any. More cuts
never lower the optimum: given a point for more cuts, merge two windows into
:math:`\max(R_{w,i}, R_{w+1,i})` and keep :math:`S_{w,i}`. With :math:`t_w = n - 1` the last window
holds recomputations after the last first computation, which kept nodes may need.

Slots
-----
A recomputation slot, *slot* for short, is a pair :math:`(t, q)`, where :math:`t-1 = t_w` and
:math:`t = t_{w+1}` are both cuts: the turn of :math:`q \in A_w` in stage :math:`t`, at which it is
computed again or would be. Its row holds
for *staged* schedules, which compute ascending nodes between two first computations:

.. math::
    \text{(slot)} \quad & M_q (R_{w,q} + S_{w,q}) + W_q R_{w,q} + \sum_{i > q} M_i S_{w,i}
        + \sum_{i < q} M_i L_{t,q,i} \le B \\
    \text{(later)} \quad & L_{t,q,i} \ge S_{w+1,i}, \quad
        L_{t,q,i} \ge R_{w,j} \;\; \forall j \in \mathrm{us}(i),\; q \le j < t, \quad
        L_{t,q,i} = 1 \text{ if } t \in \mathrm{us}(i)

over :math:`i \in A_w`. :math:`L_{t,q,i} \in [0, 1]`, ``L_t_q_i``, says that :math:`i` is in memory
at the slot because something reads it from there on; it is no column where it is 1 or has one term.
Rows are ``slot_t_q``, ``later_t_q_i`` (for :math:`S`) and ``later_t_q_i_j``. In a model for staged
schedules :math:`R_{w,i} = 0` if :math:`t_w = n - 1`: they end with their last first computation.

Take a staged schedule that leaves out recomputations that nobody reads and frees after the last
read (`GraphSchedule.from_computations`); every staged schedule can be brought to that form without
more time or memory. A value that :math:`S_{w,i} = 1` finds in stage :math:`t` is read in it by a
node after :math:`i`, or stays beyond; so it is not computed in that stage, and is in memory at
every slot up to :math:`i`. A value of an :math:`i < q` that is read at :math:`q` or later, or
stays, is in memory at slot :math:`q`, for in this stage :math:`i` had its turn. So the row counts
values that are in memory together: while :math:`q` is computed, or, if it is not, at the end of the
operation before, which had room for them.

Amounts enter as in `checkmate`: multiples of their greatest common divisor, to which :math:`B` is
rounded down, over a power of two (`IntegerScale`). Where a unit is more than that divisor, amounts
are rounded down, which relaxes.

Operators without a value
-------------------------
The results of an operator :math:`o` without a value come directly after it in every schedule, and
some schedule of least time and memory makes all of them in its first run, of which none takes more
than the run itself. So nothing is computed again in the stages of results, and no :math:`R_{w,i}`
is 1 for them alone; :math:`S_{w,o} = 0` but where the result after :math:`t` is one of :math:`o`;
and a result is computed again only with its operator, so that (again) is :math:`R_{w,o} \ge
R_{w,i}`.

Fixings
-------
What is known beforehand (`WindowFixings`) makes the model smaller. Of a node that is computed once,
in every schedule (`Graph.computed_once`) or in some fastest one, :math:`R_{w,i} = 0`, it has no
rows (again) and (path), and its inputs need not be in :math:`A_w`. Of twins :math:`i < j`, the
earlier one is in memory only while the later one is:

.. math::
    \text{(twin)} \quad & S_{w,i} \le S_{w,j} && \forall w,\; j \le t_w

named ``twin_t_i_j``. `solvers.remat_graph.presolve` finds fixings and has the proofs.

Size: at most :math:`3 \sum_w |A_w|` columns and :math:`2 \sum_w |E|` rows (path) and (again), slots
apart; `num_columns` counts before any row is written.
"""

# The symbols of the model are the names of the code.

from __future__ import annotations

from dataclasses import dataclass, field

from jettison.formulations.remat_graph.recomputation import AnyNode, Recomputation
from jettison.formulations.remat_graph.windows.built import WindowedModel
from jettison.formulations.remat_graph.windows.checks import check_cuts_and_slots, check_within
from jettison.formulations.remat_graph.windows.fixings import WindowFixings
from jettison.formulations.remat_graph.windows.needed_sets import needed_sets
from jettison.formulations.remat_graph.windows.rows import WindowWriter
from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass


@dataclass(frozen=True, slots=True)
class EveryCut:
    """Closure at every cut."""


@dataclass(frozen=True, slots=True)
class ChosenCuts:
    """Closure at some cuts, or at none.

    Attributes
    ----------
    nodes
        The cuts; the closure of the last cut adds nothing.
    """

    nodes: tuple[int, ...] = ()


@dataclass(frozen=True)
class WindowedFrontier:
    """Windowed frontier model at some cuts and slots; it is in the docstring of this module.

    Attributes
    ----------
    cuts
        At least one node, ascending, counted from 0.
    slots
        Pairs of a node t and an earlier one q; both t - 1 and t must be cuts. A slot at which
        nothing can be computed again adds nothing.
    valid_for
        Staged schedules, or without slots all those in the order of the graph.
    recomputation
        Recomputations that the model allows; a window allows those of its stages.
    fixings
        Fixings for schedules of that class.
    closure
        The cuts that have the rows (ever), (lost) and (path).

    Raises
    ------
    InputError
        If cuts do not ascend from 0 on, the stage of a slot is not between two cuts, or a closure
        is of no cut.
    """

    cuts: tuple[int, ...]
    slots: tuple[tuple[int, int], ...] = ()
    valid_for: ScheduleClass = ScheduleClass.IN_ORDER
    recomputation: Recomputation = field(default_factory=AnyNode)
    fixings: WindowFixings = field(default_factory=WindowFixings)
    closure: EveryCut | ChosenCuts = field(default_factory=EveryCut)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cuts", tuple(self.cuts))
        object.__setattr__(self, "slots", tuple(self.slots))
        expected = "name at least one node, from 0 on, in order"
        if not self.cuts:
            raise InputError("()", field="cuts", expected=expected)
        check_cuts_and_slots(self.cuts, self.slots, self.valid_for, expected)
        beyond = sorted({*self.closed_cuts} - {*self.cuts})
        if beyond:
            raise InputError(
                f"{beyond[0]}", field="closure", expected="name cuts of the model, or leave it out"
            )

    @property
    def closed_cuts(self) -> tuple[int, ...]:
        """The cuts that have a closure."""
        return self.cuts if isinstance(self.closure, EveryCut) else self.closure.nodes

    def num_columns(self, graph: Graph) -> int:
        """Return the number of columns R and S, in O(k (n + |E|)) for k cuts."""
        once = self.fixings.computed_once | graph.computed_once
        needed = needed_sets(graph, self.cuts, once)
        return 2 * sum(map(len, needed))

    def build(self, problem: RematGraph) -> WindowedModel:
        """Build the model; about 3 µs for each coefficient.

        Raises
        ------
        InputError
            If a cut is no node of the graph, or the boundary of the recomputations is no cut.
        """
        check_within(self.cuts, len(problem.instance), "nodes")
        boundary = self.recomputation.once_after(problem.instance)
        if boundary is not None and boundary not in self.cuts:
            raise InputError(
                f"{self.cuts}",
                field="cuts",
                expected=f"name {boundary}, the last forward node",
            )
        writer = WindowWriter(problem, self)
        return WindowedModel(
            graph=problem.instance,
            cuts=self.cuts,
            model=writer.model(),
            recomputed=tuple(writer.R),
            stored=tuple(writer.S),
            memory_scale=writer.memory_scale,
            time_scale=writer.time_scale,
        )
