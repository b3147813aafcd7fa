"""Test for a step of weight offloading without waiting, which makes all bounds superfluous."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from jettison.instances.core.errors import InputError
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.solvers.core.clock import Clock
from jettison.solvers.weight_offload.margin_sweep import MarginParams, MarginSweep


@dataclass(frozen=True, kw_only=True)
class WithoutWaitingParams(MarginParams):
    """Parameters of the look for a step without waiting, before a model is built.

    Attributes
    ----------
    margins_without_waiting
        Number of these margins that are tried; a larger one seldom helps.
    share_without_waiting
        Share of the time that is left for it.
    """

    margins_without_waiting: int = 40
    share_without_waiting: float = 0.1


def has_step_without_waiting(
    problem: WeightOffload, clock: Clock, params: WithoutWaitingParams
) -> bool:
    """Tell whether the greedy algorithm with a margin finds a step of the base time.

    False proves nothing.
    """
    base_ns = problem.instance.base_time_ns
    try:
        sweep = MarginSweep(problem, params=params)
        time = Clock(clock.left_s * params.share_without_waiting)
        for _ in islice(sweep.run(time), params.margins_without_waiting):
            if sweep.incumbent.period_ns == base_ns:
                return True
    except (InputError, OverflowError, TimeoutError):
        # Times too long for a schedule or for the kernel, or too little time: use the models.
        return False
    return False
