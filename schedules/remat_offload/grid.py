"""Picture of an offload schedule: its computations, drawn like those of a chain schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.remat_chain.grid import plot_chain_grid
from jettison.schedules.remat_offload.schedule import OffloadSchedule

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_offload_grid(chain: Chain, schedule: OffloadSchedule, *, title: str) -> Figure:
    """Draw the computations of a schedule as `plot_chain_grid` does, one after the other.

    A waiting value may be on the host, and time spent waiting for the link is not shown.
    """
    return plot_chain_grid(
        chain,
        schedule.computations,
        title=title,
        place="in memory or on the host",
        axis="time of the computations",
    )
