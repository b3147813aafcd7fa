"""The picture that shows the replay of a schedule: which one depends on the kind of schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jettison.schedules.replay import Replay

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_replay(replay: Replay, *, title: str) -> Figure:
    """Draw a step that repeats as lanes and memory, any other schedule as memory over time."""
    from jettison.schedules.cyclic_plot import plot_cycle
    from jettison.schedules.memory_plot import plot_memory

    return (plot_memory if replay.period_ns is None else plot_cycle)(replay, title=title)
