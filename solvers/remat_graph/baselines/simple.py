"""Baselines on graphs that need no optimization: keep everything, or keep nothing."""

from __future__ import annotations

from jettison.instances.core.units import format_bytes
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_graph.operators import on_held_values


def store_all_schedule(graph: Graph) -> GraphSchedule:
    """Compute each node once, in the order given, and free each value after its last user.

    Its peak is `Graph.store_all_peak_bytes`. :math:`O(n + |E|)`.
    """
    return GraphSchedule.from_computations(graph, range(len(graph)))


def recompute_all_schedule(graph: Graph) -> GraphSchedule:
    """Before each node, recompute everything on which it depends; store nothing in between.

    Only the values of kept nodes stay. :math:`O(n (n + |E|))` time, :math:`O(n^2)` operations.
    """
    computations: list[int] = []
    for target in range(len(graph)):
        computations.extend(_needed_for(graph, target))
        computations.append(target)
    return GraphSchedule.from_computations(graph, computations)


def solve_store_all(problem: RematGraph, options: SolveOptions) -> Outcome:
    """Return the schedule that keeps every value to its last user, if it fits."""
    del options
    return _if_it_fits(problem, "store-all", store_all_schedule(problem.instance))


@on_held_values
def solve_recompute_all(problem: RematGraph, options: SolveOptions) -> Outcome:
    """Return the schedule that keeps nothing from one first computation to the next, if it fits."""
    del options
    return _if_it_fits(problem, "recompute-all", recompute_all_schedule(problem.instance))


def _needed_for(graph: Graph, target: int) -> list[int]:
    """Return the nodes to recompute before `target`, ascending, while kept ones are in memory."""
    needed: set[int] = set()
    open_nodes = [target]
    while open_nodes:
        for source in graph.inputs[open_nodes.pop()]:
            if source not in needed and not graph.nodes[source].keep:
                needed.add(source)
                open_nodes.append(source)
    return sorted(needed)


def _if_it_fits(problem: RematGraph, method: str, schedule: GraphSchedule) -> Outcome:
    peak_bytes = schedule.replay(problem.instance).peak_bytes
    if peak_bytes <= problem.memory_bytes:
        return Outcome(termination=Termination.COMPLETED, schedule=schedule)
    return Outcome(
        termination=Termination.COMPLETED,
        note=f"{method} needs {format_bytes(peak_bytes)} ({peak_bytes} bytes) on this instance",
    )
