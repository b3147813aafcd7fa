# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # KIWI: checkpointing and sharding together
#
# Liu, Jha, Cheung and Stoica, *Joint optimization of gradient checkpointing and tensor parallelism
# for model training*, 2023 (KIWI).
#
# `docs/papers/kiwi.toml` lists what the paper states, entry by entry, and where it is here.
#
# A training step runs on a mesh of devices. Each operator has strategies, ways to split it over the
# devices; they differ in computation, in communication and in the memory of one device, and between
# two that do not match a tensor is resharded. In little memory one can shard more, or compute values
# again. The paper decides both at once: the *full* problem has Checkmate's stages, the *reduced* one
# three simplifications. This notebook has the paper's Tables 1 and 2 and its Figures 5, 6 and 7 in
# structure.
#
# **No device was measured.** The paper profiles V100 cards; here all costs follow from shapes and
# assumed rates (14 TFLOP/s, 0.8 TB/s; 130 GB/s within a node, 3.5 GB/s between nodes). The curves of
# its figures are pictures without numbers. So what can be compared is the structure and the claims,
# not times. As in the paper, latencies are relative to Alpa's without a limit on memory, that is, to
# the fastest sharding that computes everything once; memory is in percent of what that takes.
#
# Where several plans are fastest, the peak is that of one of them, and it is fixed below.
#
# Every plan below has been replayed in exact integers, and its time is the replay's.
#
# What the methods find takes eight CPU minutes, and was **recorded** in `notebooks/_rows`, with the CPU seconds
# that each took. Each run of this notebook computes some of it again, which has to come out the same,
# and any row that is not there; the last cell says how many. To have all of them computed, remove
# the files `kiwi_*.jsonl` there, and run it again (`make notebooks`).

# %%
# %matplotlib inline
from dataclasses import replace
from functools import cache
from pathlib import Path
from time import process_time_ns
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import jettison as jt
from jettison.instances.best_profile import origin
from jettison.instances.catalog import bundled_instances
from jettison.instances.generators.perceptron_program import perceptron
from jettison.instances.remat_sharding.chosen_strategies import with_strategies
from jettison.instances.remat_sharding.sharded_graph import Resharding, ShardedGraph
from jettison.instances.tensor_programs.device_mesh import v100_mesh
from jettison.instances.tensor_programs.program_names import named_program
from jettison.instances.tensor_programs.program_on_mesh import on_v100_mesh
from jettison.instances.tensor_programs.resized import resized
from jettison.instances.tensor_programs.shard_cost import KnownShards, LocalWork, share_name
from jettison.instances.tensor_programs.shard_program import shard_program
from jettison.schedules.core.picture_style import BLACK
from jettison.schedules.remat_sharding.plan_plot import plot_sharded_plan
from jettison.schedules.remat_sharding.plan_table import planned_operators
from jettison.schedules.remat_sharding.schedule import ShardedSchedule
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.result import Result
from jettison.solvers.core.solve import solve_with
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.remat_sharding.baselines import (
    all_but_products,
    inside_attention,
    recomputing,
)
from jettison.solvers.remat_sharding.fastest_plan import fastest_sharding, with_fastest
from jettison.solvers.remat_sharding.least_memory import (
    floor_of_computations,
    with_smallest_strategies,
)
from jettison.studies.comparison.method_style import method_styles
from jettison.studies.kept_rows import KeptRows
from jettison.studies.paper_list import found_paper

# What the last cell compares does not depend on how fast this machine is.
TO_THE_END = SolveOptions(time_limit_s=None, gap=0.0)
FULL_LIMIT_S = 3.0
KEPT = KeptRows.found("notebooks/_rows")
# Several plans may be fastest, with different peaks, and which one is found may differ from one
# version of the solver to the next. So what percents refer to is written down.
PEAK_BYTES = {
    "mlp-26-wide-mesh1x4-slow1": 352_321_536,
    "mlp-26-mesh8x1-slow1": 62_914_560,
    "mlp-26-mesh1x4-slow1": 40_894_464,
    "encoder-1l-mesh1x8-slow1": 3_943_604_228,
    "encoder-1l-mesh8x1-slow1": 4_530_806_788,
    "decoder-1l-mesh1x8-slow1": 5_664_063_492,
    "decoder-1l-mesh1x4-slow1": 8_895_021_060,
}


@cache
def on_mesh(program: str, mesh: tuple[int, ...], slowdown: int = 1) -> ShardedGraph:
    """Return a program on a mesh, with its fastest plan."""
    name = f"{program}-mesh{'x'.join(map(str, mesh))}-slow{slowdown}"
    return with_fastest(on_v100_mesh(named_program(program), mesh, slowdown, name))


def base_ns(graph: ShardedGraph) -> int:
    """Return the time of Alpa's plan without a limit on memory."""
    return with_strategies(graph, graph.fastest).base_time_ns


def peak_bytes(graph: ShardedGraph) -> int:
    """Return the peak of such a plan on one device."""
    return PEAK_BYTES.get(graph.name) or jt.RematSharding(graph, "100%").memory_bytes


def only_fastest(graph: ShardedGraph) -> ShardedGraph:
    """Return the graph with the fastest plan's strategies and no others."""
    chosen = dict(zip((operator.name for operator in graph.operators), graph.fastest, strict=True))
    return replace(
        graph,
        operators=tuple(
            replace(operator, strategies=(operator.strategies[chosen[operator.name]],))
            for operator in graph.operators
        ),
        resharding=tuple(
            Resharding(
                item.source,
                item.target,
                ((item.cost_ns[chosen[item.source]][chosen[item.target]],),),
            )
            for item in graph.resharding
        ),
        fastest=(0,) * len(graph),
    )


@cache
def solved(
    graph: ShardedGraph, memory_bytes: int, method: str, options: SolveOptions = TO_THE_END
) -> Result:
    """Return what a method finds; a plan in it has been replayed."""
    if method == "recompute only":
        return solve_with(
            jt.RematSharding(only_fastest(graph), memory_bytes), "kiwi-reduced", options
        )
    return solve_with(jt.RematSharding(graph, memory_bytes), method, options)


GRAPHS: dict[str, ShardedGraph] = {}
SPEEDUP_COLUMNS = [
    "fastest_ns",
    *(f"{name}_{k}_ns" for name in ("alpa", "kiwi-reduced", "bound") for k in (0, 1)),
]


@KEPT.rows("kiwi_plans", again_s=1.0, about=["time_ns", "lower_bound_ns"])
def plan_row(
    name: str, memory_bytes: int, method: str, time_limit_s: float | None, gap: float
) -> dict[str, int | None]:
    """Return the time of what a method finds, and its lower bound."""
    options = SolveOptions(time_limit_s=time_limit_s, gap=gap)
    result = solved(GRAPHS[name], memory_bytes, method, options)
    return {"time_ns": result.time_ns, "lower_bound_ns": result.lower_bound_ns}


def asked(
    graph: ShardedGraph, memory_bytes: int, method: str, options: SolveOptions
) -> tuple[str, int, str, float | None, float]:
    """Return the case of a method that is given a graph, a memory and limits."""
    GRAPHS[graph.name] = graph
    return graph.name, memory_bytes, method, options.time_limit_s, options.gap


def found_by(
    method: str, graph: ShardedGraph, memory_bytes: int, options: SolveOptions = TO_THE_END
) -> Any:
    """Return the recorded time and lower bound."""
    return plan_row(*asked(graph, memory_bytes, method, options))


def cpu_s(
    method: str, graph: ShardedGraph, memory_bytes: int, options: SolveOptions = TO_THE_END
) -> float:
    """Return the CPU seconds that were recorded."""
    return plan_row.cpu_s(*asked(graph, memory_bytes, method, options))


# Several plans may be fastest, so none of this is computed again to be compared.
@KEPT.rows("kiwi_operators", again_s=0)
def operators_row(name: str, memory_bytes: int, method: str) -> dict[str, int | str]:
    """Return what the operators of a plan do, and for how long; nothing if there is no plan."""
    graph = GRAPHS[name]
    result = solved(graph, memory_bytes, method, TO_THE_END)
    if not isinstance(plan := result.schedule, ShardedSchedule):
        return {}
    operators = planned_operators(graph, plan)
    again = [item.computations > 1 for item in operators]
    changed = [mine != other for mine, other in zip(plan.strategies, graph.fastest, strict=True)]
    return {
        "class": str(result.replay.schedule_class),
        "again": sum(again),
        "changed": sum(changed),
        "both": sum(map(all, zip(changed, again, strict=True))),
        "again_ns": sum(
            item.time_ns * (item.computations - 1) // item.computations for item in operators
        ),
        "communication_ns": sum(item.communication_ns + item.resharding_ns for item in operators),
        "time_ns": sum(item.time_ns for item in operators),
    }


def operators_of(method: str, graph: ShardedGraph, memory_bytes: int) -> Any:
    """Return the recorded row of the operators of a plan."""
    GRAPHS[graph.name] = graph
    return operators_row(graph.name, memory_bytes, method)


def relative(graph: ShardedGraph, time_ns: int | None) -> float | None:
    """Return a time as a multiple of the fastest plan's."""
    return None if time_ns is None else round(time_ns / base_ns(graph), 4)


def share(graph: ShardedGraph, percent: int) -> int:
    """Return a share of the fastest plan's peak, rounded down."""
    return percent * peak_bytes(graph) // 100


RECORDED = next(
    folder
    for up in (Path.cwd(), *Path.cwd().parents)
    for folder in [up / "notebooks" / "_recorded"]
    if folder.is_dir()
)


def recorded(figure: str) -> pd.DataFrame:
    """Return what `benchmarks/kiwi_figures.py` wrote, with latencies as they are here."""
    table = pd.read_csv(RECORDED / f"kiwi_{figure}.csv")
    return table.assign(
        latency=(table["time_ns"] / table["fastest_ns"]).round(4),
        bound=(table["lower_bound_ns"] / table["fastest_ns"]).round(4),
        # Where a search was cut off, a better plan of the method may exist.
        is_cut_off=~table["termination"].isin(["completed", "gap_reached"]),
    )


# %% [markdown]
# ## Table 1: the full and the reduced problem
#
# The paper's instance is "a 7-layer MLP", 26 operators; its widths, its batch, its mesh and its costs
# are not stated. Five instances here have 26 operators in that structure:
#
# * `mlp-26`, 1024 units and a batch of 1024, on eight devices between nodes, mesh (8, 1);
# * the same on four devices within a node, mesh (1, 4);
# * wider on the same mesh: 2048 units and a batch of 8192;
# * `long`, a batch of 16384 for 1024 units, and `narrow`, one of 2048 for 256 units, on (8, 1): in
#   both the values between layers are larger than the weights. They were found by drawing widths,
#   batches, meshes and slower links at random; of thirty draws the reduced problem lost 2 % or more
#   in seven, in at least one memory.
#
# `reduced` is `kiwi-reduced` to its proved optimum, `full` is `exact`, to its end on (8, 1) and for 3
# seconds within a node; where that is not enough for a proof, the optimum of the full problem lies
# between its bound and the better of the two plans (`full best`). The paper's times are Gurobi's on a
# QCQP, ours are HiGHS on models of another kind, on other instances: the seconds say no more than
# which order of magnitude each one lives in.

