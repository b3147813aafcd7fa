"""The picture of a step that repeats: what runs, what moves, and memory, over one period."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from jettison.schedules.core.memory_marks import mark_limit, mark_peak
from jettison.schedules.core.picture_style import (
    BLACK,
    BLUE,
    GREEN,
    LIGHT_GREY,
    ORANGE,
    PURPLE,
    SKY,
    AxisUnit,
    legend_below,
    memory_unit,
    set_title,
    time_unit,
)
from jettison.schedules.core.replay import Replay, Step, Transfer
from jettison.schedules.weight_offload.cyclic_event import CyclicEventKind
from jettison.schedules.weight_offload.folded_span import folded_span

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH_IN, _HEIGHT_IN = 7.2, 4.8
# Of the width of the figure, beside the names of the lanes; and of a letter in a bar.
_AXES_POINTS = 0.82 * 72 * _WIDTH_IN
_LETTER_POINTS = 5.0
# Bars that are narrower on average get no edges, which would hide them.
_LEAST_POINTS_WITH_EDGE = 5.0
# However short the processor waits, it shows.
_LEAST_POINTS_OF_WAITING = 0.6
_HEADROOM = 0.16


class _Bar(NamedTuple):
    """A part of a lane that is in use, within one period.

    Attributes
    ----------
    start_ns, end_ns
        From the start of the period.
    label
        What is written into it where there is room.
    """

    start_ns: int
    end_ns: int
    label: str


class _Lane(NamedTuple):
    """A row of bars: its name, and the lower and upper end of the bars."""

    name: str
    bottom: float
    top: float


_COMPUTE = _Lane("compute", 1.7, 2.6)
_TO_HOST = _Lane("to the host", 0.9, 1.5)
_FROM_HOST = _Lane("from the host", 0.1, 0.7)
_LANES = (_COMPUTE, _TO_HOST, _FROM_HOST)


def plot_cycle(replay: Replay, *, title: str) -> Figure:
    r"""Draw one period of a step that repeats.

    Above, what runs and what is on its way in each direction of the link; layers are named where
    there is room for it. The processor waits where its lane is orange; a moment that would be too
    short to see is drawn wider. What is under way at the end of the period goes on at its start.
    Below, on the same axis of time, memory in use; operations of no duration show as vertical
    lines. The schedule need not be valid.

    Parameters
    ----------
    replay
        What to draw, of a `CyclicSchedule`.
    title
        Title of the picture.

    Returns
    -------
    Figure
        It is not saved (see `save_figure`).

    Notes
    -----
    Time :math:`O(n \log n)` for n operations and transfers.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH_IN, _HEIGHT_IN), layout="constrained")
    lanes, memory = figure.subplots(2, 1, sharex=True, height_ratios=[1, 1.7])
    set_title(lanes, title)
    time = time_unit(replay.time_ns)
    # A period that takes no time still gets an axis of some length.
    lanes.set_xlim(0, time.of(replay.time_ns) or 1.0)
    handles = [*_draw_lanes(lanes, replay, time), *_draw_memory(memory, replay, time)]
    memory.set_xlabel(f"time ({time.name})")
    legend_below(memory, handles, columns=4)
    return figure


def _draw_lanes(axes: Axes, replay: Replay, time: AxisUnit) -> list[Artist]:
    bars: dict[str, list[_Bar]] = {str(kind): [] for kind in CyclicEventKind}
    items: Sequence[Step | Transfer] = (*replay.steps, *replay.transfers)
    for item in items:
        kind, layer = item.operation.split()
        label = kind + layer if kind in {"F", "B"} else f"w{layer}"
        bars[kind] += _wrapped(_Bar(item.start_ns, item.end_ns, label), replay.time_ns)
    handles: list[Artist] = []
    for kind, lane, colour, name in (
        (CyclicEventKind.BACKWARD, _COMPUTE, GREEN, "backward"),
        (CyclicEventKind.FORWARD, _COMPUTE, BLUE, "forward"),
        (CyclicEventKind.UPLOAD, _TO_HOST, PURPLE, _TO_HOST.name),
        (CyclicEventKind.PREFETCH, _FROM_HOST, SKY, _FROM_HOST.name),
    ):
        drawn = _draw_bars(axes, bars[kind], lane, colour, name, time)
        if lane is _COMPUTE:
            handles += drawn
    running = bars[CyclicEventKind.BACKWARD] + bars[CyclicEventKind.FORWARD]
    handles += _draw_waiting(axes, list(_gaps(running, replay.time_ns)), time)
    axes.set_ylim(0, _COMPUTE.top + 0.1)
    axes.set_yticks([(lane.bottom + lane.top) / 2 for lane in _LANES])
    axes.set_yticklabels([lane.name for lane in _LANES])
    axes.tick_params(length=0, labelbottom=False)
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
    return handles


