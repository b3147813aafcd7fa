"""Picture of a replay: memory over time, with recomputations and the memory limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from jettison.schedules.core.memory_marks import mark_limit, mark_peak
from jettison.schedules.core.picture_style import (
    AGAIN,
    BACKWARD,
    BLACK,
    FETCHED,
    FORWARD,
    IN_MEMORY,
    SENT,
    AxisUnit,
    empty_axes,
    legend_below,
    memory_unit,
    set_title,
    time_unit,
)
from jettison.schedules.core.replay import Phase, Replay, Step, Transfer

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PHASE_COLOURS = {
    "forward": FORWARD,
    "first computation": FORWARD,
    "recomputed forward": AGAIN,
    "recomputation": AGAIN,
    "backward": BACKWARD,
}

# Heights as shares of the largest value shown: the strips of phases and, where there are any, of
# transfers lie below zero, and the room above holds the labels of the limit and of the peak.
_STRIP = (-0.075, -0.025)
_TO_HOST_STRIP = (-0.115, -0.085)
_FROM_HOST_STRIP = (-0.155, -0.125)
_HEADROOM = 0.16


def plot_memory(replay: Replay, *, title: str, ax: Axes | None = None) -> Figure:
    """Draw memory over time.

    The line is the memory in use while an operation runs, the grey area the memory in use after it.
    The strip below tells first computations from repeated ones and, on a chain, forward from
    backward; two thinner ones show when each direction of the link is in use. Operations of no
    duration show as vertical lines. The schedule need not be valid.

    Parameters
    ----------
    replay
        Replay to draw.
    title
        Title of the picture.
    ax
        Axes to draw into; None for a figure of its own.

    Returns
    -------
    Figure
        The figure of the axes; it is not saved (see `save_figure`).

    Notes
    -----
    Time linear in the number of operations.
    """
    if ax is None:
        ax = empty_axes(7.2, 3.8, title)
    else:
        set_title(ax, title)
    top_bytes = max(replay.peak_bytes, replay.limit_bytes or 0, 1)
    memory, time = memory_unit(top_bytes), time_unit(replay.time_ns)
    top = memory.of(top_bytes)
    handles = [
        *_draw_memory(ax, replay, memory, time),
        *_draw_phases(ax, replay, time, top),
        *_draw_transfers(ax, replay.transfers, time, top),
    ]
    lowest = _FROM_HOST_STRIP[0] if replay.transfers else _STRIP[0]
    # A schedule that takes no time still gets an axis of some length.
    end = time.of(replay.time_ns) or 1.0
    ax.set_xlim(0, end)
    ax.set_ylim((lowest + 0.6 * _STRIP[0]) * top, (1 + _HEADROOM) * top)
    peak_at = _peak_at(replay, time)
    mark_peak(ax, peak_at, replay.peak_bytes, replay.limit_bytes, memory)
    mark_limit(ax, replay.limit_bytes, memory, peak_at)
    ax.set_xlabel(f"time ({time.name})")
    ax.set_ylabel(f"memory ({memory.name})")
    legend_below(ax, handles, columns=3)
    return ax.figure.figure


def _draw_memory(axes: Axes, replay: Replay, memory: AxisUnit, time: AxisUnit) -> list[Artist]:
    steps = replay.steps
    if not steps:
        return []
    stays = axes.stairs(
        [memory.of(size) for size in _stays_bytes(steps)],
        _edges(steps, time),
        fill=True,
        color=IN_MEMORY,
        linewidth=0,
        label="stays after the operation",
    )
    # A deletion takes no time and adds no memory: it only lowers what stays.
    running = [step for step in steps if replay.phase_of(step) is not Phase.FREEING]
    during = axes.stairs(
        [memory.of(step.during_bytes) for step in running],
        _edges(running, time),
        baseline=None,
        color=BLACK,
        linewidth=1.0,
        label="in use while it runs",
    )
    return [during, stays]


def _edges(steps: Sequence[Step], time: AxisUnit) -> list[float]:
    return [0.0, *(time.of(step.end_ns) for step in steps)]


def _stays_bytes(steps: Sequence[Step]) -> list[int]:
    """Return the bytes stored after each step and the steps of no duration right behind it."""
    stays = [step.after_bytes for step in steps]
    for place in range(len(steps) - 2, -1, -1):
        following = steps[place + 1]
        if following.start_ns == following.end_ns:
            stays[place] = stays[place + 1]
    return stays


def _draw_phases(axes: Axes, replay: Replay, time: AxisUnit, top: float) -> list[Artist]:
    handles: list[Artist] = []
    spans: dict[str, list[tuple[float, float]]] = {}
    for phase, start_ns, end_ns in _phase_spans(replay):
        start = time.of(start_ns)
        spans.setdefault(phase, []).append((start, time.of(end_ns) - start))
    bottom, height = _STRIP[0] * top, (_STRIP[1] - _STRIP[0]) * top
    for phase, colour in _PHASE_COLOURS.items():
        if phase in spans:
            bars = axes.broken_barh(
                spans[phase], (bottom, height), facecolor=colour, linewidth=0, label=phase
            )
            handles.append(bars)
    return handles


def _draw_transfers(
    axes: Axes, transfers: Sequence[Transfer], time: AxisUnit, top: float
) -> list[Artist]:
    handles: list[Artist] = []
    for to_host, strip, colour, label in (
        (True, _TO_HOST_STRIP, SENT, "to the host"),
        (False, _FROM_HOST_STRIP, FETCHED, "from the host"),
    ):
        spans = [
            (time.of(item.start_ns), time.of(item.end_ns - item.start_ns))
            for item in transfers
            if item.to_host is to_host
        ]
        if spans:
            height = (strip[1] - strip[0]) * top
            handles.append(
                axes.broken_barh(
                    spans, (strip[0] * top, height), facecolor=colour, linewidth=0, label=label
                )
            )
    return handles


def _phase_spans(replay: Replay) -> Iterator[tuple[str, int, int]]:
    """Yield phase, start and end, joining neighbours of one phase so that no seam shows."""
    current: tuple[str, int, int] | None = None
    for step in replay.steps:
        phase = replay.phase_of(step)
        if phase is Phase.FREEING or step.start_ns == step.end_ns:
            continue
        if current is not None and current[0] == phase:
            current = (phase, current[1], step.end_ns)
            continue
        if current is not None:
            yield current
        current = (phase, step.start_ns, step.end_ns)
    if current is not None:
        yield current


def _peak_at(replay: Replay, time: AxisUnit) -> float:
    """Return the middle of the first operation that reaches the peak, in the unit of the axis."""
    start_ns, end_ns = next(
        (
            (step.start_ns, step.end_ns)
            for step in replay.steps
            if max(step.during_bytes, step.after_bytes) == replay.peak_bytes
        ),
        # Only what is stored before the first operation can be larger than every step.
        (0, 0),
    )
    return time.of(start_ns + end_ns) / 2