# %%
PAPER_TABLE1 = {
    20: (8.35, 1717.18, 8.35, 0.79),
    40: (4.88, 660.41, 5.09, 0.91),
    60: (2.71, 718.49, 3.13, 0.80),
    80: (1.54, 39.71, 1.72, 0.67),
}
PERCEPTRONS = {
    "mlp-26 (8, 1)": on_mesh("mlp-26", (8, 1)),
    "mlp-26 (1, 4)": on_mesh("mlp-26", (1, 4)),
    "wide (1, 4)": with_fastest(
        on_v100_mesh(perceptron(6, 8192, 2048), (1, 4), 1, "mlp-26-wide-mesh1x4-slow1")
    ),
    "long (8, 1)": with_fastest(
        on_v100_mesh(perceptron(6, 16384, 1024), (8, 1), 1, "mlp-26-long-mesh8x1-slow1")
    ),
    "narrow (8, 1)": with_fastest(
        on_v100_mesh(perceptron(6, 2048, 256), (8, 1), 1, "mlp-26-narrow-mesh8x1-slow1")
    ),
}
PERCEPTRON_PERCENTS = {
    "mlp-26 (8, 1)": (20, 40, 60, 80),
    "mlp-26 (1, 4)": (40, 60, 80),
    "wide (1, 4)": (30, 40, 60, 80),
    "long (8, 1)": (60, 80),
    "narrow (8, 1)": (50, 60, 80),
}

rows = []
for name, graph in PERCEPTRONS.items():
    for percent in PERCEPTRON_PERCENTS[name]:
        memory = share(graph, percent)
        to_its_end = name.endswith("(8, 1)")
        in_limit = SolveOptions(time_limit_s=None if to_its_end else FULL_LIMIT_S, gap=0.0)
        reduced = found_by("kiwi-reduced", graph, memory)
        full = found_by("exact", graph, memory, in_limit)
        found_ns = [found["time_ns"] for found in (full, reduced) if found["time_ns"] is not None]
        paper = PAPER_TABLE1.get(percent) if name == "mlp-26 (8, 1)" else None
        rows.append(
            {
                "instance": name,
                "memory": percent,
                "alpa": relative(graph, found_by("alpa", graph, memory)["time_ns"]),
                "recompute only": relative(
                    graph, found_by("recompute only", graph, memory)["time_ns"]
                ),
                "reduced": relative(graph, reduced["time_ns"]),
                "full best": relative(graph, min(found_ns, default=None)),
                "full bound": relative(graph, full["lower_bound_ns"]),
                "loss %": None
                if None in (reduced["time_ns"], full["time_ns"])
                else round(100 * (reduced["time_ns"] / min(found_ns) - 1), 1),
                "reduced s": cpu_s("kiwi-reduced", graph, memory),
                "full s": cpu_s("exact", graph, memory, in_limit),
                "paper reduced": paper[2] if paper else None,
                "paper full": paper[0] if paper else None,
                "paper reduced s": paper[3] if paper else None,
                "paper full s": paper[1] if paper else None,
            }
        )
table1 = pd.DataFrame(rows)
table1

# %% [markdown]
# NaN says that a method has no plan. `alpa` shards and computes everything once. `recompute only` is
# the reduced problem with the strategies of the fastest plan held fast: checkpointing that follows
# sharding. The mesh decides what the table looks like. Between nodes the multiples come near the
# paper's; but sizes and mesh were chosen after a look at them, among several, so the likeness says
# that such costs are plausible and nothing more. Within a node, over links 37 times as fast, the same
# network in 40 % of memory slows down by 27 %, and nothing is worth computing again.

# %%
proved = table1[(table1["full best"] == table1["full bound"])]
both = proved.dropna(subset=["reduced"])
gained = (both["reduced"] / both["full best"] - 1).max()
print(f"full problem proved in {len(proved)} of {len(table1)} rows")
print(
    f"reduced over full, where both are proved: at most {100 * gained:.1f} % more (paper: 15.5 %)"
)
paper_rows = table1[table1["instance"] == "mlp-26 (8, 1)"]
for _, row in paper_rows.iterrows():
    print(
        f"{row['memory']:.0f} %: full takes {row['full s'] / row['reduced s']:.1f} times as long as "
        f"reduced (paper: {row['paper full s'] / row['paper reduced s']:.0f} times)"
    )
open_rows = table1[table1["full best"] > table1["full bound"]].dropna(subset=["reduced"])
left = (open_rows["reduced"] / open_rows["full bound"] - 1).max()
print(f"and where the full one is open, at most {100 * left:.1f} % by its bound")
only_full = table1[table1["reduced"].isna() & table1["full best"].notna()]
print(f"rows in which only the full problem has a plan: {len(only_full)}")

# %% [markdown]
# On `mlp-26` on (8, 1) both problems are proved in all four rows: the full problem takes 22.9, 10.4,
# 12.5 and 0.5 CPU seconds, from 20 to 80 %, where the paper took 1717, 660, 718 and 40.
#
# The paper calls 11.6 % (1.72 against 1.54, at 80 %) its worst case; its own row of 60 % has 3.13
# against 2.71, that is 15.5 %. On `mlp-26` the reduced problem loses nothing in any of the four
# memories, by proof of both optima. On `long` it loses 17.8 % in 60 %, on `narrow` 98.7 % in 50 % and
# 122.1 % in 60 %, proved as well: there the full problem computes a value again from others that are
# computed again, which the first simplification forbids, and the reduced one has to shard in their
# place. In 30 % of memory the wide perceptron has a plan only in the full problem. So what the paper
# saw is an amount that such instances have, and no limit.
#
# Where the time of a plan goes, in 40 % of memory between nodes:

# %%
HARD = PERCEPTRONS["mlp-26 (8, 1)"]


def chosen_plan(result: Result) -> ShardedSchedule:
    """Return the plan of a result that has one."""
    assert isinstance(result.schedule, ShardedSchedule)
    return result.schedule


plot_sharded_plan(
    HARD,
    chosen_plan(solved(HARD, share(HARD, 40), "kiwi-reduced")),
    title="mlp-26 on (8, 1), 40 % of memory, kiwi-reduced",
)

# %% [markdown]
# ### The printed models
#
# "KIWI achieves over 2000 times reduction in solver time" in 20 % of memory. The models that were
# solved above are others than the printed ones. Here both are solved as printed, linearised as in
# the appendix (`kiwi-full`, and `formulations/remat_sharding/kiwi/reduced.py`), by HiGHS, on `mlp-26`
# on (8, 1); full gets two minutes.

# %%
LITERAL_LIMIT_S = 120.0


@KEPT.rows("kiwi_printed", again_s=1.0, about=["time_ns", "bound_ns"])
def printed_row(name: str, memory_bytes: int, is_full: bool, time_limit_s: float) -> dict[str, Any]:
    """Return what HiGHS makes of a printed model: the time of its plan, and whether it is proved."""
    problem = jt.RematSharding(GRAPHS[name], memory_bytes)
    if is_full:
        found = solve_with(
            problem, "kiwi-full", SolveOptions(time_limit_s=time_limit_s, gap=0.0, start=None)
        )
        is_proved = found.status.startswith("optimal")
        return {"time_ns": found.time_ns, "is_proved": is_proved}
    from jettison.formulations.milp.from_pyomo import from_pyomo
    from jettison.formulations.remat_sharding.kiwi.products import Linearised
    from jettison.formulations.remat_sharding.kiwi.reduced import KiwiReduced
    from jettison.solvers.milp.highs import solve_model
    from jettison.solvers.milp.highs_options import HighsOptions

    built = KiwiReduced(Linearised()).build(problem)
    model = from_pyomo(built.concrete).model
    solution = solve_model(model, HighsOptions(gap=0, time_limit_s=time_limit_s))
    if solution.values is None:
        return {"time_ns": None, "is_proved": False}
    plan = built.schedule(solution.by_name(model))
    replay = plan.replay(GRAPHS[name], memory_bytes)
    assert replay.valid
    return {"time_ns": replay.time_ns, "is_proved": str(solution.answer) == "optimal"}


mlp = PERCEPTRONS["mlp-26 (8, 1)"]
GRAPHS[mlp.name] = mlp
printed = []
for percent in (20, 80):
    row: dict[str, Any] = {"memory": percent}
    for name, is_full in (("reduced", False), ("full", True)):
        case = mlp.name, share(mlp, percent), is_full, LITERAL_LIMIT_S
        found = printed_row(*case)
        row |= {
            name: relative(mlp, found["time_ns"]),
            f"{name} proved": found["is_proved"],
            f"{name} s": printed_row.cpu_s(*case),
        }
    row["times"] = round(row["full s"] / row["reduced s"])
    row["paper's times"] = round(PAPER_TABLE1[percent][1] / PAPER_TABLE1[percent][3])
    printed.append(row)
table_printed = pd.DataFrame(printed)
table_printed

# %% [markdown]
# In 80 % both printed models are solved, and full takes 22 times as long as reduced, where the paper
# has 59 times. In 20 % the printed reduced model takes 7.6 CPU seconds, and the full one is not solved
# when its two minutes are up, of which it had 27 CPU seconds: so at least 3.5 times as long. The
# paper's 2000 times are neither confirmed nor refuted for the printed models. With the models solved
# above, `exact` takes 31 times as long as `kiwi-reduced` in 20 %.
#
# ## Table 2: operators of an encoder
#
# The paper counts HLO operators. Ours are traced from JAX; changes of shape, transpositions and
# broadcasts are part of what reads them. 278 operators for each layer and 30 more give all of the
# paper's numbers but 1192, for which it would be 1142. That need not be a misprint: our encoder, lowered
# to HLO, has 302 operators for one layer and 1184 for four (`docs/corrections.md`).

# %%
PAPER_TABLE2 = {1: 308, 4: 1192, 8: 2254, 12: 3366, 16: 4478, 20: 5590}
table2 = pd.DataFrame(
    [
        {
            "layers": layers,
            "paper": counted,
            "278 layers + 30": 278 * layers + 30,
            "ours": len(named_program(f"encoder-{layers}l")),
        }
        for layers, counted in PAPER_TABLE2.items()
    ]
)
table2

