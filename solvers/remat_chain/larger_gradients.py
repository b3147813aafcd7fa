"""Persistent programs on chains whose gradients are larger than outputs: a bracket.

There a program finds the fastest schedule of those in its own order, which need not be the fastest
of its class. Its bound is that of `with_smaller_gradients`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from jettison.instances.remat_chain.problem import RematChain
from jettison.instances.remat_chain.smaller_gradients import (
    has_larger_gradients,
    with_smaller_gradients,
)
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_chain.schedule import ChainSchedule
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination

Solve = Callable[[RematChain, SolveOptions], Outcome]

_LEAST_S = 1e-3
_NOTE = (
    "gradients are larger than outputs: persistent schedules that run a forward early, while there "
    "is room for it, were not searched"
)


def bracketed_where_gradients_are_larger(
    problem: RematChain, options: SolveOptions, solve: Solve
) -> Outcome:
    """Solve a persistent program, with a bound that holds for its class whatever gradients are.

    Where no gradient is larger than its output, that is the program as it is. Else it is solved
    twice, each in half of the time: with smaller gradients, for the bound, and, unless the schedule
    of that fits, as it is, for a schedule.

    Parameters
    ----------
    problem, options
        As they are given to the method.
    solve
        The program, with bounds that hold for its class where gradients are no larger than outputs.
    """
    chain, memory_bytes = problem.instance, problem.memory_bytes
    if not has_larger_gradients(chain):
        return solve(problem, options)
    clock = Clock(options.time_limit_s)
    relaxed = solve(
        RematChain(with_smaller_gradients(chain), memory_bytes),
        replace(options.quiet(), time_limit_s=_half(options)),
    )
    if _fits(problem, relaxed) or relaxed.termination is Termination.INTERRUPTED:
        return relaxed if _fits(problem, relaxed) else replace(relaxed, schedule=None)
    left_s = None if options.time_limit_s is None else max(clock.left_s, _LEAST_S)
    own = solve(problem, replace(options, time_limit_s=left_s, on_bound=None, on_progress=None))
    if relaxed.infeasibility is not None:
        return own
    of_all = [bound for bound in own.bounds if bound.valid_for is ScheduleClass.ALL]
    bounds = (*relaxed.bounds, *of_all)
    note = own.note
    if not _is_settled(problem, own, bounds):
        note = note or _NOTE
    return replace(own, bounds=bounds, infeasibility=None, note=note)


def _is_settled(problem: RematChain, outcome: Outcome, bounds: tuple[Bound, ...]) -> bool:
    """Tell whether the schedule of an outcome meets the largest of the bounds."""
    schedule = outcome.schedule
    if not isinstance(schedule, ChainSchedule):
        return False
    time_ns = schedule.replay(problem.instance).time_ns
    return any(bound.time_ns >= time_ns for bound in bounds)


def _half(options: SolveOptions) -> float | None:
    return None if options.time_limit_s is None else max(options.time_limit_s / 2, _LEAST_S)


def _fits(problem: RematChain, outcome: Outcome) -> bool:
    schedule = outcome.schedule
    if not isinstance(schedule, ChainSchedule):
        return False
    return schedule.replay(problem.instance, problem.memory_bytes).valid
