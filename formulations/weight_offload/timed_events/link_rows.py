"""Rows of `least_period` on the link: one transfer at a time in each direction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lazy_loader as lazy

from jettison.formulations.weight_offload.timed_events.columns import EventColumns, total
from jettison.formulations.weight_offload.timed_events.frame import EventFrame

if TYPE_CHECKING:
    import pulp
else:
    pulp = lazy.load("pulp")


def add_uplink(problem: pulp.LpProblem, frame: EventFrame, columns: EventColumns) -> None:
    """Add the rows linkC, copyC and uplink: uploads follow one another, around the cycle too."""
    d, most, c = frame.transfers, frame.most, columns.c
    for i in frame.layers:
        for j in frame.layers:
            if i != j:
                off = (most + d[j]) * (2 - c[i] - c[j])
                slack = most * (1 - columns.oC(i, j)) + off
                row = columns.tC[i] - columns.tC[j] - slack <= -d[j]
                problem += row, f"linkC_{i}_{j}"
    for i in frame.layers:
        for j in frame.layers:
            if i != j:
                off = (most + d[i]) * (2 - c[i] - c[j])
                row = columns.tC[j] - columns.tC[i] - columns.T - off <= -d[i]
                problem += row, f"copyC_{i}_{j}"
    problem += total((c[i], d[i]) for i in frame.layers) - columns.T <= 0, "uplink"


def add_downlink(problem: pulp.LpProblem, frame: EventFrame, columns: EventColumns) -> None:
    """Add the rows linkP, copyP and downlink: the same for the starts of prefetches."""
    d, most, y = frame.transfers, frame.most, columns.y
    pairs = [(x, z) for x in frame.prefetches for z in frame.prefetches if x != z]
    for x, z in pairs:
        off = (most + d[x.layer]) * (2 - y[x] - y[z])
        slack = most * (1 - columns.oP(x, z)) + off
        row = columns.tP[x] - columns.tP[z] - slack <= -d[x.layer]
        problem += row, f"linkP_{x.layer}_{x.gap}_{z.layer}_{z.gap}"
    for x, z in pairs:
        off = (most + d[z.layer]) * (2 - y[x] - y[z])
        row = columns.tP[z] - columns.tP[x] - columns.T - off <= -d[z.layer]
        problem += row, f"copyP_{x.layer}_{x.gap}_{z.layer}_{z.gap}"
    down = total((y[x], d[x.layer]) for x in frame.prefetches)
    problem += down - columns.T <= 0, "downlink"
