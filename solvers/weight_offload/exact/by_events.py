"""Questions to HiGHS that the sweeps of `exact` leave open, with the event model.

The answers rest on a solver in floating point, and so do the bounds that come from them; a schedule
is kept if the replay accepts it. The work of HiGHS is limited by a count, and so the same is found
on every machine, unless the time ends first.
"""

from __future__ import annotations

from jettison.formulations.weight_offload.timed_events.least_period import EventMilp
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import pass_interrupt_on
from jettison.solvers.core.status import SolverError
from jettison.solvers.weight_offload.events.idle_free import IDLE_FREE, seek_without_idle
from jettison.solvers.weight_offload.events.least_period_search import (
    least_period_milp,
    seek_least_period,
)
from jettison.solvers.weight_offload.exact.period_bracket import Bracket


def ask_events(bracket: Bracket) -> None:
    """Ask both questions that have not been asked.

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C is pressed.
    """
    _ask_without_idle(bracket)
    if not bracket.is_closed:
        _ask_for_least_period(bracket)


def _ask_without_idle(bracket: Bracket) -> None:
    base_ns = bracket.problem.base_time_ns
    if bracket.was_idle_asked or bracket.bound_ns > base_ns or not _is_fit(bracket, IDLE_FREE):
        return
    bracket.was_idle_asked = True
    try:
        answer = seek_without_idle(
            bracket.problem, bracket.options, _share(bracket), bracket.params.work_without_idle
        )
    except (SolverError, TimeoutError):
        return
    bracket.nodes += answer.nodes
    bracket.take(answer.schedule)
    if answer.is_refuted:
        bracket.raise_by_solver(base_ns + 1)
    pass_interrupt_on(answer.termination)


def _ask_for_least_period(bracket: Bracket) -> None:
    milp = least_period_milp(bracket.schedule.period_ns, bracket.bound_ns)
    if bracket.was_least_asked or not _is_fit(bracket, milp):
        return
    bracket.was_least_asked = True
    try:
        _, solution = seek_least_period(
            bracket.problem,
            milp,
            bracket.schedule,
            bracket,
            bracket.options,
            _share(bracket),
            bracket.params.work_of_least,
        )
    except (SolverError, TimeoutError):
        return
    bracket.nodes += solution.nodes
    pass_interrupt_on(solution.termination)


def _is_fit(bracket: Bracket, milp: EventMilp) -> bool:
    most = bracket.params.most_event_coefficients
    return bool(bracket.clock.left_s) and milp.estimated_coefficients(bracket.problem) <= most


def _share(bracket: Bracket) -> Clock:
    left_s = bracket.clock.left_s
    return Clock(left_s * bracket.params.share_of_events)
