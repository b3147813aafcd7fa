"""The fastest schedule that fits, out of those that a baseline makes whatever the memory is."""

from __future__ import annotations

from collections.abc import Iterable

from jettison.instances.remat_graph import RematGraph
from jettison.instances.units import format_bytes
from jettison.schedules.graph_schedule import GraphSchedule
from jettison.solvers.clock import Clock
from jettison.solvers.outcome import Outcome, SolveOptions
from jettison.solvers.status import Termination


def fastest_that_fits(
    problem: RematGraph, method: str, schedules: Iterable[GraphSchedule], options: SolveOptions
) -> Outcome:
    """Replay the schedules one after the other; at least one is looked at.

    The first schedule of the least time is returned. At the time limit and on Ctrl-C it is the
    fastest of those that have been looked at. Where all have been and none fits, the note says
    how much memory the method needs.
    """
    clock = Clock(options.time_limit_s)
    best: tuple[int, GraphSchedule] | None = None
    least_peak: int | None = None
    termination = Termination.COMPLETED
    looked_at = 0
    try:
        for schedule in schedules:
            replay = schedule.replay(problem.instance)
            looked_at += 1
            if replay.peak_bytes <= problem.memory_bytes and (
                best is None or replay.time_ns < best[0]
            ):
                best = (replay.time_ns, schedule)
            if least_peak is None or replay.peak_bytes < least_peak:
                least_peak = replay.peak_bytes
            if best is not None and best[0] == problem.instance.base_time_ns:
                break
            if not clock.left_s:
                termination = Termination.TIME_LIMIT
                break
    except KeyboardInterrupt:
        termination = Termination.INTERRUPTED
    work = {"plans": looked_at}
    if best is not None:
        return Outcome(termination=termination, schedule=best[1], work=work)
    note = f"none of the schedules of {method} that were looked at fits"
    if termination.is_regular and least_peak is not None:
        note = f"{method} needs {format_bytes(least_peak)} ({least_peak} bytes) on this instance"
    return Outcome(termination=termination, work=work, note=note)
