"""Picture of a chain schedule: stages over time, and the values that wait in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.picture_style import (
    AGAIN,
    BACKWARD,
    BLACK,
    FORWARD,
    IN_MEMORY,
    AxisUnit,
    empty_axes,
    legend_below,
    time_unit,
    tint,
)
from jettison.schedules.core.replay import Replay
from jettison.schedules.remat_chain.schedule import (
    ChainOperation,
    ChainOperationKind,
    ChainSchedule,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure

# The colour says whether a stage runs again, and its depth what the operation keeps.
_FORWARDS = {
    ChainOperationKind.FORWARD_ALL: (1.0, "$F_{all}$: forward, saves all"),
    ChainOperationKind.FORWARD_CHECKPOINT: (0.45, "$F_{ck}$: forward, keeps its input"),
    ChainOperationKind.FORWARD_NONE: (0.2, "$F_\\emptyset$: forward, drops its input"),
}
_OTHERS = {
    ChainOperationKind.BACKWARD: (BACKWARD, "$B$: backward"),
    ChainOperationKind.DROP: (BLACK, "$D$: drop"),
}
_AGAIN = "again: "
# By whether all that the backward needs is saved.
BAND_HEIGHTS = {True: 0.7, False: 0.25}
BAND_NAMES = {True: "$\\bar a$", False: "$a$"}
BAND_WORDS = {True: "", False: ", a thin band"}


class Stored(NamedTuple):
    r"""Value that is in memory from one time to another.

    Attributes
    ----------
    number
        Which: 0 is the input of the chain, and otherwise the stage whose output it is.
    saved
        True for :math:`\bar a`, all that the backward needs; False for the plain output.
    start_ns, end_ns
        From the end of the operation that makes it to the end of the one that drops it.
    """

    number: int
    saved: bool
    start_ns: int
    end_ns: int


def stored_values(chain: Chain, schedule: ChainSchedule) -> tuple[Stored, ...]:
    """Return the values that wait in memory, with their times, in the order of their drops.

    The rules are those of `ChainSchedule.replay`. Operations on stages that do not exist are
    passed over. Time linear in the number of operations.
    """
    found: list[Stored] = []
    since: dict[tuple[int, bool], int] = {(0, False): 0}

    def drop(number: int, saved: bool, now_ns: int) -> None:
        if (number, saved) in since:
            found.append(Stored(number, saved, since.pop((number, saved)), now_ns))

    replay = schedule.replay(chain)
    for operation, step in zip(schedule.operations, replay.steps, strict=True):
        number, now_ns = operation.stage, step.end_ns
        if not operation.least_stage <= number <= len(chain):
            continue
        match operation.kind:
            case ChainOperationKind.DROP:
                drop(number, False, now_ns)
                drop(number, True, now_ns)
            case ChainOperationKind.BACKWARD:
                drop(number, True, now_ns)
                drop(number - 1, False, now_ns)
            case ChainOperationKind.FORWARD_ALL:
                drop(number, False, now_ns)
                since.setdefault((number, True), now_ns)
            case _:
                if (number, True) not in since:
                    since.setdefault((number, False), now_ns)
        if operation.kind is ChainOperationKind.FORWARD_NONE:
            drop(number - 1, False, now_ns)
            drop(number - 1, True, now_ns)
    for number, saved in sorted(since):
        drop(number, saved, replay.time_ns)
    return tuple(found)


def plot_chain_grid(chain: Chain, schedule: ChainSchedule, *, title: str) -> Figure:
    """Draw the checkpointing diagram: time against stage.

    Every operation is a box as long as it takes, in the row of its stage: blue where the stage runs
    forward for the first time, orange where it runs again. Behind it, the output of the stage is a
    grey band for as long as it is in memory, broad where all that the backward needs is saved. Row
    0 is the input of the chain. A drop takes no time: it is a line at the end of the band that it
    ends.

    Parameters
    ----------
    chain
        The instance.
    schedule
        Schedule to draw; it need not be valid.
    title
        Title of the picture.

    Returns
    -------
    Figure
        It is not saved (see `save_figure`).
    """
    replay = schedule.replay(chain)
    time = time_unit(replay.time_ns)
    axes = stage_axes(chain, replay.time_ns, title)
    stored = stored_values(chain, schedule)
    bands = [
        draw_boxes(
            axes,
            [
                (time.of(value.start_ns), time.of(value.end_ns), value.number)
                for value in stored
                if value.saved == saved
            ],
            height=BAND_HEIGHTS[saved],
            colour=IN_MEMORY,
            label=f"{BAND_NAMES[saved]} in memory{BAND_WORDS[saved]}",
        )
        for saved in (True, False)
    ]
    operations = draw_operations(axes, chain, schedule.operations, replay, time)
    legend_below(axes, [*operations, *bands], columns=3)
    return axes.figure.figure


def stage_axes(chain: Chain, length_ns: int, title: str) -> Axes:
    """Return the axes of a diagram of time against stage."""
    from matplotlib.ticker import MaxNLocator

    time = time_unit(length_ns)
    axes = empty_axes(7.2, min(max(2.0 + 0.1 * len(chain), 3.2), 6.5), title)
    # A schedule that takes no time still gets an axis of some length.
    axes.set_xlim(0, time.of(length_ns) or 1.0)
    axes.set_ylim(-0.7, len(chain) + 0.7)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1, steps=[1, 2, 5, 10]))
    axes.set_xlabel(f"time ({time.name})")
    axes.set_ylabel("stage (0 is the input)")
    return axes


def draw_operations(
    axes: Axes,
    chain: Chain,
    operations: Sequence[ChainOperation],
    replay: Replay,
    time: AxisUnit,
) -> list[PolyCollection]:
    """Draw a box for each computation, in the row of its stage.

    Parameters
    ----------
    axes
        Axes as `stage_axes` makes them.
    chain
        The instance.
    operations
        The computations whose steps the replay has, in their order.
    replay
        Their replay.
    time
        Unit of the axis.

    Returns
    -------
    list
        What is drawn of each kind, first runs before those that are repeated.
    """
    kinds: list[tuple[ChainOperationKind, bool, str, str]] = [
        (kind, False, tint(FORWARD, depth), label) for kind, (depth, label) in _FORWARDS.items()
    ]
    kinds += [
        (kind, True, tint(AGAIN, depth), _AGAIN + label)
        for kind, (depth, label) in _FORWARDS.items()
    ]
    kinds += [(kind, False, colour, label) for kind, (colour, label) in _OTHERS.items()]
    boxes: dict[tuple[ChainOperationKind, bool], list[tuple[float, float, int]]] = {}
    for operation, step in zip(operations, replay.steps, strict=True):
        if operation.least_stage <= operation.stage <= len(chain):
            again = step.repeated and operation.kind in _FORWARDS
            box = (time.of(step.start_ns), time.of(step.end_ns), operation.stage)
            boxes.setdefault((operation.kind, again), []).append(box)
    return [
        draw_boxes(axes, boxes[kind, again], height=0.9, colour=colour, label=label)
        for kind, again, colour, label in kinds
        if (kind, again) in boxes
    ]


def draw_boxes(
    axes: Axes,
    spans: Sequence[tuple[float, float, float]],
    *,
    height: float,
    colour: str,
    label: str,
) -> PolyCollection:
    """Draw boxes that are given by start, end and row."""
    from matplotlib.collections import PolyCollection

    half = height / 2
    corners = [
        [(start, row - half), (end, row - half), (end, row + half), (start, row + half)]
        for start, end, row in spans
    ]
    # The edge keeps a box visible that is too short to have an inside.
    boxes = PolyCollection(corners, facecolor=colour, edgecolor=colour, linewidth=0.4, label=label)
    axes.add_collection(boxes)
    return boxes
