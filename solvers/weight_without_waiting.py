"""Whether a step of weight offloading can do without waiting: then no bound is above its time."""

from __future__ import annotations

from jettison.instances.weight_offload import WeightOffload
from jettison.solvers.clock import Clock
from jettison.solvers.weight_scheduler import WeightScheduler
from jettison.solvers.weight_selection import select_choices

# Selections for less and less memory that are tried.
_MOST_SELECTIONS = 40
# Of the time that is left.
_SHARE_OF_TIME = 0.1
# Algorithm 2 takes O(L^3).
_MOST_LAYERS = 300


def has_step_without_waiting(problem: WeightOffload, clock: Clock) -> bool:
    """Tell whether the greedy algorithm finds a step of the base time; False proves nothing.

    It is given room to spare: weights are selected for less memory than there is, in steps of half
    of the largest layer, and scheduled in all of it. A tenth of the time that is left is used.
    """
    if problem.cycle.num_layers > _MOST_LAYERS:
        return False
    base_ns = problem.instance.base_time_ns
    until_s = clock.seconds + clock.left_s * _SHARE_OF_TIME
    scheduler = WeightScheduler(problem)
    step_bytes = max(1, max(problem.cycle.weight_bytes) // 2)
    for number in range(_MOST_SELECTIONS):
        choices = select_choices(problem, problem.memory_bytes - number * step_bytes)
        if choices is None or clock.seconds > until_s:
            return False
        if scheduler.period_ns(choices) == base_ns:
            return True
    return False
