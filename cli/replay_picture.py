"""The picture that shows the replay of a schedule: which one depends on the kind of schedule."""

from __future__ import annotations

from pathlib import Path

from jettison.schedules.replay import Replay


def save_replay_picture(replay: Replay, path: Path, *, title: str) -> None:
    """Draw a step that repeats as lanes and memory, any other schedule as memory over time.

    Raises
    ------
    InputError
        If the path cannot be written.
    """
    from jettison.schedules.cyclic_plot import plot_cycle
    from jettison.schedules.memory_plot import plot_memory
    from jettison.schedules.picture_file import save_figure

    draw = plot_memory if replay.period_ns is None else plot_cycle
    save_figure(draw(replay, title=title), path)
