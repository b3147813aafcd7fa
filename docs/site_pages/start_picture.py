"""Picture of the start page: time against memory, drawn from a bundled instance.

Below the dotted line no schedule can be, above the thick one nobody needs to be; between them
nothing is settled. It is drawn twice, for light and for dark pages.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import jettison as jt

from .theme_colours import method_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INSTANCE = "resnet50-b128-gpu"
_PERCENTS = range(25, 101, 1)
_BASELINES = ("revolve", "periodic", "chen-sqrt")
_BEST = "rotor-exact"
_PROVED = ("fastest persistent schedule, proved", "not settled", "no schedule is faster, proved")
_STYLES = {
    "light": {"text": "#1a1a1a", "grid": "#e3e3e3", "band": "#bcd9ec"},
    "dark": {"text": "#dedede", "grid": "#3a3a3a", "band": "#25465a"},
}


def write(folder: Path) -> None:
    """Solve the instance in many memories and draw the curves."""
    folder.mkdir(parents=True, exist_ok=True)
    curves = _curves()
    for style, colours in _STYLES.items():
        _draw(curves, colours | method_colours(style), folder / f"start-{style}.svg")


def _curves() -> dict[str, list[tuple[int, float]]]:
    """Return (percent of memory, percent of time beyond the step that saves everything)."""
    chain = jt.load(INSTANCE)
    curves: dict[str, list[tuple[int, float]]] = {}
    for percent in _PERCENTS:
        problem = jt.RematChain(chain, memory=f"{percent}%")
        for method in (_BEST, "cut-bound", *_BASELINES):
            result = jt.solve(problem, method=method)
            time_ns = result.lower_bound_ns if method == "cut-bound" else result.time_ns
            if time_ns is not None and result.status != "infeasible":
                overhead = 100 * (time_ns / chain.base_time_ns - 1)
                curves.setdefault(method, []).append((percent, overhead))
    return curves


def _draw(curves: dict[str, list[tuple[int, float]]], colours: dict[str, str], path: Path) -> None:
    import matplotlib
    from matplotlib.figure import Figure

    # Without a salt of its own the file would differ from build to build.
    with matplotlib.rc_context({"svg.hashsalt": "jettison", "font.size": 11}):
        figure = Figure(figsize=(7, 5.2), layout="constrained")
        axes = figure.add_subplot()
        for method in _BASELINES:
            axes.step(
                *zip(*curves[method], strict=True),
                where="post",
                color=colours[method],
                label=method,
            )
        best, bound = dict(curves[_BEST]), dict(curves["cut-bound"])
        shared = sorted(best.keys() & bound.keys())
        axes.fill_between(
            shared,
            [bound[percent] for percent in shared],
            [best[percent] for percent in shared],
            step="post",
            color=colours["band"],
            label=_PROVED[1],
        )
        axes.step(
            *zip(*curves[_BEST], strict=True),
            where="post",
            color=colours[_BEST],
            linewidth=2.5,
            label=_PROVED[0],
        )
        axes.step(
            *zip(*curves["cut-bound"], strict=True),
            where="post",
            color=colours["text"],
            linestyle=":",
            label=_PROVED[2],
        )
        _dress(axes, colours)
        figure.savefig(path, metadata={"Date": None}, transparent=True)


def _dress(axes: Axes, colours: dict[str, str]) -> None:
    axes.set_xlabel("memory, in % of a step that saves everything", color=colours["text"])
    axes.set_ylabel("time beyond that step, in %", color=colours["text"])
    axes.set_xlim(_PERCENTS[0], 100)
    axes.set_ylim(bottom=0)
    axes.grid(color=colours["grid"], linewidth=0.8)
    axes.set_axisbelow(True)
    axes.patch.set_alpha(0)
    axes.tick_params(colors=colours["text"])
    for name, spine in axes.spines.items():
        spine.set_visible(name in {"left", "bottom"})
        spine.set_color(colours["text"])
    handles, labels = axes.get_legend_handles_labels()
    # What is proved first, then the baselines from the slowest on.
    order = [labels.index(label) for label in (*_PROVED, *_BASELINES)]
    axes.legend(
        [handles[number] for number in order],
        [labels[number] for number in order],
        frameon=False,
        labelcolor=colours["text"],
        loc="upper center",
        bbox_to_anchor=(0.5, -0.16),
        ncols=2,
    )
