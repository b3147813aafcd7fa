"""Cases of rematerialization on a graph that sizes settle: nothing fits, or everything does."""

from __future__ import annotations

from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.outcome import Infeasibility, Outcome
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_graph.baselines.simple import store_all_schedule


def too_little_memory(problem: RematGraph) -> Outcome | None:
    """Return the proof from sizes alone that no schedule of any kind fits, or None."""
    graph = problem.instance
    if problem.memory_bytes >= graph.least_peak_bound_bytes:
        return None
    return Outcome(
        termination=Termination.COMPLETED,
        infeasibility=Infeasibility(
            valid_for=ScheduleClass.ALL,
            least_memory_bytes=graph.least_peak_bound_bytes,
            is_exact=graph.least_peak_bound_bytes == graph.store_all_peak_bytes,
            needed_by=graph.neediest_node,
        ),
    )


def memory_for_everything(problem: RematGraph) -> Outcome | None:
    """Return the schedule without recomputation, which is optimal, or None if it does not fit."""
    if problem.memory_bytes < problem.instance.store_all_peak_bytes:
        return None
    return Outcome(termination=Termination.COMPLETED, schedule=store_all_schedule(problem.instance))
