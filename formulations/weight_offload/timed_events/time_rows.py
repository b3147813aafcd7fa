"""Rows of `least_period` on times: operations, places, and each layer's transfers in their gaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import lazy_loader as lazy

from jettison.formulations.weight_offload.timed_events.columns import EventColumns, Term
from jettison.formulations.weight_offload.timed_events.frame import EventFrame, Place, Prefetch

if TYPE_CHECKING:
    import pulp
else:
    pulp = lazy.load("pulp")


def add_operations(problem: pulp.LpProblem, frame: EventFrame, columns: EventColumns) -> None:
    """Add the rows op: operations run one after the other."""
    if not frame.has_idle_places:
        return
    for k, duration in enumerate(frame.durations):
        problem += columns.s[k + 1] - columns.s[k] >= duration, f"op_{k}"


def add_choices(problem: pulp.LpProblem, frame: EventFrame, columns: EventColumns) -> None:
    """Add the rows place, needed, used and first: an event has one place if it happens."""
    for i in frame.layers:
        problem += columns.uploaded(i, frame.places) == columns.c[i], f"place_C_{i}"
    for x in frame.prefetches:
        placed = columns.prefetched(x, frame.places)
        problem += placed == columns.y[x], f"place_P_{x.layer}_{x.gap}"
    for x in frame.prefetches:
        problem += columns.y[x] <= columns.c[x.layer], f"needed_{x.layer}_{x.gap}"
    for i in frame.layers:
        problem += (
            columns.c[i] <= columns.y[Prefetch(i, 0)] + columns.y[Prefetch(i, 1)],
            f"used_{i}",
        )
    for i in frame.layers:
        early = frame.prefetch_places(Prefetch(i, 0))
        ends_early = columns.uploaded(i, early)
        problem += ends_early >= columns.y[Prefetch(i, 0)], f"first_{i}"


def add_places(problem: pulp.LpProblem, frame: EventFrame, columns: EventColumns) -> None:
    """Add the rows from and until: an event's time lies in its place."""
    for i in frame.layers:
        _add_limits(problem, frame, columns, columns.tC[i], columns.qC[i], f"C_{i}")
    for x in frame.prefetches:
        name = f"P_{x.layer}_{x.gap}"
        _add_limits(problem, frame, columns, columns.tP[x], columns.qP[x], name)


def _add_limits(
    problem: pulp.LpProblem,
    frame: EventFrame,
    columns: EventColumns,
    time: pulp.LpVariable,
    placed: dict[Place, pulp.LpVariable],
    name: str,
) -> None:
    places = list(placed)
    for number, at in enumerate(places):
        if at.number:
            later = pulp.lpSum(placed[item] for item in places[number:])
            least = columns.start(at) - frame.most * (1 - later)
            problem += time - least >= 0, f"from_{name}_{at.number}"
    for number, at in enumerate(places):
        earlier = pulp.lpSum(placed[item] for item in places[: number + 1])
        most = columns.end(at) + frame.most * (1 - earlier)
        problem += time - most <= 0, f"until_{name}_{at.number}"


def add_uploads(
    problem: pulp.LpProblem, frame: EventFrame, columns: EventColumns, is_bound_around: bool
) -> None:
    """Add the rows up and upc: an upload begins after its backward, if need be in the last frame.

    Parameters
    ----------
    problem, frame, columns
        The model.
    is_bound_around
        Whether to add upc.
    """
    for i in frame.layers:
        k = frame.backward(i) // 2
        ended = columns.s[k] + frame.durations[k]
        off = (frame.most + frame.transfers[i]) * (1 - columns.c[i])
        begins = columns.tC[i] - frame.transfers[i] + off - ended
        problem += begins + frame.most * columns.wrapped_upload(i) >= 0, f"up_{i}"
        if is_bound_around:
            problem += begins + columns.T >= 0, f"upc_{i}"


def add_arrivals(
    problem: pulp.LpProblem, frame: EventFrame, columns: EventColumns, is_bound_around: bool
) -> None:
    """Add the rows arrive0, arrive1 and arrive1c: a prefetch ends before the next use.

    Parameters
    ----------
    problem, frame, columns
        The model.
    is_bound_around
        Whether to add arrive1c.
    """
    most = frame.most
    for x in frame.prefetches:
        i = x.layer
        off = (most + frame.transfers[i]) * (1 - columns.y[x])
        arrives = columns.tP[x] + frame.transfers[i] - off
        if x.gap == 0:
            due = columns.s[frame.forward(i) // 2]
            problem += arrives - due <= 0, f"arrive0_{i}"
            continue
        due = columns.s[frame.backward(i) // 2]
        next_due = due + most * (1 - columns.wrapped_prefetch(x, i))
        problem += arrives - next_due <= 0, f"arrive1_{i}"
        if is_bound_around:
            problem += arrives - due - columns.T <= 0, f"arrive1c_{i}"


def add_absences(problem: pulp.LpProblem, frame: EventFrame, columns: EventColumns) -> None:
    """Add the rows gone and after: a prefetch starts after the upload has ended."""
    most = frame.most
    for x in frame.prefetches:
        i = x.layer
        slack: Term = most * (1 - columns.y[x])
        if x.gap == 1:
            slack += most * (columns.wrapped_prefetch(x, i) - columns.wrapped_upload(i))
        problem += columns.tC[i] - columns.tP[x] - slack <= 0, f"gone{x.gap}_{i}"
    for x in frame.prefetches:
        _add_after(problem, frame, columns, x)


def _add_after(
    problem: pulp.LpProblem, frame: EventFrame, columns: EventColumns, x: Prefetch
) -> None:
    i = x.layer
    for at in sorted(frame.prefetch_places(x), key=lambda place: frame.order(i, place)):
        until = frame.order(i, at)
        prefetched = _up_to(frame, i, columns.qP[x], until)
        uploaded = _up_to(frame, i, columns.qC[i], until)
        row = pulp.lpSum(prefetched) - pulp.lpSum(uploaded) <= 0
        problem += row, f"after_{i}_{x.gap}_{at.number}"


def _up_to(
    frame: EventFrame, layer: int, placed: dict[Place, pulp.LpVariable], until: int
) -> Sequence[pulp.LpVariable]:
    """Return the columns of places up to one, in the order of a layer."""
    return [column for at, column in placed.items() if frame.order(layer, at) <= until]
