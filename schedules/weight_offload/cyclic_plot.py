"""Picture of a cyclic schedule: computations, transfers and memory over one period."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

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
)
from jettison.schedules.core.picture_style import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
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

_HEIGHT_IN = 4.8
# Width of a letter in a bar.
_LETTER_POINTS = 5.0
# Bars that are narrower on average get no edges, which would hide them.
_LEAST_POINTS_WITH_EDGE = 5.0


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
    they fit. The processor waits where its lane is orange; a wait that would be too short to see
    is drawn wider. What is under way at the end of the period continues at its start.
    Below, on the same axis of time, memory in use; operations of no duration show as vertical
    lines. The schedule need not be valid.

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
    lanes, memory, time = lanes_above_memory(title, replay.time_ns, _HEIGHT_IN, 1)
    handles = _draw_lanes(lanes, replay, time)
    handles += draw_memory(memory, _moments(replay), replay.peak_bytes, replay.limit_bytes, time)
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
        (CyclicEventKind.BACKWARD, _COMPUTE, GREEN, "backward"),
        (CyclicEventKind.FORWARD, _COMPUTE, BLUE, "forward"),
        (CyclicEventKind.UPLOAD, TO_HOST, PURPLE, TO_HOST.name),
        (CyclicEventKind.PREFETCH, FROM_HOST, SKY, FROM_HOST.name),
    ):
        drawn = _draw_bars(axes, bars[kind], lane, colour, name, time)
        if lane is _COMPUTE:
            handles += drawn
    running = bars[CyclicEventKind.BACKWARD] + bars[CyclicEventKind.FORWARD]
    handles += draw_waiting(
        axes,
        (Span(bar.start_ns, bar.end_ns) for bar in running),
        replay.time_ns,
        (_COMPUTE,),
        time,
        colour=ORANGE,
        name="waiting",
    )
    name_lanes(axes, (_COMPUTE, TO_HOST, FROM_HOST))
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
