r"""Presolve for rematerialization: a smaller graph with the same least time, and fixings.

Notation of `formulations.remat_graph.windows.frontier`: durations :math:`C_i`, outputs :math:`M_i`,
workspaces
:math:`W_i`, memory :math:`B`, kept nodes :math:`K`, :math:`D_i = M_i + W_i`. A node is *unread* if
it has no users and is not kept. :math:`M(X)` is the memory of a set of values. A *fastest* schedule
is one of least time within :math:`B` of its class and, among those, of fewest computations; it
frees each value right after its last read. So it computes an unread node once.

A reduction must keep the least time, or its absence, for each class of schedules that was named;
and a schedule of the reduced graph that fits must become one of the graph that fits, in no more
time. Then bounds for these classes, and proofs that nothing fits, hold for both graphs. A bound for
staged schedules of a graph that was reduced for in-order ones only does not hold for the original
graph. Durations are moved, never lost, so that base times are equal as well.

**One reading.** *Call* :math:`p \notin K` *with one user* :math:`k` *and* :math:`M_k \le M_p`
read-once. *In a fastest schedule of any class* :math:`p` *is computed between two computations of*
:math:`k`. Else :math:`p` is in memory from one computation of :math:`k` to the next ones that use
the same :math:`p`. Leave these out, hold :math:`k` from the first one on, and free :math:`p` after
it: at any time that takes :math:`M_k` in place of :math:`M_p`, or less, and there are fewer
computations. A staged schedule stays staged. So :math:`k` is computed again only if :math:`p` is:
computing :math:`k` again costs :math:`\bar C_k = C_k + \sum_p \bar C_p` at least, over its
read-once inputs. Without :math:`M_k \le M_p` it is false: a small value may serve twice.

Reductions
----------
**Free values**, :math:`M_i = 0`. Recomputations and frees of :math:`i` can be left out, in every
class. So :math:`i` need not be kept. For staged and in-order schedules nothing needs an edge from
:math:`i`: its users come later in the order, also when they are computed again. For all schedules
an edge :math:`(i, k)` also says that :math:`i` comes first; it can be taken out if another path
from :math:`i` to :math:`k` is left.

**Beside a host.** Let :math:`s` be unread, and :math:`h` the node next to it in the order.
:math:`s` can be taken out, its duration given to another unread node, if

* :math:`h` comes after :math:`s`, :math:`\mathrm{in}(s) \subseteq \mathrm{in}(h)` and
  :math:`D_s \le D_h`: where :math:`h` is computed first, :math:`s` is computed just before, with
  what is in memory there;
* or :math:`h` comes before, :math:`\mathrm{in}(s) \subseteq \mathrm{in}(h) \cup \{h\}` and
  :math:`D_s \le W_h`: just after, before anything is freed;
* or :math:`h` comes before, is unread, :math:`\mathrm{in}(s) \subseteq \mathrm{in}(h)` and
  :math:`D_s \le D_h`: just after, in the place of its value.

This holds for in-order and for all schedules, *not for staged ones*: to take out a node is to take
out a stage, and two stages allow what one does not, recomputations that descend.

**In the prefix.** If all values in use that are computed up to :math:`s`, unread, fit at once, that
is :math:`\sum_{i < t,\, i \text{ not unread}} M_i + D_t \le B` for all :math:`t \le s`, then
:math:`s` can be taken out, for staged and in-order schedules: neither before nor after need
anything be computed again before the node after :math:`s` has its turn. What a schedule has in
memory then, this one has, and frees the rest. So no stage is lost that a schedule needs. For all
schedules it is false: they need not begin with these nodes.

**Contraction** of :math:`i \notin K` with one user :math:`k` into :math:`k`, which then takes
:math:`C_i + C_k` and reads :math:`\mathrm{in}(i) \cup \mathrm{in}(k) \setminus \{i\}`. For in-order
schedules :math:`k` must be the next node. Either

* *late*: :math:`\mathrm{in}(i) \subseteq \mathrm{in}(k)`, free values apart,
  :math:`W_i \le D_k`, and :math:`i` is read-once, or :math:`C_i = 0`, or :math:`k` is computed
  once (below); the workspace becomes :math:`W_k + M_i`. Compute :math:`i` just before each
  :math:`k` and nowhere else. Its inputs are there; it takes :math:`M(X) + D_i`, not more than the
  :math:`M(X) + M_i + D_k` of :math:`k`. It is not computed more often, or that costs nothing;
* or *early*: :math:`i` is read-once, :math:`\mathrm{in}(k) \setminus \{i\} \subseteq
  \mathrm{in}(i)` and :math:`D_k \le W_i + M(F)`, where :math:`F \subseteq \mathrm{in}(i)` are its
  inputs :math:`p` that are read-once; the workspace becomes :math:`M_i + W_i - M_k`.
  Compute each :math:`k` just after the :math:`i` that it reads, and hold :math:`k` in its place;
  an :math:`i` that :math:`k` does not read is left out. In memory :math:`Y` this takes
  :math:`M(Y) + D_i`, then :math:`M(Y) - M(F) + M_i + D_k`, which is not more: what is in
  :math:`F` has been read for good.

From the reduced graph, :math:`k` becomes :math:`i, k`. If :math:`F` is not empty the schedule is
first brought to one reading of :math:`F`, whose only user is :math:`k` there. For staged schedules
:math:`k` must be the next node and in the prefix, so that they lose no stage that they need.

A node that is computed once (`Graph.computed_once`) can be contracted as well, and what it is
contracted with is computed once then; but :math:`C_i = 0` alone is no reason to compute such an
:math:`i` late, for :math:`k` may be computed again from an :math:`i` that stays.

Without these conditions contraction is false: where :math:`k` runs there may be no room for
:math:`\mathrm{in}(i)`, or for the workspace of :math:`i`; and an :math:`i` that is smaller than
:math:`k` may serve twice.

Fixings
-------
Facts on fastest schedules that no smaller graph can express (`WindowFixings`):

**Computed once**: what may not be computed again, and the readers of such a value that is
read-once; free values, and, if a schedule of the class takes :math:`T`, nodes with
:math:`\bar C_k > T - \sum_i C_i`: no fastest schedule computes them again.

**Twins** :math:`i < j`, alike in inputs, users, duration, bytes, workspace and marks. When a
schedule frees one of a family of twins, free the earliest one in memory; when it computes one
again, compute the latest one that is not there. Time and memory are the same, and those in memory
are always the last ones of those computed so far: a new one is the last. A reader needs all of
them, and finds all, for their number is what it was. So :math:`i` is in memory only while
:math:`j` is. A fastest schedule frees right after a read, and computes twins again between reads;
if they follow each other without a gap, a staged one can do so in ascending order and stays
staged. With other nodes between them it may not. To merge twins into one node of twice the time
and size is false: a schedule may hold one of them.

What is not done
----------------
* An edge that follows from others by transitivity is no edge to spare, unless its value is free:
  the value must be in memory.
* A node of zero duration is no reason to leave it out, or never to store it: computing it again
  needs its inputs.
* Rounding :math:`B` down to a multiple of the greatest common divisor of all sizes holds in every
  class; the models do that already (`IntegerScale`).
* Repeated blocks in a row have no symmetry. That the same values be stored in each block is
  false: two equal blocks in a row can need different ones. Only branches that are alike in
  inputs and users have one; of these, twins are those of one node.
* For staged schedules nothing after the prefix is taken out.
* Operators with several results, and these, are not reduced, nor twins, nor read-once, nor hosts:
  that such an operator has no bytes does not make it free, a value of it does not wait in the place
  of what it reads, and nothing else is computed within its run. That a result is computed again
  takes at least the time of its operator. Around them reductions and fixings hold as elsewhere.

The tests have a graph against each of the false ones, and compare least times with brute force.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from jettison.formulations.remat_graph.windows.fixings import WindowFixings
from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.remat_graph.presolve.reducer import GraphReducer
from jettison.solvers.remat_graph.presolve.reductions import Step

_ALLOWED = (ScheduleClass.STAGED, ScheduleClass.IN_ORDER, ScheduleClass.ALL)


@dataclass(frozen=True, eq=False)
class Presolved:
    """Reduced problem, with the steps that restore schedules of the original one.

    Attributes
    ----------
    original
        The problem that was given.
    problem
        The reduced problem; the same object if nothing was taken out.
    classes
        The classes of schedules for which both have the same least time, or none. With a known
        time: those of them in which a schedule of that time exists.
    fixings
        Further facts on fastest schedules of the reduced problem.
    positions
        For each node of the reduced graph, the node of the original graph that it represents.
    steps
        The reductions that were made, in order.
    counts
        Numbers of nodes removed, by reduction, of edges removed, and of fixings.
    """

    original: RematGraph
    problem: RematGraph
    classes: frozenset[ScheduleClass]
    fixings: WindowFixings
    positions: tuple[int, ...]
    steps: tuple[Step, ...]
    counts: Mapping[str, int]

    def reduce(self, schedule: GraphSchedule) -> list[int]:
        """Return the computations of a schedule that are left on the reduced graph, in its order.

        They have the inputs that they need, but may exceed the memory: a node into which another
        was contracted reads the inputs of that one as well. :math:`O(n + k)`.
        """
        place_of = {position: place for place, position in enumerate(self.positions)}
        return [place_of[node] for node in schedule.computations if node in place_of]

    def restore(self, schedule: GraphSchedule) -> GraphSchedule:
        """Return a schedule of the original graph, of the same class.

        It takes no more time than `schedule`, a valid one of the reduced graph, and fits in the
        memory if that does. :math:`O(s k)` for `s` steps and `k` computations.
        """
        computations = [self.positions[node] for node in schedule.computations]
        for step in reversed(self.steps):
            computations = step.restore(computations)
        return GraphSchedule.from_computations(self.original.instance, computations)


def presolve(
    problem: RematGraph,
    classes: Collection[ScheduleClass] = (ScheduleClass.STAGED, ScheduleClass.IN_ORDER),
    known_time_ns: int | None = None,
) -> Presolved:
    """Reduce a graph by nodes and edges that do not affect its fastest schedules.

    Parameters
    ----------
    problem
        The graph and its memory.
    classes
        The classes of schedules whose least time must stay: some of staged, in-order and all. Fewer
        classes allow more reductions; staged schedules allow the fewest.
    known_time_ns
        Time of some schedule within the memory. Reductions that use it hold only for those of
        `classes` that have a schedule of that time.

    Raises
    ------
    InputError
        If there is no class or another one, or the known time is below the base time.

    Notes
    -----
    Sweeps until nothing changes, each :math:`O(n + |E|)`; for all schedules
    :math:`O(n + |E|)` more for each edge from a value of zero bytes.
    """
    if not classes or not set(classes) <= set(_ALLOWED):
        raise InputError(
            f"{[str(named) for named in classes]}",
            field="classes",
            expected=f"name some of {', '.join(_ALLOWED)}",
        )
    graph = problem.instance
    reducer = GraphReducer(problem, frozenset(classes), _slack_ns(problem, known_time_ns))
    while reducer.sweep():
        pass
    reduced, positions = problem, tuple(range(len(graph)))
    if reducer.steps:
        left, positions = reducer.graph.graph(graph)
        reduced = RematGraph(left, problem.memory_bytes)
    fixings = _fixings(reducer, positions)
    return Presolved(
        original=problem,
        problem=reduced,
        classes=frozenset(classes),
        fixings=fixings,
        positions=positions,
        steps=tuple(reducer.steps),
        counts={
            **reducer.counts,
            "computed_once": len(fixings.computed_once),
            "twins": len(fixings.twins),
        },
    )


def fixings_of(
    problem: RematGraph, classes: Collection[ScheduleClass], known_time_ns: int | None
) -> WindowFixings:
    """Return facts on fastest schedules of a problem, without reducing it.

    The parameters are those of `presolve`. A second call of `presolve` finds more reductions only
    with another known time. :math:`O(n + |E|)`.
    """
    reducer = GraphReducer(problem, frozenset(classes), _slack_ns(problem, known_time_ns))
    return _fixings(reducer, tuple(range(len(problem.instance))))


def _slack_ns(problem: RematGraph, known_time_ns: int | None) -> float:
    """Return how much time recomputations can take in a fastest schedule."""
    if known_time_ns is None:
        return math.inf
    base_ns = problem.instance.base_time_ns
    if known_time_ns < base_ns:
        raise InputError(
            f"{known_time_ns} ns",
            field="known_time_ns",
            expected=f"no schedule takes less than {base_ns} ns",
        )
    return known_time_ns - base_ns


def _fixings(reducer: GraphReducer, positions: tuple[int, ...]) -> WindowFixings:
    place_of = {position: place for place, position in enumerate(positions)}
    return WindowFixings(
        computed_once=frozenset(place_of[node] for node in reducer.computed_once()),
        twins=tuple((place_of[i], place_of[j]) for i, j in reducer.twins()),
    )
