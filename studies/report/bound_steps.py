r"""Lower bounds that the results of a panel prove together, by class of schedules and memory.

A bound for memory :math:`M` holds for every :math:`M' \le M`: a schedule that fits in less memory
fits in more. So the best bound at :math:`M` is

.. math:: b(M) = \max \{ b_j : M_j \ge M, \; \text{$b_j$ is valid for the class} \},

a falling staircase, and infinite up to where no schedule of the class fits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.registry import find_kind
from jettison.studies.report.run import Run


class BoundStep(NamedTuple):
    """Lower bound `time_ns` for the schedules of a class in at most `memory_bytes`.

    Attributes
    ----------
    memory_bytes
        The largest memory for which this is proved.
    time_ns
        None if there is no schedule at all.
    """

    memory_bytes: int
    time_ns: int | None


def bound_steps(runs: Iterable[Run], schedule_class: ScheduleClass) -> list[BoundStep]:
    r"""Return the staircase of a class, by ascending memory; equal steps are one.

    :math:`O(n \log n)` for n bounds.
    """
    found: dict[int, float] = {}
    for run in runs:
        memory_bytes = run.job.memory_bytes
        for bound in run.bounds:
            if bound.valid_for.covers(schedule_class):
                found[memory_bytes] = max(found.get(memory_bytes, 0), bound.time_ns)
        if run.infeasible_for is not None and run.infeasible_for.covers(schedule_class):
            found[memory_bytes] = math.inf
            # The least memory of a proof belongs to the narrow class of its problem.
            if schedule_class is find_kind(run.job.problem).narrow_class and run.least_memory_bytes:
                found[max(memory_bytes, run.least_memory_bytes - 1)] = math.inf
    steps: list[BoundStep] = []
    largest: float = -1
    for memory_bytes in sorted(found, reverse=True):
        if found[memory_bytes] > largest:
            largest = found[memory_bytes]
            steps.append(BoundStep(memory_bytes, None if largest == math.inf else int(largest)))
    return steps[::-1]


def proved_classes(runs: Sequence[Run]) -> list[ScheduleClass]:
    """Return the classes that have a staircase of their own, the narrowest first."""
    named = {bound.valid_for for run in runs for bound in run.bounds}
    named |= {run.infeasible_for for run in runs if run.infeasible_for is not None}
    # The least memory of a proof bounds the narrow class, even where no bound names it.
    named |= {
        find_kind(run.job.problem).narrow_class
        for run in runs
        if run.least_memory_bytes is not None
    }
    named.add(ScheduleClass.ALL)
    distinct: list[ScheduleClass] = []
    previous: list[BoundStep] | None = None
    for schedule_class in sorted(named, key=_breadth, reverse=True):
        steps = bound_steps(runs, schedule_class)
        if steps != previous:
            distinct.append(schedule_class)
        previous = steps
    return distinct[::-1]


def _breadth(schedule_class: ScheduleClass) -> int:
    return sum(map(schedule_class.covers, ScheduleClass))
