"""Least memory of a step of a graph with a link, and the refusal of less than that."""

from __future__ import annotations

from jettison.instances.remat_offload_graph.problem import RematOffloadGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.outcome import Infeasibility


def linked_infeasibility(problem: RematOffloadGraph) -> Infeasibility | None:
    """Return the proof that the memory is too small for single operations; None if it is not.

    Each operation needs its inputs, its output and its workspace at once, and the kept values stand
    together at the end. With a link that moves every value this much is enough: each operation runs
    alone, and all values that it does not use are on the host (`offload-all`).
    """
    graph = problem.instance
    least_bytes = graph.least_peak_bound_bytes
    if problem.memory_bytes >= least_bytes:
        return None
    values = {place for place, node in enumerate(graph.nodes) if node.has_value}
    return Infeasibility(
        valid_for=ScheduleClass.ALL,
        least_memory_bytes=least_bytes,
        is_exact=problem.movable == values or least_bytes == graph.store_all_peak_bytes,
        needed_by=graph.neediest_node,
    )
