"""The picture of a unit of sub-arrays, as in Figure 6 of µ-TWO: what runs, what moves, memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from jettison.schedules.core.memory_marks import mark_limit, mark_peak
from jettison.schedules.core.picture_style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
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
from jettison.schedules.multi_model.operation import MultiModelAction
from jettison.schedules.multi_model.training_replay import TrainingReplay

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH_IN, _HEIGHT_IN = 7.2, 5.2
# Of the width of the figure, beside the names of the lanes.
_AXES_POINTS = 0.82 * 72 * _WIDTH_IN
# However short the device waits, it shows.
_LEAST_POINTS_OF_WAITING = 0.6
_HEADROOM = 0.16


class _Span(NamedTuple):
    """A stretch of time, from the start of the unit."""

    start_ns: int
    end_ns: int


class _Lane(NamedTuple):
    """A row of bars: its name, and the lower and upper end of the bars."""

    name: str
    bottom: float
    top: float


_TO_HOST = _Lane("to the host", 0.9, 1.5)
_FROM_HOST = _Lane("from the host", 0.1, 0.7)
_PAIR = (_Lane("sub-array 1", 2.6, 3.3), _Lane("sub-array 2", 1.7, 2.4))
_ALONE = (_Lane("compute", 1.7, 2.4),)
_KINDS = (
    (MultiModelAction.FORWARD, BLUE, "forward"),
    (MultiModelAction.BACKWARD, GREEN, "backward"),
    (MultiModelAction.RECOMPUTE, ORANGE, "recomputation"),
)


def plot_training(replay: TrainingReplay, *, title: str) -> Figure:
    r"""Draw the unit that takes longest, of one iteration.

    Above, what runs for each sub-array, and what is on its way in each direction of the link. The
    device runs one thing at a time; where it waits, both of its lanes are grey, and a moment that
    would be too short to see is drawn wider. Below, on the same axis of time, memory in use. A
    dotted line divides the two rounds of a pair. The schedule need not be valid.

    Parameters
    ----------
    replay
        What to draw, of a `MultiModelSchedule`.
    title
        Title of the picture; it goes on with the number of the unit where there are several.

    Returns
    -------
    Figure
        It is not saved (see `save_figure`).

    Notes
    -----
    Time :math:`O(n \log n)` for n operations and transfers.
    """
    from matplotlib.figure import Figure

    unit, window = _longest_unit(replay)
    if len(replay.unit_ends_ns) > 1:
        title += f", unit {unit + 1} of {len(replay.unit_ends_ns)}"
    figure = Figure(figsize=(_WIDTH_IN, _HEIGHT_IN), layout="constrained")
    lanes, memory = figure.subplots(2, 1, sharex=True, height_ratios=[1.2, 1.7])
    set_title(lanes, title)
    length_ns = window.end_ns - window.start_ns
    time = time_unit(length_ns)
    # A unit that takes no time still gets an axis of some length.
    lanes.set_xlim(0, time.of(length_ns) or 1.0)
    handles = [
        *_draw_lanes(lanes, replay, window, time),
        *_draw_memory(memory, replay, window, time),
    ]
    for end_ns in replay.round_ends_ns:
        if window.start_ns < end_ns < window.end_ns:
            for axes in (lanes, memory):
                axes.axvline(
                    time.of(end_ns - window.start_ns), color=BLACK, linestyle=":", linewidth=1.0
                )
    memory.set_xlabel(f"time ({time.name})")
    legend_below(memory, handles, columns=5)
    return figure


def _longest_unit(replay: TrainingReplay) -> tuple[int, _Span]:
    windows = [_Span(*ends) for ends in pairwise((0, *replay.unit_ends_ns))]
    unit = max(
        range(len(windows)),
        key=lambda place: windows[place].end_ns - windows[place].start_ns,
        default=None,
    )
    return (0, _Span(0, 0)) if unit is None else (unit, windows[unit])


def _draw_lanes(axes: Axes, replay: TrainingReplay, window: _Span, time: AxisUnit) -> list[Artist]:
    computed: dict[tuple[str, int], list[_Span]] = {}
    for step in replay.steps:
        if step.end_ns > step.start_ns and _holds(window, step.start_ns):
            kind, array = step.operation[0], int(step.operation[1]) - 1
            computed.setdefault((kind, array), []).append(
                _Span(step.start_ns - window.start_ns, step.end_ns - window.start_ns)
            )
    moved: dict[bool, list[_Span]] = {True: [], False: []}
    for item in replay.transfers:
        if _holds(window, item.start_ns):
            moved[item.to_host].append(
                _Span(item.start_ns - window.start_ns, item.end_ns - window.start_ns)
            )
    lanes: tuple[_Lane, ...] = _PAIR if any(array for _, array in computed) else _ALONE
    handles: list[Artist] = []
    for action, colour, name in _KINDS:
        drawn = [
            _draw_bars(axes, computed[action, place], lane, colour, name, time)
            for place, lane in enumerate(lanes)
            if (action, place) in computed
        ]
        # One entry of the legend for both lanes.
        handles += drawn[:1]
    running = [span for spans in computed.values() for span in spans]
    length_ns = window.end_ns - window.start_ns
    gaps = list(_gaps(running, length_ns))
    if gaps:
        handles.append(_draw_waiting(axes, gaps, lanes, time))
    for to_host, lane, colour in ((True, _TO_HOST, PURPLE), (False, _FROM_HOST, SKY)):
        _draw_bars(axes, moved[to_host], lane, colour, lane.name, time)
    lanes += (_TO_HOST, _FROM_HOST)
    axes.set_ylim(0, lanes[0].top + 0.1)
    axes.set_yticks([(lane.bottom + lane.top) / 2 for lane in lanes])
    axes.set_yticklabels([lane.name for lane in lanes])
    axes.tick_params(length=0, labelbottom=False)
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
    return handles


def _holds(window: _Span, start_ns: int) -> bool:
    return window.start_ns <= start_ns < window.end_ns


def _draw_bars(
    axes: Axes, spans: Iterable[_Span], lane: _Lane, colour: str, name: str, time: AxisUnit
) -> Artist:
    return axes.broken_barh(
        [(time.of(span.start_ns), time.of(span.end_ns - span.start_ns)) for span in _joined(spans)],
        (lane.bottom, lane.top - lane.bottom),
        facecolor=colour,
        linewidth=0.0,
        label=name,
    )


def _joined(spans: Iterable[_Span]) -> Iterator[_Span]:
    """Join neighbours, so that no seam shows."""
    current: _Span | None = None
    for span in sorted(spans):
        if current is not None and span.start_ns <= current.end_ns:
            current = _Span(current.start_ns, max(current.end_ns, span.end_ns))
            continue
        if current is not None:
            yield current
        current = span
    if current is not None:
        yield current


def _gaps(spans: Iterable[_Span], length_ns: int) -> Iterator[_Span]:
    """Yield when the device waits."""
    reached_ns = 0
    for span in _joined(spans):
        if span.start_ns > reached_ns:
            yield _Span(reached_ns, span.start_ns)
        reached_ns = span.end_ns
    if reached_ns < length_ns:
        yield _Span(reached_ns, length_ns)


def _draw_waiting(
    axes: Axes, gaps: Sequence[_Span], lanes: Sequence[_Lane], time: AxisUnit
) -> Artist:
    total_ns = sum(gap.end_ns - gap.start_ns for gap in gaps)
    unit = time_unit(total_ns)
    least = _LEAST_POINTS_OF_WAITING * axes.get_xlim()[1] / _AXES_POINTS
    bottom, top = min(lane.bottom for lane in lanes), max(lane.top for lane in lanes)
    return axes.broken_barh(
        [(time.of(gap.start_ns), max(time.of(gap.end_ns - gap.start_ns), least)) for gap in gaps],
        (bottom, top - bottom),
        facecolor=GREY,
        linewidth=0.0,
        label=f"stall, {unit.of(total_ns):.4g} {unit.name}",
    )


def _draw_memory(axes: Axes, replay: TrainingReplay, window: _Span, time: AxisUnit) -> list[Artist]:
    moments = list(_moments(replay, window))
    peak_bytes = max(size_bytes for _, size_bytes in moments)
    top_bytes = max(peak_bytes, replay.limit_bytes or 0, 1)
    memory = memory_unit(top_bytes)
    when = [time.of(when_ns) for when_ns, _ in moments]
    height = [memory.of(size_bytes) for _, size_bytes in moments]
    (line,) = axes.plot(
        when, height, drawstyle="steps-post", color=BLACK, linewidth=1.0, label="memory in use"
    )
    axes.fill_between(when, height, step="post", color=LIGHT_GREY, linewidth=0)
    axes.set_ylim(0, (1 + _HEADROOM) * memory.of(top_bytes))
    axes.set_ylabel(f"memory ({memory.name})")
    axes.spines[["top", "right"]].set_visible(False)
    highest_ns = next(when_ns for when_ns, size_bytes in moments if size_bytes == peak_bytes)
    mark_peak(axes, time.of(highest_ns), peak_bytes, replay.limit_bytes, memory)
    mark_limit(axes, replay.limit_bytes, memory, time.of(highest_ns))
    return [line]


def _moments(replay: TrainingReplay, window: _Span) -> Iterator[tuple[int, int]]:
    """Yield the memory from each moment of the unit on, and at its end."""
    before_bytes = 0
    for when_ns, size_bytes in replay.memory_profile:
        if when_ns >= window.end_ns:
            break
        if when_ns >= window.start_ns:
            yield when_ns - window.start_ns, size_bytes
        before_bytes = size_bytes
    yield window.end_ns - window.start_ns, before_bytes
