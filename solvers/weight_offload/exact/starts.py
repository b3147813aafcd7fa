"""Restarts of local search and cutting for weight offloading, for as long as there is time.

Each start is the selection of Algorithm 1 for another margin of memory (`margin_sweep`), and
another seed of the random changes (`PlanSearch`). The resulting schedule is improved by cuts
(`recut`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import count

from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers import _kernels
from jettison.solvers.core.clock import Clock
from jettison.solvers.weight_offload.exact.recut import improve_by_cuts
from jettison.solvers.weight_offload.greedy.selection import select_choices
from jettison.solvers.weight_offload.margin_sweep import margins_bytes
from jettison.solvers.weight_offload.scheduler import WeightScheduler

# Limit on changes without gain for each layer, and how many come between two looks at the clock.
MOST_IN_VAIN = 300
CHANGES = 1_000
# Number of starts where no time limit ends them.
STARTS_WITHOUT_LIMIT = 8


def steps_from_new_starts(
    problem: WeightOffload, floor_ns: int, seed: int, clock: Clock
) -> Iterator[CyclicSchedule]:
    """Yield one schedule after the other, until the clock has run out.

    Without a time limit there are `STARTS_WITHOUT_LIMIT` starts.

    Parameters
    ----------
    problem
        A problem with at least its least memory.
    floor_ns
        Lower bound on the period.
    seed
        Seed of the first start; each start has the next one.
    clock
        The time limit. The result of a start depends on it only where it cuts the start short.

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C is pressed.
    """
    try:
        yield from _steps(problem, floor_ns, seed, clock)
    except TimeoutError:
        return
    except OverflowError:
        # The times do not fit the kernel of the algorithms.
        return


def _steps(
    problem: WeightOffload, floor_ns: int, seed: int, clock: Clock
) -> Iterator[CyclicSchedule]:
    scheduler = WeightScheduler(problem)
    memory_bytes = min(problem.memory_bytes, problem.cycle.no_offload_peak_bytes)
    margins = margins_bytes(problem)
    is_swept = problem.cycle.num_layers <= _kernels.MOST_OFFLOADED_LAYERS
    passed_over = 0
    starts = range(1, STARTS_WITHOUT_LIMIT + 1) if math.isinf(clock.left_s) else count(1)
    for number in starts:
        if passed_over == len(margins):
            # No selection fits in the order of Algorithm 2.
            return
        margin_bytes = margins[number % len(margins)]
        choices = select_choices(problem, memory_bytes - margin_bytes, clock.left_s)
        # With the least memory or more, the choices taken together always suffice.
        assert choices is not None
        if scheduler.period_ns(choices, time_limit_s=clock.left_s) is None:
            passed_over += 1
            continue
        passed_over = 0
        search = scheduler.search(choices, floor_ns, seed + number)
        with suppress(TimeoutError):
            while search.tried_in_vain < MOST_IN_VAIN * problem.cycle.num_layers:
                search.run(CHANGES, clock.left_s)
        yield search.schedule
        if is_swept:
            found: list[CyclicSchedule] = []
            take = partial(_take, found)
            improve_by_cuts(problem, search.schedule, floor_ns, clock, take)
            yield from found[-1:]


def _take(found: list[CyclicSchedule], schedule: CyclicSchedule, _: int) -> None:
    found.append(schedule)
