"""Baselines on graphs that need no optimization: keep everything, or keep nothing."""

from __future__ import annotations

from functools import partial

from jettison.instances.core.units import format_bytes
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_graph.baselines.checkpoints import PlanLimit, computations_of_plan
from jettison.solvers.remat_graph.baselines.plans import Plan, fastest_that_fits
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
    no_limit = PlanLimit(None, Clock(None))
    return GraphSchedule.from_computations(graph, _recompute_all(graph, no_limit))


def solve_store_all(problem: RematGraph, options: SolveOptions) -> Outcome:
    """Return the schedule that keeps every value to its last user, if it fits."""
    del options
    peak_bytes = problem.instance.store_all_peak_bytes
    if peak_bytes <= problem.memory_bytes:
        schedule = store_all_schedule(problem.instance)
        return Outcome(termination=Termination.COMPLETED, schedule=schedule)
    return Outcome(
        termination=Termination.COMPLETED,
        note=f"store-all needs {format_bytes(peak_bytes)} ({peak_bytes} bytes) on this instance",
    )


@on_held_values
def solve_recompute_all(problem: RematGraph, options: SolveOptions) -> Outcome:
    """Return the schedule that keeps nothing from one first computation to the next, if it fits."""
    plan = Plan(0, partial(_recompute_all, problem.instance))
    return fastest_that_fits(problem, "recompute-all", [plan], options)


def _recompute_all(graph: Graph, limit: PlanLimit) -> list[int]:
    return computations_of_plan(graph, lambda stage, computed: computed, limit)
