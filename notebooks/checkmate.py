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
# # Checkmate: recomputing on graphs
#
# Jain, Jain, Nrusimha, Gholami, Abbeel, Keutzer, Stoica and Gonzalez, *Checkmate: breaking the
# memory wall with optimal tensor rematerialization*, MLSys 2020.
#
# `docs/papers/checkmate.toml` lists what the paper states, entry by entry, and where it is here.
#
# A training step is a graph of operations. Each has a duration and makes a value of some size, and
# needs the values of others. The paper asks for the fastest step within a memory, where values may
# be dropped and computed again; it solves an integer program and compares with the heuristics that
# were known. The same comparison follows, with one difference: nearly every optimum here is proved
# within a second. The published graphs come last, beside what others report on them.
#
# Two parts were **recorded** in `notebooks/_rows`: the linear relaxation with its rounding, and the
# published graphs. Each run of this notebook computes some of their rows again, which have to come
# out the same, and any that is not there; the last cell says how many. To have all of them computed,
# remove the files `checkmate_*.jsonl` there, and run it again (`make notebooks`).
#
# Every schedule below has been replayed in exact integers. Overheads are in percent of the time
# without recomputation, memory in percent of the peak without recomputation.

# %%
# %matplotlib inline
import os
import time
from functools import cache
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

import jettison as jt
from jettison.instances.generators.layered_graph import LayeredGraphs, Passes
from jettison.instances.generators.training_networks import encoder, resnet18, u_net
from jettison.instances.importers.networkx import import_networkx_graph
from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.core.memory_plot import plot_memory
from jettison.schedules.core.picture_style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    LIGHT_GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
)
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.result import Result
from jettison.solvers.core.solve import solve_with
from jettison.solvers.remat_graph.annealing.method import annealing_of
from jettison.studies.kept_rows import KeptRows
from jettison.studies.paper_list import found_paper

# No number of the first sections depends on how fast this machine is.
OPTIONS = SolveOptions(time_limit_s=None, gap=0.0)
KEPT = KeptRows.found("notebooks/_rows")

# %% [markdown]
# ## Four training steps
#
# Three networks from the shapes of their layers, in single precision: an encoder of six layers (8
# sequences of 512 tokens, hidden size 768), a U-Net (8 images of 416 x 608 pixels) and ResNet-18 (32
# images of 224 x 224 pixels); and a random layered graph with its mirror image. Durations are
# operations at 10 per picosecond. The backward of an operation takes twice as long; it reads the
# inputs and the output of the operation and the gradients of what read that, and makes the gradients
# of the inputs.


# %%
GRAPHS = {
    graph.name: graph
    for graph in (
        encoder(),
        u_net(),
        resnet18(),
        LayeredGraphs(nodes=40, passes=Passes.TRAINING).draw(1),
    )
}
graphs = pd.DataFrame(
    [
        {
            "graph": name,
            "nodes": len(graph),
            "edges": sum(map(len, graph.inputs)),
            "step_ms": round(graph.base_time_ns / 1e6, 4),
            "peak_mib": round(graph.store_all_peak_bytes / 2**20, 4),
            "largest_operation_percent": round(
                100 * graph.least_peak_bound_bytes / graph.store_all_peak_bytes, 2
            ),
        }
        for name, graph in GRAPHS.items()
    ]
)
graphs

# %% [markdown]
# The last column is what the largest operation needs with its inputs and its output, below which
# nothing fits.
#
# ## Overhead against memory
#
# * `exact`: the least overhead. The bound that proves it holds for all schedules whose first
#   computations follow the order of the graph; beside it stands the part of it that no tolerance of
#   a solver can touch, a relaxation whose multipliers are evaluated in exact arithmetic.
# * `anneal`: simulated annealing, with seed 0. It is given the proven bound and stops when it gets
#   there; otherwise after six rounds.
# * `dtr`: eviction without looking ahead, by $h_{DTR}$ (Kirisame et al., ICLR 2021).
# * `linearized-griewank`: revolve on the linearised forward graph (Griewank and Walther 2000).
# * `chen-sqrt`, `chen-greedy`: Chen et al. 2016 on the linearised forward graph; `ap-...`: with
#   checkpoints at its articulation points only. greedy takes the best segment size for the memory.
#
# `store-all` (the paper's *checkpoint all*) fits from 100 % on and is left out. NaN says that a method has nothing that fits.

