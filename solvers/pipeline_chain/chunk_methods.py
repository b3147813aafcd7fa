"""Methods of pipelines whose devices may have several parts: interleaved beside plain 1F1B.

A problem with up to v chunks takes schedules with any number of them from 1 on. A bound on its
persistent schedules is the least of those for each number, and nothing fits where that is proved
for each.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import replace

from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.schedules.core.any_schedule import Schedule
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.pipeline_chain.schedule import PipelineSchedule, spans_of
from jettison.solvers.core.bound import Bound, best_bound, exact_bound
from jettison.solvers.core.ending import Ending, pass_interrupt_on
from jettison.solvers.core.outcome import Infeasibility, Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.pipeline_chain.baselines import (
    AllAgain,
    EachAgain,
    KeepAll,
    Way,
    solve_equal_time,
)
from jettison.solvers.pipeline_chain.exact import bound_step, solve_exact
from jettison.solvers.pipeline_chain.interleaved import ChunkSearch
from jettison.solvers.pipeline_chain.pipeline_params import PIPELINE, PipelineParams

Solve = Callable[[PipelineChain, SolveOptions, PipelineParams], Outcome]
_NOTHING_TO_INTERLEAVE = "one chunk of each device: there is nothing to interleave"


def in_plain_order(solve: Solve) -> Solve:
    """Return a method that plans one part for each device, whatever the problem allows.

    With more chunks allowed, what it proves holds for plain 1F1B only, and is left out.
    """

    # With the name and the module of the method that it is, under which it is documented.
    @functools.wraps(solve)
    def solved(problem: PipelineChain, options: SolveOptions, params: PipelineParams) -> Outcome:
        if problem.chunks == 1:
            return solve(problem, options, params)
        found = solve(replace(problem, chunks=1), options, params)
        note = found.note if found.infeasibility is None else "nothing fits in the order 1F1B"
        return replace(found, bounds=(), infeasibility=None, note=note)

    return solved


def solve_every_order(
    problem: PipelineChain, options: SolveOptions, params: PipelineParams = PIPELINE
) -> Outcome:
    """Return the fastest step of plain 1F1B, or a faster interleaved one that was found.

    With one chunk it is exact as `exact.solve_exact` says. With more, the plain one is the start,
    the search for each number of chunks a heuristic, and the bound the least of all orders.
    """
    if problem.chunks == 1:
        return solve_exact(problem, options, params)
    limited = _within(params, options)
    plain = solve_exact(replace(problem, chunks=1), options.quiet(), params)
    found: list[Schedule | None] = [plain.schedule, options.start]
    bounds = [_persistent(plain)]
    _, step_ns = _fastest(problem, found)
    with Ending() as ending:
        found.append(solve_megatron_interleaved(problem, options.quiet()).schedule)
        for chunks in range(2, problem.chunks + 1):
            search = ChunkSearch(problem, chunks, limited)
            bounds.append(search.bound(step_ns, limited.chunk_rounds).time_ns)
        other = solve_interleaved(problem, options.quiet(), params)
        found.append(other.schedule)
        pass_interrupt_on(other.termination)
        ending.termination = other.termination
    schedule, _ = _fastest(problem, found)
    if len(bounds) < problem.chunks:
        # The time was over before every number of chunks had a bound.
        return Outcome(
            termination=ending.termination, schedule=schedule, bounds=_of_all(problem, "exact")
        )
    return replace(
        _with_bounds(problem, bounds, "exact", plain.infeasibility is not None),
        termination=_worse(plain.termination, ending.termination),
        schedule=schedule,
        work=plain.work,
    )


def solve_interleaved(
    problem: PipelineChain, options: SolveOptions, params: PipelineParams = PIPELINE
) -> Outcome:
    """Return the fastest interleaved step that was found, with two chunks or more."""
    if problem.chunks == 1:
        return Outcome(termination=Termination.COMPLETED, note=_NOTHING_TO_INTERLEAVE)
    limited = _within(params, options)
    best: PipelineSchedule | None = None
    best_ns: int | None = None
    # Longer parts than a step that is known has time for are left out.
    plain = in_plain_order(solve_equal_time)(problem, options.quiet(), params).schedule
    _, upper_ns = _fastest(problem, [plain])
    with Ending() as ending:
        for chunks in range(2, problem.chunks + 1):
            search = ChunkSearch(problem, chunks, limited)
            search.search(search.bound(upper_ns, limited.chunk_start_rounds).paths)
            if search.step_ns is not None and (best_ns is None or search.step_ns < best_ns):
                best, best_ns = search.schedule, search.step_ns
    note = None if best is not None else "no cuts were found that fit"
    return Outcome(
        termination=ending.termination,
        schedule=best,
        bounds=_of_all(problem, "interleaved"),
        note=note,
    )


def solve_megatron_interleaved(problem: PipelineChain, options: SolveOptions) -> Outcome:
    """Return chunks of as many stages, as many as are allowed, with one way to recompute in all.

    The ways are those of `baselines`: nothing again, each stage again, all of a chunk again; the
    first that fits is taken.
    """
    del options
    if problem.chunks == 1:
        return Outcome(termination=Termination.COMPLETED, note=_NOTHING_TO_INTERLEAVE)
    parts, count = problem.devices * problem.chunks, len(problem.instance)
    length, longer = divmod(count, parts)
    cuts = [at * length + min(at, longer) for at in range(1, parts)]
    ways: tuple[Way, ...] = (KeepAll(), EachAgain(), AllAgain())
    for way in ways:
        plans = tuple(way.plan(first, last) for first, last in spans_of(cuts, count))
        schedule = PipelineSchedule(plans, problem.chunks)
        if schedule.replay(problem).valid:
            return Outcome(termination=Termination.COMPLETED, schedule=schedule)
    return Outcome(termination=Termination.COMPLETED, note="these cuts do not fit")


def bound_every_order(
    problem: PipelineChain, options: SolveOptions, params: PipelineParams = PIPELINE
) -> Outcome:
    """Return lower bounds on the step: of persistent schedules, and of all without recomputation.

    With several chunks the least of those for each number of them.
    """
    plain = bound_step(replace(problem, chunks=1), options, params)
    if problem.chunks == 1:
        return plain
    bounds = [_persistent(plain)]
    limited = _within(params, options)
    quick = in_plain_order(solve_equal_time)(problem, options.quiet(), params).schedule
    _, plain_ns = _fastest(problem, [quick])
    with Ending() as ending:
        for chunks in range(2, problem.chunks + 1):
            search = ChunkSearch(problem, chunks, limited)
            bounds.append(search.bound(plain_ns, limited.chunk_rounds).time_ns)
    if len(bounds) < problem.chunks:
        return Outcome(termination=ending.termination, bounds=_of_all(problem, "step-bound"))
    return replace(
        _with_bounds(problem, bounds, "step-bound", plain.infeasibility is not None),
        termination=_worse(plain.termination, ending.termination),
    )


def _with_bounds(
    problem: PipelineChain, bounds: list[int | None], method: str, plain_refuted: bool
) -> Outcome:
    """Return what the bounds for 1, 2 and more chunks prove; None is one of which nothing fits."""
    known = [0 if bounds[0] is None and not plain_refuted else bounds[0], *bounds[1:]]
    fitting = [bound for bound in known if bound is not None]
    if not fitting:
        least = Infeasibility(
            valid_for=ScheduleClass.PERSISTENT,
            least_memory_bytes=problem.memory_bytes + 1,
            is_exact=False,
        )
        return Outcome(termination=Termination.COMPLETED, infeasibility=least)
    found = _of_all(problem, method)
    if min(fitting) > 0:
        found = (exact_bound(min(fitting), ScheduleClass.PERSISTENT, method), *found)
    return Outcome(termination=Termination.COMPLETED, bounds=found)


def _of_all(problem: PipelineChain, method: str) -> tuple[Bound, ...]:
    base_ns = problem.base_time_ns
    return (exact_bound(base_ns, ScheduleClass.ALL, method),) if base_ns else ()


def _persistent(outcome: Outcome) -> int | None:
    """Return the bound on persistent plain steps; None if there is none."""
    if outcome.infeasibility is not None:
        return None
    found = best_bound(outcome.bounds, ScheduleClass.PERSISTENT)
    return 0 if found is None else found.time_ns


def _within(params: PipelineParams, options: SolveOptions) -> PipelineParams:
    """Convert a time limit into rounds and timelines, which are the same on a busy machine."""
    if options.time_limit_s is None:
        return params
    share = min(1.0, options.time_limit_s / params.chunk_seconds)

    def part(most: int) -> int:
        return max(1, int(most * share))

    return replace(
        params,
        chunk_rounds=part(params.chunk_rounds),
        chunk_start_rounds=part(params.chunk_start_rounds),
        chunk_timelines=part(params.chunk_timelines),
        chunk_slots=max(4, part(params.chunk_slots)),
        chunk_bound_slots=max(4, part(params.chunk_bound_slots)),
    )


def _fastest(
    problem: PipelineChain, schedules: Iterable[Schedule | None]
) -> tuple[PipelineSchedule | None, int | None]:
    """Return the fastest of the schedules that fit, the first of equals, and its time."""
    best: PipelineSchedule | None = None
    best_ns: int | None = None
    for schedule in schedules:
        if not isinstance(schedule, PipelineSchedule):
            continue
        replay = schedule.replay(problem)
        if replay.valid and (best_ns is None or replay.time_ns < best_ns):
            best, best_ns = schedule, replay.time_ns
    return best, best_ns


def _worse(one: Termination, other: Termination) -> Termination:
    return other if one is Termination.COMPLETED else one
