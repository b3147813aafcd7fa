"""Picture of a graph schedule as Checkmate draws it: a grid of stages and nodes."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.core.picture_style import (
    AGAIN,
    FORWARD,
    GREY,
    IN_MEMORY,
    empty_axes,
)
from jettison.schedules.remat_graph.schedule import GraphOperationKind, GraphSchedule

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Above this many nodes their names would be too small to read; positions are shown instead.
_MOST_NAMES = 50
_LONGEST_NAME = 24


class Cell(IntEnum):
    """State of a node (column) in a stage (row) of the grid."""

    NOTHING = 0
    KEPT = 1
    RECOMPUTED = 2
    FIRST = 3


def recomputation_cells(graph: Graph, schedule: GraphSchedule) -> npt.NDArray[np.int8]:
    """Return the grid: one row per stage, one column per node.

    A stage ends with the first computation of a node; what is recomputed after the last one forms
    a stage of its own. A cell is ``FIRST`` if the node is computed for the first time in the
    stage, else ``RECOMPUTED`` if it is computed at all, else ``KEPT`` if its value is in memory
    when the stage starts. Operations on nodes that do not exist are passed over.

    Returns
    -------
    Array of `Cell`, of shape (stages, nodes). :math:`O(k + n^2)` for `k` operations.
    """
    size = len(graph)
    rows: list[npt.NDArray[np.int8]] = []
    resident = np.zeros(size, dtype=np.bool_)
    computed: set[int] = set()
    row: npt.NDArray[np.int8] | None = None
    for operation in schedule.operations:
        node = operation.node
        if not 0 <= node < size:
            continue
        if operation.kind is GraphOperationKind.FREE:
            resident[node] = False
            continue
        if row is None:
            row = np.where(resident, Cell.KEPT, Cell.NOTHING).astype(np.int8)
        resident[node] = True
        if node in computed:
            if row[node] != Cell.FIRST:
                row[node] = Cell.RECOMPUTED
            continue
        computed.add(node)
        row[node] = Cell.FIRST
        rows.append(row)
        row = None
    if row is not None:
        rows.append(row)
    return np.array(rows, dtype=np.int8).reshape(len(rows), size)


def plot_recomputation_grid(graph: Graph, schedule: GraphSchedule, *, title: str) -> Figure:
    """Draw what is computed, recomputed and kept in each stage of a schedule.

    Rows are stages, from the top; columns are nodes in the order of the graph. Where the backward
    nodes all come last, a line separates them from the forward ones. See `recomputation_cells`.

    Parameters
    ----------
    graph
        The instance.
    schedule
        Schedule to draw; it need not be valid.
    title
        Title of the picture.

    Returns
    -------
    Figure
        It is not saved (see `save_figure`).
    """
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch
    from matplotlib.ticker import MaxNLocator

    cells = recomputation_cells(graph, schedule)
    side_in = min(max(0.15 * len(graph), 2.2), 5.6)
    axes = empty_axes(max(side_in + 1.2, 4.6), side_in + 1.9, title)
    axes.spines[["top", "right"]].set_visible(True)
    if cells.size:
        colours = ListedColormap(["white", IN_MEMORY, AGAIN, FORWARD])
        axes.imshow(cells, cmap=colours, vmin=0, vmax=len(Cell) - 1, interpolation="nearest")
    else:
        axes.set_xlim(-0.5, len(graph) - 0.5)
    _separate_backward(axes, graph)
    whole = MaxNLocator(integer=True, min_n_ticks=1, steps=[1, 2, 5, 10])
    axes.yaxis.set_major_locator(whole)
    axes.set_ylabel("stage")
    if len(graph) <= _MOST_NAMES:
        _separate_cells(axes, cells.shape)
        names = [_shortened(node.name) for node in graph.nodes]
        axes.set_xticks(range(len(names)), names, rotation=90, fontsize=7, parse_math=False)
        axes.tick_params(axis="x", length=2)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        axes.set_xlabel("node, in the order of the graph")
    computations = len([node for node in schedule.computations if 0 <= node < len(graph)])
    first = int((cells == Cell.FIRST).sum())
    kept = int((cells == Cell.KEPT).sum())
    handles = [
        Patch(facecolor=FORWARD, label=f"first computation ({first})"),
        Patch(facecolor=AGAIN, label=f"recomputation ({computations - first})"),
        Patch(facecolor=IN_MEMORY, label=f"kept in memory ({kept})"),
    ]
    axes.figure.legend(
        handles=handles, loc="outside lower center", ncols=2, frameon=False, fontsize=9
    )
    return axes.figure.figure


def _separate_cells(axes: Axes, shape: tuple[int, ...]) -> None:
    stages, nodes = shape
    axes.vlines(np.arange(0.5, nodes - 1), -0.5, stages - 0.5, colors="white", linewidth=0.6)
    axes.hlines(np.arange(0.5, stages - 1), -0.5, nodes - 0.5, colors="white", linewidth=0.6)


def _separate_backward(axes: Axes, graph: Graph) -> None:
    """Draw a line before the first backward node, if all the nodes after it are backward too."""
    flags = [node.backward for node in graph.nodes]
    if flags != sorted(flags) or all(flags) or not any(flags):
        return
    boundary = flags.index(True)
    axes.axvline(boundary - 0.5, color=GREY, linewidth=1.0, zorder=3)
    above = axes.secondary_xaxis("top")
    middles = [(boundary - 1) / 2, (boundary + len(flags) - 1) / 2]
    above.set_xticks(middles, ["forward", "backward"], fontsize=8, color=GREY)
    above.tick_params(length=0)


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