# %%
BASELINES = {
    "dtr": (ORANGE, "D"),
    "linearized-griewank": (PURPLE, "v"),
    "ap-chen-greedy": (GREEN, "^"),
    "chen-greedy": (SKY, "s"),
    "ap-chen-sqrt": (VERMILION, "P"),
    "chen-sqrt": (GREY, "X"),
}
PERCENTS = {
    "encoder-6": [30, 40, 50, 60, 70, 80, 90, 95],
    "u-net": [55, 60, 65, 70, 80, 90, 95],
    "resnet-18": [70, 75, 80, 85, 90, 95],
    "layered-training-n40-l8-s1": [75, 80, 85, 90, 95],
}


@cache
def solved(name: str, method: str, memory: str | int) -> Result:
    """Return what a method finds; a schedule in it has been replayed."""
    return solve_with(jt.RematGraph(GRAPHS[name], memory), method, OPTIONS)


def percent_above(base_ns: int, time_ns: int | None) -> float | None:
    """Return by how many percent a time exceeds another."""
    return None if time_ns is None else round(100 * (time_ns / base_ns - 1), 4)


def overhead(graph: Graph, time_ns: int | None) -> float | None:
    """Return a time in percent above the time without recomputation."""
    return percent_above(graph.base_time_ns, time_ns)


def annealed_ns(problem: jt.RematGraph, floor_ns: int) -> int | None:
    """Return the replayed time of what annealing finds with seed 0."""
    search = annealing_of(problem, 0, floor_ns)
    while not search.is_over:
        search.run(100_000)
    if search.time_ns is None:
        return None
    schedule = GraphSchedule.from_computations(problem.instance, search.computations)
    replay = schedule.replay(problem.instance, problem.memory_bytes)
    assert replay.valid
    return replay.time_ns


def row_of(name: str, percent: int) -> dict[str, object]:
    """Return the overheads of all methods in one memory."""
    graph, memory = GRAPHS[name], f"{percent}%"
    best = solved(name, "exact", memory)
    assert best.status == "optimal-in-order"
    exact_arithmetic_ns = max(
        bound.time_ns for bound in best.bounds if bound.evidence is Evidence.EXACT
    )
    row: dict[str, object] = {
        "graph": name,
        "memory": percent,
        "bound_exact_arithmetic": overhead(graph, exact_arithmetic_ns),
        "bound": overhead(graph, best.lower_bound_ns),
        "exact": overhead(graph, best.time_ns),
        "anneal": overhead(graph, annealed_ns(best.problem, best.lower_bound_ns)),
    }
    return row | {
        method: overhead(graph, solved(name, method, memory).time_ns) for method in BASELINES
    }


rows, exact_s = [], []
for name, percents in PERCENTS.items():
    for percent in percents:
        started = time.perf_counter()
        solved(name, "exact", f"{percent}%")
        exact_s.append(time.perf_counter() - started)
        rows.append(row_of(name, percent))
overheads = pd.DataFrame(rows)
overheads

# %%
print(f"exact: {max(exact_s):.2f} s at most, {sum(exact_s) / len(exact_s):.2f} s on average")


# %%
def draw_overheads(table: pd.DataFrame) -> Figure:
    """Draw overheads against memory, a panel for each graph."""
    figure = Figure(figsize=(10, 7.4), layout="constrained")
    for axes, name in zip(figure.subplots(2, 2).flat, PERCENTS, strict=True):
        points = table[table["graph"] == name]
        where = points["memory"]
        for method, (colour, marker) in BASELINES.items():
            axes.plot(
                where,
                points[method],
                color=colour,
                marker=marker,
                markersize=6,
                linewidth=1,
                label=method,
            )
        axes.plot(where, points["exact"], color=BLUE, marker="o", linewidth=2, label="exact")
        axes.plot(
            where, points["anneal"], color=BLACK, marker="+", linestyle="", ms=9, label="anneal"
        )
        axes.plot(
            where,
            points["bound_exact_arithmetic"],
            color=BLACK,
            linestyle="--",
            linewidth=1,
            label="bound in exact arithmetic",
        )
        axes.set_yscale("log")
        axes.set_ylim(0.5 * points["bound_exact_arithmetic"].min(), 1000)
        axes.fill_between(
            where, axes.get_ylim()[0], points["bound"], color=LIGHT_GREY, lw=0, label="impossible"
        )
        axes.yaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.set_xlim(min(where) - 2, 97)
        axes.set_title(f"{name}, {len(GRAPHS[name])} nodes", loc="left", fontsize=10)
        axes.set_xlabel("memory (% of the peak without recomputation)")
        axes.set_ylabel("overhead (%)")
        axes.spines[["top", "right"]].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    return figure


