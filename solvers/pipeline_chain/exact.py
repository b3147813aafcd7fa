"""Fastest step of a pipeline, and cuts of least bottleneck, with their bounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jettison.instances.core.units import exact_bytes
from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.schedules.core.any_schedule import Schedule
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.pipeline_chain.schedule import PipelineSchedule
from jettison.solvers.core.bound import Bound, exact_bound
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending, pass_interrupt_on
from jettison.solvers.core.outcome import Infeasibility, Outcome, Progress, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.pipeline_chain.baselines import (
    solve_all_again,
    solve_each_again,
    solve_equal_memory,
    solve_equal_stages,
    solve_equal_time,
    solve_keep_all,
)
from jettison.solvers.pipeline_chain.cutting import Cutting
from jettison.solvers.pipeline_chain.device_times import NEVER_NS
from jettison.solvers.pipeline_chain.least_memory import least_memory
from jettison.solvers.pipeline_chain.pipeline_params import PIPELINE, PipelineParams
from jettison.solvers.pipeline_chain.search import PipelineSearch, least_step_bound


def solve_exact(
    problem: PipelineChain, options: SolveOptions, params: PipelineParams = PIPELINE
) -> Outcome:
    """Return the fastest step of persistent schedules, or a bracket around it at a limit.

    It is exact where a grid is exact and all cuts that could be faster have been timed, which holds
    on small chains. Elsewhere it is the best of the baselines, of the cuts of least bottleneck, of
    those of least bound, and of what moving single cuts makes of them, with a lower bound in exact
    integers: see `search`, `cutting` and `device_times`. The baselines are asked with the same
    limit, which for them is one on work, so that whatever the limit and the machine it is no worse.
    """
    clock = Clock(options.time_limit_s)
    search = PipelineSearch(problem, params, options.time_limit_s, clock)
    base = problem.base_time_ns

    def tell(known: int | None) -> bool:
        """Tell what has been found since a step was known; tell whether it is close enough."""
        schedule = search.schedule
        if options.on_schedule and schedule is not None and search.step_ns != known:
            options.on_schedule(schedule, schedule.replay(problem))
        if options.on_progress is not None:
            bound_ns = search.lower_bound_ns or None
            options.on_progress(Progress(clock.seconds, search.step_ns, bound_ns))
        return search.step_ns is not None and options.is_close_enough(
            search.step_ns, search.lower_bound_ns, base
        )

    with Ending() as ending:
        _begin(search, options.start)
        for ask in _BASELINES:
            known = search.step_ns
            outcome = ask(problem, options.quiet(), params)
            if outcome.infeasibility is not None:
                return outcome
            _begin(search, outcome.schedule)
            for bound in outcome.bounds:
                if bound.valid_for is ScheduleClass.PERSISTENT:
                    search.lower_bound_ns = max(search.lower_bound_ns, bound.time_ns)
            tell(known)
            pass_interrupt_on(outcome.termination)
        close = False
        for grid in search.grids():
            known = search.step_ns
            search.improve(grid)
            search.prove(grid)
            close = tell(known)
            if close:
                break
        if not close:
            known = search.step_ns
            search.settle()
            close = tell(known)
        if close and search.step_ns is not None and search.step_ns > search.lower_bound_ns:
            ending.termination = Termination.GAP_REACHED
    return _outcome(search, ending, "exact", params, options, clock)


def solve_bottleneck(
    problem: PipelineChain, options: SolveOptions, params: PipelineParams = PIPELINE
) -> Outcome:
    """Return cuts whose busiest device takes the least time for a micro-batch.

    The dynamic program of the field, on the times of `device_times`. Its bound says that every
    micro-batch passes the bottleneck. Where the step has few micro-batches, other cuts may be
    faster.
    """
    search = PipelineSearch(problem, params, options.time_limit_s, for_bottleneck=True)
    schedule: PipelineSchedule | None = None
    with Ending() as ending:
        for grid in search.grids():
            plans = Cutting(problem, search.needs, grid.plans.busy_ns).least_bottleneck()
            search.prove(grid)
            if plans is not None:
                # More than the bottleneck is not of interest.
                least_ns = problem.microbatches * plans[0]
                if search.step_ns is None or least_ns < search.step_ns:
                    offered = search.planned(grid.plans, plans[1])
                    schedule, search.step_ns = offered or schedule, least_ns
    search.schedule = schedule
    return _outcome(search, ending, "bottleneck", params, options, Clock(options.time_limit_s))


def bound_step(
    problem: PipelineChain, options: SolveOptions, params: PipelineParams = PIPELINE
) -> Outcome:
    """Return lower bounds on the step: of persistent schedules, and of all without recomputation.

    The first is that of `cutting` on the tables that are rounded down.
    """
    search = PipelineSearch(problem, params, options.time_limit_s)
    with Ending() as ending:
        for grid in search.grids():
            search.prove(grid)
            if search.refuted:
                break
            # The cap is raised by what a step takes, and parts are left out by it.
            cutting = Cutting(problem, search.needs, grid.plans.busy_ns)
            upper = cutting.least_bottleneck()
            step_ns = None if upper is None else cutting.step_ns(upper[1])
            if step_ns is not None and (search.step_ns is None or step_ns < search.step_ns):
                search.step_ns = step_ns
    search.schedule = None
    return _outcome(search, ending, "step-bound", params, options, Clock(options.time_limit_s))


# In the order of their cost.
_BASELINES: tuple[Callable[[PipelineChain, SolveOptions, PipelineParams], Outcome], ...] = (
    lambda problem, options, _: solve_keep_all(problem, options),
    lambda problem, options, _: solve_each_again(problem, options),
    lambda problem, options, _: solve_all_again(problem, options),
    solve_equal_time,
    solve_equal_memory,
    solve_equal_stages,
    solve_bottleneck,
)


def _begin(search: PipelineSearch, start: Schedule | None) -> None:
    """Let a search begin from a schedule, if it is faster than what is known."""
    if isinstance(start, PipelineSchedule):
        replay = start.replay(search.problem)
        if replay.valid and (search.step_ns is None or replay.time_ns < search.step_ns):
            search.begin_from(start, replay.time_ns)


def _outcome(
    search: PipelineSearch,
    ending: Ending,
    method: str,
    params: PipelineParams,
    options: SolveOptions,
    clock: Clock,
) -> Outcome:
    problem = search.problem
    bounds: list[Bound] = []
    if search.lower_bound_ns:
        bounds.append(exact_bound(search.lower_bound_ns, ScheduleClass.PERSISTENT, method))
    infeasibility, note = None, None
    if search.refuted:
        nearest = least_memory(problem, params, options.time_limit_s, clock)
        infeasibility = Infeasibility(
            valid_for=ScheduleClass.PERSISTENT,
            least_memory_bytes=nearest.least_bytes,
            is_exact=nearest.least_bytes == nearest.enough_bytes,
        )
        if nearest.enough_bytes is not None and not infeasibility.is_exact:
            note = f"a memory of {exact_bytes(nearest.enough_bytes)} for each device would do"
    else:
        needs = search.needs
        free = np.where(needs.room_bytes >= 0, needs.base_ns, NEVER_NS)
        found = least_step_bound(needs, np.ascontiguousarray(free), params, Clock(None))
        if found is not None:
            bounds.append(exact_bound(found[0], ScheduleClass.ALL, method))
    return Outcome(
        termination=ending.termination,
        schedule=search.schedule,
        bounds=tuple(bounds),
        infeasibility=infeasibility,
        note=note,
        work={"slots": search.slots, "cuts": search.cuts},
    )
