"""offload-all: the schedule that moves everything after every operation."""

from __future__ import annotations

from jettison.instances.core.units import format_bytes
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_offload_graph.problem import RematOffloadGraph
from jettison.schedules.remat_graph.schedule import GraphOperation, GraphOperationKind
from jettison.schedules.remat_offload_graph.schedule import OffloadGraphSchedule
from jettison.schedules.remat_offload_graph.value_transfer import (
    ValueTransfer,
    ValueTransferKind,
)
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_offload_graph.least_memory import linked_infeasibility


def solve_offload_everything(problem: RematOffloadGraph, options: SolveOptions) -> Outcome:
    """Return the schedule in which each operation has the memory to itself, if it fits.

    On a link that moves every value it fits wherever any schedule does.
    """
    del options
    refused = linked_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    schedule = everything_offloaded(problem)
    replay = schedule.replay(problem.instance, problem.link, problem.memory_bytes)
    if replay.valid:
        return Outcome(termination=Termination.COMPLETED, schedule=schedule)
    least_bytes = schedule.replay(problem.instance, problem.link).peak_bytes
    return Outcome(
        termination=Termination.COMPLETED,
        note=f"offload-all needs {format_bytes(least_bytes)} ({least_bytes} bytes) at most",
    )


def everything_offloaded(problem: RematOffloadGraph) -> OffloadGraphSchedule:
    """Return the schedule that brings in what an operation reads, and then sends all away.

    What cannot be moved stays until its last use. :math:`O(n + |E|)`.
    """
    graph, movable = problem.instance, problem.movable
    last_use = _last_uses(graph)
    stored: set[int] = set()
    hosted: set[int] = set()
    found: list[GraphOperation | ValueTransfer] = []

    def bring_in(values: tuple[int, ...]) -> None:
        for value in values:
            if value not in stored:
                found.append(ValueTransfer(ValueTransferKind.PREFETCH, value))
                stored.add(value)

    def send_away(now: int) -> None:
        for value in sorted(stored):
            is_over = last_use[value] <= now
            if is_over or value in movable:
                if not is_over and value not in hosted:
                    found.append(ValueTransfer(ValueTransferKind.OFFLOAD, value))
                    hosted.add(value)
                found.append(GraphOperation(GraphOperationKind.FREE, value))
                stored.discard(value)

    for node in range(len(graph)):
        bring_in(graph.inputs[node])
        found.append(GraphOperation(GraphOperationKind.COMPUTE, node))
        stored.add(node)
        in_run = node + 1 < len(graph) and graph.comes_in_a_run(node + 1)
        if not in_run:
            send_away(node)
    bring_in(tuple(place for place, node in enumerate(graph.nodes) if node.keep))
    return OffloadGraphSchedule(tuple(found))


def _last_uses(graph: Graph) -> list[int]:
    return [
        len(graph) if graph.nodes[node].keep else max((node, *graph.users[node]))
        for node in range(len(graph))
    ]