# %% [markdown]
# ## Figure 5: latency against memory
#
# The paper has four layers on the meshes (1, 8), (2, 4) and (4, 2). First, solved here and now, one
# layer, of the paper's width (5120, 40 heads, batch 16; 1024 tokens are assumed), on one-dimensional
# meshes: within a node (1, 8), between nodes (8, 1). The paper's size, which takes half an hour, is
# recorded and comes after it. The baselines recompute by a rule, then
# shard by Alpa's program: `checkpoint-dots` keeps only products of matrices, `selective` recomputes
# the inside of attention (Megatron). `KIWI` is `kiwi-reduced`, as in the paper.

# %%
# A method looks the same in all pictures.
STYLES = method_styles()
METHODS = {
    method: (label, *STYLES[method])
    for method, label in (
        ("alpa", "Alpa"),
        ("alpa-checkpoint-dots", "Alpa, checkpoint dots"),
        ("alpa-selective", "Alpa, selective"),
        ("kiwi-reduced", "KIWI (reduced)"),
    )
}
LINES_OF_METHODS = {
    **{method: label for method, (label, _, _) in METHODS.items()},
    "exact": "KIWI (full)",
}


def latencies(graph: ShardedGraph, memory_bytes: int) -> dict[str, float | None]:
    """Return the latency that each method reaches."""
    return {
        method: relative(graph, found_by(method, graph, memory_bytes)["time_ns"])
        for method in METHODS
    }


FIGURE5 = {
    "encoder (1, 8)": (on_mesh("encoder-1l", (1, 8)), (50, 60, 70, 80, 90)),
    "encoder (8, 1)": (on_mesh("encoder-1l", (8, 1)), (50, 60, 70, 80, 90)),
    "decoder (1, 8)": (on_mesh("decoder-1l", (1, 8)), (50, 70, 90)),
}
figure5 = pd.DataFrame(
    [
        {"instance": name, "memory": percent, **latencies(graph, share(graph, percent))}
        for name, (graph, percents) in FIGURE5.items()
        for percent in percents
    ]
)
figure5


# %%
def draw(table: pd.DataFrame, by: str, titles: dict, unit: str) -> Figure:
    """Draw latency against memory, a panel for each value of a column."""
    figure = Figure(figsize=(11, 4.0), layout="constrained")
    panels = list(dict.fromkeys(table[by]))
    for axes, panel in zip(figure.subplots(1, len(panels)), panels, strict=True):
        points = table[table[by] == panel]
        for method, (label, colour, marker) in METHODS.items():
            axes.plot(
                points["memory"],
                points[method],
                color=colour,
                marker=marker,
                markersize=8 if method == "kiwi-reduced" else 6,
                markerfacecolor="none" if method == "kiwi-reduced" else colour,
                linewidth=2 if method == "kiwi-reduced" else 1,
                label=label,
            )
        axes.axhline(1, color=BLACK, linewidth=0.8, linestyle=":")
        axes.set_title(titles[panel], loc="left", fontsize=10)
        axes.set_xlabel(f"memory ({unit})")
        axes.set_ylabel("latency (Alpa without limit = 1)")
        axes.spines[["top", "right"]].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    return figure


draw(figure5, "instance", {name: f"{name}, one layer" for name in FIGURE5}, "% of Alpa's peak")

# %% [markdown]
# ### Figure 5 at the paper's size
#
# Four layers on the paper's meshes. **These curves were not computed just now.** They were recorded
# by `benchmarks/kiwi_figures.py`, which measures what is missing in `notebooks/_recorded`; delete
# the rows, or the files, and run it again with
#
#     .venv/bin/python benchmarks/kiwi_figures.py figure5 figure6 figure7
#
# KIWI is `kiwi-reduced`, to a gap of 0.1 %. On (2, 4) and (4, 2) an operator has up to 25
# strategies instead of 5; there it started from Alpa's plan, if that was found in the same run,
# and `exact`, which solves the full problem, was recorded beside it, cut off after 45 seconds
# with the plan and the bound it had. A filled mark is a plan proved, within 0.1 %, to be the best
# of its method, a hollow one the best when the time was up. The bound holds for all plans whose
# first computations follow the order of the graph. From a hollow mark of `kiwi-reduced` a line
# leads down to the bound of its problem: there its best plan is. Limits are of CPU seconds where
# rows were recorded from November 2026 on.

# %%
FIGURE5_RECORDED = {
    f"{model}-4l-mesh{rows}x{columns}": f"{model} ({rows}, {columns}), four layers"
    for model in ("encoder", "decoder")
    for rows, columns in ((1, 8), (2, 4), (4, 2))
}
FIGURE6_RECORDED = {
    f"decoder-4l-mesh1x4{slower}": f"decoder (1, 4), four layers, links / {slowdown}"
    for slowdown, slower in ((1, ""), (10, "-slow10"), (100, "-slow100"))
}
recorded5, recorded6 = recorded("figure5"), recorded("figure6")
LINES = {**METHODS, "exact": ("KIWI (full, cut off)", *STYLES["exact"])}


def wide(table: pd.DataFrame, titles: dict[str, str]) -> pd.DataFrame:
    """Return a row for each instance and memory, with the latency of each method."""
    latencies = table.pivot(
        index=["instance", "memory_percent"], columns="method", values="latency"
    )
    order = [method for method in LINES if method in latencies]
    return latencies[order].loc[list(titles)].rename_axis(columns=None).reset_index()


wide(recorded5, FIGURE5_RECORDED)

# %% [markdown]
# Where a method has no plan above, that is proved, or its time was up:

# %%
without = recorded5[recorded5["time_ns"].isna()]
without_a_plan = (
    without.assign(answer=["open" if cut else "proved: no plan" for cut in without["is_cut_off"]])
    .pivot(index=["instance", "memory_percent"], columns="method", values="answer")
    .rename_axis(columns=None)
    .reset_index()
    .fillna("")
)
without_a_plan


# %%
def draw_recorded(
    table: pd.DataFrame,
    titles: dict[str, str],
    unit: str,
    limits: tuple[float, float] | None = None,
) -> Figure:
    """Draw recorded latencies against memory, a panel for each instance; hollow where cut off."""
    rows = len(titles) // 3
    figure = Figure(figsize=(11, 3.3 * rows + 0.8), layout="constrained")
    drawn = {}
    for axes, (instance, title) in zip(figure.subplots(rows, 3).flat, titles.items(), strict=True):
        for method, (label, colour, marker) in LINES.items():
            points = table[(table["instance"] == instance) & (table["method"] == method)]
            if points.empty:
                continue
            is_kiwi = method == "kiwi-reduced"
            size = {"kiwi-reduced": 9, "exact": 5}.get(method, 6)
            memory = points["memory_percent"]
            axes.plot(memory, points["latency"], color=colour, linewidth=2 if is_kiwi else 1)
            for is_cut_off, fill in ((False, colour), (True, "white")):
                marks = points[points["is_cut_off"] == is_cut_off]
                axes.plot(
                    marks["memory_percent"],
                    marks["latency"],
                    linestyle="none",
                    marker=marker,
                    markersize=size,
                    color=colour,
                    markerfacecolor=fill,
                )
            drawn[label] = Line2D([], [], color=colour, marker=marker, markersize=size)
            if is_kiwi:
                # Where the search was cut off the best plan lies between bound and plan.
                open_rows = points[points["is_cut_off"]]
                axes.vlines(open_rows["memory_percent"], open_rows["bound"], open_rows["latency"])
            if method == "exact":
                # A bound in more memory holds in less.
                bound = points["bound"][::-1].cummax()[::-1]
                (drawn["bound of all plans in order"],) = axes.plot(
                    memory, bound, color=colour, linewidth=0.8, linestyle="--"
                )
        axes.axhline(1, color=BLACK, linewidth=0.8, linestyle=":")
        axes.set_xlim(37, 93)
        axes.set_ylim(limits)
        axes.set_title(title, loc="left", fontsize=10)
        axes.set_xlabel(f"memory ({unit})")
        axes.set_ylabel("latency (Alpa without limit = 1)")
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(
        drawn.values(), drawn.keys(), loc="outside lower center", ncols=6, frameon=False, fontsize=9
    )
    return figure


draw_recorded(recorded5, FIGURE5_RECORDED, "% of Alpa's peak", limits=(0.998, 1.09))

# %% [markdown]
# On (1, 8) KIWI is the fastest wherever it has a plan, by 0.7 to 2.6 % before the best baseline. In
# 40 % the reduced problem is proved to have no plan, on all three meshes, and `checkpoint-dots` has
# one. On (2, 4) and (4, 2) the reduced problem is solved in 70, 80 and 90 % on all four graphs, in
# 60 % on three and in 50 % on two, in 13 to 247 CPU seconds each. From 60 % on it is 0.2 to 1.8 %
# before the best baseline where it is solved. In less memory it falls behind `checkpoint-dots`,
# which recomputes chains of elementwise operators. The encoder on (4, 2) in 60 % is open between
# 1.026 and 1.041, and that rule has 1.024. In 50 % the decoder on (2, 4) is solved with 1.035,
# where the rule has 1.045, but the encoder there is open between 1.045 and 1.058, and the rule has
# 1.041; on (4, 2) the encoder is solved with 1.322 and the decoder open between 1.264 and 1.270,
# and the rule has 1.029 and 1.035. The full problem, cut off after 45 seconds, is 0.2 to 1.9 %
# before the best baseline in each of the 20 memories from 50 to 90 %, and at most 0.9 % above its
# bound, but for the decoder on (2, 4) in 70 %, where the baselines took its time. In 40 %, where
# only that rule and the full problem have plans, it is 1.2 to 1.6 % before `checkpoint-dots` on
# three graphs and less than 0.1 % behind on the decoder on (4, 2): that rule needed 24 seconds of
# its 120 there. Alpa is proved to have no plan below 70 %, and `selective` none in 40 %, where
# least sizes exceed the memory. Above the picture stand Alpa's points on (4, 2) in 70 %, 1.32 for
# both, those of `checkpoint-dots` there in 40 %, 1.22 and 1.29, those of the full problem, 1.20 and
# 1.29, those of `selective`, 1.36 for the encoder in 50 % and 1.18 for the decoder in 60 %, and
# those of the reduced problem in 50 %, 1.32 and 1.27.
#
# When and where they were recorded, and whether they are still about what the code builds: the
# instances must be those of the recorded hashes, and one point, a quick one, is solved again.

# %%
everything = pd.concat([recorded5, recorded6, recorded("figure7")])
for column in ("versions", "machine", "recorded"):
    print(f"{column}: {'; '.join(sorted(everything[column].unique()))}")

# What is recorded is of these instances and no others.
for entry in bundled_instances():
    if "-4l-mesh" in entry.name:
        print(origin(entry))
