r"""exact: the least period of a short step with offloaded weights, by sweeps over events.

For a period :math:`T` the question is whether a schedule :math:`\le T` exists. It is answered for
ascending :math:`T`, with steps that double, and by halving once there is a schedule. Each "no"
raises the bound, each "yes" brings a schedule; so both hold whenever the search is stopped.

What is searched
----------------
If there is a valid schedule of integer period :math:`T`, there is one with these properties.

1. *Weights of no bytes never move.* Without their events a schedule stays valid.
2. *Between two uses weights are absent at most once.* Of two absences, the prefetch of the first
   and the deletion of the second can be left out: the weights stay away. So what has been
   prefetched stays until it is used.
3. *At most one upload between two backwards, and only if a deletion follows before the second.* A
   second one carries what the host has; one that no deletion needs can be left out.
4. *Weights are deleted at once:* when the last use before the deletion and the upload that it
   needs have both ended. Leaving earlier only frees memory, and nothing used them in between.
5. *Of absent weights of equal size, the ones needed first are prefetched first.* Let i be
   prefetched at x and j, absent at x too and needed before i, at y > x. Exchange the two
   prefetches: j comes earlier, i comes at y, before j's use and so before its own, and memory is
   what it was. Every exchange raises the sum of (time of the prefetch) x (place of the next use),
   and there are finitely many orders.
6. *Everything starts at the cut, or at a moment at which something ends.* Let the schedule be cut
   right before an operation starts, and keep what is left of the transfers there. List all starts,
   deletions and ends in their order. Memory and all rules depend on the order only, and each time
   is bounded below by those before it in the list and by start plus duration. In the least solution
   of these inequalities every time is 0 or a start plus a duration, so a moment at which something
   really ends. What then ends before its place in the list only frees memory, a lane, or weights.
   No time is later than before, so the walk still ends by T, with no more left of the transfers.
   With integer durations all times are integers.

A *label* is a state: what has started, which transfers are under way, which weights are resident,
of which the host has the newest copy, and which have been uploaded and are still to be deleted;
with the present time and the times at which the operation and the transfers end. A sweep makes all
labels in the order of time. A label replaces another one with the same contents and no earlier
times.

Closing the walk
----------------
A walk has to end in the state in which it began: one sweep starts from all states at the cut, and
each label carries the set of the beginnings that lead to it. What is left of a transfer at the cut
is not known. Let :math:`r` be a vector of what is left (up and down), :math:`W(r)` what is left
after T by a walk W of the same class. W is monotone, and the step can repeat if
:math:`W(r) \le r`. Sweeps begin with r = 0. If W(r) is not below r, the class is tried again from
:math:`r \vee W(r)`, its least elements first. That misses nothing: let :math:`V(r_V) \le r_V`. As
long as :math:`r \le r_V`, a walk that is no later than V is found from r, with
:math:`W(r) \le V(r) \le V(r_V) \le r_V`, so the next beginning is still below r_V; and it is above
r, or the walk is closed. No beginnings are left: no schedule within T exists. If all sweeps cut off
by their estimate only, the least estimate above T is the next bound.

Where sizes share no divisor a walk that takes a nanosecond more than T can raise r by one at a
time. After so many rounds the question is asked at other cuts, where another transfer is under way
or none; if none has an answer it stays open. A "no" for a longer period answers it as well.

Estimate
--------
Lower bounds on what a walk still takes cut off labels. They also cut off beginnings, layer by
layer, before all statuses of a state are chosen: chains from 3-PARTITION have a million states at
each cut from three groups on, and of those a step of the period in question can be in a handful.

*From a label on.* Operations run in order, and absent weights come one after the other before their
first use. At an operation everything that is resident now or has been used since is in memory or
has left. What has to leave for it waits for uploads of as many bytes, less what a forward leaves
copied on the host. So many bytes are uploaded no earlier than some moment x; from the operation on
what comes in takes memory at the rate at which uploads free it, so x must not be later than the
moment at which the downlink has to begin on what is needed afterwards.

*To the end of the walk.* The beginning is also the state at the end, so the same holds backwards:
at an operation everything that is resident at the end or was used since is in memory, or has been
prefetched since; and all layers of which the host has the newest copy at the end have been uploaded
since their backward. That gives for every operation the least time from its start to the end, its
*tail*. What is estimated at an operation plus its tail is a bound on the period. A label of many
beginnings uses the smallest of the tails of those that it still has.

*What is useless in the period.* A layer whose backward comes next, and that could not be back in
time if it left, stays. Whether the host has its copy does not matter, so two statuses are one; and
its upload is left out. Such decisions hold for the period in question: the next one to ask for is
no longer than the one from which on they would be different.

Order of the questions
----------------------
Small sweeps come first. Where they do not answer, schedules are sought (`local_search`, `recut`):
no longer period needs to be asked for. Then the questions go on from below with more and more
labels.

Where sweeps end without an answer, HiGHS is asked with the event model (`by_events`): whether a
step without idle time exists, and if not, for the least period. It has a limit of work. Its
schedules are judged by the replay; its bounds stand beside those from exact arithmetic and say that
they rest on a solver. Where nothing more can be proved, the rest of the time goes into better steps
(`restarts`), and the note says what was left open.

The problem is NP-hard in the strong sense (Theorem 1 of the paper); time and memory are exponential
in L. All of it is exact in integers. The kernel is `_native/weight_offload/sweep.cpp`.

Source: the problem is OFF(L, M, beta) of the paper on weight offloading, which gives no exact
method.
"""

