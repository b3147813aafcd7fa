"""Picture of a cyclic schedule: computations, transfers and memory over one period."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from jettison.instances.core.units import format_ns
from jettison.schedules.core.lanes_picture import (
    AXES_POINTS,
    FROM_HOST,
    TO_HOST,
    Lane,
    Span,
    draw_memory,
    draw_waiting,
    lanes_above_memory,
    name_lanes,
    say_nothing_moves,
)
from jettison.schedules.core.picture_style import (
    BACKWARD,
    BLACK,
    FETCHED,
    FORWARD,
    SENT,
    AxisUnit,
    legend_below,
)
from jettison.schedules.core.replay import Replay, Step, Transfer
from jettison.schedules.weight_offload.cyclic_event import CyclicEventKind
from jettison.schedules.weight_offload.folded_span import folded_span

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEIGHT_IN = 5.0
# Width of a letter in a bar.
_LETTER_POINTS = 5.0
# Width of a name that is written upright.
_UPRIGHT_POINTS = 6.5
# Edges between bars, which are thinner where bars are narrow.
_EDGE_POINTS, _EDGE_SHARE = 0.6, 0.12
# Room above the lanes for the arrow of the period.
_PERIOD_ROOM = 0.7


class _Bar(NamedTuple):
    """Bar of a lane, within one period.

    Attributes
    ----------
    start_ns, end_ns
        Start and end, from the start of the period.
    label
        Text inside the bar, written where it fits.
    """

    start_ns: int
    end_ns: int
    label: str


_COMPUTE = Lane("compute", 1.7, 2.6)


def plot_cycle(replay: Replay, *, title: str) -> Figure:
    r"""Draw one period of a cyclic schedule.

    Above, what runs and what is on its way in each direction of the link; layers are named where
    they fit, and so are the weights that move, upright where there is little room. The processor
    waits where its lane is grey; a wait that would be too short to see is drawn wider. What is
    under way at the end of the period continues at its start. Below, on the same axis of time,
    memory in use; operations of no duration show as vertical lines. The axis of memory is cut where
    weights that stay would leave little room for what changes. The schedule need not be valid.

    Parameters
    ----------
    replay
        Replay to draw, of a `CyclicSchedule`.
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
    lanes, memory, time = lanes_above_memory(title, replay.time_ns, _HEIGHT_IN, 1.3)
    handles = _draw_lanes(lanes, replay, time)
    handles += draw_memory(
        memory, _moments(replay), replay.peak_bytes, replay.limit_bytes, time, may_be_cut=True
    )
    _draw_period(lanes, time.of(replay.time_ns), format_ns(replay.time_ns))
    legend_below(memory, handles, columns=4)
    return memory.figure.figure


def _draw_lanes(axes: Axes, replay: Replay, time: AxisUnit) -> list[Artist]:
    bars: dict[str, list[_Bar]] = {str(kind): [] for kind in CyclicEventKind}
    items: Sequence[Step | Transfer] = (*replay.steps, *replay.transfers)
    for item in items:
        kind, layer = item.operation.split()
        label = kind + layer if kind in {"F", "B"} else f"w{layer}"
        bars[kind] += _wrapped(_Bar(item.start_ns, item.end_ns, label), replay.time_ns)
    handles: list[Artist] = []
    for kind, lane, colour, name in (
        (CyclicEventKind.BACKWARD, _COMPUTE, BACKWARD, "backward"),
        (CyclicEventKind.FORWARD, _COMPUTE, FORWARD, "forward"),
        (CyclicEventKind.UPLOAD, TO_HOST, SENT, TO_HOST.name),
        (CyclicEventKind.PREFETCH, FROM_HOST, FETCHED, FROM_HOST.name),
    ):
        drawn = _draw_bars(axes, bars[kind], lane, colour, name, time)
        if lane is _COMPUTE:
            handles += drawn
        elif not drawn:
            say_nothing_moves(axes, lane)
    running = bars[CyclicEventKind.BACKWARD] + bars[CyclicEventKind.FORWARD]
    handles += draw_waiting(
        axes,
        (Span(bar.start_ns, bar.end_ns) for bar in running),
        replay.time_ns,
        (_COMPUTE,),
        time,
    )
    name_lanes(axes, (_COMPUTE, TO_HOST, FROM_HOST), headroom=_PERIOD_ROOM)
    return handles