draw_overheads(overheads)

# %% [markdown]
# What the paper finds holds here too. Fixed rules for where to checkpoint recompute whole segments,
# whatever the memory: in 95 % of memory they cost 18 times to more than 100 000 times what is
# necessary, and nowhere here less than 1.3 times. On graphs with long skips (the U-Net) articulation
# points are rare, and the rules that need them find something in one of seven memories. What the paper does not compare with is
# `dtr`: in 19 of these 26 memories it is within a third of the optimum, but on ResNet-18 at 70 % it
# costs four times as much. `anneal` finds the optimum in all of them.
#
# ## The linear relaxation, and its rounding
#
# The paper's own approximation solves the linear relaxation of its integer program and rounds it in
# two phases (`lp-rounding`). An encoder of two layers, for the relaxation has $n^2$ columns and
# more. The bounds in percent: the paper's relaxation (`checkmate-lp`), and the models of few cuts
# (`exact`). Which vertex of the relaxation is found, and so what rounding makes of it, may differ
# from one version of the solver to the next, so no test compares this table.

# %%
small = encoder(layers=2)


@KEPT.rows("checkmate_relaxation", again_s=0)
def relaxation_row(percent: int, method: str) -> dict[str, float | None]:
    """Return the overheads of what a method proves and finds."""
    found = solve_with(jt.RematGraph(small, f"{percent}%"), method, OPTIONS)
    return {
        "bound": overhead(small, found.lower_bound_ns),
        "overhead": overhead(small, found.time_ns),
    }


rows = []
for percent in (60, 70, 80, 90):
    row = {"memory": percent}
    for method in ("checkmate-lp", "exact", "lp-rounding"):
        found = relaxation_row(percent, method)
        row |= {
            f"{method} bound": found["bound"],
            method: found["overhead"],
            f"{method} s": relaxation_row.cpu_s(percent, method),
        }
    del row["checkmate-lp"], row["lp-rounding bound"]
    rows.append(row)
print(f"{small.name}, {len(small)} nodes; overheads and bounds in %")
pd.DataFrame(rows)

# %% [markdown]
# ## Cost and memory of one graph
#
# The least overhead of the encoder in steps of 2.5 % of memory. Bound and schedule meet in every
# step, so no schedule in the order of the graph lies in the grey. Each baseline is shown where it
# really lies: at the peak and the overhead of the schedules that it makes for these memories.

# %%
ENCODER = GRAPHS["encoder-6"]
STEPS = [f"{permille / 10}%" for permille in range(300, 1001, 25)]


def point_of(result: Result) -> tuple[float, float]:
    """Return peak and overhead of a schedule in percent."""
    peak = round(100 * result.peak_bytes / ENCODER.store_all_peak_bytes, 4)
    return peak, overhead(ENCODER, result.time_ns)


curve = pd.DataFrame(
    [
        {
            "memory": float(memory.rstrip("%")),
            "bound": overhead(ENCODER, best.lower_bound_ns),
            "overhead": overhead(ENCODER, best.time_ns),
        }
        for memory in STEPS
        for best in [solved(ENCODER.name, "exact", memory)]
    ]
)
assert (curve["bound"] == curve["overhead"]).all()
reached = {
    method: sorted(
        {
            (*point_of(result), result.peak_bytes)
            for memory in STEPS
            for result in [solved(ENCODER.name, method, memory)]
            if result.time_ns is not None
        }
    )
    for method in BASELINES
}


def draw_curve() -> Figure:
    """Draw the least overhead against memory, and the baselines' schedules."""
    figure = Figure(figsize=(8.6, 4.6), layout="constrained")
    axes = figure.add_subplot()
    # Between two steps the overhead is at most that of the left one, and at least the right bound.
    axes.fill_between(
        curve["memory"], curve["bound"], step="pre", color=LIGHT_GREY, lw=0, label="impossible"
    )
    axes.step(curve["memory"], curve["overhead"], where="post", color=BLUE, lw=2, label="exact")
    for method, (colour, marker) in BASELINES.items():
        points = reached[method]
        axes.plot(
            [point[0] for point in points],
            [point[1] for point in points],
            color=colour,
            marker=marker,
            linestyle="",
            # Two of them make the same schedule now and then.
            markersize=9 if method == "ap-chen-greedy" else 6,
            label=method,
        )
    axes.set_xlim(min(points[0][0] for points in reached.values()) - 2, 102)
    axes.set_ylim(0, 60)
    axes.set_title(f"{ENCODER.name}, {len(ENCODER)} nodes", loc="left", fontsize=11)
    axes.set_xlabel("memory, or peak of the schedule (% of the peak without recomputation)")
    axes.set_ylabel("overhead (%)")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return figure