from __future__ import annotations

from dataclasses import replace

from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import pass_interrupt_on, run_to_its_end
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.core.work import WorkClock
from jettison.solvers.weight_offload.bounds.closed_form import closed_form_ns
from jettison.solvers.weight_offload.exact.beginnings import (
    Beginnings,
    CutCycle,
    best_cut,
    cuts_by_room,
    why_not_swept,
)
from jettison.solvers.weight_offload.exact.by_events import ask_events
from jettison.solvers.weight_offload.exact.params import WEIGHT_EXACT, WeightExactParams
from jettison.solvers.weight_offload.exact.period_bracket import Bracket
from jettison.solvers.weight_offload.exact.recut import improve_by_cuts
from jettison.solvers.weight_offload.exact.restarts import steps_from_new_starts
from jettison.solvers.weight_offload.exact.state_sweep import Sweep, SweepEnd, seek_step
from jettison.solvers.weight_offload.layer_to_layer import layer_to_layer
from jettison.solvers.weight_offload.least_memory import weight_infeasibility
from jettison.solvers.weight_offload.local_search import first_steps
from jettison.solvers.weight_offload.shared_bracket import bracket_on_shared_link


def solve_weight_exact(
    problem: WeightOffload, options: SolveOptions, params: WeightExactParams = WEIGHT_EXACT
) -> Outcome:
    """Return the fastest schedule, proved, of up to about ten layers.

    Returns
    -------
    Outcome
        With a bound that meets the period unless a limit was hit; or the proof that nothing fits.
        Where there are too many layers (more than 16 with weights, or 31), the schedule and the
        bound of `local-search`, and what HiGHS adds to them.
    """
    refused = weight_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    if problem.link.is_shared:
        return bracket_on_shared_link(
            problem, options, lambda posed, half: solve_weight_exact(posed, half, params)
        )
    bracket = Bracket(
        problem,
        options,
        Clock(options.time_limit_s),
        params,
        layer_to_layer(problem),
        closed_form_ns(problem),
    )
    if isinstance(options.start, CyclicSchedule):
        bracket.take(options.start)
    termination = run_to_its_end(lambda: _close(problem, bracket))
    return Outcome(
        termination=termination,
        schedule=bracket.schedule,
        bounds=bracket.bounds(),
        work={"labels": bracket.labels, "nodes": bracket.nodes},
        note=None if bracket.is_closed else _why_it_ended(bracket, termination),
    )


