"""Picture of a training schedule: what runs, what moves, and memory by kind over one period."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from jettison.schedules.core.lanes_picture import (
    FROM_HOST,
    TO_HOST,
    Lane,
    Span,
    draw_waiting,
    joined,
    lanes_above_memory,
    name_lanes,
    say_nothing_moves,
)
from jettison.schedules.core.memory_marks import mark_limit, mark_peak
from jettison.schedules.core.picture_style import (
    AGAIN,
    BACKWARD,
    BLACK,
    BROWN,
    FORWARD,
    IN_MEMORY,
    UPDATE,
    YELLOW,
    AxisUnit,
    legend_below,
    memory_unit,
    tint,
)
from jettison.schedules.training_chain.event import StageTensor, TrainingEventKind
from jettison.schedules.training_chain.training_verdict import MemoryKind, TrainingVerdict

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEIGHT_IN = 5.6
_HEADROOM = 0.16
_DEVICE, _HOST = Lane("device", 2.5, 3.2), Lane("host", 1.7, 2.3)
# None of them has another meaning.
_COLOURS = {
    MemoryKind.WEIGHTS: BROWN,
    MemoryKind.STATES: tint(BROWN, 0.5),
    MemoryKind.GRADIENTS: BLACK,
    MemoryKind.ACTIVATIONS: YELLOW,
    MemoryKind.ACTIVATION_GRADIENTS: tint(YELLOW, 0.4),
    MemoryKind.WORKING: IN_MEMORY,
}
_TENSOR_KINDS = {
    StageTensor.WEIGHTS: MemoryKind.WEIGHTS,
    StageTensor.STATES: MemoryKind.STATES,
    StageTensor.GRADIENT: MemoryKind.GRADIENTS,
    StageTensor.SAVED: MemoryKind.ACTIVATIONS,
    StageTensor.OUTPUT: MemoryKind.ACTIVATIONS,
}


def plot_period(verdict: TrainingVerdict, *, title: str) -> Figure:
    r"""Draw one period of a training schedule.

    Above, what runs on the device and on the host, and what each direction of the link carries, in
    the colour of its kind of tensor; below, the memory of each kind, one upon the other. What is
    under way at the end of the period continues at its start. The schedule need not be valid.

    Parameters
    ----------
    verdict
        Replay to draw.
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
    lanes, memory, time = lanes_above_memory(title, verdict.time_ns, _HEIGHT_IN, 1.3)
    handles = _draw_computations(lanes, verdict, time)
    _draw_transfers(lanes, verdict, time)
    name_lanes(lanes, (_DEVICE, _HOST, TO_HOST, FROM_HOST))
    handles += _draw_kinds(memory, verdict, time)
    legend_below(memory, handles, columns=4)
    return memory.figure.figure


def _draw_computations(axes: Axes, verdict: TrainingVerdict, time: AxisUnit) -> list[Artist]:
    colours = {
        "forward": FORWARD,
        "recomputation": AGAIN,
        "backward": BACKWARD,
        "update": UPDATE,
    }
    groups: dict[str, list[Span]] = {name: [] for name in colours}
    on_host: list[Span] = []
    for step in verdict.steps:
        kind = TrainingEventKind(step.operation.split()[0])
        name = "recomputation" if step.repeated else "forward"
        if kind.is_update:
            name = "update"
        elif kind is TrainingEventKind.BACKWARD:
            name = "backward"
        spans = on_host if kind is TrainingEventKind.HOST_UPDATE else groups[name]
        spans += _wrapped(step.start_ns, step.end_ns, verdict.time_ns)
    handles: list[Artist] = []
    for name, spans in groups.items():
        handles += _bars(axes, spans, _DEVICE, colours[name], time, name)
    _bars(axes, on_host, _HOST, UPDATE, time, "update on the host")
    running = [span for spans in groups.values() for span in spans]
    waiting = draw_waiting(axes, running, verdict.time_ns, (_DEVICE,), time)
    return handles + waiting


def _draw_transfers(axes: Axes, verdict: TrainingVerdict, time: AxisUnit) -> None:
    for lane, to_host in ((TO_HOST, True), (FROM_HOST, False)):
        if not any(transfer.to_host is to_host for transfer in verdict.transfers):
            say_nothing_moves(axes, lane)
        for kind in dict.fromkeys(_TENSOR_KINDS.values()):
            spans = [
                span
                for transfer in verdict.transfers
                if transfer.to_host is to_host
                and _TENSOR_KINDS[StageTensor(transfer.operation.split()[1])] is kind
                for span in _wrapped(transfer.start_ns, transfer.end_ns, verdict.time_ns)
            ]
            _bars(axes, spans, lane, _COLOURS[kind], time, str(kind))


def _wrapped(start_ns: int, end_ns: int, period_ns: int) -> Iterator[Span]:
    """Yield the parts of a span within one period."""
    if end_ns - start_ns >= period_ns:
        yield Span(0, period_ns)
    elif end_ns <= period_ns:
        yield Span(start_ns, end_ns)
    else:
        yield Span(start_ns, period_ns)
        yield Span(0, end_ns - period_ns)


def _bars(
    axes: Axes, spans: Iterable[Span], lane: Lane, colour: str, time: AxisUnit, name: str
) -> list[Artist]:
    bars = [
        (time.of(span.start_ns), time.of(span.end_ns - span.start_ns))
        for span in joined(spans)
        if span.end_ns > span.start_ns
    ]
    if not bars:
        return []
    height = lane.top - lane.bottom
    return [
        axes.broken_barh(bars, (lane.bottom, height), facecolor=colour, linewidth=0.0, label=name)
    ]


def _draw_kinds(axes: Axes, verdict: TrainingVerdict, time: AxisUnit) -> list[Artist]:
    top_bytes = max(verdict.peak_bytes, verdict.limit_bytes or 0, 1)
    unit = memory_unit(top_bytes)
    profile = verdict.kinds_profile or ((0, (0,) * len(MemoryKind)),)
    moments = [*profile, (verdict.time_ns, profile[-1][1])]
    when = [time.of(when_ns) for when_ns, _ in moments]
    below = [0.0] * len(moments)
    handles: list[Artist] = []
    for place, kind in enumerate(MemoryKind):
        above = [
            low + unit.of(kinds[place]) for low, (_, kinds) in zip(below, moments, strict=True)
        ]
        if above != below:
            handles.append(
                axes.fill_between(
                    when,
                    below,
                    above,
                    step="post",
                    color=_COLOURS.get(kind, IN_MEMORY),
                    linewidth=0,
                    label=str(kind),
                )
            )
        below = above
    axes.plot(when, below, drawstyle="steps-post", color=BLACK, linewidth=0.8)
    axes.set_ylim(0, (1 + _HEADROOM) * unit.of(top_bytes))
    axes.set_ylabel(f"memory ({unit.name})")
    axes.spines[["top", "right"]].set_visible(False)
    highest = when[_highest(below)]
    mark_peak(axes, highest, verdict.peak_bytes, verdict.limit_bytes, unit)
    mark_limit(axes, verdict.limit_bytes, unit, highest)
    return handles


def _highest(heights: Sequence[float]) -> int:
    return max(range(len(heights)), key=heights.__getitem__)
