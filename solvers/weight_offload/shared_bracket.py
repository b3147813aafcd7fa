"""Bracket for weight offloading on a shared link, by an exact method for full-duplex links.

A schedule that is valid on the shared link is valid on the full-duplex link with the same rate, on
which no transfer that starts at its time ends later: bounds for that one hold. And a schedule for
the full-duplex link with the rate that each direction always has is valid on the shared link. The
exact method is asked about both, each with half of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from jettison.instances.core.link import Link
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.weight_offload.incumbent import WeightIncumbent

_NOTE = (
    "the link is shared: the bound is that of the full-duplex link, and the schedule the best one "
    "that never needs more than half of the total in one direction"
)

ExactMethod = Callable[[WeightOffload, SolveOptions], Outcome]


def bracket_on_shared_link(
    problem: WeightOffload, options: SolveOptions, solve: ExactMethod
) -> Outcome:
    """Return the best schedule and bounds for a shared link that an exact method finds.

    Parameters
    ----------
    problem, options
        As for the method.
    solve
        The method for full-duplex links.
    """
    limit_s = options.time_limit_s
    half = replace(options.quiet(), time_limit_s=None if limit_s is None else limit_s / 2)

    def on(link: Link) -> Outcome:
        return solve(replace(problem, bandwidth=link), half)

    relaxed = on(problem.link.full_duplex)
    if relaxed.infeasibility is not None:
        return relaxed
    incumbent = WeightIncumbent(problem, options)
    outcomes = [relaxed]
    if relaxed.termination is not Termination.INTERRUPTED:
        outcomes.append(on(problem.link.always_available))
    for outcome in outcomes:
        assert isinstance(outcome.schedule, CyclicSchedule)
        incumbent.offer(outcome.schedule)
    ended = next(
        (item.termination for item in outcomes if item.termination is not Termination.COMPLETED),
        Termination.COMPLETED,
    )
    best_ns = max(bound.time_ns for bound in (*relaxed.bounds, incumbent.floor))
    return Outcome(
        termination=ended,
        schedule=incumbent.schedule,
        bounds=(*relaxed.bounds, incumbent.floor),
        work={name: sum(item.work.get(name, 0) for item in outcomes) for name in relaxed.work},
        note=None if incumbent.period_ns == best_ns else _NOTE,
    )
