"""Least memory of a step with offloaded weights."""

from __future__ import annotations

from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.outcome import Infeasibility


def weight_infeasibility(problem: WeightOffload) -> Infeasibility | None:
    """Return the proof that no schedule fits, or None if one does; see `WeightCycle`."""
    least_bytes = problem.cycle.least_memory_bytes
    if problem.memory_bytes >= least_bytes:
        return None
    return Infeasibility(valid_for=ScheduleClass.ALL, least_memory_bytes=least_bytes, is_exact=True)