# Graphs on two-dimensional meshes take seconds to build; the tests have those.
on_lines = everything[everything["instance"].str.contains("-4l-mesh1x")]
for instance, rows_of in on_lines.groupby("instance"):
    graph = jt.load(instance)
    # Of several fastest plans another may be bundled one day, so it is no part of the hash.
    assert set(rows_of["instance_sha256"]) == {replace(graph, fastest=()).sha256}, instance
    assert set(rows_of["fastest_ns"]) == {base_ns(graph)}, instance

QUICK = recorded5.set_index(["instance", "memory_percent", "method"]).loc[
    ("encoder-4l-mesh1x8", 90, "alpa-checkpoint-dots")
]
again = solve_with(
    jt.RematSharding(jt.load("encoder-4l-mesh1x8"), int(QUICK["memory_bytes"])),
    "alpa-checkpoint-dots",
    SolveOptions(time_limit_s=None, gap=QUICK["gap"]),
)
assert abs(again.time_ns / QUICK["time_ns"] - 1) <= QUICK["gap"]
print(f"{on_lines['instance'].nunique()} instances are as recorded, the point solved again agrees")

# %% [markdown]
# ### The four memories that the paper prints
#
# "When considering device meshes of dimensions (2, 4) and (4, 2), KIWI successfully solves the
# optimization problem with memory limits of 5.1 GB and 3.8 GB respectively for the encoder model, and
# 6.8 GB and 4.9 GB respectively for the decoder model. In contrast, none of the other algorithms can."
#
# What fits is decided by sizes, and so by the number of tokens, which the paper does not state. First
# the least memory of each method on eight devices, for several numbers of tokens. What computes
# by a rule has a floor in whole numbers (`solvers/remat_sharding/least_memory.py`): no strategies fit
# below it. For the reduced problem every operator gets its smallest strategy, whatever the others
# have, and HiGHS proves the least memory of that graph. For the full problem the sizes that one
# operator needs are a floor.

# %%
RULES = {
    "alpa": lambda graph: frozenset(),
    "alpa-checkpoint-dots": all_but_products,
    "alpa-selective": inside_attention,
}
PRINTED_MEMORIES = {
    ("encoder", (2, 4)): 5_100_000_000,
    ("encoder", (4, 2)): 3_800_000_000,
    ("decoder", (2, 4)): 6_800_000_000,
    ("decoder", (4, 2)): 4_900_000_000,
}


def four_layers(model: str, mesh: tuple[int, ...], tokens: int) -> ShardedGraph:
    """Return four layers for sequences of so many tokens, on a mesh."""
    program = resized(named_program(f"{model}-4l"), tokens=tokens)
    name = f"{program.name}-mesh{'x'.join(map(str, mesh))}"
    return on_v100_mesh(program, mesh, 1, name)


@KEPT.rows("kiwi_floors", again_s=1.0)
def floors_row(model: str, tokens: int) -> dict[str, int | bool]:
    """Return the least bytes of each method for four layers on (2, 4)."""
    graph = four_layers(model, (2, 4), tokens)
    floors = {
        method: floor_of_computations(graph, recomputing(graph, rule(graph)))
        for method, rule in RULES.items()
    }
    least = with_smallest_strategies(graph)
    refused = solve_with(
        jt.RematSharding(least, least.least_peak_bound_bytes), "kiwi-reduced", TO_THE_END
    ).infeasibility
    assert refused is not None
    assert refused.least_memory_bytes is not None
    return {
        **floors,
        "kiwi-reduced": refused.least_memory_bytes,
        "exact": graph.least_peak_bound_bytes,
    }


floors = pd.DataFrame(
    [
        {
            "model": model,
            "tokens": tokens,
            **{
                LINES_OF_METHODS[method]: round(found / 1e9, 2)
                for method, found in floors_row(model, tokens).items()
            },
        }
        for model in ("encoder", "decoder")
        for tokens in (128, 256, 512, 768, 1024, 2048)
    ]
)
floors

# %% [markdown]
# In GB of 10^9 bytes; on (4, 2) a device takes the same share. Whatever the number of tokens, the
# reduced problem needs less than Alpa and more than `checkpoint-dots`, and less than `selective` but
# for the encoder with 2048. So each memory has lengths of a sequence with which the sentence can hold against
# Alpa and `selective`, and none of those above with which it holds against `checkpoint-dots`, whose
# chains of elementwise operators are no plans of the reduced problem.
#
# With the 1024 tokens that are assumed here, each method in each of the four memories:


# %%
@KEPT.rows("kiwi_memories", again_s=0, about=["time_ns"])
def verdict_row(
    model: str, mesh: str, memory_bytes: int, method: str, time_limit_s: float
) -> dict[str, Any]:
    """Return what a method finds for four layers in a memory; a plan in it has been replayed."""
    graph = jt.load(f"{model}-4l-mesh{mesh}")
    options = SolveOptions(time_limit_s=time_limit_s, gap=1e-3)
    found = solve_with(jt.RematSharding(graph, memory_bytes), method, options)
    return {
        "time_ns": found.time_ns,
        "peak_bytes": found.peak_bytes,
        "class": None if found.replay is None else str(found.replay.schedule_class),
        "end": str(found.termination),
        "fastest_ns": base_ns(graph),
    }


rows = []
for (model, mesh), memory_bytes in PRINTED_MEMORIES.items():
    least_bytes = floors_row(model, 1024)
    for method, label in LINES_OF_METHODS.items():
        row = {
            "model": model,
            "mesh": str(mesh),
            "GB": memory_bytes / 1e9,
            "method": label,
            "needs GB": round(least_bytes[method] / 1e9, 2),
        }
        if least_bytes[method] > memory_bytes:
            rows.append({**row, "answer": "proved: no plan"})
            continue
        where = model, "x".join(map(str, mesh)), memory_bytes
        found = verdict_row(*where, method, 60.0)
        if method == "exact" and least_bytes["alpa-checkpoint-dots"] <= memory_bytes:
            # A plan of a rule is a plan of the full problem.
            rule = verdict_row(*where, "alpa-checkpoint-dots", 60.0)
            found = min(found, rule, key=lambda row: row["time_ns"])
        assert found["time_ns"] is None or found["peak_bytes"] <= memory_bytes
        rows.append(
            {
                **row,
                "answer": "open" if found["time_ns"] is None else "a plan",
                "latency": None
                if found["time_ns"] is None
                else round(found["time_ns"] / found["fastest_ns"], 3),
                "peak GB": None
                if found["time_ns"] is None
                else round(found["peak_bytes"] / 1e9, 2),
            }
        )
four_memories = pd.DataFrame(rows)
four_memories

# %% [markdown]
# None of the four memories is left open. Alpa and `selective` have no plan in any, as the paper says;
# nor has the reduced problem, which is the paper's KIWI. `checkpoint-dots` has one in 5.1 GB, and in
# the other three proved none. The full problem has a plan in all four, replayed, so that
# the printed sentence holds with 1024 tokens for the full problem in three of the four memories. Where
# no rule fits, `exact` was cut off after a minute, and its plan, annealed from the smallest
# strategies, is far from its bound.
#
# ## Figure 6: slower links
#
# The decoder on the mesh (1, 4), its links 1, 10 and 100 times slower. Slower links make the fastest
# plan shard less and take more memory, so here the memory is absolute, as in the paper: percent of
# the peak over the fast links. The latency is relative to the fastest plan over the same links.

