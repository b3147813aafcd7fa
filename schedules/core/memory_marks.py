"""Marks of the peak and of the limit in pictures of memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jettison.schedules.core.picture_style import LIMIT, AxisUnit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Room for a label, as a share of the largest value shown.
_LABEL_ROOM = 0.10


def mark_peak(
    axes: Axes, where: float, peak_bytes: int, limit_bytes: int | None, memory: AxisUnit
) -> None:
    """Draw a labelled point at the peak; `where` is in the unit of the horizontal axis.

    The limits of that axis have to be set before.
    """
    height = memory.of(peak_bytes)
    axes.plot(
        [where], [height], "o", markersize=5, color=LIMIT, clip_on=False, zorder=5, label="peak"
    )
    # Nothing is drawn above the peak but the limit; where it is close, the label goes above both.
    text_height = height
    if limit_bytes is not None:
        limit = memory.of(limit_bytes)
        top = max(height, limit)
        text_height = top if top - height < _LABEL_ROOM * top else height
    share = where / axes.get_xlim()[1]
    axes.annotate(
        f"peak {height:.4g} {memory.name}",
        (where, text_height),
        xytext=(0, 6),
        textcoords="offset points",
        ha="left" if share < 0.15 else "right" if share > 0.85 else "center",
        va="bottom",
        color=LIMIT,
        fontsize=9,
    )


def mark_limit(axes: Axes, limit_bytes: int | None, memory: AxisUnit, peak_at: float) -> None:
    """Draw the limit, labelled at the end that is farther from the label of the peak."""
    if limit_bytes is None:
        return
    limit = memory.of(limit_bytes)
    axes.axhline(limit, color=LIMIT, linestyle="--", linewidth=1.2, label="limit")
    end = axes.get_xlim()[1]
    peak_is_left = peak_at < end / 2
    axes.annotate(
        f"limit {limit:.4g} {memory.name}",
        (end if peak_is_left else 0.0, limit),
        xytext=(-3 if peak_is_left else 3, 3),
        textcoords="offset points",
        ha="right" if peak_is_left else "left",
        va="bottom",
        color=LIMIT,
        fontsize=9,
        # The curve of a schedule that breaks the limit passes behind the label.
        bbox={"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1},
    )