def _wrapped(bar: _Bar, period_ns: int) -> Iterator[_Bar]:
    """Fold what is under way at the end of the period to its start."""
    for start_ns, end_ns in folded_span(bar.start_ns, bar.end_ns, period_ns):
        yield bar._replace(start_ns=start_ns, end_ns=end_ns)


def _draw_bars(
    axes: Axes, bars: Iterable[_Bar], lane: _Lane, colour: str, name: str, time: AxisUnit
) -> list[Artist]:
    bars = [bar for bar in bars if bar.end_ns > bar.start_ns]
    if not bars:
        return []
    points_per_unit = _AXES_POINTS / axes.get_xlim()[1]
    widths = [time.of(bar.end_ns - bar.start_ns) for bar in bars]
    mean_points = points_per_unit * sum(widths) / len(widths)
    drawn = axes.broken_barh(
        [(time.of(bar.start_ns), width) for bar, width in zip(bars, widths, strict=True)],
        (lane.bottom, lane.top - lane.bottom),
        facecolor=colour,
        edgecolor="white",
        linewidth=0.6 if mean_points >= _LEAST_POINTS_WITH_EDGE else 0.0,
        label=name,
    )
    for bar, width in zip(bars, widths, strict=True):
        if points_per_unit * width >= _LETTER_POINTS * (len(bar.label) + 0.5):
            axes.text(
                time.of(bar.start_ns) + width / 2,
                (lane.bottom + lane.top) / 2,
                bar.label,
                ha="center",
                va="center_baseline",
                fontsize=8,
                color="white" if lane is _COMPUTE else BLACK,
            )
    return [drawn]


def _gaps(bars: Iterable[_Bar], period_ns: int) -> Iterator[_Bar]:
    """Yield when the processor waits."""
    reached_ns = 0
    for bar in sorted(bars):
        if bar.start_ns > reached_ns:
            yield _Bar(reached_ns, bar.start_ns, "")
        reached_ns = max(reached_ns, bar.end_ns)
    if reached_ns < period_ns:
        yield _Bar(reached_ns, period_ns, "")


def _draw_waiting(axes: Axes, gaps: Sequence[_Bar], time: AxisUnit) -> list[Artist]:
    if not gaps:
        return []
    total_ns = sum(gap.end_ns - gap.start_ns for gap in gaps)
    unit = time_unit(total_ns)
    least = _LEAST_POINTS_OF_WAITING * axes.get_xlim()[1] / _AXES_POINTS
    return [
        axes.broken_barh(
            [
                (time.of(gap.start_ns), max(time.of(gap.end_ns - gap.start_ns), least))
                for gap in gaps
            ],
            (_COMPUTE.bottom, _COMPUTE.top - _COMPUTE.bottom),
            facecolor=ORANGE,
            linewidth=0.0,
            label=f"waiting, {unit.of(total_ns):.4g} {unit.name}",
        )
    ]


def _draw_memory(axes: Axes, replay: Replay, time: AxisUnit) -> list[Artist]:
    top_bytes = max(replay.peak_bytes, replay.limit_bytes or 0, 1)
    memory = memory_unit(top_bytes)
    moments = _moments(replay)
    when = [time.of(when_ns) for when_ns, _ in moments]
    height = [memory.of(size_bytes) for _, size_bytes in moments]
    (line,) = axes.plot(
        when, height, drawstyle="steps-post", color=BLACK, linewidth=1.0, label="memory in use"
    )
    axes.fill_between(when, height, step="post", color=LIGHT_GREY, linewidth=0)
    axes.set_ylim(0, (1 + _HEADROOM) * memory.of(top_bytes))
    axes.set_ylabel(f"memory ({memory.name})")
    axes.spines[["top", "right"]].set_visible(False)
    # What lasts no time at all between two operations is part of the peak, but not of the line.
    highest_ns, _ = max(moments, key=lambda moment: moment[1])
    mark_peak(axes, time.of(highest_ns), replay.peak_bytes, replay.limit_bytes, memory)
    mark_limit(axes, replay.limit_bytes, memory, time.of(highest_ns))
    return [line]


def _moments(replay: Replay) -> list[tuple[int, int]]:
    """Return the memory from each moment on, and that of operations that last for a moment only."""
    moments = [(when_ns, 1, size_bytes) for when_ns, size_bytes in replay.memory_profile]
    moments += [
        (step.start_ns, 0, step.during_bytes)
        for step in replay.steps
        if step.start_ns == step.end_ns
    ]
    moments.sort(key=lambda moment: moment[:2])
    last_bytes = moments[-1][2]
    return [(when_ns, size_bytes) for when_ns, _, size_bytes in moments] + [
        (replay.time_ns, last_bytes)
    ]
