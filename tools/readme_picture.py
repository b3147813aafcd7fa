"""Picture of the README: memory over one training step, with and without a plan.

Run ``python -m tools.readme_picture`` from a checkout; it writes ``docs/_static/readme-light.svg``
and ``readme-dark.svg`` from a bundled instance, by the replay of each schedule.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

import jettison as jt
from docs.site_pages.theme_colours import method_colours
from jettison.schedules.core.replay import Replay

INSTANCE, MEMORY, METHOD = "bert-base-b16-512-h200", "50%", "unrestricted"
FOLDER = Path(__file__).resolve().parents[1] / "docs" / "_static"
_STYLES = {
    "light": {"text": "#1a1a1a", "grid": "#e3e3e3", "all": "#999999"},
    "dark": {"text": "#dedede", "grid": "#3a3a3a", "all": "#888888"},
}
_GB = 1e9
_MS = 1e6


def curve(replay: Replay) -> tuple[list[float], list[float]]:
    """Return times in ms and the memory in GB that an operation has from there on."""
    times = [step.start_ns / _MS for step in replay.steps]
    sizes = [step.during_bytes / _GB for step in replay.steps]
    return [*times, replay.time_ns / _MS], [*sizes, 0.0]


def main() -> None:
    """Solve, replay and draw."""
    chain = jt.load(INSTANCE)
    assert isinstance(chain, jt.Chain)
    everything = jt.solve(jt.RematChain(chain, "100%"), method="store-all")
    plan = jt.solve(jt.RematChain(chain, MEMORY), method=METHOD)
    assert isinstance(everything.replay, Replay)
    assert isinstance(plan.replay, Replay)
    assert plan.lower_bound_ns is not None
    limit_gb = plan.problem.memory_bytes / _GB
    slower = plan.replay.time_ns / chain.base_time_ns - 1
    least = plan.lower_bound_ns / chain.base_time_ns - 1
    for style, colours in _STYLES.items():
        with matplotlib.rc_context({"svg.hashsalt": "jettison", "font.size": 11}):
            figure = Figure(figsize=(7.4, 3.6), layout="constrained")
            axes = figure.add_subplot()
            axes.step(
                *curve(everything.replay),
                where="post",
                color=colours["all"],
                label="save everything",
            )
            axes.step(
                *curve(plan.replay),
                where="post",
                color=method_colours(style)[METHOD],
                linewidth=2,
                label=f"in {MEMORY}: {slower:.1%} slower, and no schedule is below {least:.1%}",
            )
            axes.axhline(limit_gb, color=colours["text"], linestyle=":", linewidth=1)
            axes.annotate(
                "limit",
                (0, limit_gb),
                textcoords="offset points",
                xytext=(4, 4),
                color=colours["text"],
            )
            axes.set_xlabel("time in the step, ms", color=colours["text"])
            axes.set_ylabel("memory, GB", color=colours["text"])
            axes.set_xlim(0, plan.replay.time_ns / _MS)
            axes.set_ylim(bottom=0)
            axes.grid(color=colours["grid"], linewidth=0.8)
            axes.set_axisbelow(True)
            axes.patch.set_alpha(0)
            axes.tick_params(colors=colours["text"])
            for name, spine in axes.spines.items():
                spine.set_visible(name in {"left", "bottom"})
                spine.set_color(colours["text"])
            axes.legend(
                frameon=False,
                labelcolor=colours["text"],
                loc="lower center",
                bbox_to_anchor=(0.5, 1.0),
                ncols=2,
            )
            figure.savefig(
                FOLDER / f"readme-{style}.svg", metadata={"Date": None}, transparent=True
            )


if __name__ == "__main__":
    main()