def _why_it_ended(bracket: Bracket, termination: Termination) -> str | None:
    """Return the note on what kept the bracket open, and how the rest of the time was used."""
    if bracket.why_open is None:
        return None
    if termination is Termination.TIME_LIMIT and not bracket.why_open.startswith("the time"):
        return f"{bracket.why_open}; better steps were sought until the time ended"
    return bracket.why_open


def _close(problem: WeightOffload, bracket: Bracket) -> Termination:
    """Search until the bracket is closed or a limit is hit."""
    bracket.report()
    if bracket.is_closed:
        return Termination.COMPLETED if bracket.is_exact else Termination.GAP_REACHED
    bracket.why_open = why_not_swept(problem)
    if bracket.why_open is not None:
        _search_locally(problem, bracket)
    elif not _answer_quickly(bracket):
        _search_locally(problem, bracket)
        _improve(problem, bracket)
        if not bracket.is_closed:
            _ask_for_periods(bracket, bracket.params.most_labels)
    if not bracket.is_closed:
        ask_events(bracket)
    if not bracket.is_closed:
        _start_again(problem, bracket)
    if not bracket.is_closed:
        return Termination.TIME_LIMIT if bracket.clock.left_s == 0 else Termination.NODE_LIMIT
    return Termination.COMPLETED if bracket.is_exact else Termination.GAP_REACHED


def _start_again(problem: WeightOffload, bracket: Bracket) -> None:
    """Spend the rest of the time on better schedules, where nothing more can be proved."""
    seed = bracket.options.seed
    steps = steps_from_new_starts(problem, bracket.bound_ns, seed, bracket.clock, bracket.params)
    for schedule in steps:
        if schedule.period_ns < bracket.schedule.period_ns:
            bracket.schedule = schedule
            bracket.report()
        if bracket.is_closed or not bracket.clock.left_s:
            return


def _search_locally(problem: WeightOffload, bracket: Bracket) -> None:
    """Find a good schedule with a share of the time: long periods are large searches."""
    limit_s = bracket.options.time_limit_s
    share = bracket.params.share_of_search
    options = replace(
        bracket.options,
        time_limit_s=None if limit_s is None else limit_s * share,
        on_progress=None,
    )
    outcome = first_steps(problem, options, bracket.params)
    assert isinstance(outcome.schedule, CyclicSchedule)
    if outcome.schedule.period_ns < bracket.schedule.period_ns:
        bracket.schedule = outcome.schedule
    # The bounds of the local search come from exact arithmetic as well.
    bracket.lower_ns = max(bracket.lower_ns, *(bound.time_ns for bound in outcome.bounds))
    bracket.report()
    pass_interrupt_on(outcome.termination)


def _improve(problem: WeightOffload, bracket: Bracket) -> None:
    """Cut the schedule and sweep from its state, with a share of labels."""
    clock = WorkClock(bracket.clock, bracket.params.labels_of_cuts).share(1.0)

    def take(schedule: CyclicSchedule, labels: int) -> None:
        bracket.schedule = schedule
        bracket.labels += labels
        clock.spend(labels)
        bracket.report()

    improve_by_cuts(problem, bracket.schedule, bracket.lower_ns, clock, take, bracket.params)


def _answer_quickly(bracket: Bracket) -> bool:
    """Close the bracket with small sweeps only; tell whether that has succeeded."""
    _ask_for_periods(bracket, bracket.params.few_labels)
    return bracket.is_closed


