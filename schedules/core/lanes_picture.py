"""Pictures of lanes above memory: computations and transfers, and memory on the same time axis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from jettison.schedules.core.memory_marks import mark_limit, mark_peak
from jettison.schedules.core.picture_style import (
    BLACK,
    IN_MEMORY,
    WAITING,
    AxisUnit,
    memory_unit,
    set_title,
    time_unit,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_WIDTH_IN = 7.2
# Width of the axes in points, beside the names of the lanes.
AXES_POINTS = 0.82 * 72 * _WIDTH_IN
# Least width of a wait, so that the shortest one shows.
_LEAST_POINTS_OF_WAITING = 0.6
_HEADROOM = 0.16
# An axis is cut where all that is shown lies above this share, and then begins so far below it.
_CUT_SHARE, _BELOW_SHARE = 0.5, 0.35


class Span(NamedTuple):
    """Span of time, from the start of the picture."""

    start_ns: int
    end_ns: int


class Lane(NamedTuple):
    """Lane: a row of bars with its name, and the lower and upper end of the bars."""

    name: str
    bottom: float
    top: float


TO_HOST = Lane("to the host", 0.9, 1.5)
FROM_HOST = Lane("from the host", 0.1, 0.7)


def lanes_above_memory(
    title: str, length_ns: int, height_in: float, lanes_height: float
) -> tuple[Axes, Axes, AxisUnit]:
    """Return the axes of lanes and of memory of a new figure, and their unit of time.

    `lanes_height` is that of the lanes, where that of the memory is 1.7.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH_IN, height_in), layout="constrained")
    lanes, memory = figure.subplots(2, 1, sharex=True, height_ratios=[lanes_height, 1.7])
    set_title(lanes, title)
    time = time_unit(length_ns)
    # A schedule that takes no time still gets an axis of some length.
    lanes.set_xlim(0, time.of(length_ns) or 1.0)
    memory.set_xlabel(f"time ({time.name})")
    return lanes, memory, time


def name_lanes(axes: Axes, lanes: Sequence[Lane], *, headroom: float = 0.1) -> None:
    """Write the names of the lanes, the highest first, in place of an axis.

    `headroom` is the room above the highest one, in units of the lanes.
    """
    axes.set_ylim(0, lanes[0].top + headroom)
    axes.set_yticks([(lane.bottom + lane.top) / 2 for lane in lanes])
    axes.set_yticklabels([lane.name for lane in lanes])
    axes.tick_params(length=0, labelbottom=False)
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)


def say_nothing_moves(axes: Axes, lane: Lane) -> None:
    """Say in a lane of a direction of the link that it is not used."""
    axes.text(
        axes.get_xlim()[1] / 2,
        (lane.bottom + lane.top) / 2,
        f"nothing moves {lane.name}",
        ha="center",
        va="center_baseline",
        fontsize=8,
        color=WAITING,
        bbox={"facecolor": "white", "linewidth": 0, "pad": 1.5},
    )


def joined(spans: Iterable[Span]) -> Iterator[Span]:
    """Merge neighbouring spans, so that no seam shows."""
    current: Span | None = None
    for span in sorted(spans):
        if current is not None and span.start_ns <= current.end_ns:
            current = Span(current.start_ns, max(current.end_ns, span.end_ns))
            continue
        if current is not None:
            yield current
        current = span
    if current is not None:
        yield current


def draw_waiting(
    axes: Axes,
    running: Iterable[Span],
    length_ns: int,
    lanes: Sequence[Lane],
    time: AxisUnit,
) -> list[Artist]:
    """Draw the spans in which nothing runs over these lanes, with their sum in the legend."""
    gaps = list(_gaps(running, length_ns))
    if not gaps:
        return []
    total_ns = sum(gap.end_ns - gap.start_ns for gap in gaps)
    unit = time_unit(total_ns)
    least = _LEAST_POINTS_OF_WAITING * axes.get_xlim()[1] / AXES_POINTS
    bottom, top = min(lane.bottom for lane in lanes), max(lane.top for lane in lanes)
    return [
        axes.broken_barh(
            [
                (time.of(gap.start_ns), max(time.of(gap.end_ns - gap.start_ns), least))
                for gap in gaps
            ],
            (bottom, top - bottom),
            facecolor=WAITING,
            linewidth=0.0,
            label=f"waiting, {unit.of(total_ns):.4g} {unit.name}",
        )
    ]


def _gaps(spans: Iterable[Span], length_ns: int) -> Iterator[Span]:
    """Yield the spans in which nothing runs."""
    reached_ns = 0
    for span in joined(spans):
        if span.start_ns > reached_ns:
            yield Span(reached_ns, span.start_ns)
        reached_ns = span.end_ns
    if reached_ns < length_ns:
        yield Span(reached_ns, length_ns)


def draw_memory(
    axes: Axes,
    moments: Sequence[tuple[int, int]],
    peak_bytes: int,
    limit_bytes: int | None,
    time: AxisUnit,
    *,
    may_be_cut: bool = False,
) -> list[Artist]:
    """Draw memory over time, with its peak and its limit.

    With `may_be_cut` the axis does not begin at zero where memory never falls below half of what is
    shown; two strokes and a label say so.
    """
    top_bytes = max(peak_bytes, limit_bytes or 0, 1)
    memory = memory_unit(top_bytes)
    when = [time.of(when_ns) for when_ns, _ in moments]
    height = [memory.of(size_bytes) for _, size_bytes in moments]
    (line,) = axes.plot(
        when, height, drawstyle="steps-post", color=BLACK, linewidth=1.0, label="memory in use"
    )
    top, low = memory.of(top_bytes), 0.0
    if may_be_cut and min(height) > _CUT_SHARE * top:
        low = max(0.0, min(height) - _BELOW_SHARE * (top - min(height)))
        _mark_cut(axes, low, memory)
    axes.fill_between(when, height, low, step="post", color=IN_MEMORY, linewidth=0)
    axes.set_ylim(low, top + _HEADROOM * (top - low))
    axes.set_ylabel(f"memory ({memory.name})")
    axes.spines[["top", "right"]].set_visible(False)
    # Memory at an operation of no duration is part of the peak, but not of the line.
    highest_ns, _ = max(moments, key=lambda moment: moment[1])
    mark_peak(axes, time.of(highest_ns), peak_bytes, limit_bytes, memory)
    mark_limit(axes, limit_bytes, memory, time.of(highest_ns))
    return [line]


def _mark_cut(axes: Axes, low: float, memory: AxisUnit) -> None:
    """Mark the lower end of an axis that does not begin at zero."""
    for height in (0.03, 0.07):
        axes.plot(
            [-0.008, 0.008],
            [height - 0.015, height + 0.015],
            transform=axes.transAxes,
            color=BLACK,
            linewidth=0.9,
            clip_on=False,
        )
    axes.annotate(
        f"axis cut at {low:.4g} {memory.name}",
        (0.0, 0.0),
        xycoords="axes fraction",
        xytext=(8, 4),
        textcoords="offset points",
        fontsize=8,
        color=BLACK,
    )
