"""The picture that shows the replay of a schedule: which one depends on the kind of schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jettison.schedules.core.replay import Replay
from jettison.schedules.multi_model.training_replay import TrainingReplay
from jettison.schedules.sharding.strategy_choice import ChoiceReplay

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_replay(replay: Replay, *, title: str) -> Figure:
    """Draw what repeats as lanes and memory, and all else as memory over time."""
    from jettison.schedules.core.memory_plot import plot_memory
    from jettison.schedules.multi_model.unit_plot import plot_training
    from jettison.schedules.sharding.choice_plot import plot_choice
    from jettison.schedules.weight_offload.cyclic_plot import plot_cycle

    if isinstance(replay, ChoiceReplay):
        return plot_choice(replay, title=title)
    if isinstance(replay, TrainingReplay):
        return plot_training(replay, title=title)
    return (plot_memory if replay.period_ns is None else plot_cycle)(replay, title=title)
