"""Fastest step of a pipeline, and cuts of least bottleneck, with their bounds."""

from __future__ import annotations

import numpy as np

from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.pipeline_chain.schedule import PipelineSchedule
from jettison.solvers.core.bound import Bound, exact_bound
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Infeasibility, Outcome, Progress, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.pipeline_chain.cutting import Cutting
from jettison.solvers.pipeline_chain.device_times import NEVER_NS
from jettison.solvers.pipeline_chain.search import (
    PIPELINE,
    PipelineParams,
    PipelineSearch,
    least_step_bound,
)


def solve_exact(
    problem: PipelineChain, options: SolveOptions, params: PipelineParams = PIPELINE
) -> Outcome:
    """Return the fastest step of persistent schedules, or a bracket around it at a limit.

    It is exact where a grid is exact and all cuts that could be faster have been timed, which holds
    on small chains. Elsewhere it is the best of the cuts of least bottleneck, of those of least
    bound, and of what moving single cuts makes of them, with a lower bound in exact integers: see
    `search`, `cutting` and `device_times`.
    """
    clock = Clock(options.time_limit_s)
    search = PipelineSearch(problem, params, clock)
    _begin(search, options)
    base = problem.base_time_ns
    with Ending() as ending:
        for grid in search.grids():
            known = search.step_ns
            search.improve(grid)
            search.prove(grid)
            if search.step_ns is not None:
                if options.on_schedule is not None and search.step_ns != known:
                    schedule = search.schedule
                    assert schedule is not None
                    options.on_schedule(schedule, schedule.replay(problem))
                if options.is_close_enough(search.step_ns, search.lower_bound_ns, base):
                    if search.step_ns > search.lower_bound_ns:
                        ending.termination = Termination.GAP_REACHED
                    break
            if options.on_progress is not None:
                options.on_progress(
                    Progress(clock.seconds, search.step_ns, search.lower_bound_ns or None)
                )
    return _outcome(search, ending, "exact", params)


def solve_bottleneck(
    problem: PipelineChain, options: SolveOptions, params: PipelineParams = PIPELINE
) -> Outcome:
    """Return cuts whose busiest device takes the least time for a micro-batch.

    The dynamic program of the field, on the times of `device_times`. Its bound says that every
    micro-batch passes the bottleneck. Where the step has few micro-batches, other cuts may be
    faster.
    """
    search = PipelineSearch(problem, params, Clock(options.time_limit_s))
    least_ns = 0
    with Ending() as ending:
        for grid in search.grids():
            plans = Cutting(problem, search.needs, grid.plans.busy_ns).least_bottleneck()
            floor = Cutting(problem, search.floor_needs, grid.floor.busy_ns).least_bottleneck()
            if plans is not None:
                search.step_ns, search.schedule = None, None
                search.offer(grid.plans, plans[1])
                # More than the bottleneck is not of interest.
                search.step_ns = problem.microbatches * plans[0]
            if floor is not None:
                least_ns = max(least_ns, min(floor[0], search.beyond_cap_ns()))
            elif plans is None:
                search.prove(grid)
            search.lower_bound_ns = problem.microbatches * least_ns
    return _outcome(search, ending, "bottleneck", params)


def bound_step(
    problem: PipelineChain, options: SolveOptions, params: PipelineParams = PIPELINE
) -> Outcome:
    """Return lower bounds on the step: of persistent schedules, and of all without recomputation.

    The first is that of `cutting` on the tables that are rounded down.
    """
    search = PipelineSearch(problem, params, Clock(options.time_limit_s))
    with Ending() as ending:
        for grid in search.grids():
            found = search.least_bound(grid.floor)
            upper = Cutting(problem, search.needs, grid.plans.busy_ns).least_bottleneck()
            search.prove(grid)
            if found is None and search.refuted:
                break
            # The cap is raised by what a step takes.
            if upper is not None:
                search.step_ns = Cutting(problem, search.needs, grid.plans.busy_ns).step_ns(
                    upper[1]
                )
    search.schedule = None
    return _outcome(search, ending, "step-bound", params)


def _begin(search: PipelineSearch, options: SolveOptions) -> None:
    start = options.start
    if isinstance(start, PipelineSchedule):
        replay = start.replay(search.problem)
        if replay.valid:
            search.step_ns, search.schedule = replay.time_ns, start


def _outcome(
    search: PipelineSearch, ending: Ending, method: str, params: PipelineParams
) -> Outcome:
    problem = search.problem
    bounds: list[Bound] = []
    if search.lower_bound_ns:
        bounds.append(exact_bound(search.lower_bound_ns, ScheduleClass.PERSISTENT, method))
    infeasibility = None
    if search.refuted:
        infeasibility = Infeasibility(
            valid_for=ScheduleClass.PERSISTENT,
            least_memory_bytes=problem.memory_bytes + 1,
            is_exact=False,
        )
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
        work={"slots": search.slots, "cuts": search.cuts},
    )
