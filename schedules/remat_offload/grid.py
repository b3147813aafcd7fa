"""The picture of a schedule with transfers: its computations as those of a chain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.remat_chain.grid import plot_chain_grid
from jettison.schedules.remat_offload.schedule import OffloadSchedule

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_offload_grid(chain: Chain, schedule: OffloadSchedule, *, title: str) -> Figure:
    """Draw the computations of a schedule as `plot_chain_grid` does, one after the other.

    What waits may be on the host, and no waiting for the link is shown.
    """
    return plot_chain_grid(
        chain,
        schedule.computations,
        title=title,
        place="in memory or on the host",
        axis="time of the computations",
    )
