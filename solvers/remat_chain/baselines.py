"""Schedules that need no optimization: the baselines of the chain papers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from jettison.instances.core.errors import InputError
from jettison.instances.core.units import format_bytes
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_chain.problem import RematChain
from jettison.schedules.remat_chain.schedule import (
    ChainOperation,
    ChainOperationKind,
    ChainSchedule,
)
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination

ALL = ChainOperationKind.FORWARD_ALL
CHECKPOINT = ChainOperationKind.FORWARD_CHECKPOINT
NONE = ChainOperationKind.FORWARD_NONE
BACKWARD = ChainOperationKind.BACKWARD


def store_all_schedule(chain: Chain) -> ChainSchedule:
    """Save everything on the way forward, recompute nothing; `2 N` operations."""
    return segmented_schedule(chain, [1])


def recompute_all_schedule(chain: Chain) -> ChainSchedule:
    r"""Save the input only and restart from it for every backward; :math:`O(N^2)` operations.

    Its peak is POFO's lowest memory :math:`M^{low}`.
    """
    operations: list[ChainOperation] = []
    for number in range(len(chain), 0, -1):
        operations.extend(_forward_dropping(1, number))
        operations.append(ChainOperation(ALL, number))
        operations.append(ChainOperation(BACKWARD, number))
    return ChainSchedule(tuple(operations))


def segmented_schedule(chain: Chain, starts: Sequence[int]) -> ChainSchedule:
    """Schedule by segments: inputs are kept, a segment's stages are recomputed for its backward.

    The last segment, whose backward comes first, is saved at once.

    Parameters
    ----------
    chain
        The instance.
    starts
        First stage of each segment, ascending, beginning with 1. The last segment reaches to the
        loss.
    """
    bounds = [*starts, len(chain) + 1]
    operations: list[ChainOperation] = []
    for first, following in pairwise(bounds[:-1]):
        operations.extend(_forward_dropping(first, following))
    for first, following in reversed(list(pairwise(bounds))):
        stages = range(first, following)
        operations.extend(ChainOperation(ALL, number) for number in stages)
        operations.extend(ChainOperation(BACKWARD, number) for number in reversed(stages))
    return ChainSchedule(tuple(operations))


def periodic_schedule(chain: Chain, segments: int) -> ChainSchedule:
    """Schedule with `segments` segments of equal length before the loss, as PyTorch has it.

    Each segment has ``stages // segments`` stages; the last one takes what is left over, and the
    loss (torch.utils.checkpoint.checkpoint_sequential).

    Raises
    ------
    InputError
        If `segments` is below 1 or above the number of stages before the loss; a loss alone is one
        segment.
    """
    most = max(len(chain) - 1, 1)
    if not 1 <= segments <= most:
        raise InputError(f"{segments}", field="segments", expected=f"write 1 to {most}")
    length = most // segments
    return segmented_schedule(chain, [1 + k * length for k in range(segments)])


def chen_sqrt_schedule(chain: Chain) -> ChainSchedule:
    r"""Cut the stages before the loss into :math:`\lceil\sqrt L\rceil` segments of equal length.

    Chen et al. (2016) choose about :math:`\sqrt L` segments of :math:`\sqrt L` stages; lengths
    differ by at most one here, the longer ones first.
    """
    stages = len(chain) - 1
    if stages == 0:
        return store_all_schedule(chain)
    segments = math.isqrt(stages - 1) + 1
    length, longer = divmod(stages, segments)
    return segmented_schedule(chain, [1 + k * length + min(k, longer) for k in range(segments)])


def solve_store_all(problem: RematChain, options: SolveOptions) -> Outcome:
    """Return the schedule that saves everything, if it fits."""
    del options
    least = problem.instance.store_all_peak_bytes
    if problem.memory_bytes < least:
        return _too_small("store-all", least)
    schedule = store_all_schedule(problem.instance)
    return Outcome(termination=Termination.COMPLETED, schedule=schedule)


def solve_recompute_all(problem: RematChain, options: SolveOptions) -> Outcome:
    """Return the schedule that restarts from the input for every backward, if it fits."""
    del options
    least = problem.instance.recompute_all_peak_bytes
    if problem.memory_bytes < least:
        return _too_small("recompute-all", least)
    schedule = recompute_all_schedule(problem.instance)
    return Outcome(termination=Termination.COMPLETED, schedule=schedule)


def solve_periodic(problem: RematChain, options: SolveOptions) -> Outcome:
    """Return the fastest periodic schedule that fits, over all numbers of segments.

    At the time limit and on Ctrl-C it is the fastest of those that have been looked at.
    """
    chain = problem.instance
    counts = range(1, max(len(chain), 2))
    schedules = (periodic_schedule(chain, k) for k in counts)
    return _best_that_fits(problem, "periodic", schedules, options)


def solve_chen_sqrt(problem: RematChain, options: SolveOptions) -> Outcome:
    """Return the schedule with about as many segments as the root of the length, if it fits."""
    schedule = chen_sqrt_schedule(problem.instance)
    return _best_that_fits(problem, "chen-sqrt", [schedule], options)


def _forward_dropping(first: int, following: int) -> list[ChainOperation]:
    """Return forwards over the stages first..following-1 that keep only the first input."""
    return [
        ChainOperation(CHECKPOINT if number == first else NONE, number)
        for number in range(first, following)
    ]


def _best_that_fits(
    problem: RematChain, method: str, schedules: Iterable[ChainSchedule], options: SolveOptions
) -> Outcome:
    """Return the fastest schedule that fits; at least one is replayed, whatever the time."""
    clock = Clock(options.time_limit_s)
    best: tuple[int, ChainSchedule] | None = None
    least_peak: int | None = None
    with Ending() as ending:
        for schedule in schedules:
            if least_peak is not None:
                clock.require_time()
            if best is not None and _time_ns(schedule, problem.instance) >= best[0]:
                continue
            replay = schedule.replay(problem.instance)
            if replay.peak_bytes <= problem.memory_bytes and (
                best is None or replay.time_ns < best[0]
            ):
                best = (replay.time_ns, schedule)
            if least_peak is None or replay.peak_bytes < least_peak:
                least_peak = replay.peak_bytes
    if best is not None:
        return Outcome(termination=ending.termination, schedule=best[1])
    if ending.termination.is_regular and least_peak is not None:
        return _too_small(method, least_peak)
    note = f"none of the schedules of {method} that were looked at fits"
    return Outcome(termination=ending.termination, note=note)


def _time_ns(schedule: ChainSchedule, chain: Chain) -> int:
    """Return the time of a schedule without drops; to add it up takes less than a replay."""
    stages = chain.stages
    return sum(
        stages[operation.stage - 1].backward_ns
        if operation.kind is BACKWARD
        else stages[operation.stage - 1].forward_ns
        for operation in schedule.operations
    )


def _too_small(method: str, least_bytes: int) -> Outcome:
    return Outcome(
        termination=Termination.COMPLETED,
        note=f"{method} needs {format_bytes(least_bytes)} ({least_bytes} bytes) on this instance",
    )
