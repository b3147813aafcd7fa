"""Best saved calls of checkpointed regions: optimum of selective checkpointing, with its bound."""

from __future__ import annotations

from dataclasses import dataclass

from jettison.formulations.remat_graph.saved_calls import (
    Call,
    SavedCallsModel,
    build_saved_calls,
)
from jettison.instances.remat_graph.checkpoint_regions import CheckpointRegions
from jettison.schedules.core.replay import Replay
from jettison.schedules.remat_graph.saved_calls_schedule import saved_calls_schedule
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_of_a_method import highs_options


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedCalls:
    """Saved calls of checkpointed regions, with the replay of the step in which they are saved.

    Attributes
    ----------
    step
        The regions.
    memory_bytes
        The memory in which they are the best found.
    saved
        Pairs of region and call.
    schedule, replay
        What happens in the step.
    class_bound_ns
        No choice of saved calls within the memory is faster, as a floating-point solver proves.
    termination
        Why the search ended.
    """

    step: CheckpointRegions
    memory_bytes: int
    saved: frozenset[Call]
    schedule: GraphSchedule
    replay: Replay
    class_bound_ns: int
    termination: Termination


@dataclass(frozen=True, slots=True, kw_only=True)
class NoSavedCalls:
    """Result where no choice of saved calls was found within a memory.

    Attributes
    ----------
    is_proved
        Whether there is none.
    enough_bytes
        What the step needs where nothing is saved.
    """

    is_proved: bool
    enough_bytes: int


def best_saved_calls(
    step: CheckpointRegions, memory_bytes: int, options: SolveOptions
) -> SavedCalls | NoSavedCalls:
    """Return the calls to save so that a step within `memory_bytes` takes the least time.

    HiGHS solves the model of `build_saved_calls`, which is exact; the replay of each point that it
    finds decides whether it is within the memory. A point that is over by the tolerance of the
    solver loses the calls that cost least time for their bytes until it is not. Time exponential
    in the number of calls at worst; of hundreds of calls of alike layers, fractions of a second.

    Parameters
    ----------
    step
        The regions.
    memory_bytes
        The limit.
    options
        Time limit, gap, threads and seed.
    """
    graph = step.graph
    clock = Clock(options.time_limit_s)
    nothing = saved_calls_schedule(step, frozenset())
    nothing_replay = nothing.replay(graph, memory_bytes)
    if not all(violation.bytes_over for violation in nothing_replay.violations):
        raise AssertionError(f"a step that nothing is saved in: {nothing_replay.violations[0]}")
    built = build_saved_calls(step, memory_bytes)
    solution = solve_in_time(built.model, highs_options(options, clock, options.gap))
    best: tuple[frozenset[Call], GraphSchedule, Replay] | None = None
    if nothing_replay.valid:
        best = frozenset(), nothing, nothing_replay
    if solution.values is not None:
        found = _within(step, memory_bytes, built.saved(solution.values))
        if found is not None and (best is None or found[2].time_ns <= best[2].time_ns):
            best = found
    if best is None:
        return NoSavedCalls(
            is_proved=solution.answer is Answer.INFEASIBLE,
            enough_bytes=nothing_replay.peak_bytes,
        )
    saved, schedule, replay = best
    return SavedCalls(
        step=step,
        memory_bytes=memory_bytes,
        saved=saved,
        schedule=schedule,
        replay=replay,
        class_bound_ns=_bound_ns(built, nothing_replay.time_ns, solution.dual_bound),
        termination=solution.termination,
    )


def _bound_ns(built: SavedCallsModel, nothing_ns: int, dual_bound: float | None) -> int:
    """Return the bound on the time of a step: that of the step without what is chosen, and more."""
    most_saved_ns = sum(built.durations_ns)
    least = nothing_ns - most_saved_ns
    if dual_bound is None:
        return least
    return max(least, least + built.time_scale.bound_from_model(dual_bound))


def _within(
    step: CheckpointRegions, memory_bytes: int, saved: frozenset[Call]
) -> tuple[frozenset[Call], GraphSchedule, Replay] | None:
    """Return a point with its replay, without the calls that have to go for it to fit."""

    def worth(call: Call) -> tuple[float, Call]:
        nodes = [step.graph.nodes[node] for node in step.regions[call[0]].calls[call[1]].nodes]
        size = sum(node.output_bytes for node in nodes)
        return sum(node.duration_ns for node in nodes) / max(1, size), call

    # What draws random numbers stays: without it other calls might draw others.
    removable = sorted(
        (call for call in saved if not step.regions[call[0]].calls[call[1]].is_random),
        key=worth,
        reverse=True,
    )
    kept = saved
    while True:
        schedule = saved_calls_schedule(step, kept)
        replay = schedule.replay(step.graph, memory_bytes)
        if replay.valid:
            return kept, schedule, replay
        if not removable:
            return None
        kept = kept - {removable.pop()}
