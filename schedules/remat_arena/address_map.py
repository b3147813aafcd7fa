"""Picture of an addressed schedule: each buffer as a rectangle of computations and addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.core.picture_style import (
    AGAIN,
    FORWARD,
    GREY,
    LIMIT,
    empty_axes,
    legend_below,
    memory_unit,
)
from jettison.schedules.remat_arena.buffers import Buffer, buffers_of
from jettison.schedules.remat_arena.schedule import AddressedSchedule

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_address_map(
    graph: Graph, schedule: AddressedSchedule, *, title: str, limit_bytes: int | None = None
) -> Figure:
    """Draw where each buffer lies, and during which computations.

    Parameters
    ----------
    graph
        The instance.
    schedule
        Schedule to draw; its sequence must be valid, its addresses need not be.
    title
        Title of the picture.
    limit_bytes
        The size of the arena, drawn as a line; None for none.

    Returns
    -------
    Figure
        It is not saved (see `save_figure`).
    """
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Patch

    groups = _groups(graph, schedule)
    buffers = [buffer for group in groups.values() for buffer in group]
    highest_bytes = max(
        (schedule.offset_of(buffer) + buffer.size_bytes for buffer in buffers), default=1
    )
    unit = memory_unit(max(highest_bytes, limit_bytes or 0))
    axes = empty_axes(7.2, 4.4, title)
    for colour, group in zip((FORWARD, AGAIN, GREY), groups.values(), strict=True):
        corners = []
        for buffer in group:
            low = unit.of(schedule.offset_of(buffer))
            high = low + unit.of(buffer.size_bytes)
            left, right = buffer.start, buffer.end
            corners.append([(left, low), (left, high), (right, high), (right, low)])
        axes.add_collection(
            PolyCollection(corners, facecolors=colour, edgecolors="white", linewidths=0.4)
        )
    if limit_bytes is not None:
        axes.axhline(unit.of(limit_bytes), color=LIMIT, linestyle="--", linewidth=1)
    axes.set_xlim(0, max((buffer.end for buffer in buffers), default=1))
    axes.set_ylim(0, 1.05 * unit.of(max(highest_bytes, limit_bytes or 0)))
    axes.set_xlabel("computation")
    axes.set_ylabel(f"address ({unit.name})")
    handles = [
        Patch(facecolor=colour, label=f"{name} ({len(group)})")
        for colour, (name, group) in zip((FORWARD, AGAIN, GREY), groups.items(), strict=True)
        if group
    ]
    legend_below(axes, handles, columns=3)
    return axes.figure.figure


def _groups(graph: Graph, schedule: AddressedSchedule) -> dict[str, list[Buffer]]:
    """Return the buffers of first computations, of later ones, and the workspaces."""
    computed = schedule.without_addresses.computations
    first: dict[int, int] = {}
    for place, node in enumerate(computed):
        first.setdefault(node, place)
    groups: dict[str, list[Buffer]] = {
        "value": [],
        "value computed again": [],
        "workspace": [],
    }
    for buffer in buffers_of(graph, schedule.operations):
        is_first = first[computed[buffer.computation]] == buffer.computation
        value = "value" if is_first else "value computed again"
        groups["workspace" if buffer.is_workspace else value].append(buffer)
    return groups