draw_curve()

# %% [markdown]
# The schedules of `linearized-griewank` that cost more than 60 % lie above the picture. For each
# baseline, its cheapest schedule in at most 60 % of memory, and the optimum in exactly the peak of
# that schedule:

# %%
rows = []
for method, points in reached.items():
    below = [point for point in points if point[0] <= 60]
    if not below:
        continue
    peak, cost, peak_bytes = min(below, key=lambda point: (point[1], point[0]))
    best = solved(ENCODER.name, "exact", peak_bytes)
    assert best.status == "optimal-in-order"
    rows.append(
        {
            "method": method,
            "peak": peak,
            "overhead": cost,
            "optimum_there": overhead(ENCODER, best.time_ns),
        }
    )
beside = pd.DataFrame(rows)
beside

# %% [markdown]
# ## What a schedule does to the memory
#
# The encoder without recomputation, and in 40 % of that memory. The line is what is in use while an
# operation runs; the strip below shows what is computed for the first time and what again.

# %%
plot_memory(solved(ENCODER.name, "store-all", "100%").replay, title="encoder-6: store-all")

# %%
plot_memory(solved(ENCODER.name, "exact", "40%").replay, title="encoder-6: exact, 40 %")

# %% [markdown]
# The two large products of each feed-forward block are never computed again. What is cheap for its
# size is: attention weights and activations, and in the lower four layers all of the attention. One
# layer after the other comes back, just before its backward.
#
# ## Published graphs and published marks
#
# Checkmate's released code has training graphs of VGG16, VGG19, U-Net and ResNet-50; MOCCASIN
# (Bartan, Li, Teague, Lott and Dilkina, *MOCCASIN: efficient tensor rematerialization for neural
# networks*, ICML 2023) repeats them, adds random layered graphs, and reports its constraint program
# (16 workers) and Checkmate's integer program on Gurobi. MOCCASIN reports no bounds. The files are
# theirs and not part of this repository. The cell below looks for a folder `moccasin` with them in
# the folder that the variable JETTISON_SHARED_DATA names, else in `data` or `shared/data` here or
# above.
#
# `exact` got 10 seconds of one thread for each; what was proved in less than one is solved again
# where that folder is. The gap is that of time, (time - bound) / time. A
# dash among the marks says that we know of no published number for this cell; one among ours, that
# 10 seconds gave none. How far a run comes depends on the machine, so no test compares this table.

# %%
RESNET, VGG16, VGG19 = (
    f"{name}__MLSys__256__224__224__3__train_nx" for name in ("ResNet50", "VGG16", "VGG19")
)
UNET = "vgg_unet__MLSys__32__416__608__3__train_nx"
LAYERED100 = "random_layered_n100_w0.27_nlv0.75_ed0.2_scd0.14"
LAYERED250 = "random_layered_n250_w0.43_nlv0.75_ed0.2_scd0.14"
# Overhead in percent and seconds of MOCCASIN, then of Checkmate's program on Gurobi.
MARKS = [
    ("VGG16", VGG16, "90%", "", ""),
    ("VGG19", VGG19, "90%", "", ""),
    ("VGG19", VGG19, "80%", "", ""),
    ("U-Net", UNET, "90%", "", ""),
    ("U-Net", UNET, "50%", "", ""),
    ("ResNet-50", RESNET, "90%", "0.2 in 65 s", "0.1 in 434 s"),
    ("ResNet-50", RESNET, "80%", "0.3 in 69 s", "0.3 in 485 s"),
    ("ResNet-50", RESNET, "50%", "", ""),
    ("ResNet-50", RESNET, "30%", "", ""),
    ("layered, n = 100", LAYERED100, "90%", "", ""),
    ("layered, n = 100", LAYERED100, "80%", "", ""),
    ("layered, n = 250", LAYERED250, 132156, "0.9 in 55 s", "in 685 s"),
    ("layered, n = 250", LAYERED250, 117472, "4.9 in 640 s", "none found"),
]


DATA = ("data", "shared/data")


def published_folder() -> Path | None:
    """Return the folder of the published graphs, if there is one."""
    named = os.environ.get("JETTISON_SHARED_DATA")
    here = [Path.cwd(), *Path.cwd().parents]
    folders = [Path(named)] if named else [up / data for up in here for data in DATA]
    return next((folder for folder in folders if (folder / "moccasin").is_dir()), None)


