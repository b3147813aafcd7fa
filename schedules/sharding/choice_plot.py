"""Picture of a strategy choice: memory over time, and the most expensive nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jettison.schedules.core.memory_marks import mark_limit, mark_peak
from jettison.schedules.core.picture_style import BLACK, BLUE, IN_MEMORY, memory_unit, set_title
from jettison.schedules.sharding.strategy_choice import ChoiceReplay

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HEADROOM = 0.16
_MOST_BARS = 10
_LONGEST_LABEL = 24


def plot_choice(replay: ChoiceReplay, *, title: str) -> Figure:
    """Draw memory in use over the times of the instance, and the ten nodes that cost most.

    The cost of a node holds its own and those of the edges that it is the second end of. The choice
    need not be valid.

    Returns
    -------
    Figure
        A new figure; it is not saved (see `save_figure`).
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 3.8), layout="constrained")
    ax, bars = figure.subplots(1, 2, width_ratios=(2, 1))
    for axes in (ax, bars):
        axes.spines[["top", "right"]].set_visible(False)
    set_title(ax, title)
    top_bytes = max(replay.peak_bytes, replay.limit_bytes or 0, 1)
    memory = memory_unit(top_bytes)
    profile = replay.memory_profile or ((0, 0), (1, 0))
    times = [float(time) for time, _ in profile]
    usages = [memory.of(usage) for _, usage in profile]
    ax.fill_between(times, usages, step="post", color=IN_MEMORY, linewidth=0)
    ax.step(times, usages, where="post", color=BLACK, linewidth=1.0)
    ax.set_xlim(times[0], times[-1])
    ax.set_ylim(0, (1 + _HEADROOM) * memory.of(top_bytes))
    peak_at = next((t for t, usage in profile if usage == replay.peak_bytes), times[0])
    mark_peak(ax, float(peak_at), replay.peak_bytes, replay.limit_bytes, memory)
    mark_limit(ax, replay.limit_bytes, memory, float(peak_at))
    ax.set_xlabel("time of the instance")
    ax.set_ylabel(f"memory ({memory.name})")
    dearest = sorted(zip(replay.costs_ns, replay.names, strict=True), reverse=True)[:_MOST_BARS]
    places = range(len(dearest))
    bars.barh(places, [float(cost) for cost, _ in dearest], color=BLUE)
    bars.set_yticks(
        places, [name[:_LONGEST_LABEL] for _, name in dearest], fontsize=8, parse_math=False
    )
    bars.invert_yaxis()
    bars.set_xlabel("cost with edges (ns)")
    return figure
