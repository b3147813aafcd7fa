"""Rows of `least_period` on memory: enough is absent where an operation or a prefetch starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lazy_loader as lazy

from jettison.formulations.weight_offload.timed_events.columns import EventColumns, total
from jettison.formulations.weight_offload.timed_events.frame import EventFrame, Place, Prefetch

if TYPE_CHECKING:
    import pulp
else:
    pulp = lazy.load("pulp")


def add_operations_memory(
    problem: pulp.LpProblem, frame: EventFrame, columns: EventColumns
) -> None:
    """Add the rows room, left and back: what is absent when an operation starts."""
    w = frame.weights
    for k, operation in enumerate(frame.problem.cycle):
        excess = frame.excess(Place(k, is_idle=False))
        absent = total((columns.A[i, k], w[i]) for i in frame.layers if i != operation.layer)
        problem += absent >= excess, f"room_{k}"
    for (i, k), absent in columns.A.items():
        here = frame.order(i, Place(k, is_idle=False))
        is_early = here < frame.order(i, Place(frame.forward(i) // 2, is_idle=False))
        if is_early:
            earlier = [at for at in frame.upload_places(i) if frame.order(i, at) < here]
            uploaded = columns.uploaded(i, earlier)
        else:
            in_gap = frame.prefetch_places(Prefetch(i, 1))
            later = [at for at in in_gap if frame.order(i, at) >= here]
            uploaded = columns.c[i] - columns.uploaded(i, later)
        problem += absent - uploaded <= 0, f"left_{i}_{k}"
        x = Prefetch(i, 0 if is_early else 1)
        places = [at for at in frame.prefetch_places(x) if frame.order(i, at) >= here]
        comes_back = columns.prefetched(x, places)
        problem += absent - comes_back <= 0, f"back_{i}_{k}"


def add_order_of_events(problem: pulp.LpProblem, frame: EventFrame, columns: EventColumns) -> None:
    """Add the rows ended: a layer's upload has ended when a prefetch starts."""
    for (j, x), ended in columns.dC.items():
        off = frame.most * (3 - ended - columns.c[j] - columns.y[x])
        row = columns.tC[j] - columns.tP[x] - off <= 0
        problem += row, f"ended_{j}_{x.layer}_{x.gap}"


def add_prefetches_memory(
    problem: pulp.LpProblem, frame: EventFrame, columns: EventColumns
) -> None:
    """Add the rows roomP: what is absent when a prefetch starts, its own weights being there."""
    w = frame.weights
    for x in frame.prefetches:
        others = [z for z in frame.prefetches if z.layer != x.layer]
        absent = total((columns.a[z, x], w[z.layer]) for z in others)
        needed = total((column, frame.excess(at)) for at, column in columns.qP[x].items())
        problem += absent - needed >= 0, f"roomP_{x.layer}_{x.gap}"
    for (z, x), absent in columns.a.items():
        if z.gap == 0:
            _add_early_absence(problem, frame, columns, z, x, absent)
        else:
            _add_late_absence(problem, frame, columns, z, x, absent)


def _add_early_absence(
    problem: pulp.LpProblem,
    frame: EventFrame,
    columns: EventColumns,
    z: Prefetch,
    x: Prefetch,
    absent: pulp.LpVariable,
) -> None:
    name = f"{z.layer}_0_{x.layer}_{x.gap}"
    inside = columns.prefetched(x, frame.prefetch_places(z))
    problem += absent - columns.y[z] <= 0, f"a_chosen_{name}"
    problem += absent - inside <= 0, f"a_inside_{name}"
    problem += absent - columns.dC[z.layer, x] <= 0, f"a_ended_{name}"
    problem += absent - columns.oP(x, z) <= 0, f"a_before_{name}"


def _add_late_absence(
    problem: pulp.LpProblem,
    frame: EventFrame,
    columns: EventColumns,
    z: Prefetch,
    x: Prefetch,
    absent: pulp.LpVariable,
) -> None:
    name = f"{z.layer}_1_{x.layer}_{x.gap}"
    j = z.layer
    inside = columns.prefetched(x, frame.prefetch_places(z))
    wrapped = columns.wrapped_prefetch(x, j)
    unchosen = 1 - columns.y[x]
    problem += absent - columns.y[z] <= 0, f"a_chosen_{name}"
    problem += absent - inside <= 0, f"a_inside_{name}"
    ended = columns.dC[j, x] + wrapped - columns.wrapped_upload(j) + unchosen
    problem += absent - ended <= 0, f"a_ended_{name}"
    before = columns.oP(x, z) + columns.wrapped_prefetch(z, j) - wrapped
    problem += absent - before - unchosen <= 1 - columns.y[z], f"a_before_{name}"
