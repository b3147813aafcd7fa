"""Steps with offloaded weights from ever new starts, for as long as there is time.

Each start is the selection of Algorithm 1 for another margin of memory (`margin_sweep`), and
another seed of the random changes (`PlanSearch`). What these reach is cut and swept
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

# Changes in vain for each layer, and how many come between two looks at the clock.
MOST_IN_VAIN = 300
CHANGES = 1_000
# Where no limit of time ends them.
STARTS_WITHOUT_LIMIT = 8


def steps_from_new_starts(
    problem: WeightOffload, floor_ns: int, seed: int, clock: Clock
) -> Iterator[CyclicSchedule]:
    """Yield one schedule after the other, until the clock has run out.

    Without a limit of time there are `STARTS_WITHOUT_LIMIT` starts.

    Parameters
    ----------
    problem
        In no less than its least memory.
    floor_ns
        No step is shorter.
    seed
        Of the first start; it rises by one with each.
    clock
        When to stop. How far a start gets depends on it only where it stops it.

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
        # In the least memory and more, all choices together are enough.
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