def _ask_for_periods(bracket: Bracket, largest_labels: int) -> None:
    """Ask for one period after the other, until the bracket is closed or a limit is hit.

    A longer period is a larger search. So a question that takes too many labels is put off in
    favour of a shorter period, and only the shortest one of all is asked again with more labels.
    """
    params = bracket.params
    stride_ns, most_labels = 0, min(params.few_labels, largest_labels)
    # Periods from `open_ns` up to `lowest_ns` have no answer.
    lowest_ns = open_ns = bracket.bound_ns
    while not bracket.is_closed:
        upper_ns = bracket.schedule.period_ns
        if lowest_ns < upper_ns:
            period_ns = min(lowest_ns + stride_ns, (lowest_ns + upper_ns - 1) // 2)
        elif bracket.bound_ns < open_ns:
            period_ns = (bracket.bound_ns + open_ns - 1) // 2
        else:
            bracket.why_open = (
                f"for some periods {params.most_rounds} rounds at every cut gave no answer"
            )
            return
        sweep = _answer(bracket, period_ns, most_labels)
        if sweep.schedule is not None:
            bracket.schedule = sweep.schedule
            stride_ns //= 2
        elif sweep.end is SweepEnd.REFUTED:
            # Nor is there a shorter step, whatever was left open: a step can always idle longer.
            bracket.lower_ns = min(sweep.next_ns, upper_ns)
            lowest_ns = max(lowest_ns, bracket.lower_ns)
            open_ns = max(open_ns, bracket.lower_ns)
            stride_ns = max(2 * stride_ns, bracket.lower_ns // 1000, 1)
        elif bracket.clock.left_s == 0:
            bracket.why_open = f"the time ended while a period of {period_ns} ns was sought"
            return
        elif sweep.end is SweepEnd.ROUNDS:
            open_ns = period_ns
            lowest_ns = max(lowest_ns, period_ns + 1)
        elif period_ns > lowest_ns:
            stride_ns = (period_ns - lowest_ns) // 4
        elif sweep.end is SweepEnd.STATES:
            bracket.why_open = (
                f"wherever a step of {period_ns} ns is cut, it can be in more than "
                f"{params.most_beginnings:,} states there"
            )
            return
        elif most_labels < largest_labels:
            most_labels = min(most_labels * params.times_labels, largest_labels)
        else:
            bracket.why_open = f"a period of {period_ns} ns takes more than {most_labels:,} labels"
            return
        bracket.report()


def _answer(bracket: Bracket, period_ns: int, most_labels: int) -> Sweep:
    """Ask at the best cut, and where its rounds give no answer, at the others."""
    most = bracket.params.most_beginnings
    found = best_cut(bracket.problem, period_ns, most, bracket.clock)
    if found is None:
        return Sweep(SweepEnd.STATES, 0)
    sweep = _ask(bracket, *found, period_ns, most_labels)
    if sweep.end is SweepEnd.ROUNDS:
        return _ask_elsewhere(bracket, found[0], period_ns, most_labels)
    return sweep


def _ask(
    bracket: Bracket,
    cut: CutCycle,
    beginnings: Beginnings,
    period_ns: int,
    most_labels: int,
) -> Sweep:
    sweep = seek_step(
        cut,
        beginnings.states,
        period_ns,
        bracket.clock,
        most_labels=most_labels,
        most_rounds=bracket.params.most_rounds,
        params=bracket.params,
    )
    bracket.labels += sweep.labels
    if sweep.end is SweepEnd.REFUTED:
        return replace(sweep, next_ns=min(sweep.next_ns, beginnings.next_ns))
    return sweep


def _ask_elsewhere(bracket: Bracket, cut: CutCycle, period_ns: int, most_labels: int) -> Sweep:
    """Ask the same question at the other cuts, where other transfers are under way."""
    few = bracket.params.few_beginnings
    for other in cuts_by_room(cut.problem):
        beginnings = None if other == cut else other.beginnings(period_ns, few)
        if beginnings is not None:
            sweep = _ask(bracket, other, beginnings, period_ns, most_labels)
            if sweep.end in {SweepEnd.FOUND, SweepEnd.REFUTED} or bracket.clock.left_s == 0:
                return sweep
    return Sweep(SweepEnd.ROUNDS, 0)
