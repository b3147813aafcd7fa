"""Picture of a sharded plan: the time of each operator, its strategy, its recomputations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.schedules.core.picture_style import (
    AGAIN,
    BLACK,
    BROWN,
    FORWARD,
    GREY,
    SENT,
    empty_axes,
    legend_below,
    time_unit,
)
from jettison.schedules.remat_sharding.plan_table import PlannedOperator, planned_operators
from jettison.schedules.remat_sharding.schedule import ShardedSchedule

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# So many bars can be read; of a larger graph those that take most time are drawn.
_MOST_BARS = 48
_LONGEST_NAME = 28


def plot_sharded_plan(sharded: ShardedGraph, plan: ShardedSchedule, *, title: str) -> Figure:
    """Draw a bar for each operator that takes time, in the order of the graph.

    A bar is split into computing, computing again, communicating and resharding, the last two of
    all computations together. The strategy stands behind it, with the number of computations where
    it is more than one; then the name is bold and orange. Of more than 48 operators, those that
    take most time are drawn.

    Parameters
    ----------
    sharded
        The instance.
    plan
        A plan whose strategies are allowed together; it need not fit.
    title
        Title of the picture.

    Returns
    -------
    Figure
        It is not saved (see `save_figure`).
    """
    from matplotlib.patches import Patch

    everything = planned_operators(sharded, plan)
    timed = [row for row in everything if row.time_ns]
    least_ns = sorted((row.time_ns for row in timed), reverse=True)[:_MOST_BARS][-1:] or [0]
    rows = [row for row in timed if row.time_ns >= least_ns[0]][:_MOST_BARS]
    axes = empty_axes(7.2, 1.7 + 0.19 * max(len(rows), 1), title)
    unit = time_unit(max((row.time_ns for row in rows), default=1))
    left = [0.0] * len(rows)
    for colour, _, amounts_ns in _parts(rows):
        widths = [unit.of(amount) for amount in amounts_ns]
        axes.barh(range(len(rows)), widths, left=left, color=colour, height=0.72)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    _write_names(axes, rows, left)
    axes.set_xlabel(f"time in {unit.name}, all computations together")
    total_ns = sum(row.time_ns for row in everything)
    whole = time_unit(total_ns)
    shown = "" if len(rows) == len(timed) else f"; {len(timed) - len(rows)} shorter ones not drawn"
    axes.text(
        1.0,
        0.02,
        f"step {whole.of(total_ns):.4g} {whole.name}{shown}",
        transform=axes.transAxes,
        ha="right",
        fontsize=8,
        color=GREY,
    )
    handles = [
        Patch(facecolor=colour, label=f"{label} ({_percent(sum(amounts_ns), total_ns)})")
        for colour, label, amounts_ns in _parts(everything)
        if any(amounts_ns)
    ]
    legend_below(axes, handles, columns=2)
    return axes.figure.figure


def _parts(rows: Sequence[PlannedOperator]) -> list[tuple[str, str, list[int]]]:
    """Return the parts of the bars: colour, name, and the time of each operator.

    All computations of an operator take the same time; those after the first are apart.
    """
    first_ns = [row.compute_ns // max(row.computations, 1) for row in rows]
    again_ns = [row.compute_ns - first for row, first in zip(rows, first_ns, strict=True)]
    return [
        (FORWARD, "computing", first_ns),
        (AGAIN, "computing again", again_ns),
        (SENT, "communicating", [row.communication_ns for row in rows]),
        (BROWN, "resharding", [row.resharding_ns for row in rows]),
    ]


def _write_names(axes: Axes, rows: Sequence[PlannedOperator], ends: Sequence[float]) -> None:
    names = [_shortened(row.operator) for row in rows]
    axes.set_yticks(range(len(rows)), names, fontsize=7, parse_math=False)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, 1.3 * max(ends, default=1.0) or 1.0)
    for place, (row, end, label) in enumerate(zip(rows, ends, axes.get_yticklabels(), strict=True)):
        again = row.computations > 1
        if again:
            label.set_color(AGAIN)
            label.set_fontweight("bold")
        axes.annotate(
            f"{row.strategy}, {row.computations} times" if again else row.strategy,
            (end, place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=6.5,
            color=AGAIN if again else BLACK,
            parse_math=False,
        )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "0 %"


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
