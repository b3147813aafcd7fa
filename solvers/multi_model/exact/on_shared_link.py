"""Answer of the exact method for several models on a link that both directions share: a bracket.

No schedule is faster on the shared link than on the full-duplex link with the same rate, so that
the bound for that one holds; that of the relaxations knows the total, and may be larger. The
schedule for the full-duplex link is valid on the shared one, because memory is given out in the
order of issue; the local search may know a faster one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.multi_model.schedule import MultiModelSchedule
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.search import Incumbent
from jettison.solvers.core.status import Termination
from jettison.solvers.multi_model.bound.divisions import bound_multi_model
from jettison.solvers.multi_model.local_search import UnitSearchParams, solve_local_search

_NOTE = (
    "the link is shared: no bound is exact for it, and the schedule is the faster one of that for "
    "the full-duplex link and of the local search's for the shared link"
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
        As for the method; each of the three searches has a third of the time.
    params
        Of the local search.
    solve
        The method for full-duplex links.
    """
    limit_s = options.time_limit_s
    clock = Clock(limit_s)
    part = replace(options.quiet(), time_limit_s=None if limit_s is None else limit_s / 3)
    faster = replace(problem, bandwidth=problem.link.full_duplex)
    relaxed = solve(faster, part)
    if relaxed.infeasibility is not None:
        return relaxed
    incumbent: Incumbent[MultiModelSchedule] = Incumbent(
        lambda schedule: schedule.replay(problem), 0, options, clock
    )
    incumbent.begin_from(options.start, MultiModelSchedule, ScheduleClass.ALL)
    assert isinstance(relaxed.schedule, MultiModelSchedule)
    incumbent.offer(relaxed.schedule)
    for bound in relaxed.bounds:
        incumbent.prove(bound)
    outcomes = [relaxed]
    for search in (bound_multi_model, partial(solve_local_search, params=params)):
        if incumbent.is_best or outcomes[-1].termination is Termination.INTERRUPTED:
            break
        found = search(problem, part)
        outcomes.append(found)
        for bound in found.bounds:
            if bound.evidence is Evidence.EXACT:
                incumbent.prove(bound)
        if isinstance(found.schedule, MultiModelSchedule):
            incumbent.offer(found.schedule)
    endings = [item.termination for item in outcomes]
    return incumbent.outcome(
        next((ended for ended in endings if ended is not Termination.COMPLETED), endings[0]),
        work=relaxed.work,
        note=None if incumbent.is_best else _NOTE,
    )