def _wrapped(bar: _Bar, period_ns: int) -> Iterator[_Bar]:
    """Wrap bars that cross the end of the period to its start."""
    for start_ns, end_ns in folded_span(bar.start_ns, bar.end_ns, period_ns):
        yield bar._replace(start_ns=start_ns, end_ns=end_ns)


def _draw_bars(
    axes: Axes, bars: Iterable[_Bar], lane: Lane, colour: str, name: str, time: AxisUnit
) -> list[Artist]:
    bars = [bar for bar in bars if bar.end_ns > bar.start_ns]
    if not bars:
        return []
    points_per_unit = AXES_POINTS / axes.get_xlim()[1]
    widths = [time.of(bar.end_ns - bar.start_ns) for bar in bars]
    mean_points = points_per_unit * sum(widths) / len(widths)
    drawn = axes.broken_barh(
        [(time.of(bar.start_ns), width) for bar, width in zip(bars, widths, strict=True)],
        (lane.bottom, lane.top - lane.bottom),
        facecolor=colour,
        edgecolor="white",
        linewidth=min(_EDGE_POINTS, _EDGE_SHARE * mean_points),
        label=name,
    )
    _name_bars(axes, bars, widths, lane, points_per_unit, time)
    return [drawn]


def _name_bars(
    axes: Axes,
    bars: Sequence[_Bar],
    widths: Sequence[float],
    lane: Lane,
    points_per_unit: float,
    time: AxisUnit,
) -> None:
    """Write the names of bars: inside where they fit, else upright where they stand apart.

    Computations that have no room are named together, by the first and the last one of a row.
    """
    from matplotlib.patheffects import withStroke

    height = (lane.bottom + lane.top) / 2
    colour = "white" if lane is _COMPUTE else BLACK
    reached = 0.0
    unnamed: list[tuple[float, float, str]] = []
    for bar, width in sorted(zip(bars, widths, strict=True)):
        start = time.of(bar.start_ns)
        middle = start + width / 2
        if points_per_unit * width >= _LETTER_POINTS * (len(bar.label) + 0.5):
            axes.text(
                middle,
                height,
                bar.label,
                ha="center",
                va="center_baseline",
                fontsize=8,
                color=colour,
            )
        elif lane is _COMPUTE:
            unnamed.append((start, start + width, bar.label))
        elif points_per_unit * (middle - reached) >= _UPRIGHT_POINTS:
            axes.text(
                middle,
                height,
                bar.label,
                ha="center",
                va="center",
                fontsize=5.5,
                rotation=90,
                color=colour,
                path_effects=[withStroke(linewidth=1.2, foreground="white")],
            )
            reached = middle
    if len(unnamed) > 1 and len(unnamed) == len(bars):
        (start, _, first), (_, end, last) = unnamed[0], unnamed[-1]
        text = f"{first} to {last}"
        if points_per_unit * (end - start) >= _LETTER_POINTS * (len(text) + 1):
            axes.text(
                (start + end) / 2,
                height,
                text,
                ha="center",
                va="center_baseline",
                fontsize=8,
                color=colour,
                bbox={"facecolor": _colour_of(first), "linewidth": 0, "pad": 1.5},
            )


def _colour_of(label: str) -> str:
    """Return the colour of a computation, by its name."""
    return FORWARD if label.startswith("F") else BACKWARD


def _draw_period(axes: Axes, end: float, length: str) -> None:
    """Draw an arrow over the lanes from the start of the period to its end."""
    height = _COMPUTE.top + _PERIOD_ROOM / 2
    arrow = {"arrowstyle": "<->", "color": BLACK, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (0, height), xytext=(end or 1.0, height), arrowprops=arrow)
    axes.annotate(
        f"one period of {length}, which repeats",
        ((end or 1.0) / 2, height),
        ha="center",
        va="center",
        fontsize=8,
        color=BLACK,
        bbox={"facecolor": "white", "linewidth": 0, "pad": 1.5},
    )


def _moments(replay: Replay) -> list[tuple[int, int]]:
    """Return pairs (time, memory from then on), with those of operations of no duration."""
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
