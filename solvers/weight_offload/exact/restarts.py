"""Restarts of local search and cutting for weight offloading, for as long as there is time.

Each start is the selection of Algorithm 1 for another margin of memory (`margin_sweep`), and
another seed of the random changes (`PlanSearch`). The resulting schedule is improved by cuts
(`recut`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count

from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.weight_offload.exact.beginnings import why_not_swept
from jettison.solvers.weight_offload.exact.recut import RecutParams, improve_by_cuts
from jettison.solvers.weight_offload.greedy.selection import select_choices
from jettison.solvers.weight_offload.margin_sweep import MarginParams, margins_bytes
from jettison.solvers.weight_offload.scheduler import WeightScheduler


@dataclass(frozen=True, kw_only=True)
class StartParams(RecutParams, MarginParams):
    """Parameters of the search from new starts: its limits.

    Attributes
    ----------
    most_in_vain_of_start
        Most changes without gain for each layer, from one start.
    changes_at_once
        Changes between two looks at the clock.
    starts_without_limit
        Number of starts where no time limit ends them.
    """

    most_in_vain_of_start: int = 300
    changes_at_once: int = 1_000
    starts_without_limit: int = 8


STARTS = StartParams()


def steps_from_new_starts(
    problem: WeightOffload,
    floor_ns: int,
    seed: int,
    clock: Clock,
    params: StartParams = STARTS,
) -> Iterator[CyclicSchedule]:
    """Yield one schedule after the other, until the clock has run out.

    Without a time limit `params` says how many starts there are.

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
    params
        The limits.

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C is pressed.
    """
    try:
        yield from _steps(problem, floor_ns, seed, clock, params)
    except TimeoutError:
        return
    except OverflowError:
        # The times do not fit the kernel of the algorithms.
        return


def _steps(
    problem: WeightOffload, floor_ns: int, seed: int, clock: Clock, params: StartParams
) -> Iterator[CyclicSchedule]:
    scheduler = WeightScheduler(problem)
    memory_bytes = min(problem.memory_bytes, problem.cycle.no_offload_peak_bytes)
    margins = margins_bytes(problem, params)
    is_swept = why_not_swept(problem) is None
    passed_over = 0
    last = params.starts_without_limit
    starts = range(1, last + 1) if math.isinf(clock.left_s) else count(1)
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
        most_in_vain = params.most_in_vain_of_start * problem.cycle.num_layers
        with suppress(TimeoutError):
            # At the floor it tries no more changes.
            while search.tried_in_vain < most_in_vain and search.period_ns > floor_ns:
                search.run(params.changes_at_once, clock.left_s)
        yield search.schedule
        if is_swept:
            found: list[CyclicSchedule] = []
            take = partial(_take, found)
            improve_by_cuts(problem, search.schedule, floor_ns, clock, take, params)
            yield from found[-1:]


def _take(found: list[CyclicSchedule], schedule: CyclicSchedule, _: int) -> None:
    found.append(schedule)
