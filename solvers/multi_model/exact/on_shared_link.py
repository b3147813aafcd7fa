"""Answer of the exact method for several models on a link that both directions share: a bracket.

No schedule is faster on the shared link than on the full-duplex link with the same rate, so that
the bound for that one holds. Its schedule is valid on the shared link, because memory is given out
in the order of issue; the local search may know a faster one for that link.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.multi_model.schedule import MultiModelSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.search import Incumbent
from jettison.solvers.core.status import Termination
from jettison.solvers.multi_model.local_search import UnitSearchParams, solve_local_search

_NOTE = (
    "the link is shared: the bound is that of the full-duplex link, and the schedule the faster "
    "one of that link's and of the local search's for the shared link"
)


def exact_on_shared_link(
    problem: MultiModelTraining,
    options: SolveOptions,
    params: UnitSearchParams,
    solve: Callable[[MultiModelTraining, SolveOptions], Outcome],
) -> Outcome:
    """Return a bound for a shared link, and the faster one of two schedules.

    Parameters
    ----------
    problem, options
        As for the method; both searches have half of the time.
    params
        Of the local search.
    solve
        The method for full-duplex links.
    """
    limit_s = options.time_limit_s
    clock = Clock(limit_s)
    half = replace(options.quiet(), time_limit_s=None if limit_s is None else limit_s / 2)
    faster = replace(problem, bandwidth=problem.link.full_duplex)
    relaxed = solve(faster, half)
    if relaxed.infeasibility is not None:
        return relaxed
    incumbent: Incumbent[MultiModelSchedule] = Incumbent(
        lambda schedule: schedule.replay(problem), 0, options, clock
    )
    incumbent.begin_from(options.start, MultiModelSchedule, ScheduleClass.ALL)
    for bound in relaxed.bounds:
        incumbent.prove(bound)
    assert isinstance(relaxed.schedule, MultiModelSchedule)
    incumbent.offer(relaxed.schedule)
    termination = relaxed.termination
    if termination is not Termination.INTERRUPTED and not incumbent.is_best:
        near = solve_local_search(problem, half, params)
        assert isinstance(near.schedule, MultiModelSchedule)
        incumbent.offer(near.schedule)
        if termination is Termination.COMPLETED:
            termination = near.termination
    return incumbent.outcome(
        termination, work=relaxed.work, note=None if incumbent.is_best else _NOTE
    )
