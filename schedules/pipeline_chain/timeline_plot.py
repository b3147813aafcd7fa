"""Picture of a pipeline: the 1F1B timeline of each device above its memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from jettison.schedules.core.picture_style import (
    AGAIN,
    BACKWARD,
    BLACK,
    FORWARD,
    IN_MEMORY,
    LIMIT,
    SENT,
    WAITING,
    AxisUnit,
    legend_below,
    memory_unit,
    set_title,
    time_unit,
)
from jettison.schedules.pipeline_chain.step_replay import DeviceRun, PipelineReplay

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH_IN = 9.0
_MARGIN_IN = 1.3
_DEVICE_IN = 0.75
# A device has one unit of height: its memory below, its phases above.
_MEMORY = (0.0, 0.52)
_BAR = (0.6, 0.32)
# Letters that a bar of average width must hold before micro-batches are numbered.
_POINTS_OF_A_NUMBER = 11.0


def plot_pipeline(replay: PipelineReplay, *, title: str) -> Figure:
    """Draw the phases of all devices over time, each device above its memory.

    In a bar, what is computed again is orange, at the place where it runs; sending, and waiting for
    room in the buffer of the receiver, follow it. Numbers are those of micro-batches, where they
    fit. The area below is the memory in use while operations run, up to the limit, which is the
    dashed line. The schedule need not be valid.

    Parameters
    ----------
    replay
        Replay to draw.
    title
        Title of the picture.

    Returns
    -------
    Figure
        It is not saved (see `save_figure`).
    """
    from matplotlib.figure import Figure

    count = len(replay.devices)
    figure = Figure(figsize=(_WIDTH_IN, _MARGIN_IN + _DEVICE_IN * count), layout="constrained")
    axes = figure.subplots()
    set_title(axes, title)
    time = time_unit(replay.time_ns)
    most = max(replay.peak_bytes, replay.limit_bytes or 0, 1)
    numbered = _WIDTH_IN * 72 / (2 * max(1, len(replay.devices[0].phases))) > _POINTS_OF_A_NUMBER
    handles: list[Artist] = []
    for row, run in enumerate(reversed(replay.devices)):
        handles = _draw_phases(axes, run, row, time, numbered=numbered)
        handles += _draw_memory(axes, run, row, time, most, replay.limit_bytes)
    axes.set_xlim(0, time.of(replay.time_ns) or 1.0)
    axes.set_ylim(-0.05, count)
    axes.set_xlabel(f"time ({time.name})")
    memory = memory_unit(most)
    axes.set_yticks([row + 0.5 for row in range(count)])
    axes.set_yticklabels(
        [
            f"device {run.number}\nstages {run.stages}\n"
            f"{memory.of(run.peak_bytes):.3g} {memory.name}"
            for run in reversed(replay.devices)
        ],
        fontsize=7,
    )
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    legend_below(axes, handles, columns=len(handles))
    return figure


def _draw_phases(
    axes: Axes, run: DeviceRun, row: int, time: AxisUnit, *, numbered: bool
) -> list[Artist]:
    from matplotlib.patches import Patch

    forward = [phase for phase in run.phases if not phase.is_backward]
    backward = [phase for phase in run.phases if phase.is_backward]
    kinds: list[tuple[str, str, Iterable[tuple[int, int]]]] = [
        ("forward", FORWARD, ((item.start_ns, item.end_ns) for item in forward)),
        ("backward", BACKWARD, ((item.start_ns, item.end_ns) for item in backward)),
        ("computed again", AGAIN, _repeated(run)),
        ("waiting to send", WAITING, ((item.end_ns, item.sent_from_ns) for item in run.phases)),
        ("sending", SENT, ((item.sent_from_ns, item.sent_ns) for item in run.phases)),
    ]
    handles: list[Artist] = []
    for name, colour, spans in kinds:
        bars = [(time.of(start), time.of(end - start)) for start, end in spans if end > start]
        axes.broken_barh(bars, (row + _BAR[0], _BAR[1]), color=colour, linewidth=0)
        handles.append(Patch(color=colour, label=name))
    for phase in run.phases:
        axes.plot(
            [time.of(phase.start_ns)] * 2,
            [row + _BAR[0], row + _BAR[0] + _BAR[1]],
            color="white",
            linewidth=0.4,
        )
        if numbered:
            middle = time.of((phase.start_ns + phase.end_ns) // 2)
            axes.text(
                middle,
                row + _BAR[0] + _BAR[1] / 2,
                str(phase.microbatch),
                ha="center",
                va="center",
                fontsize=5,
                color="white",
            )
    return handles


def _repeated(run: DeviceRun) -> Iterator[tuple[int, int]]:
    for phase in run.phases:
        for item in run.operations_of(phase):
            if item.repeated:
                yield phase.start_ns + item.start_ns, phase.start_ns + item.end_ns


def _draw_memory(
    axes: Axes, run: DeviceRun, row: int, time: AxisUnit, most: int, limit: int | None
) -> list[Artist]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    height = _MEMORY[1] / most
    times: list[float] = []
    levels: list[float] = []
    for start, end, used in run.memory_profile:
        times += [time.of(start), time.of(end)]
        levels += [row + _MEMORY[0] + height * used] * 2
    axes.fill_between(times, row + _MEMORY[0], levels, color=IN_MEMORY, linewidth=0)
    axes.axhline(row + _MEMORY[0], color=BLACK, linewidth=0.4)
    handles: list[Artist] = [Patch(color=IN_MEMORY, label="memory")]
    if limit is not None:
        axes.axhline(row + _MEMORY[0] + height * limit, color=LIMIT, linewidth=0.6, linestyle="--")
        handles.append(Line2D([], [], color=LIMIT, linestyle="--", linewidth=0.6, label="limit"))
    return handles
