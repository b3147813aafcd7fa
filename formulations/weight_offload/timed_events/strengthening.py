"""Valid inequalities of `least_period`: disjoint transfers within one window of the link."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lazy_loader as lazy

from jettison.formulations.weight_offload.timed_events.columns import EventColumns, Term, total
from jettison.formulations.weight_offload.timed_events.frame import EventFrame, Place, Prefetch

if TYPE_CHECKING:
    import pulp
else:
    pulp = lazy.load("pulp")


def add_energy(problem: pulp.LpProblem, frame: EventFrame, columns: EventColumns) -> None:
    """Add the rows eC, eP0, eP1 and eP2: what is carried within a window is no longer than it."""
    for i in frame.layers:
        _add_uploads(problem, frame, columns, i)
    for i in frame.layers:
        _add_early_prefetches(problem, frame, columns, i)
    for i in frame.layers:
        _add_late_prefetches(problem, frame, columns, i)


def _add_uploads(
    problem: pulp.LpProblem, frame: EventFrame, columns: EventColumns, first: int
) -> None:
    """Add eC: uploads since a backward that have ended by a place."""
    since = frame.backward(first)
    ended = columns.s[since // 2] + frame.durations[since // 2]
    later = [i for i in frame.layers if frame.backward(i) >= since]
    for until in frame.places:
        if until.number <= since:
            continue
        carried = total(
            (column, frame.transfers[i])
            for i in later
            for at, column in columns.qC[i].items()
            if frame.backward(i) < at.number <= until.number
        )
        row = carried - columns.end(until) + ended <= 0
        problem += row, f"eC_{first}_{until.number}"


def _add_early_prefetches(
    problem: pulp.LpProblem, frame: EventFrame, columns: EventColumns, last: int
) -> None:
    """Add eP0: prefetches of gap 0 from a place on that are due at a forward."""
    due = frame.forward(last)
    for since in frame.places:
        if since.number < due:
            carried = _carried(frame, columns, 0, since, due)
            row = carried - columns.s[due // 2] + columns.start(since) <= 0
            problem += row, f"eP0_{last}_{since.number}"


def _add_late_prefetches(
    problem: pulp.LpProblem, frame: EventFrame, columns: EventColumns, last: int
) -> None:
    """Add eP1 and eP2: those of gap 1 that are due at a backward, in its frame and around it."""
    due = frame.backward(last)
    for since in frame.places:
        if since.number < due:
            carried = _carried(frame, columns, 1, since, due)
            row = carried - columns.s[due // 2] + columns.start(since) <= 0
            problem += row, f"eP1_{last}_{since.number}"
    for since in frame.places:
        early = _carried(frame, columns, 0, since, 2 * len(frame.durations))
        around = total(
            (column, frame.transfers[i])
            for i in frame.layers
            if frame.backward(i) <= due
            for at, column in columns.qP[Prefetch(i, 1)].items()
            if at.number >= since.number or frame.is_wrapped(i, at)
        )
        window = columns.s[due // 2] + columns.T - columns.start(since)
        problem += early + around - window <= 0, f"eP2_{last}_{since.number}"


def _carried(frame: EventFrame, columns: EventColumns, gap: int, since: Place, due: int) -> Term:
    """Return how long the prefetches of a gap take that start from a place on and are due."""
    return total(
        (column, frame.transfers[x.layer])
        for x in frame.prefetches
        if x.gap == gap
        for at, column in columns.qP[x].items()
        if (frame.forward(x.layer) if gap == 0 else frame.backward(x.layer)) <= due
        if at.number >= since.number and (gap == 0 or frame.is_wrapped(x.layer, at))
    )


def add_order(problem: pulp.LpProblem, frame: EventFrame, columns: EventColumns) -> None:
    """Add the rows oC, oCe and oP: what comes before or after an event in the frame."""
    d, most = frame.transfers, frame.most
    for j in frame.layers:
        others = [i for i in frame.layers if i != j]
        before = total(
            (columns.oC(i, j) - columns.wrapped_upload(i) - (1 - columns.c[i]), d[i])
            for i in others
        )
        own = d[j] * (columns.c[j] - columns.wrapped_upload(j))
        off = most * (1 - columns.c[j])
        problem += columns.tC[j] - before - own + off >= 0, f"oC_{j}"
    for j in frame.layers:
        others = [i for i in frame.layers if i != j]
        after = total((columns.oC(j, i) - (1 - columns.c[i]), d[i]) for i in others)
        off = most * (1 - columns.c[j])
        problem += columns.T - columns.tC[j] - after + off >= 0, f"oCe_{j}"
    for x in frame.prefetches:
        before = total(
            (columns.oP(z, x) - (1 - columns.y[z]), d[z.layer]) for z in frame.prefetches if z != x
        )
        off = most * (1 - columns.y[x])
        problem += columns.tP[x] - before + off >= 0, f"oP_{x.layer}_{x.gap}"
