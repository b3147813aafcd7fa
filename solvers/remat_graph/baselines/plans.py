"""Choice of the fastest schedule that fits among the plans of a baseline."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import isqrt

from jettison.instances.core.units import format_bytes
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_graph.baselines.checkpoints import (
    PlanLimit,
    PlanStoppedError,
    PlanTooLongError,
)
from jettison.solvers.remat_graph.baselines.plan_measure import PlanMeasure

# Computations of the first plan that take no time worth speaking of.
_FREE_COMPUTATIONS = 10_000
_FREE_COMPUTATIONS_PER_NODE = 4


@dataclass(frozen=True, slots=True)
class Plan:
    """Candidate of a baseline: a rank, and a function that makes its sequence of computations.

    Attributes
    ----------
    rank
        Rank from 0. Of plans of the same time the one of the least rank is taken.
    computations
        Makes the sequence, as `PlanMeasure` takes it. It raises `PlanStoppedError` at the limit.
    """

    rank: int
    computations: Callable[[PlanLimit], Sequence[int]]


def in_turn(sequences: Iterable[Sequence[int]]) -> Iterator[Plan]:
    """Yield plans of given sequences, ranked in their order."""
    for rank, computations in enumerate(sequences):
        yield Plan(rank, partial(_made, computations))


def _made(computations: Sequence[int], limit: PlanLimit) -> Sequence[int]:
    del limit
    return computations


def geometric_middle(low: int, high: int) -> int:
    """Return the middle of two integers from 0 on, on a logarithmic scale."""
    return isqrt((low + 1) * (high + 1)) - 1


def arithmetic_middle(low: int, high: int) -> int:
    """Return the middle of two integers."""
    return (low + high) // 2


def coarse_to_fine(
    first: int,
    last: int,
    middle_of: Callable[[int, int], int],
    alike: Callable[[int], tuple[int, int]],
) -> Iterator[int]:
    """Yield one integer of each class of equivalent ones in a range, distant ones first.

    Parameters
    ----------
    first, last
        The range, from 0 on, both ends included; it may be empty.
    middle_of
        Returns the integer at which a range is divided.
    alike
        Returns the first and the last integer of the class of a given one; called right after that
        one was yielded. Classes are ranges.

    Notes
    -----
    The range is divided at its middle, then the rests on both sides, level by level.
    """
    open_ranges = deque([(first, last)])
    while open_ranges:
        low, high = open_ranges.popleft()
        if low > high:
            continue
        middle = middle_of(low, high)
        yield middle
        begin, end = alike(middle)
        open_ranges.extend([(low, begin - 1), (end + 1, high)])


def fastest_that_fits(
    problem: RematGraph, method: str, plans: Iterable[Plan], options: SolveOptions
) -> Outcome:
    """Return the schedule of the fastest plan that fits; at least one short plan is measured.

    Of plans of the least time it is the one of the least rank. At the time limit and on Ctrl-C it
    is the best of those measured by then. If all have been measured and none fits, the note says
    how much memory the method needs. Plans whose computations are too many for the time that is
    left are not made to their end.

    Parameters
    ----------
    problem, options
        Those of the method.
    method
        The method's name, for the note.
    plans
        The candidates.
    """
    clock = Clock(options.time_limit_s)
    graph = problem.instance
    measure = PlanMeasure(graph)
    best: tuple[int, int] | None = None
    best_computations: Sequence[int] = ()
    least_peak: int | None = None
    looked_at = 0
    is_cut_off = False
    # The first plan is made whatever the time limit, unless it is a long one.
    free = max(_FREE_COMPUTATIONS, _FREE_COMPUTATIONS_PER_NODE * len(graph))
    with Ending() as ending:
        for plan in plans:
            looked_at += 1
            most_ns = best[0] if best else None
            limit = PlanLimit(most_ns, clock, free if looked_at == 1 else 0)
            try:
                computations = plan.computations(limit)
            except PlanTooLongError:
                is_cut_off, computations = True, ()
            except PlanStoppedError:
                computations = ()
            key = (measure.time_ns(computations), plan.rank)
            # Once a plan fits, plans that are not faster need not be measured.
            if computations and (best is None or key < best):
                peak_bytes = measure.peak_bytes(computations)
                if peak_bytes <= problem.memory_bytes:
                    best, best_computations = key, computations
                least_peak = min(peak_bytes, least_peak or peak_bytes)
            if best == (graph.base_time_ns, 0):
                break
            clock.require_time()
    if is_cut_off and ending.termination.is_regular and best != (graph.base_time_ns, 0):
        ending.termination = Termination.TIME_LIMIT
    work = {"plans": looked_at}
    if best is not None:
        schedule = GraphSchedule.from_computations(graph, best_computations)
        return Outcome(termination=ending.termination, schedule=schedule, work=work)
    note = f"none of the schedules of {method} that were looked at fits"
    if ending.termination.is_regular and least_peak is not None:
        note = f"{method} needs {format_bytes(least_peak)} ({least_peak} bytes) on this instance"
    return Outcome(termination=ending.termination, work=work, note=note)
