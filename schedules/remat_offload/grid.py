"""Picture of an offload schedule: stages over time, and the values on the device and the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.picture_style import (
    FETCHED,
    IN_MEMORY,
    ON_THE_HOST,
    SENT,
    AxisUnit,
    legend_below,
    time_unit,
)
from jettison.schedules.core.replay import Replay
from jettison.schedules.remat_chain.contents import TensorKind
from jettison.schedules.remat_chain.grid import (
    BAND_HEIGHTS,
    BAND_NAMES,
    BAND_WORDS,
    draw_boxes,
    draw_operations,
    stage_axes,
)
from jettison.schedules.remat_chain.schedule import ChainOperation
from jettison.schedules.remat_offload.held_values import Place, held_values
from jettison.schedules.remat_offload.schedule import OffloadSchedule

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure

# Transfers are thin boxes along the lower edge of a row, so that the bands show behind them.
_TRANSFER_HEIGHT, _TRANSFER_BELOW = 0.3, 0.3


def plot_offload_grid(
    chain: Chain, schedule: OffloadSchedule, replay: Replay, *, title: str
) -> Figure:
    """Draw the computations as `plot_chain_grid` does, with the values on the device and the host.

    The axis is that of the replay: computations wait for the link where it makes them. In the row
    of a stage, its value is grey while it is on the device and pale purple while its only copy is
    on the host; transfers are thin boxes at the lower edge of the row.

    Parameters
    ----------
    chain
        The instance.
    schedule
        Schedule to draw; it need not be valid.
    replay
        Its replay.
    title
        Title of the picture.

    Returns
    -------
    Figure
        It is not saved (see `save_figure`).
    """
    time = time_unit(replay.time_ns)
    axes = stage_axes(chain, replay.time_ns, title)
    bands = _draw_values(axes, chain, schedule, replay, time)
    steps = {step.operation for step in replay.steps}
    computed = [
        item
        for item in schedule.operations
        if isinstance(item, ChainOperation) and str(item) in steps
    ]
    operations = draw_operations(axes, chain, computed, replay, time)
    transfers = _draw_transfers(axes, replay, time)
    legend_below(axes, [*operations, *transfers, *bands], columns=3)
    return axes.figure.figure


def _draw_values(
    axes: Axes, chain: Chain, schedule: OffloadSchedule, replay: Replay, time: AxisUnit
) -> list[PolyCollection]:
    values = held_values(chain, schedule.operations, replay)
    handles = []
    # What is on the device covers the copy that stays on the host beside it.
    for place, colour, words in (
        (Place.HOST, ON_THE_HOST, "on the host"),
        (Place.DEVICE, IN_MEMORY, "on the device"),
    ):
        for kind in (TensorKind.SAVED, TensorKind.PLAIN):
            spans = [
                (time.of(value.start_ns), time.of(value.end_ns), value.tensor.stage)
                for value in values
                if value.place is place and value.tensor.kind is kind
            ]
            if spans:
                saved = kind is TensorKind.SAVED
                label = f"{BAND_NAMES[saved]} {words}{BAND_WORDS[saved]}"
                height = BAND_HEIGHTS[saved]
                handles.append(draw_boxes(axes, spans, height=height, colour=colour, label=label))
    return handles


def _draw_transfers(axes: Axes, replay: Replay, time: AxisUnit) -> list[PolyCollection]:
    handles = []
    for to_host, colour, label in ((True, SENT, "to the host"), (False, FETCHED, "from the host")):
        spans = [
            (
                time.of(item.start_ns),
                time.of(item.end_ns),
                int(item.operation.split()[1]) - _TRANSFER_BELOW,
            )
            for item in replay.transfers
            if item.to_host is to_host
        ]
        if spans:
            handles.append(
                draw_boxes(axes, spans, height=_TRANSFER_HEIGHT, colour=colour, label=label)
            )
    return handles
