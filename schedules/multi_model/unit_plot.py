"""Picture of an iteration of µ-TWO, as in its Figure 6: computations, copies and memory."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

from jettison.schedules.core.lanes_picture import (
    AXES_POINTS,
    FROM_HOST,
    TO_HOST,
    Lane,
    Span,
    draw_memory,
    draw_waiting,
    joined,
    lanes_above_memory,
    name_lanes,
    say_nothing_moves,
)
from jettison.schedules.core.picture_style import (
    AGAIN,
    BACKWARD,
    BLACK,
    FETCHED,
    FORWARD,
    SENT,
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
# Room above the lanes for the names of the models, and the width of a letter of them.
_NAMES_ROOM, _LETTER_POINTS = 0.7, 4.6
_PAIR = (Lane("sub-array 1", 2.6, 3.3), Lane("sub-array 2", 1.7, 2.4))
_ALONE = (Lane("compute", 1.7, 2.4),)
_KINDS = (
    (MultiModelAction.FORWARD, FORWARD, "forward"),
    (MultiModelAction.BACKWARD, BACKWARD, "backward"),
    (MultiModelAction.RECOMPUTE, AGAIN, "recomputation"),
)


def plot_training(replay: TrainingReplay, *, title: str) -> Figure:
    r"""Draw one iteration: all training units, one after the other.

    Above, what runs for each sub-array, and what is on its way in each direction of the link. The
    device runs one thing at a time; where it waits, both of its lanes are grey, and a wait that
    would be too short to see is drawn wider. Below, on the same axis of time, memory in use. A line
    divides training units, whose models are named above them; a dotted one divides the two rounds
    of a pair. The schedule need not be valid.

    Parameters
    ----------
    replay
        Replay to draw, of a `MultiModelSchedule`.
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
    lanes, memory, time = lanes_above_memory(title, replay.time_ns, _HEIGHT_IN, 1.4)
    # What is freed at the very end is not drawn.
    moments = [item for item in replay.memory_profile if item[0] < replay.time_ns] or [(0, 0)]
    last = (replay.time_ns, moments[-1][1])
    handles = _draw_lanes(lanes, replay, time)
    handles += draw_memory(memory, [*moments, last], replay.peak_bytes, replay.limit_bytes, time)
    _divide(lanes, memory, replay, time)
    legend_below(memory, handles, columns=5)
    return memory.figure.figure


def _draw_lanes(axes: Axes, replay: TrainingReplay, time: AxisUnit) -> list[Artist]:
    computed: dict[tuple[str, int], list[Span]] = {}
    for step in replay.steps:
        if step.end_ns > step.start_ns:
            kind, array = step.operation[0], int(step.operation[1]) - 1
            computed.setdefault((kind, array), []).append(Span(step.start_ns, step.end_ns))
    moved: dict[bool, list[Span]] = {True: [], False: []}
    for item in replay.transfers:
        moved[item.to_host].append(Span(item.start_ns, item.end_ns))
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
    handles += draw_waiting(axes, running, replay.time_ns, lanes, time)
    for to_host, lane, colour in ((True, TO_HOST, SENT), (False, FROM_HOST, FETCHED)):
        _draw_bars(axes, moved[to_host], lane, colour, lane.name, time)
        if not moved[to_host]:
            say_nothing_moves(axes, lane)
    name_lanes(axes, (*lanes, TO_HOST, FROM_HOST), headroom=_NAMES_ROOM)
    return handles


def _divide(lanes: Axes, memory: Axes, replay: TrainingReplay, time: AxisUnit) -> None:
    """Draw lines between units and between rounds, and name the models of each unit."""
    ends = set(replay.unit_ends_ns)
    for end_ns in replay.round_ends_ns:
        if end_ns not in ends:
            for axes in (lanes, memory):
                axes.axvline(time.of(end_ns), color=BLACK, linestyle=":", linewidth=1.0)
    points_per_ns = AXES_POINTS / (replay.time_ns or 1)
    bottom, top = lanes.get_ylim()
    named = zip(pairwise((0, *replay.unit_ends_ns)), replay.unit_models, strict=True)
    for number, ((start_ns, end_ns), models) in enumerate(named, start=1):
        if end_ns < replay.time_ns:
            for axes in (lanes, memory):
                axes.axvline(time.of(end_ns), color=BLACK, linewidth=1.2)
        room = points_per_ns * (end_ns - start_ns)
        words = (f"unit {number}: {' and '.join(models)}", " and ".join(models), str(number))
        text = next((text for text in words if _LETTER_POINTS * len(text) <= room), "")
        lanes.text(
            time.of(start_ns + end_ns) / 2,
            top - _NAMES_ROOM / 2,
            text,
            ha="center",
            va="center",
            fontsize=8,
            color=BLACK,
            parse_math=False,
            # Covers the line between the rounds of a pair.
            bbox={"facecolor": "white", "linewidth": 0, "pad": 1.5},
        )
    lanes.set_ylim(bottom, top)


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
