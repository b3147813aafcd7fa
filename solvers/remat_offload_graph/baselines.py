"""Baselines that leave the link idle: what remat-graph plans, and everything in memory."""

from __future__ import annotations

from dataclasses import replace

from jettison.instances.core.units import format_bytes
from jettison.instances.remat_offload_graph.problem import RematOffloadGraph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.schedules.remat_offload_graph.schedule import OffloadGraphSchedule
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_graph.baselines.simple import store_all_schedule
from jettison.solvers.remat_graph.cuts.exact_method import solve_graph_exact
from jettison.solvers.remat_graph.cuts.params import EXACT, ExactParams
from jettison.solvers.remat_offload_graph.least_memory import linked_infeasibility


def solve_store_all(problem: RematOffloadGraph, options: SolveOptions) -> Outcome:
    """Return the schedule that keeps every value to its last user, if it fits."""
    del options
    least_bytes = problem.instance.store_all_peak_bytes
    if problem.memory_bytes < least_bytes:
        return Outcome(
            termination=Termination.COMPLETED,
            note=f"store-all needs {format_bytes(least_bytes)} ({least_bytes} bytes) on this "
            "instance",
        )
    schedule = OffloadGraphSchedule.without_transfers(store_all_schedule(problem.instance))
    return Outcome(termination=Termination.COMPLETED, schedule=schedule)


def solve_without_transfers(
    problem: RematOffloadGraph, options: SolveOptions, params: ExactParams = EXACT
) -> Outcome:
    """Return the plan of remat-graph's exact method: the fastest staged one without transfers.

    Its bound, and its proof that nothing fits, hold where there is no link, and are left out
    otherwise.
    """
    refused = linked_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    start = options.start if isinstance(options.start, GraphSchedule) else None
    # What the search would tell of are schedules of a graph without a link.
    asked = replace(options.quiet(), start=start)
    found = solve_graph_exact(problem.without_link, asked, params)
    schedule = None
    if isinstance(found.schedule, GraphSchedule):
        schedule = OffloadGraphSchedule.without_transfers(found.schedule)
    if problem.link is None:
        return replace(found, schedule=schedule)
    note = found.note
    if schedule is None:
        note = note or "no schedule without transfers fits"
    return Outcome(termination=found.termination, schedule=schedule, work=found.work, note=note)