folder = published_folder()


@KEPT.rows("checkmate_published", again_s=1.0 if folder else 0, about=["bound_ns"])
def published_row(file: str, memory: str | int) -> dict[str, int | str | None]:
    """Return what `exact` finds and proves in 10 seconds on a published graph."""
    if folder is None:
        raise FileNotFoundError(f"no published graphs here: {file}; set JETTISON_SHARED_DATA")
    graph = import_networkx_graph(folder / "moccasin" / f"{file}.json")
    problem = jt.RematGraph(graph, memory)
    result = jt.solve(problem, "exact", time_limit=10, gap=0)
    return {
        "sha256": graph.sha256,
        "nodes": len(graph),
        "base_ns": graph.base_time_ns,
        "memory_bytes": problem.memory_bytes,
        "peak_bytes": graph.store_all_peak_bytes,
        "time_ns": result.time_ns,
        "bound_ns": result.lower_bound_ns,
        "status": result.status,
    }


published = pd.DataFrame(
    [
        {
            "graph": label,
            "nodes": found["nodes"],
            "memory (%)": round(100 * found["memory_bytes"] / found["peak_bytes"]),
            "overhead (%)": percent_above(found["base_ns"], found["time_ns"]),
            "bound (%)": percent_above(found["base_ns"], found["bound_ns"]),
            "gap (%)": None
            if found["time_ns"] is None
            else round(100 * (1 - found["bound_ns"] / found["time_ns"]), 4),
            "CPU seconds": round(published_row.cpu_s(file, memory), 1),
            "status": found["status"],
            "MOCCASIN (%)": moccasin or "-",
            "Checkmate on Gurobi (%)": gurobi or "-",
        }
        for label, file, memory, moccasin, gurobi in MARKS
        for found in [published_row(file, memory)]
    ]
)
published

# %%
proved = published["status"].str.startswith("optimal").sum()
print(
    f"{proved} of {len(published)} are proved, for the order of the graph or for staged schedules"
)

# %% [markdown]
# For MOCCASIN's largest random graph (1000 nodes, no part of the files) the paper reports 0.7 and
# 3.4 % at 90 and 80 % of memory, an hour each, and no solution of Gurobi. Printed overheads are
# rounded to one digit: the 0.1 % of Gurobi and our 0.1085 % may well be the same optimum.
#
# The tables that `tests/notebooks` compares with the expected ones:

# %%
TABLES = {
    "checkmate_graphs": graphs,
    "checkmate_overheads": overheads.drop(columns="bound_exact_arithmetic"),
    "checkmate_curve": curve,
    "checkmate_beside": beside,
}

# %% [markdown]
# Sentences of this notebook, and whether they hold of what was computed:

# %%
RULES = [method for method in BASELINES if method != "dtr"]
over_optimum = overheads[RULES].div(overheads["exact"], axis="index")
at_95 = over_optimum[overheads["memory"] == 95]
of_u_net = overheads[overheads["graph"] == "u-net"]
over_by_dtr = overheads["dtr"] / overheads["exact"]
hard = (overheads["graph"] == "resnet-18") & (overheads["memory"] == 70)
CLAIMS = {
    "in 95 % of memory they cost 18 times to more than 100 000 times what is necessary": round(
        at_95.min(axis=None)
    )
    == 18
    and at_95.max(axis=None) > 100_000,
    "nowhere here less than 1.3 times.": over_optimum.min(axis=None) >= 1.3,
    "the rules that need them find something in one of seven memories.": len(of_u_net) == 7
    and [int(of_u_net[method].notna().sum()) for method in RULES if method.startswith("ap-")]
    == [1, 1],
    "in 19 of these 26 memories it is within a third of the optimum": len(overheads) == 26
    and int((over_by_dtr <= 4 / 3).sum()) == 19,
    "on ResNet-18 at 70 % it costs four times as much.": round(over_by_dtr[hard].item()) == 4,
    "`anneal` finds the optimum in all of them.": bool(
        (overheads["anneal"] == overheads["exact"]).all()
    ),
    "Bound and schedule meet in every step": bool((curve["bound"] == curve["overhead"]).all()),
    "The schedules of `linearized-griewank` that cost more than 60 % lie above the picture.": {
        method for method, points in reached.items() if any(point[1] > 60 for point in points)
    }
    == {"linearized-griewank"},
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
# `docs/papers/checkmate.toml` lists them; a test asks that all places exist.

# %%
pd.set_option("display.max_rows", None, "display.max_colwidth", None)
found_paper("checkmate").table()
