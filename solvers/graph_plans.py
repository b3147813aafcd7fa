"""The fastest schedule that fits, out of those that a baseline makes whatever the memory is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jettison.instances.remat_graph import RematGraph
from jettison.instances.units import format_bytes
from jettison.schedules.graph_schedule import GraphSchedule
from jettison.solvers.clock import Clock
from jettison.solvers.graph_plan_measure import PlanMeasure
from jettison.solvers.outcome import Outcome, SolveOptions
from jettison.solvers.status import Termination


def fastest_that_fits(
    problem: RematGraph, method: str, plans: Iterable[Sequence[int]], options: SolveOptions
) -> Outcome:
    """Measure the plans one after the other; at least one is looked at.

    The first plan of the least time becomes the schedule. At the time limit and on Ctrl-C it is the
    fastest of those that have been looked at. Where all have been and none fits, the note says
    how much memory the method needs.

    Parameters
    ----------
    problem, options
        As for the method.
    method
        What to call it in the note.
    plans
        Sequences of computations, as `PlanMeasure` takes them.
    """
    clock = Clock(options.time_limit_s)
    graph = problem.instance
    measure = PlanMeasure(graph)
    best: tuple[int, Sequence[int]] | None = None
    least_peak: int | None = None
    termination = Termination.COMPLETED
    looked_at = 0
    try:
        for plan in plans:
            looked_at += 1
            time_ns = measure.time_ns(plan)
            # Once a plan fits, the memory of those that are not faster tells nothing.
            if best is None or time_ns < best[0]:
                peak_bytes = measure.peak_bytes(plan)
                if peak_bytes <= problem.memory_bytes:
                    best = (time_ns, plan)
                if least_peak is None or peak_bytes < least_peak:
                    least_peak = peak_bytes
            if best is not None and best[0] == graph.base_time_ns:
                break
            if not clock.left_s:
                termination = Termination.TIME_LIMIT
                break
    except KeyboardInterrupt:
        termination = Termination.INTERRUPTED
    work = {"plans": looked_at}
    if best is not None:
        schedule = GraphSchedule.from_computations(graph, best[1])
        return Outcome(termination=termination, schedule=schedule, work=work)
    note = f"none of the schedules of {method} that were looked at fits"
    if termination.is_regular and least_peak is not None:
        note = f"{method} needs {format_bytes(least_peak)} ({least_peak} bytes) on this instance"
    return Outcome(termination=termination, work=work, note=note)
