"""Picture of a training unit, as in Figure 6 of µ-TWO: computations, copies and memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from jettison.schedules.core.lanes_picture import (
    FROM_HOST,
    TO_HOST,
    Lane,
    Span,
    draw_memory,
    draw_waiting,
    joined,
    lanes_above_memory,
    name_lanes,
)
from jettison.schedules.core.picture_style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    AxisUnit,
    legend_below,
)
from jettison.schedules.multi_model.operation import MultiModelAction
from jettison.schedules.multi_model.training_replay import TrainingReplay

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEIGHT_IN = 5.2
_PAIR = (Lane("sub-array 1", 2.6, 3.3), Lane("sub-array 2", 1.7, 2.4))
_ALONE = (Lane("compute", 1.7, 2.4),)
_KINDS = (
    (MultiModelAction.FORWARD, BLUE, "forward"),
    (MultiModelAction.BACKWARD, GREEN, "backward"),
    (MultiModelAction.RECOMPUTE, ORANGE, "recomputation"),
)


def plot_training(replay: TrainingReplay, *, title: str) -> Figure:
    r"""Draw the longest training unit of one iteration.

    Above, what runs for each sub-array, and what is on its way in each direction of the link. The
    device runs one thing at a time; where it waits, both of its lanes are grey, and a wait that
    would be too short to see is drawn wider. Below, on the same axis of time, memory in use. A
    dotted line divides the two rounds of a pair. The schedule need not be valid.

    Parameters
    ----------
    replay
        Replay to draw, of a `MultiModelSchedule`.
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
    unit, window = _longest_unit(replay)
    if len(replay.unit_ends_ns) > 1:
        title += f", unit {unit + 1} of {len(replay.unit_ends_ns)}"
    length_ns = window.end_ns - window.start_ns
    lanes, memory, time = lanes_above_memory(title, length_ns, _HEIGHT_IN, 1.2)
    moments = list(_moments(replay, window))
    peak_bytes = max(size_bytes for _, size_bytes in moments)
    handles = _draw_lanes(lanes, replay, window, time)
    handles += draw_memory(memory, moments, peak_bytes, replay.limit_bytes, time)
    for end_ns in replay.round_ends_ns:
        if window.start_ns < end_ns < window.end_ns:
            for axes in (lanes, memory):
                axes.axvline(
                    time.of(end_ns - window.start_ns), color=BLACK, linestyle=":", linewidth=1.0
                )
    legend_below(memory, handles, columns=5)
    return memory.figure.figure


def _longest_unit(replay: TrainingReplay) -> tuple[int, Span]:
    windows = [Span(*ends) for ends in pairwise((0, *replay.unit_ends_ns))]
    unit = max(
        range(len(windows)),
        key=lambda place: windows[place].end_ns - windows[place].start_ns,
        default=None,
    )
    return (0, Span(0, 0)) if unit is None else (unit, windows[unit])


def _draw_lanes(axes: Axes, replay: TrainingReplay, window: Span, time: AxisUnit) -> list[Artist]:
    computed: dict[tuple[str, int], list[Span]] = {}
    for step in replay.steps:
        if step.end_ns > step.start_ns and _holds(window, step.start_ns):
            kind, array = step.operation[0], int(step.operation[1]) - 1
            computed.setdefault((kind, array), []).append(
                Span(step.start_ns - window.start_ns, step.end_ns - window.start_ns)
            )
    moved: dict[bool, list[Span]] = {True: [], False: []}
    for item in replay.transfers:
        if _holds(window, item.start_ns):
            moved[item.to_host].append(
                Span(item.start_ns - window.start_ns, item.end_ns - window.start_ns)
            )
    lanes: tuple[Lane, ...] = _PAIR if any(array for _, array in computed) else _ALONE
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
    handles += draw_waiting(axes, running, length_ns, lanes, time, colour=GREY, name="stall")
    for to_host, lane, colour in ((True, TO_HOST, PURPLE), (False, FROM_HOST, SKY)):
        _draw_bars(axes, moved[to_host], lane, colour, lane.name, time)
    name_lanes(axes, (*lanes, TO_HOST, FROM_HOST))
    return handles


def _holds(window: Span, start_ns: int) -> bool:
    return window.start_ns <= start_ns < window.end_ns


def _draw_bars(
    axes: Axes, spans: Iterable[Span], lane: Lane, colour: str, name: str, time: AxisUnit
) -> Artist:
    return axes.broken_barh(
        [(time.of(span.start_ns), time.of(span.end_ns - span.start_ns)) for span in joined(spans)],
        (lane.bottom, lane.top - lane.bottom),
        facecolor=colour,
        linewidth=0.0,
        label=name,
    )


def _moments(replay: TrainingReplay, window: Span) -> Iterator[tuple[int, int]]:
    """Yield pairs (time, memory from then on) of the training unit, and the memory at its end."""
    before_bytes = 0
    for when_ns, size_bytes in replay.memory_profile:
        if when_ns >= window.end_ns:
            break
        if when_ns >= window.start_ns:
            yield when_ns - window.start_ns, size_bytes
        before_bytes = size_bytes
    yield window.end_ns - window.start_ns, before_bytes
