"""Picture of the study of planners for the start page: torch's plans beside the least time.

It is drawn from what is recorded in ``notebooks/_recorded``: for each of the twenty steps the
overhead of the plan of torch's partitioner at one budget, and the least overhead in the same peak,
with its bound. It is drawn twice, for light and for dark pages.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from jettison.studies.recorded_planners import RecordedStudy
from jettison.studies.recorded_steps import RecordedSteps

from .theme_colours import method_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BUDGET = "0.3"
_PRICING = "fused"
# The methods whose colours the points have.
_BEST, _TORCH = "exact", "torch-min-cut-dp"
_STYLES = {
    "light": {"text": "#1a1a1a", "grid": "#e3e3e3", "line": "#c9c9c9"},
    "dark": {"text": "#dedede", "grid": "#3a3a3a", "line": "#5a5a5a"},
}


class Compared(NamedTuple):
    """Overheads in the peak of one plan, in percent of the step without recomputation."""

    step: str
    plan: float
    least: float
    bound: float


def write(root: Path, folder: Path) -> None:
    """Draw the picture from the record."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = compared(root / "notebooks" / "_recorded")
    for style, colours in _STYLES.items():
        _draw(rows, colours | method_colours(style), folder / f"planners-{style}.svg")


def compared(recorded: Path) -> list[Compared]:
    """Return the steps, those with the most needless recomputation last."""
    study = RecordedStudy.read(recorded)
    found = []
    for name in RecordedSteps.read(recorded / "planners_graphs.jsonl.gz").names:
        plan = study.plan(name, _PRICING, "torch-dp", BUDGET)
        if plan is None or plan.time_ns is None:
            continue
        best_ns = study.best_ns(plan)
        least_ns = plan.time_ns if best_ns is None else min(best_ns, plan.time_ns)
        overheads = (
            100 * (time_ns / plan.base_time_ns - 1)
            for time_ns in (plan.time_ns, least_ns, study.bound_ns(plan))
        )
        found.append(Compared(name, *overheads))
    return sorted(found, key=lambda row: row.plan - row.least)


def needless_percent(rows: list[Compared]) -> int:
    """Return the median over the steps of what part of the recomputation is needless."""
    return round(median(100 * (1 - row.least / row.plan) for row in rows if row.plan > 0))


def _draw(rows: list[Compared], colours: dict[str, str], path: Path) -> None:
    import matplotlib
    from matplotlib.figure import Figure

    # Without a salt of its own the file would differ from build to build.
    with matplotlib.rc_context({"svg.hashsalt": "jettison", "font.size": 11}):
        figure = Figure(figsize=(7, 5.6), layout="constrained")
        axes = figure.add_subplot()
        places = range(len(rows))
        axes.hlines(
            places,
            [row.least for row in rows],
            [row.plan for row in rows],
            color=colours["line"],
            linewidth=2,
            zorder=1,
        )
        axes.hlines(
            places,
            [row.bound for row in rows],
            [row.least for row in rows],
            color=colours[_BEST],
            linewidth=2,
            linestyle=":",
            zorder=1,
        )
        axes.scatter(
            [row.least for row in rows],
            places,
            color=colours[_BEST],
            label="least time in the same peak, proved (dotted: not settled)",
            zorder=2,
        )
        axes.scatter(
            [row.plan for row in rows],
            places,
            color=colours[_TORCH],
            marker="D",
            s=26,
            label=f"torch's partitioner, activation_memory_budget={BUDGET}",
            zorder=2,
        )
        axes.set_yticks(places, [row.step for row in rows])
        _dress(axes, colours)
        figure.suptitle(
            f"In the peak of torch's own plan, {needless_percent(rows)} % of its recomputation\n"
            "is needless (median of twenty training steps)",
            color=colours["text"],
            fontsize=12,
            x=0.02,
            ha="left",
        )
        figure.savefig(path, metadata={"Date": None}, transparent=True)


def _dress(axes: Axes, colours: dict[str, str]) -> None:
    axes.set_xlabel("time beyond the step that saves everything, in %", color=colours["text"])
    axes.set_xlim(left=0)
    axes.grid(axis="x", color=colours["grid"], linewidth=0.8)
    axes.set_axisbelow(True)
    axes.patch.set_alpha(0)
    axes.tick_params(colors=colours["text"])
    axes.tick_params(axis="y", length=0)
    for name, spine in axes.spines.items():
        spine.set_visible(name == "bottom")
        spine.set_color(colours["text"])
    axes.legend(
        frameon=False,
        labelcolor=colours["text"],
        loc="upper center",
        bbox_to_anchor=(0.4, -0.12),
    )
