"""Pictures of KIWI's worked examples: memory at each computation, and the cost of stages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import jettison as jt
from jettison.instances.remat_sharding.chosen_strategies import with_strategies
from jettison.instances.remat_sharding.operator import Role
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.schedules.core.picture_style import (
    BLACK,
    LIGHT_GREY,
    ORANGE,
    SKY,
    VERMILION,
    set_title,
)
from jettison.schedules.remat_graph.schedule import GraphOperationKind
from jettison.schedules.remat_sharding.reduced_recomputation import ReducedRecomputation
from jettison.schedules.remat_sharding.schedule import ShardedSchedule

from .kiwi_examples import (
    FIGURE_1_BYTES,
    FIGURE_2_COMPUTATIONS,
    FIGURE_3_COMPUTATIONS,
    MB,
    forward_and_backward,
    four_layers,
    six_stages,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = {
    "parameter or batch": LIGHT_GREY,
    "forward": SKY,
    "computed again": ORANGE,
    "backward": "#8FD1BC",
}


def write(folder: Path) -> None:
    """Draw the pictures of Figures 1, 2, and 3 with 4."""
    import matplotlib

    folder.mkdir(parents=True, exist_ok=True)
    # Without a salt of its own a file would differ from build to build.
    with matplotlib.rc_context({"svg.hashsalt": "jettison", "svg.fonttype": "none"}):
        _save_figure_1(folder / "kiwi-figure-1.svg")
        _save_figure_2(folder / "kiwi-figure-2.svg")
        _save_figures_3_and_4(folder / "kiwi-figures-3-and-4.svg")


def figure_1_plan(method: str) -> ShardedSchedule:
    """Return the fastest plan of the four layers by a method."""
    result = jt.solve(jt.RematSharding(four_layers(), FIGURE_1_BYTES), method=method)
    assert isinstance(result.schedule, ShardedSchedule)
    return result.schedule


def six_stages_plan() -> ShardedSchedule:
    """Return the plan of Figure 2: v2 is halved, and computed again in stage 6."""
    return ShardedSchedule.from_computations(
        six_stages(), (0, 1, 0, 0, 0, 0), FIGURE_2_COMPUTATIONS
    )


def forward_and_backward_plan() -> ShardedSchedule:
    """Return the plan of Figures 3 and 4: operator 1 is computed again, 2 is checkpointed."""
    sharded = forward_and_backward()
    plan = ShardedSchedule((0,) * len(sharded), ReducedRecomputation(sharded).operations([1]))
    assert plan.computations == FIGURE_3_COMPUTATIONS
    return plan


def held(sharded: ShardedGraph, plan: ShardedSchedule) -> list[tuple[int, bool, dict[int, int]]]:
    """Return for each computation its operator, whether it is repeated, and what is in memory.

    In memory are values by operator, with their bytes, those that the computation reads and makes
    among them.
    """
    resident: set[int] = set()
    seen: set[int] = set()
    found = []
    for operation in plan.operations:
        i = operation.node
        if operation.kind is GraphOperationKind.FREE:
            resident.discard(i)
            continue
        resident.add(i)
        sizes = {
            j: sharded.operators[j].strategies[plan.strategies[j]].memory_bytes for j in resident
        }
        found.append((i, i in seen, sizes))
        seen.add(i)
    return found


def stage_costs_ns(sharded: ShardedGraph, plan: ShardedSchedule) -> list[dict[int, int]]:
    """Return for each stage what the computations in it cost, by operator."""
    nodes = with_strategies(sharded, plan.strategies).nodes
    stages: list[dict[int, int]] = [{}]
    for i in plan.computations:
        stages[-1][i] = nodes[i].duration_ns
        if i == len(stages) - 1:
            stages.append({})
    return stages[:-1]


def _save_figure_1(path: Path) -> None:
    from matplotlib.figure import Figure

    sharded = four_layers()
    figure = Figure(figsize=(9, 8.6), layout="constrained")
    for axes, (method, words) in zip(
        figure.subplots(2, 1),
        (("alpa", "Sharded alone"), ("kiwi-reduced", "Sharded and recomputed")),
        strict=True,
    ):
        plan = figure_1_plan(method)
        time_ns = plan.replay(sharded).time_ns
        over = {
            name: sharded.operators[i].strategies[plan.strategies[i]].name
            for name in ("w2", "w3")
            for i in (sharded.position_of[name],)
        }
        sharded_over = ", ".join(f"{name} over {count} devices" for name, count in over.items())
        _draw_memory(axes, sharded, plan)
        axes.axhline(FIGURE_1_BYTES / MB, color=VERMILION, linewidth=1.2)
        axes.annotate(
            f"limit {FIGURE_1_BYTES // MB} MB",
            (-0.45, FIGURE_1_BYTES / MB),
            xytext=(0, 3),
            textcoords="offset points",
            fontsize=8,
            color=VERMILION,
        )
        axes.set_ylim(0, 1.12 * FIGURE_1_BYTES / MB)
        set_title(axes, f"{words}: {time_ns / 10**6:g} ms, {sharded_over}")
    _dress(figure.axes[-1])
    figure.savefig(path, metadata={"Date": None})


def _save_figures_3_and_4(path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.6, 4.9), layout="constrained")
    axes = figure.add_subplot()
    sharded, plan = forward_and_backward(), forward_and_backward_plan()
    _draw_memory(axes, sharded, plan)
    most = max(sum(sizes.values()) for _, _, sizes in held(sharded, plan)) / MB
    axes.set_ylim(0, 1.12 * most)
    set_title(axes, "Operator 1 is freed before 4, and computed again before 6")
    _dress(axes)
    figure.savefig(path, metadata={"Date": None})


def _draw_memory(axes: Axes, sharded: ShardedGraph, plan: ShardedSchedule) -> None:
    columns = held(sharded, plan)
    back: set[int] = set()
    labels = []
    for place, (i, is_again, sizes) in enumerate(columns):
        back |= {i} if is_again else set()
        labels.append(f"{sharded.operators[i].name}{' again' if is_again else ''}")
        bottom = 0.0
        for j, size_bytes in sorted(sizes.items()):
            height = size_bytes / MB
            colour = _COLOURS["computed again" if j in back else _kind(sharded, j)]
            axes.bar(
                place, height, bottom=bottom, width=0.94, color=colour, edgecolor="white", lw=0.8
            )
            axes.text(
                place,
                bottom + height / 2,
                sharded.operators[j].name.replace("grad.", "g."),
                ha="center",
                va="center",
                fontsize=6.5,
                color=BLACK,
            )
            bottom += height
        axes.text(place, bottom, f"{bottom:g}", ha="center", va="bottom", fontsize=8, color=BLACK)
    axes.set_xticks(range(len(columns)), labels, rotation=55, ha="right", fontsize=8)
    axes.set_xlim(-0.6, len(columns) - 0.4)
    axes.set_ylabel("MB in memory")
    axes.spines[["top", "right"]].set_visible(False)


def _kind(sharded: ShardedGraph, i: int) -> str:
    role = sharded.operators[i].role
    return "parameter or batch" if role in {Role.PARAMETER, Role.INPUT} else str(role)


def _dress(axes: Axes) -> None:
    from matplotlib.patches import Patch

    axes.set_xlabel("computations in their order, with what is in memory while they run")
    figure = axes.figure.figure
    handles = [Patch(facecolor=colour, label=name) for name, colour in _COLOURS.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=9)


def _save_figure_2(path: Path) -> None:
    from matplotlib.figure import Figure

    sharded = six_stages()
    plan = six_stages_plan()
    stages = stage_costs_ns(sharded, plan)
    figure = Figure(figsize=(7.6, 4.4), layout="constrained")
    axes = figure.add_subplot()
    for t, costs in enumerate(stages):
        for i in range(t + 1):
            is_computed = i in costs
            colour = LIGHT_GREY if not is_computed else SKY if i == t else ORANGE
            axes.bar(i, 0.9, bottom=t - 0.45, width=0.94, color=colour)
            if is_computed:
                axes.text(i, t, _cost_text(sharded, plan, i), ha="center", va="center", fontsize=8)
        total = sum(costs.values()) / 10**6
        axes.text(len(sharded) - 0.35, t, f"{total:g} ms", va="center", fontsize=9)
    whole = sum(sum(costs.values()) for costs in stages) / 10**6
    axes.set_ylim(len(stages) - 0.5, -0.55)
    axes.set_xlim(-0.55, len(sharded) + 0.3)
    axes.set_yticks(range(len(stages)), [f"stage {t + 1}" for t in range(len(stages))])
    axes.set_xticks(range(len(sharded)), [item.name for item in sharded.operators])
    axes.set_xlabel("operators; orange is computed again; cost of strategy + resharding, in ms")
    axes.set_ylabel("stages")
    axes.spines[["top", "right"]].set_visible(False)
    set_title(axes, f"The objective is the sum over all stages: {whole:g} ms")
    figure.savefig(path, metadata={"Date": None})


def _cost_text(sharded: ShardedGraph, plan: ShardedSchedule, i: int) -> str:
    strategy = sharded.operators[i].strategies[plan.strategies[i]].cost_ns
    resharding = with_strategies(sharded, plan.strategies).nodes[i].duration_ns - strategy
    return f"{strategy / 10**6:g} + {resharding / 10**6:g}"
