"""Test for a step of weight offloading without waiting, which makes all bounds superfluous."""

from __future__ import annotations

from itertools import islice

from jettison.instances.core.errors import InputError
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.solvers.core.clock import Clock
from jettison.solvers.weight_offload.margin_sweep import MarginSweep

# Number of margins that are tried; a larger margin seldom helps.
_MOST_MARGINS = 40
# Share of the time that is left.
_SHARE_OF_TIME = 0.1


def has_step_without_waiting(problem: WeightOffload, clock: Clock) -> bool:
    """Tell whether the greedy algorithm with a margin finds a step of the base time.

    False proves nothing. A tenth of the time that is left is used.
    """
    base_ns = problem.instance.base_time_ns
    try:
        sweep = MarginSweep(problem)
        for _ in islice(sweep.run(Clock(clock.left_s * _SHARE_OF_TIME)), _MOST_MARGINS):
            if sweep.incumbent.period_ns == base_ns:
                return True
    except (InputError, OverflowError, TimeoutError):
        # Times too long for a schedule or for the kernel, or too little time: use the models.
        return False
    return False