# %%
LINKS = {slowdown: on_mesh("decoder-1l", (1, 4), slowdown) for slowdown in (1, 10, 100)}
FAST_PEAK_BYTES = peak_bytes(LINKS[1])
FIGURE6_BYTES = {percent: percent * FAST_PEAK_BYTES // 100 for percent in (60, 70, 90)}

figure6 = pd.DataFrame(
    [
        {"slowdown": slowdown, "memory": percent, **latencies(graph, memory)}
        for slowdown, graph in LINKS.items()
        for percent, memory in FIGURE6_BYTES.items()
    ]
)
figure6

# %%
draw(
    figure6,
    "slowdown",
    {slowdown: f"decoder (1, 4), links / {slowdown}" for slowdown in LINKS},
    "% of Alpa's peak over fast links",
)

# %% [markdown]
# ### Figure 6 at the paper's size
#
# Four layers, recorded by the same benchmark, not computed just now.

# %%
wide(recorded6, FIGURE6_RECORDED)

# %%
draw_recorded(recorded6, FIGURE6_RECORDED, "% of Alpa's peak over fast links")

# %% [markdown]
# Alpa has a plan in 90 % only. Against it KIWI gains as links slow down, as the paper says: it is
# 1.01, 1.09 and 1.36 times as fast. The rules before Alpa are slower than Alpa over fast links and
# faster over slow ones, as the paper says as well. But against `checkpoint-dots` the reduced problem
# loses as links slow down: in 60 % over links 100 times slower `checkpoint-dots` has a plan of 1.10,
# and no plan of the reduced problem is better than 1.60. In 50 % the reduced problem is proved
# to have no plan, over all three, and `checkpoint-dots` has one.

# %% [markdown]
# What Alpa's plan needs without a limit, and how KIWI's plans spend their time, again in one layer:

# %%
pd.DataFrame(
    [
        {
            "slowdown": slowdown,
            "step_ms": round(base_ns(graph) / 1e6, 1),
            "peak_gib": round(peak_bytes(graph) / 2**30, 2),
        }
        for slowdown, graph in LINKS.items()
    ]
)


# %%
pd.DataFrame(
    [
        {
            "slowdown": slowdown,
            "memory": percent,
            "method": METHODS[method][0],
            "operators again": found["again"],
            "again_ms": round(found["again_ns"] / 1e6, 2),
            "communication_ms": round(found["communication_ns"] / 1e6, 1),
            "step_ms": round(found["time_ns"] / 1e6, 1),
        }
        for slowdown, graph in LINKS.items()
        for percent, memory in FIGURE6_BYTES.items()
        for method in ("alpa", "kiwi-reduced")
        for found in [operators_of(method, graph, memory)]
        if found
    ]
)

# %% [markdown]
# Over slower links Alpa's own plan takes more memory, so the same memory becomes a tighter limit. In 90 % of memory
# KIWI computes a little more again over slow links than over fast ones, in less memory as much; most
# of what it saves is communication, by strategies that need less of it. And the rules before Alpa
# are slower than Alpa over fast links, faster over slow ones, as the paper says.
#
# ## The claims

# %%
everywhere = pd.concat(
    [
        figure5.assign(where=figure5["instance"]),
        figure6.assign(where=[f"decoder (1, 4) / {slowdown}" for slowdown in figure6["slowdown"]]),
    ]
)[["where", "memory", *METHODS]].reset_index(drop=True)
TOLERANCE = 1e-3
rows = []
for method in ("alpa", "alpa-checkpoint-dots", "alpa-selective"):
    known = everywhere.dropna(subset=[method])
    ratio = known[method] / known["kiwi-reduced"]
    rows.append(
        {
            "KIWI against": METHODS[method][0],
            "faster by up to": round(ratio.max(), 2),
            "paper": {"alpa": 2.2, "alpa-checkpoint-dots": 2.2, "alpa-selective": 1.2}[method],
            "KIWI faster": int((ratio > 1 + TOLERANCE).sum()),
            "same": int((abs(ratio - 1) <= TOLERANCE).sum()),
            "KIWI slower": int((ratio < 1 - TOLERANCE).sum()),
            "only KIWI has a plan": int(
                (everywhere[method].isna() & everywhere["kiwi-reduced"].notna()).sum()
            ),
        }
    )
claims = pd.DataFrame(rows)
claims

# %%
FIGURE6 = {
    f"decoder (1, 4) / {slowdown}": (graph, FIGURE6_BYTES) for slowdown, graph in LINKS.items()
}
gaps, classes = [], set()
for _, row in everywhere.iterrows():
    if row["where"] in FIGURE6:
        graph, by_percent = FIGURE6[row["where"]]
        memory = by_percent[row["memory"]]
    else:
        graph = FIGURE5[row["where"]][0]
        memory = share(graph, row["memory"])
    best = found_by("kiwi-reduced", graph, memory)
    if best["time_ns"] is not None:
        gaps.append((best["time_ns"] - best["lower_bound_ns"]) / best["time_ns"])
    rule_ns = found_by("alpa-checkpoint-dots", graph, memory)["time_ns"]
    if rule_ns is not None and rule_ns < best["time_ns"]:
        classes.add(operators_of("alpa-checkpoint-dots", graph, memory)["class"])
assert max(gaps) < 1e-6
print(f"all {len(gaps)} plans of KIWI are proved, to {max(gaps):.0e}")
print(f"plans of checkpoint-dots that are faster than KIWI's: {', '.join(sorted(classes))}")

# %%
alpa_known = everywhere.dropna(subset=["alpa"])
for method in ("alpa-checkpoint-dots", "alpa-selective"):
    worse = (alpa_known[method] > alpa_known["alpa"] * (1 + TOLERANCE)).sum()
    print(f"{METHODS[method][0]} is slower than Alpa in {worse} of {len(alpa_known)} memories")
perceptrons = (table1["alpa"] / table1["reduced"]).max()
print(f"on the perceptrons of Table 1 KIWI is up to {perceptrons:.2f} times as fast as Alpa")

# %% [markdown]
# In one layer:
#
# * *KIWI is never worse than Alpa*: holds everywhere, and must: a plan without recomputation is a
#   plan of the reduced problem. And it has plans in memory where Alpa has none.
# * *Rules can be worse than Alpa*: holds in about half of the memories in which Alpa has a plan.
# * *Up to 2.2 times as fast*: not here. The largest ratios are those above. Just before Alpa has no
#   plan at all its time rises steeply, so the ratio depends on where exactly one looks.
# * *KIWI outperforms the others in all scenarios*: does not hold for the reduced problem. Between
#   nodes, and over slowed links, `checkpoint-dots` is faster in some memories. Its plans
#   recompute chains of elementwise operators, and those are no plans of the reduced problem, whose
#   first simplification is that no input of a recomputed operator is recomputed. They are plans of
#   the full one, which is out of reach for graphs of this size in the seconds given here.
#
# ### The claims at the paper's size
#
# The same count over the recorded rows of Figures 5 and 6, in the memories in which
# `kiwi-reduced` was asked for, but for those on two-dimensional meshes where it was cut off with
# a bracket. Where the search of a baseline was cut off it may have a better plan than the
# recorded one, or a plan where none is recorded: ratios to such plans are in a column of their
# own, and such holes count nowhere.

# %%
rows = []
everywhere_recorded = pd.concat([recorded5, recorded6])
is_bracket = everywhere_recorded["is_cut_off"] & everywhere_recorded["instance"].str.contains(
    "mesh2x4|mesh4x2"
)
kiwi_rows = everywhere_recorded[
    (everywhere_recorded["method"] == "kiwi-reduced") & ~is_bracket
].set_index(["instance", "memory_percent"])
kiwi_best = kiwi_rows["latency"]
for method in ("alpa", "alpa-checkpoint-dots", "alpa-selective"):
    theirs = everywhere_recorded[everywhere_recorded["method"] == method].set_index(
        ["instance", "memory_percent"]
    )
    theirs = theirs[theirs.index.isin(kiwi_best.index)]
    mine = kiwi_best.reindex(theirs.index)
    ratio = theirs["latency"] / mine
    rows.append(
        {
            "KIWI against": METHODS[method][0],
            "faster by up to": round(ratio[~theirs["is_cut_off"]].max(), 2),
            "cut off": round(ratio[theirs["is_cut_off"]].max(), 2),
            "paper": {"alpa": 2.2, "alpa-checkpoint-dots": 2.2, "alpa-selective": 1.2}[method],
            "KIWI faster": int((ratio > 1 + TOLERANCE).sum()),
            "same": int((abs(ratio - 1) <= TOLERANCE).sum()),
            "KIWI slower": int((ratio < 1 - TOLERANCE).sum()),
            "only KIWI has a plan": int(
                (theirs["latency"].isna() & ~theirs["is_cut_off"] & mine.notna()).sum()
            ),
            "KIWI has none": int((theirs["latency"].notna() & mine.isna()).sum()),
        }
    )
claims_recorded = pd.DataFrame(rows)
claims_recorded

# %%
alpa_recorded = everywhere_recorded.pivot(
    index=["instance", "memory_percent"], columns="method", values="latency"
).dropna(subset=["alpa"])
for method in ("alpa-checkpoint-dots", "alpa-selective"):
    worse = (alpa_recorded[method] > alpa_recorded["alpa"] * (1 + TOLERANCE)).sum()
    print(f"{METHODS[method][0]} is slower than Alpa in {worse} of {len(alpa_recorded)} memories")

# %% [markdown]
# * *KIWI is never worse than Alpa*: holds in each of the 21 memories in which both have a plan here.
# * *Rules can be worse than Alpa*: holds. `checkpoint-dots` is slower in 13 of the 21 memories in
#   which Alpa has a plan, `selective` in 10, all of them over links at full speed, in 80 and 90 %.
# * *Up to 2.2 times as fast*: not here. It is 1.36 times against Alpa (links 100 times slower, 90 %)
#   and 1.04 times against `checkpoint-dots`; against `selective` it is 1.37 times, where the paper
#   says 1.2 (links 100 times slower, 70 %).
# * *KIWI outperforms the others in all scenarios*: does not hold for the reduced problem. Over slow
#   links, and for the encoder on (4, 2) in 50 %, `checkpoint-dots` is faster in 4 memories, and in 9
#   it has a plan where the reduced problem is proved to have none. The three brackets on
#   two-dimensional meshes lie above its plans too. On those meshes the full problem, cut off, is
#   faster than every baseline in each of the 20 memories from 50 to 90 %.
# * *KIWI has plans in memory where the others have none*: holds against Alpa and `selective`, not
#   against `checkpoint-dots`.
#
# ## Where 2.2 times appears
#
# Figures 5 and 6 have one network, one number of tokens and one width, both chosen here. This
# sweep asks in which setting KIWI is 2.2 times as fast as Alpa. One layer of the encoder on (1, 8),
# for numbers of tokens, widths and links; heads have 128 units. Nothing is left of Alpa
# below its least memory, and just above it Alpa is slowest, so each setting is looked at in two
# memories: Alpa's least (`floor_of_computations`), and 5 % more. Between them and above, no memory
# has a larger ratio than `bound`: both times only fall with memory, so between the two the ratio is
# at most Alpa's time in the first over KIWI's lower bound in the second, and above it at most
# Alpa's time there over the fastest plan of all. (A ratio is of Alpa's best plan, which takes no
# longer than the one found.)

# %%
TOKENS, HIDDEN, SLOWDOWNS = (256, 512, 1024, 2048), (1024, 2048, 5120), (1, 10, 100)
ABOVE = 1.05
SPEEDUP_OPTIONS = SolveOptions(time_limit_s=120.0, gap=1e-3)


def speedups(graph: ShardedGraph) -> dict[str, Any]:
    """Return times of Alpa and KIWI in Alpa's least memory and a little more, and the fastest."""
    fastest = fastest_sharding(graph, HighsOptions(gap=0))
    assert fastest.bound is not None
    least_bytes = floor_of_computations(graph, range(len(graph)))
    found: dict[str, Any] = {"least_bytes": least_bytes, "fastest_ns": fastest.bound.time_ns}
    for place, memory_bytes in enumerate((least_bytes, int(ABOVE * least_bytes))):
        problem = jt.RematSharding(graph, memory_bytes)
        for method in ("alpa", "kiwi-reduced"):
            result = solve_with(problem, method, SPEEDUP_OPTIONS)
            assert result.time_ns is not None
            found[f"{method}_{place}_ns"] = result.time_ns
            if method == "kiwi-reduced":
                found[f"bound_{place}_ns"] = result.lower_bound_ns
    return found


@KEPT.rows("kiwi_speedups", again_s=1.0, about=SPEEDUP_COLUMNS)
def speedups_row(tokens: int, hidden: int, slowdown: int) -> dict[str, Any]:
    """Return times of one layer of an encoder on (1, 8), with assumed rates."""
    program = resized(named_program("encoder-1l"), tokens=tokens, hidden=hidden)
    return speedups(on_v100_mesh(program, (1, 8), slowdown, program.name))


def speedup(found: Any) -> dict[str, float]:
    """Return by how much KIWI is faster in both memories, and at most in any memory."""
    alpa, kiwi = ([found[f"{name}_{k}_ns"] for k in (0, 1)] for name in ("alpa", "kiwi-reduced"))
    bound = max(alpa[0] / found["bound_1_ns"], alpa[1] / found["fastest_ns"])
    return {
        "least GB": round(found["least_bytes"] / 1e9, 3),
        "alpa": round(alpa[0] / found["fastest_ns"], 2),
        "ratio": round(alpa[0] / kiwi[0], 2),
        "ratio 5 % above": round(alpa[1] / kiwi[1], 2),
        "bound": round(bound, 2),
    }


sweep = pd.DataFrame(
    [
        {
            "hidden": hidden,
            "slowdown": slowdown,
            "tokens": tokens,
            **speedup(speedups_row(tokens, hidden, slowdown)),
        }
        for hidden in HIDDEN
        for slowdown in SLOWDOWNS
        for tokens in TOKENS
    ]
)
sweep


# %%
def draw_sweep() -> Figure:
    """Draw a heat map of speed-ups for each width, with the bound below each number."""
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    panels = figure.subplots(1, len(HIDDEN))
    for axes, hidden in zip(panels, HIDDEN, strict=True):
        of_width = sweep[sweep["hidden"] == hidden]
        ratios = of_width.pivot(index="slowdown", columns="tokens", values="ratio")
        bounds = of_width.pivot(index="slowdown", columns="tokens", values="bound")
        image = axes.imshow(ratios, cmap="cividis", vmin=1, vmax=2.6, aspect="auto")
        for y, slowdown in enumerate(ratios.index):
            for x, tokens in enumerate(ratios.columns):
                ratio = ratios.loc[slowdown, tokens]
                axes.text(
                    x,
                    y,
                    f"{ratio:.2f}\n≤ {bounds.loc[slowdown, tokens]:.2f}",
                    ha="center",
                    va="center",
                    fontsize=8,
                    color=BLACK if ratio > 1.8 else "white",
                    fontweight="bold" if ratio >= 2.2 else "normal",
                )
        axes.set_xticks(range(len(ratios.columns)), ratios.columns)
        axes.set_yticks(range(len(ratios.index)), [f"/ {item}" for item in ratios.index])
        axes.set_xlabel("tokens of a sequence")
        axes.set_ylabel("bandwidth of the links")
        axes.set_title(f"{hidden} hidden units", loc="left", fontsize=10)
    bar = figure.colorbar(image, ax=panels, shrink=0.9, extend="max")
    bar.set_label("Alpa's time / KIWI's, in Alpa's least memory")
    return figure


draw_sweep()

# %% [markdown]
# Over links at full speed no setting has it, by proof: nowhere is the bound above 1.23. Over links 10
# times slower it appears once, for 1024 tokens and 1024 units: there KIWI is 2.56 times as fast as
# Alpa in Alpa's least memory, and 1.21 times with 5 % more. Over links 100 times slower it appears
# in 3 of 12 settings, and KIWI is up to 5.75 times as fast. With the paper's 5120 units it appears
# nowhere, and with the 1024 tokens that are assumed above no memory has it over any of the links: the
# bound is 2.17 at most. So 2.2 times is possible, for narrower layers over slow links, just above
# the least memory in which Alpa has a plan. The narrow perceptron of Table 1 has it too, between
# nodes: 2.40 times in 80 % of memory.
#
# On **measured** costs: the perceptron whose shards were run on a CPU, with links of the assumed
# kind slowed down until they matter to so slow a device; one layer of an encoder, 256 tokens and 1024
# units, whose shards the kernels of the same profiler (`instances/profilers/shards`) ran on a CPU; and a
# GPT-3 of 1.3 billion weights, as others measured it on V100 cards (`docs/imported.md`).


# %%
class CpuShards:
    """Cost that runs each share on one thread of the CPU, three times after a first one.

    Durations are CPU time, the median, since the machine did other things as well.
    """

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def compute_ns(self, work: LocalWork) -> int:
        """Return the median of the runs; equal shares run once."""
        import torch

        from jettison.instances.profilers.shards.shard_kernels import kernel_of

        if (name := share_name(work)) not in self.known:
            torch.set_num_threads(1)
            kernel = kernel_of(work, torch.device("cpu"))
            runs = []
            with torch.no_grad():
                for _ in range(4):
                    started = process_time_ns()
                    kernel()
                    runs.append(process_time_ns() - started)
            self.known[name] = sorted(runs[1:])[1]
        return self.known[name]


# A measurement comes out otherwise each time.
@KEPT.rows("kiwi_shards", again_s=0)
def shards_row(program: str, tokens: int, hidden: int, mesh: str) -> dict[str, int]:
    """Return the nanoseconds of each share of an operation, run on this machine's CPU."""
    cost = CpuShards()
    sizes = resized(named_program(program), tokens=tokens, hidden=hidden)
    shard_program(sizes, v100_mesh(tuple(map(int, mesh.split("x")))), sizes.name, cost)
    return dict(sorted(cost.known.items()))


def measured_graph(instance: str, slowdown: int) -> ShardedGraph:
    """Return a graph with measured costs, its links slowed down."""
    if instance.startswith("gpt3"):
        return jt.load(instance)
    if instance.startswith("encoder"):
        tokens = int(instance.split("-")[2].removeprefix("t"))
        shares = {
            name: (median, median, median)
            for name, median in shards_row("encoder-1l", tokens, 1024, "1x8").items()
        }
        program = resized(named_program("encoder-1l"), tokens=tokens, hidden=1024)
        return shard_program(program, v100_mesh((1, 8), slowdown), instance, KnownShards(shares))
    spread = jt.load(instance).provenance.spread
    mesh = (1, 4) if "1x4" in instance else (2, 4)
    program, cost = named_program("mlp-26"), KnownShards(spread)
    return shard_program(program, v100_mesh(mesh, slowdown), instance, cost)


@KEPT.rows("kiwi_measured_speedups", again_s=1.0, about=SPEEDUP_COLUMNS)
def measured_speedups_row(instance: str, slowdown: int) -> dict[str, Any]:
    """Return times of a graph with measured costs."""
    return speedups(measured_graph(instance, slowdown))


MEASURED = {
    "mlp-26-mesh1x4-cpu": (1, 100, 1000),
    "mlp-26-mesh2x4-cpu": (1,),
    "encoder-1l-t256-h1024-cpu": (1, 100, 1000),
    "encoder-1l-t512-h1024-cpu": (1000, 10000),
    "gpt3-1.3b-b1-v100-mesh1x4": (1,),
    "gpt3-1.3b-b1-v100-mesh1x8": (1,),
}
measured_sweep = pd.DataFrame(
    [
        {
            "instance": instance,
            "links": "measured" if instance.startswith("gpt3") else f"/ {slowdown}",
            **speedup(measured_speedups_row(instance, slowdown)),
        }
        for instance, slowdowns in MEASURED.items()
        for slowdown in slowdowns
    ]
)
measured_sweep

# %%
for tokens in (256, 512):
    shares_ns = shards_row("encoder-1l", tokens, 1024, "1x8").values()
    print(f"{tokens} tokens: {len(shares_ns)} shares, up to {max(shares_ns) / 1e6:.0f} ms")

# %% [markdown]
# Nothing measured contradicts what was assumed. A CPU computes so slowly that links must be a hundred
# times slower than those of the assumed cards to matter as much: with 256 and 512 tokens the measured
# encoder then has the ratios that rates give, within 0.01. So 2.2 times appears on measured costs
# as well: 2.73 times with 512 tokens, over links 10000 times slower. Within a node of four the perceptron gains
# nothing from recomputation over any of the links, and the GPT-3 is fastest where it takes
# least, so that no memory has any gain, by proof.
#
# ## How often the sharding changes
#
# Operators whose strategy in KIWI's plan is not that of the fastest plan, and operators that are
# computed again. Where strategies cost the same, a change may mean nothing, and another run may
# count differently, so no test compares this table. In `mlp-26` weights are as large as activations.

# %%
PRESSED = {
    **{name: (graph, PERCEPTRON_PERCENTS[name]) for name, graph in PERCEPTRONS.items()},
    **FIGURE5,
}
rows = []
for name, (graph, percents) in PRESSED.items():
    for percent in percents:
        found = operators_of("kiwi-reduced", graph, share(graph, percent))
        if not found:
            continue
        rows.append(
            {
                "instance": name,
                "memory": percent,
                "operators": len(graph),
                "other strategy": found["changed"],
                "computed again": found["again"],
                "both": found["both"],
                "latency": relative(graph, found["time_ns"]),
            }
        )
changes = pd.DataFrame(rows)
changes

# %%
print(
    f"in {(changes['other strategy'] > 0).sum()} of {len(changes)} plans the sharding changes, "
    f"in {(changes['computed again'] > 0).sum()} something is computed again"
)

# %% [markdown]
# ## Figure 7: solver time over layers
#
# The encoder on the mesh (1, 8), in 90 and 100 % of memory, to a gap of 0.1 % or 10 seconds. The
# paper goes up to 20 layers; so does the recorded figure after this one.

# %%
SHOWN_GAP = SolveOptions(time_limit_s=10.0, gap=1e-3)
rows = []
for layers in (1, 2, 4):
    graph = on_mesh(f"encoder-{layers}l", (1, 8))
    for percent in (90, 100):
        row = {"layers": layers, "operators": len(graph), "memory": percent}
        for method in ("alpa", "kiwi-reduced"):
            point = method, graph, share(graph, percent), SHOWN_GAP
            row[f"{method} s"] = cpu_s(*point)
            row[method] = relative(graph, found_by(*point)["time_ns"])
        rows.append(row)
figure7 = pd.DataFrame(rows)
figure7


# %%
def draw_times() -> Figure:
    """Draw solver time against layers."""
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.add_subplot()
    for method in ("alpa", "kiwi-reduced"):
        colour = STYLES[method].colour
        for percent, style in ((90, "-"), (100, "--")):
            points = figure7[figure7["memory"] == percent]
            axes.plot(
                points["layers"],
                points[f"{method} s"],
                color=colour,
                linestyle=style,
                marker="o",
                label=f"{METHODS[method][0]}, {percent} %",
            )
    axes.set_ylim(bottom=0)
    axes.set_xticks([1, 2, 4])
    axes.set_xlabel("layers of the encoder")
    axes.set_ylabel("CPU seconds, one thread")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure


draw_times()

# %% [markdown]
# ### Figure 7 at the paper's size
#
# Recorded by the same benchmark, not computed just now: CPU seconds of one run on one thread, to a
# gap of 0.1 %, KIWI from Alpa's plan.

# %%
recorded7 = recorded("figure7").sort_values(["operators", "memory_percent", "method"])
recorded7["layers"] = recorded7["instance"].str.extract(r"-(\d+)l-", expand=False).astype(int)
recorded7[
    ["layers", "operators", "memory_percent", "method", "latency", "cpu_s", "termination"]
].reset_index(drop=True)


# %%
def draw_recorded_times() -> Figure:
    """Draw the recorded CPU seconds against layers; hollow where the search was cut off."""
    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    axes = figure.add_subplot()
    for method in ("alpa", "kiwi-reduced"):
        colour = STYLES[method].colour
        for percent, style in ((90, "-"), (100, "--")):
            points = recorded7[
                (recorded7["method"] == method) & (recorded7["memory_percent"] == percent)
            ]
            axes.plot(
                points["layers"],
                points["cpu_s"],
                color=colour,
                linestyle=style,
                marker="o",
                label=f"{METHODS[method][0]}, {percent} %",
            )
            cut_off = points[points["is_cut_off"]]
            axes.plot(
                cut_off["layers"],
                cut_off["cpu_s"],
                linestyle="none",
                marker="o",
                color=colour,
                markerfacecolor="white",
            )
    axes.set_yscale("log")
    axes.set_xticks(sorted(set(recorded7["layers"])))
    axes.set_xlabel("layers of the encoder")
    axes.set_ylabel("CPU seconds, one thread")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return figure


draw_recorded_times()

# %% [markdown]
# In 100 % of memory the fastest sharding fits, and both methods do no more than find it. In 90 %
# Alpa takes 0.1 to 3.3 seconds. KIWI starts from Alpa's plan, whose seconds are not in its own, and
# takes 2.5 times as long for four layers, 6 times for eight, 10 times for twelve, 29 times for
# sixteen and 26 times for twenty, 85 seconds; each of its plans is within the gap. In the paper the
# two are comparable below twelve layers, and KIWI is slower above; its seconds stand in the picture,
# which the text has lost. The growth is there, and begins earlier, since Alpa's program is solved
# faster here; with all of its baselines inside, as by itself, KIWI took 63 seconds for twelve layers.
#
# The tables that `tests/notebooks` compares with the expected ones. What depends on a time limit is
# left out.

# %%
TABLES = {
    "kiwi_table1": table1[["instance", "memory", "alpa", "recompute only", "reduced"]],
    "kiwi_table2": table2,
    "kiwi_floors": floors,
    "kiwi_four_memories": four_memories[["model", "mesh", "GB", "method", "needs GB", "answer"]],
    "kiwi_sweep": sweep,
    "kiwi_measured_sweep": measured_sweep,
    "kiwi_figure5": figure5,
    "kiwi_figure6": figure6,
    "kiwi_claims": claims,
    "kiwi_claims_recorded": claims_recorded,
}

# %% [markdown]
# Sentences of this notebook, and whether they hold of what was computed:


# %%
def best_baseline(table: pd.DataFrame) -> pd.Series:
    """Return the least recorded latency of Alpa and the rules, cut off or not."""
    theirs = table[table["method"].isin(["alpa", "alpa-checkpoint-dots", "alpa-selective"])]
    return theirs.groupby(["instance", "memory_percent"])["latency"].min()


def gains_of(table: pd.DataFrame, method: str) -> list[float]:
    """Return by how many percent a method's recorded plans are before the best baseline."""
    mine = table[table["method"] == method].set_index(["instance", "memory_percent"])["latency"]
    return (100 * (best_baseline(table) / mine - 1)).dropna().tolist()


def status_of(table: pd.DataFrame, method: str, percent: int) -> set[str]:
    """Return how the recorded runs of a method ended in some memory."""
    rows_of = table[(table["method"] == method) & (table["memory_percent"] == percent)]
    return set(rows_of["status"].str.split("-").str[0])


on_line = recorded5[recorded5["instance"].str.contains("mesh1x8")]
on_plane = recorded5[~recorded5["instance"].str.contains("mesh1x8")]
plane_solved = on_plane[
    (on_plane["method"] == "kiwi-reduced") & ~on_plane["is_cut_off"] & on_plane["time_ns"].notna()
]
plane_gains = gains_of(
    pd.concat(
        [
            plane_solved[plane_solved["memory_percent"] >= 60],
            on_plane[on_plane["method"] != "kiwi-reduced"],
        ]
    ),
    "kiwi-reduced",
)
full_from_50 = on_plane[(on_plane["method"] == "exact") & (on_plane["memory_percent"] >= 50)]
full_gaps = (100 * (full_from_50["latency"] / full_from_50["bound"] - 1)).sort_values()
full_gains = gains_of(on_plane[on_plane["memory_percent"] >= 50], "exact")
full_in_40 = sorted(gains_of(on_plane[on_plane["memory_percent"] == 40], "exact"))
in_40 = on_plane[on_plane["memory_percent"] == 40].pivot(
    index="instance", columns="method", values="cpu_s"
)


def around_rule(instance: str, percent: int) -> list[float]:
    """Return bound and plan of the reduced problem on a plane, and the plan of checkpoint-dots."""
    point = on_plane[
        (on_plane["instance"] == instance) & (on_plane["memory_percent"] == percent)
    ].set_index("method")
    reduced = point.loc["kiwi-reduced"]
    rule = point.loc["alpa-checkpoint-dots", "latency"]
    return [round(float(number), 3) for number in (reduced["bound"], reduced["latency"], rule)]


plane_alpa = on_plane[(on_plane["method"] == "alpa") & (on_plane["memory_percent"] == 70)]
by_method6 = recorded6.pivot(
    index=["instance", "memory_percent"], columns="method", values="latency"
)
slowest = "decoder-4l-mesh1x4-slow100"
reduced_bound = recorded6.set_index(["instance", "memory_percent", "method"])["bound"][
    slowest, 60, "kiwi-reduced"
]
ninety = by_method6.xs(90, level="memory_percent").loc[list(FIGURE6_RECORDED)]
faster = (ninety["alpa"] / ninety["kiwi-reduced"]).round(2).tolist()
one_layer, paper_size = claims.set_index("KIWI against"), claims_recorded.set_index("KIWI against")
slower_rules = {
    method: alpa_recorded[alpa_recorded[method] > alpa_recorded["alpa"] * (1 + TOLERANCE)].index
    for method in ("alpa-checkpoint-dots", "alpa-selective")
}
slower_share = [
    (alpa_known[method] > alpa_known["alpa"] * (1 + TOLERANCE)).mean() for method in slower_rules
]
in_node = table1[table1["instance"] == "mlp-26 (1, 4)"].set_index("memory")
seven = recorded7[recorded7["memory_percent"] == 90].pivot(
    index="layers", columns="method", values=["cpu_s", "latency"]
)
times_longer = seven["cpu_s", "kiwi-reduced"] / seven["cpu_s", "alpa"]
by_count = table2.set_index("layers")
slowest_links = sweep[sweep["slowdown"] == 100][["ratio", "ratio 5 % above"]].max(axis=1)
by_links = measured_sweep.set_index(["instance", "links"])["ratio"]
narrow = table1[table1["instance"] == "narrow (8, 1)"].set_index("memory")
paper_width = sweep[sweep["hidden"] == 5120]
CLAIMS = {
    "Within a node, over links 37 times as fast": round(130 / 3.5) == 37,
    "slows down by 27 %, and nothing is worth computing again.": round(in_node["reduced"][40], 2)
    == 1.27
    and bool((in_node["alpa"] == in_node["reduced"]).all()),
    "its own row of 60 % has 3.13 against 2.71, that is 15.5 %.": PAPER_TABLE1[60][::2]
    == (2.71, 3.13)
    and round(100 * (3.13 / 2.71 - 1), 1) == 15.5,
    "the full problem takes 22.9, 10.4, 12.5 and 0.5 CPU seconds, from 20 to 80 %": (
        paper_rows["full s"].round(1).tolist() == [22.9, 10.4, 12.5, 0.5]
        and bool((paper_rows["full best"] == paper_rows["full bound"]).all())
    ),
    "On `mlp-26` the reduced problem loses nothing in any of the four memories, by proof of both "
    "optima.": bool((paper_rows["loss %"] == 0).all()),
    "On `long` it loses 17.8 % in 60 %, on `narrow` 98.7 % in 50 % and 122.1 % in 60 %": (
        proved[proved["loss %"] > 0]["loss %"].tolist() == [17.8, 98.7, 122.1]
    ),
    "In 30 % of memory the wide perceptron has a plan only in the full problem.": (
        only_full[["instance", "memory"]].to_numpy().tolist() == [["wide (1, 4)", 30]]
    ),
    "In 80 % both printed models are solved, and full takes 22 times as long as reduced, where the "
    "paper has 59 times.": (
        bool(table_printed.loc[1, ["reduced proved", "full proved"]].all())
        and table_printed.loc[1, ["times", "paper's times"]].tolist() == [22, 59]
    ),
    "In 20 % the printed reduced model takes 7.6 CPU seconds, and the full one is not solved when its "
    "two minutes are up, of which it had 27 CPU seconds: so at least 3.5 times as long.": (
        bool(table_printed.loc[0, "reduced proved"])
        and not table_printed.loc[0, "full proved"]
        and round(table_printed.loc[0, "reduced s"], 1) == 7.6
        and round(table_printed.loc[0, "full s"]) == 27
        and round(table_printed.loc[0, "full s"] / table_printed.loc[0, "reduced s"], 1) == 3.5
    ),
    "`exact` takes 31 times as long as `kiwi-reduced` in 20 %.": (
        int((paper_rows["full s"] / paper_rows["reduced s"]).iloc[0]) == 31
    ),
    "Whatever the number of tokens, the reduced problem needs less than Alpa and more than "
    "`checkpoint-dots`, and less than `selective` but for the encoder with 2048.": (
        bool((floors["KIWI (reduced)"] < floors["Alpa"]).all())
        and bool((floors["KIWI (reduced)"] > floors["Alpa, checkpoint dots"]).all())
        and floors[floors["KIWI (reduced)"] >= floors["Alpa, selective"]][["model", "tokens"]]
        .to_numpy()
        .tolist()
        == [["encoder", 2048]]
    ),
    "None of the four memories is left open.": "open" not in set(four_memories["answer"]),
    "Alpa and `selective` have no plan in any, as the paper says; nor has the reduced problem, which is "
    "the paper's KIWI. `checkpoint-dots` has one in 5.1 GB, and in the other three proved none. The "
    "full problem has a plan in all four, replayed,": [
        (four_memories[four_memories["method"] == label]["answer"] == "a plan").tolist()
        for label in LINES_OF_METHODS.values()
    ]
    == [[False] * 4, [True, False, False, False], [False] * 4, [False] * 4, [True] * 4],
    "278 operators for each layer and 30 more give all of the paper's numbers but 1192, for which it "
    "would be 1142.": by_count.index[by_count["paper"] != by_count["278 layers + 30"]].tolist()
    == [4]
    and by_count["278 layers + 30"][4] == 1142,
    "On (1, 8) KIWI is the fastest wherever it has a plan, by 0.7 to 2.6 % before the best "
    "baseline.": [round(edge(gains_of(on_line, "kiwi-reduced")), 1) for edge in (min, max)]
    == [0.7, 2.6],
    "In 40 % the reduced problem is proved to have no plan, on all three meshes, and "
    "`checkpoint-dots` has one.": status_of(recorded5, "kiwi-reduced", 40) == {"infeasible"}
    and status_of(recorded5, "alpa-checkpoint-dots", 40) <= {"feasible", "optimal"},
    "the reduced problem is solved in 70, 80 and 90 % on all four graphs, in 60 % on three and in 50 % "
    "on two, in 13 to 247 CPU seconds each.": (
        [round(edge(plane_solved["cpu_s"])) for edge in (min, max)] == [13, 247]
        and [(plane_solved["memory_percent"] == percent).sum() for percent in range(50, 100, 10)]
        == [2, 3, 4, 4, 4]
    ),
    "From 60 % on it is 0.2 to 1.8 % before the best baseline where it is solved.": [
        round(edge(plane_gains), 1) for edge in (min, max)
    ]
    == [0.2, 1.8],
    "The full problem, cut off after 45 seconds, is 0.2 to 1.9 % before the best baseline in each of "
    "the 20 memories from 50 to 90 %, and at most 0.9 % above its bound, but for the decoder on "
    "(2, 4) in 70 %, where the baselines took its time.": (
        len(full_gains) == 20
        and [round(edge(full_gains), 1) for edge in (min, max)] == [0.2, 1.9]
        and round(full_gaps.iloc[-2], 1) == 0.9
        and full_from_50.loc[full_gaps.index[-1], "instance"] == "decoder-4l-mesh2x4"
    ),
    "it is 1.2 to 1.6 % before `checkpoint-dots` on three graphs and less than 0.1 % behind on the "
    "decoder on (4, 2): that rule needed 24 seconds of its 120 there.": (
        [round(edge(full_in_40[1:]), 1) for edge in (min, max)] == [1.2, 1.6]
        and -0.1 < full_in_40[0] < 0
        and round(in_40.loc["decoder-4l-mesh4x2", "alpa-checkpoint-dots"]) == 24
    ),
    "Alpa is proved to have no plan below 70 %, and `selective` none in 40 %,": status_of(
        on_plane[on_plane["memory_percent"] < 70].assign(memory_percent=0), "alpa", 0
    )
    == {"not"}
    and not on_plane[(on_plane["method"] == "alpa") & (on_plane["memory_percent"] < 70)][
        "is_cut_off"
    ].any()
    and status_of(on_plane, "alpa-selective", 40) == {"not"},
    "Alpa's points on (4, 2) in 70 %, 1.32 for both": plane_alpa[
        plane_alpa["instance"].str.contains("mesh4x2")
    ]["latency"]
    .round(2)
    .tolist()
    == [1.32, 1.32],
    "Alpa has a plan in 90 % only.": set(
        by_method6["alpa"].dropna().index.get_level_values("memory_percent")
    )
    == {90},
    "it is 1.01, 1.09 and 1.36 times as fast.": faster == [1.01, 1.09, 1.36],
    "The rules before Alpa are slower than Alpa over fast links and faster over slow ones": all(
        (ninety[method] > ninety["alpa"]).tolist() == [True, False, False]
        for method in slower_rules
    ),
    "in 60 % over links 100 times slower `checkpoint-dots` has a plan of 1.10, and no plan of the "
    "reduced problem is better than 1.60.": round(
        by_method6["alpa-checkpoint-dots"][slowest, 60], 2
    )
    == 1.10
    and reduced_bound >= 1.595,
    "In 50 % the reduced problem is proved to have no plan, over all three, and `checkpoint-dots` has "
    "one.": status_of(recorded6, "kiwi-reduced", 50) == {"infeasible"}
    and bool(by_method6["alpa-checkpoint-dots"].xs(50, level="memory_percent").notna().all()),
    "Over slower links Alpa's own plan takes more memory": peak_bytes(LINKS[1])
    < peak_bytes(LINKS[10])
    < peak_bytes(LINKS[100]),
    "*KIWI is never worse than Alpa*: holds everywhere": one_layer.loc["Alpa", "KIWI slower"] == 0
    and one_layer.loc["Alpa", "only KIWI has a plan"] > 0,
    "holds in about half of the memories in which Alpa has a plan.": all(
        0.4 <= share_of <= 0.67 for share_of in slower_share
    ),
    "Over links at full speed no setting has it, by proof: nowhere is the bound above 1.23.": sweep[
        sweep["slowdown"] == 1
    ]["bound"].max()
    == 1.23,
    "it appears once, for 1024 tokens and 1024 units: there KIWI is 2.56 times as fast as Alpa in "
    "Alpa's least memory, and 1.21 times with 5 % more.": sweep[
        (sweep["slowdown"] == 10) & (sweep[["ratio", "ratio 5 % above"]].max(axis=1) >= 2.2)
    ][["tokens", "hidden", "ratio", "ratio 5 % above"]]
    .to_numpy()
    .tolist()
    == [[1024, 1024, 2.56, 1.21]],
    "it appears in 3 of 12 settings, and KIWI is up to 5.75 times as fast.": (
        (slowest_links >= 2.2).sum(),
        len(slowest_links),
        slowest_links.max(),
    )
    == (3, 12, 5.75),
    "With the paper's 5120 units it appears nowhere, and with the 1024 tokens that are assumed above "
    "no memory has it over any of the links: the bound is 2.17 at most.": (
        paper_width[["ratio", "ratio 5 % above"]].max(axis=None) < 2.2
        and paper_width[paper_width["tokens"] == 1024]["bound"].max() == 2.17
    ),
    "The narrow perceptron of Table 1 has it too, between nodes: 2.40 times in 80 % of memory.": round(
        float((narrow["alpa"] / narrow["reduced"])[80]), 2
    )
    == 2.40,
    "with 256 and 512 tokens the measured encoder then has the ratios that rates give, within 0.01.": all(
        abs(by_links[f"encoder-1l-t{tokens}-h1024-cpu", f"/ {100 * slowdown}"] - ratio) < 0.011
        for tokens, slowdown, ratio in sweep[
            (sweep["hidden"] == 1024)
            & sweep[["tokens", "slowdown"]]
            .apply(tuple, axis=1)
            .isin([(256, 10), (512, 10), (512, 100)])
        ][["tokens", "slowdown", "ratio"]].itertuples(index=False)
    ),
    "2.73 times with 512 tokens, over links 10000 times slower.": by_links[
        "encoder-1l-t512-h1024-cpu", "/ 10000"
    ]
    == 2.73,
    "Within a node of four the perceptron gains nothing from recomputation over any of the links, and "
    "the GPT-3 is fastest where it takes least, so that no memory has any gain, by proof.": bool(
        (
            measured_sweep[measured_sweep["instance"].str.startswith("mlp-26-mesh1x4")]["ratio"]
            == 1
        ).all()
    )
    and bool(
        (measured_sweep[measured_sweep["instance"].str.startswith("gpt3")]["bound"] == 1).all()
    ),
    "*Up to 2.2 times as fast*: not here. The largest ratios are those above.": max(
        one_layer["faster by up to"].max(), paper_size["faster by up to"].max()
    )
    < 2.2,
    "over slowed links, `checkpoint-dots` is faster in some memories.": one_layer.loc[
        METHODS["alpa-checkpoint-dots"][0], "KIWI slower"
    ]
    > 0,
    "holds in each of the 21 memories in which both have a plan here.": (
        paper_size.loc["Alpa", ["KIWI faster", "same", "KIWI slower"]].tolist() == [21, 0, 0]
    ),
    "The encoder on (4, 2) in 60 % is open between 1.026 and 1.041, and that rule has 1.024.": (
        around_rule("encoder-4l-mesh4x2", 60) == [1.026, 1.041, 1.024]
    ),
    "In 50 % the decoder on (2, 4) is solved with 1.035, where the rule has 1.045, but the encoder "
    "there is open between 1.045 and 1.058, and the rule has 1.041; on (4, 2) the encoder is solved "
    "with 1.322 and the decoder open between 1.264 and 1.270, and the rule has 1.029 and 1.035.": (
        around_rule("decoder-4l-mesh2x4", 50)[1:] == [1.035, 1.045]
        and around_rule("encoder-4l-mesh2x4", 50) == [1.045, 1.058, 1.041]
        and around_rule("encoder-4l-mesh4x2", 50)[1:] == [1.322, 1.029]
        and around_rule("decoder-4l-mesh4x2", 50) == [1.264, 1.27, 1.035]
    ),
    "`checkpoint-dots` is slower in 13 of the 21 memories in which Alpa has a plan, `selective` in 10, "
    "all of them over links at full speed, in 80 and 90 %.": len(alpa_recorded) == 21
    and [len(index) for index in slower_rules.values()] == [13, 10]
    and all(
        "slow" not in instance and percent >= 80
        for index in slower_rules.values()
        for instance, percent in index
    ),
    "It is 1.36 times against Alpa (links 100 times slower, 90 %) and 1.04 times against "
    "`checkpoint-dots`; against `selective` it is 1.37 times": paper_size[
        "faster by up to"
    ].tolist()
    == [1.36, 1.04, 1.37],
    "`checkpoint-dots` is faster in 4 memories, and in 9 it has a plan where the reduced problem is "
    "proved to have none.": (
        paper_size.loc[
            METHODS["alpa-checkpoint-dots"][0], ["KIWI slower", "KIWI has none"]
        ].tolist()
        == [4, 9]
    ),
    "The three brackets on two-dimensional meshes lie above its plans too.": all(
        around_rule(*where)[0] > around_rule(*where)[2]
        for where in (
            ("encoder-4l-mesh4x2", 60),
            ("encoder-4l-mesh2x4", 50),
            ("decoder-4l-mesh4x2", 50),
        )
    )
    and (on_plane["is_cut_off"] & (on_plane["method"] == "kiwi-reduced")).sum() == 3,
    "On those meshes the full problem, cut off, is faster than every baseline in each of the 20 "
    "memories from 50 to 90 %.": len(full_gains) == 20 and min(full_gains) > 0,
    "Alpa takes 0.1 to 3.3 seconds.": [
        round(edge(seven["cpu_s", "alpa"]), 1) for edge in (min, max)
    ]
    == [0.1, 3.3],
    "takes 2.5 times as long for four layers, 6 times for eight, 10 times for twelve, 29 times for "
    "sixteen and 26 times for twenty, 85 seconds; each of its plans is within the gap.": (
        [round(float(times_longer[4]), 1), *times_longer[[8, 12, 16, 20]].round().tolist()]
        == [2.5, 6, 10, 29, 26]
        and round(seven["cpu_s", "kiwi-reduced"][20]) == 85
        and not recorded7["is_cut_off"].any()
    ),
}
print(f"{sum(CLAIMS.values())} of {len(CLAIMS)} sentences hold")

# %% [markdown]
# What was recorded, and what of it was computed again just now:

# %%
print(KEPT)

# %% [markdown]
# ## All that the paper states
#
# Every algorithm, equation, theorem, figure, table, experiment and claim, as
# `docs/papers/kiwi.toml` lists them; a test asks that all places exist.

# %%
pd.set_option("display.max_rows", None, "display.max_colwidth", None)
found_paper("kiwi").table()
