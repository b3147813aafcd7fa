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
# Its evaluation stands here figure by figure and table by table, on networks that the package makes
# from the shapes of their layers; the authors' own graphs come last.
#
# A training step is a graph of operations. Each has a duration and makes a value of some size, and
# needs the values of others. The paper asks for the fastest step within a memory, where values may
# be dropped and computed again; it solves an integer program and compares with the heuristics that
# were known. The same comparison follows, with one difference: nearly every optimum here is proved
# within a second. The published graphs come last, beside what others report on them.
#
# What takes long was **recorded** in `notebooks/_rows`. Each run of this notebook computes some of
# these rows again, which have to come out the same, and any that is not there; the last cell says how
# many. To have all of them computed, remove the files `checkmate_*.jsonl` there, and run it again
# (`make notebooks`): that takes some minutes.
#
# Every schedule below has been replayed in exact integers. Overheads are in percent of the time
# without recomputation, memory in percent of the peak without recomputation.

# %%
# %matplotlib inline
import math
import os
import time
from fractions import Fraction
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from statistics import geometric_mean

import pandas as pd
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

import jettison as jt
from jettison.core import largest_batch
from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.remat_graph.checkmate import Checkmate
from jettison.formulations.remat_graph.checkmate_unpartitioned import UnpartitionedCheckmate
from jettison.formulations.remat_graph.checkmate_writer import Aggregated, Disaggregated
from jettison.instances.generators.layered_graph import LayeredGraphs, Passes
from jettison.instances.generators.linear_network import linear_network
from jettison.instances.generators.training_networks import NETWORKS, encoder, resnet18, u_net
from jettison.instances.importers.networkx import import_networkx_graph
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.zoo.catalogue import build
from jettison.schedules.core.memory_plot import plot_memory
from jettison.schedules.core.picture_style import (
    BLACK,
    BLUE,
    GREY,
    LIGHT_GREY,
    ORANGE,
    SKY,
    VERMILION,
)
from jettison.schedules.remat_graph.recomputation_grid import recomputation_cells
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.result import Result
from jettison.solvers.core.solve import solve_with
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.remat_graph.annealing.method import annealing_of
from jettison.solvers.remat_graph.baselines.lp_rounding import (
    LpRoundingParams,
    relaxed_shares,
    round_by_draws,
    round_by_thresholds,
)
from jettison.solvers.remat_graph.baselines.naive_rounding import count_naive_roundings
from jettison.studies.comparison.method_style import method_styles
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
# A method looks the same in all pictures.
STYLES = method_styles()
BASELINES = {
    method: STYLES[method]
    for method in (
        "dtr",
        "linearized-griewank",
        "ap-chen-greedy",
        "chen-greedy",
        "ap-chen-sqrt",
        "chen-sqrt",
    )
}
EXACT = STYLES["exact"].colour
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
        axes.plot(where, points["exact"], color=EXACT, marker="o", linewidth=2, label="exact")
        axes.plot(
            where,
            points["anneal"],
            color=STYLES["anneal"].colour,
            marker="+",
            linestyle="",
            ms=9,
            label="anneal",
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
    axes.step(curve["memory"], curve["overhead"], where="post", color=EXACT, lw=2, label="exact")
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

# %% [markdown]
# ## Figure 3: memory of networks
#
# What autograd saves for the backward pass beside the parameters, of networks of the package's zoo in
# PyTorch: a forward pass over tensors without data, 32 samples, single precision; each storage counts
# once. The paper's figure has ten networks, with features, workspace, parameters and their gradients
# from its TensorFlow; here are those of the zoo. Both say the same: what is saved, not the
# parameters, fills the memory.


# %%
@KEPT.rows("checkmate_networks", again_s=1.0 if find_spec("torch") else 0)
def network_row(name: str, size: int) -> dict[str, int]:
    """Return the bytes of parameters, and of what a step of 32 samples saves besides."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        work = build(name, batch=32, input_size=size)
        parameters = list(work.model.parameters())
        resident = {one.untyped_storage()._cdata for one in parameters}
        saved: dict[int, int] = {}
        held = []

        def save(tensor: torch.Tensor) -> torch.Tensor:
            storage = tensor.untyped_storage()
            held.append(storage)
            saved[storage._cdata] = storage.nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(save, lambda tensor: tensor):
            work.loss(work.model(work.sample_input))
    return {
        "parameter_bytes": sum(one.numel() * one.element_size() for one in parameters),
        "saved_bytes": sum(count for one, count in saved.items() if one not in resident),
    }


ZOO = {
    "vgg19": (224, "224 x 224"),
    "inception-v3": (299, "299 x 299"),
    "resnet152": (224, "224 x 224"),
    "densenet201": (224, "224 x 224"),
    "mobilenet-v2": (224, "224 x 224"),
    "unet": (416, "416 x 416"),
    "vit-l16": (224, "224 x 224"),
    "bert-large": (512, "512 tokens"),
}
networks = pd.DataFrame(
    [
        {
            "network": name,
            "sample": sample,
            "parameters_gib": round(found["parameter_bytes"] / 2**30, 3),
            "saved_gib": round(found["saved_bytes"] / 2**30, 3),
            "ratio": round(found["saved_bytes"] / found["parameter_bytes"], 1),
        }
        for name, (size, sample) in ZOO.items()
        for found in [network_row(name, size)]
    ]
)
networks


# %%
def draw_networks() -> Figure:
    """Draw what each network saves, above parameters and their gradients."""
    figure = Figure(figsize=(8.6, 3.6), layout="constrained")
    axes = figure.add_subplot()
    fixed = 2 * networks["parameters_gib"]
    axes.bar(networks["network"], fixed, color=GREY, label="parameters and their gradients")
    axes.bar(
        networks["network"], networks["saved_gib"], bottom=fixed, color=BLUE, label="saved values"
    )
    axes.axhline(16, color=BLACK, linestyle="--", linewidth=1, label="16 GiB")
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylim(0, 100)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_ylabel("GiB for 32 samples")
    axes.set_xlabel("network")
    axes.tick_params(axis="x", labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


draw_networks()

# %% [markdown]
# ## Section 4.6 and Appendix A: the program without stages
#
# Before Section 4.6 the paper's program has no stages of its own: (1a) to (1f) with (2) to (7). That
# is `checkmate-unpartitioned`. The paper compares both on a linear network: 8 forward operations, a
# loss, 8 gradients, each in unit time and unit size, in a memory of 4. It reports 9.4 hours without
# stages and 0.23 s with them, on Gurobi, and integrality gaps of 21.56 and 1.18. The gaps come out
# here to their last digit, in the paper's form of the rows about FREE (`Aggregated`).

# %%
LINE = jt.RematGraph(linear_network(), 4)
PROGRAMS = {
    "with stages, as printed": Checkmate(Aggregated()),
    "with stages, a row for each reason": Checkmate(Disaggregated()),
    "without stages, as printed": UnpartitionedCheckmate(Aggregated()),
    "without stages, a row for each reason": UnpartitionedCheckmate(Disaggregated()),
}


def program_row(name: str) -> dict[str, object]:
    """Return the size of a program of the linear network, and its linear relaxation."""
    built = PROGRAMS[name].build(LINE)
    model = from_pulp(built.problem).model
    relaxed = solve_model(model.relaxed(), HighsOptions())
    bound_ns = built.constant_ns + relaxed.objective * built.time_scale.factor
    return {
        "program": name,
        "columns": model.num_columns,
        "rows": model.num_rows,
        "relaxation_ns": round(bound_ns, 4),
        "gap": round(line_best.time_ns / bound_ns, 2),
    }


line_best = solve_with(LINE, "exact", OPTIONS)
line_any = solve_with(LINE, "any-order-bound", OPTIONS)
assert line_best.status == "optimal-in-order"
assert line_best.time_ns == line_any.bound_of_all.time_ns
gaps = pd.DataFrame([program_row(name) for name in PROGRAMS])
print(f"optimum {line_best.time_ns} ns, for schedules in every order")
gaps


# %% [markdown]
# `any-order-bound` proves that 26 is optimal whatever the order, so the program without stages has the
# same optimum. HiGHS finds it, and proves next to nothing. Its work is counted in its own unit, and
# so the rows are the same on every machine; the seconds are not.


# %%
@KEPT.rows("checkmate_unpartitioned", again_s=0)
def line_row(stages: bool, work: int) -> dict[str, int | float | None]:
    """Return what HiGHS finds and proves of the linear network with a limit on its work."""
    program = Checkmate() if stages else UnpartitionedCheckmate()
    built = program.build(LINE)
    model = from_pulp(built.problem).model
    solved = solve_model(model, HighsOptions(gap=0, work_limit=work, feasibility_tolerance=1e-9))
    found = None
    if solved.values is not None:
        computations = built.computations(solved.by_name(model))
        schedule = GraphSchedule.from_computations(LINE.instance, computations)
        replay = schedule.replay(LINE.instance, LINE.memory_bytes)
        assert replay.valid
        found = replay.time_ns
    bound_ns = None if solved.dual_bound is None else built.bound_ns(solved.dual_bound)
    dual = None if solved.dual_bound is None else built.constant_ns + solved.dual_bound
    return {
        "time_ns": found,
        "dual_bound_ns": None if dual is None else round(dual, 3),
        "bound_ns": bound_ns,
        "nodes": solved.nodes,
    }


pd.DataFrame(
    [
        {
            "program": "with stages" if stages else "without stages",
            "work limit": work,
            **line_row(stages, work),
            "CPU s": line_row.cpu_s(stages, work),
            "Gurobi, printed": "0.23 s" if stages else "9.4 h",
        }
        for stages, work in ((True, 10**6), (False, 2 * 10**5))
    ]
)

# %% [markdown]
# The lower bound of the search alone is `dual_bound_ns`; that no step takes less than each operation
# once, 17 ns, makes it `bound_ns`.
#
# ## Figure 5: overhead against budget
#
# The paper's networks and batches: VGG16 (256 images of 224 x 224), MobileNet (512 of 224 x 224) and
# U-Net (32 of 416 x 608, on VGG16 as in its code), from the shapes of their layers; its panels are
# from profiles of a V100. Memory is that of values: parameters, their gradients and the batch in the
# paper's (2) are a constant beside it. What costs more than 60 % lies above the picture. `exact` is
# proved in every budget of these panels.

# %%
NETWORK = {
    "VGG16": ("vgg-16", 256),
    "VGG19": ("vgg-19", 256),
    "MobileNet": ("mobilenet", 512),
    "U-Net": ("u-net-vgg", 32),
    "ResNet50": ("resnet-50", 256),
}
PANELS = ("VGG16", "MobileNet", "U-Net")
# Counted in moves of annealing, of which a core does 700 000 in a second, so that no machine matters.
LIMITED_WORK = SolveOptions(time_limit_s=None, gap=0.0, most_moves=14_000_000)
FIXED_RULES = (
    "chen-sqrt",
    "chen-greedy",
    "ap-chen-sqrt",
    "ap-chen-greedy",
    "linearized-griewank",
)


@cache
def network(label: str) -> Graph:
    """Return the step of a network at the paper's batch."""
    name, batch = NETWORK[label]
    return NETWORKS[name](batch)


@KEPT.rows("checkmate_budgets", again_s=1.0, about=["bound_ns"])
def budget_row(label: str, percent: int) -> dict[str, int | str | None]:
    """Return the times of all strategies in a share of the peak without recomputation."""
    problem = jt.RematGraph(network(label), f"{percent}%")
    best = solve_with(problem, "exact", LIMITED_WORK)
    row = {"status": best.status, "time_ns": best.time_ns, "bound_ns": best.lower_bound_ns}
    if best.time_ns is None:
        return row
    return row | {method: solve_with(problem, method, OPTIONS).time_ns for method in FIXED_RULES}


def budgets(label: str) -> list[int]:
    """Return the budgets in percent, in steps of 5, in which a step exists."""
    graph = network(label)
    least = 100 * graph.least_peak_bound_bytes / graph.store_all_peak_bytes
    if label == "ResNet50":
        least = 40
    return [
        percent
        for percent in range(5, 100, 5)
        if percent >= least and budget_row(label, percent)["time_ns"] is not None
    ]


figure5 = pd.DataFrame(
    [
        {
            "network": label,
            "percent": percent,
            "gib": round(percent / 100 * network(label).store_all_peak_bytes / 2**30, 2),
            "status": row["status"],
            "bound": overhead(network(label), row["bound_ns"]),
            "exact": overhead(network(label), row["time_ns"]),
        }
        | {method: overhead(network(label), row[method]) for method in FIXED_RULES}
        for label in PANELS
        for percent in budgets(label)
        for row in [budget_row(label, percent)]
    ]
)
figure5


# %%
def draw_figure5() -> Figure:
    """Draw overheads against budgets, a panel for each network."""
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    for axes, label in zip(figure.subplots(1, 3), PANELS, strict=True):
        points = figure5[figure5["network"] == label]
        for method in FIXED_RULES:
            colour, marker = BASELINES[method]
            axes.plot(
                points["gib"], points[method], color=colour, marker=marker, lw=1, label=method
            )
        axes.plot(
            points["gib"], points["exact"], color=EXACT, marker="o", linewidth=2, label="exact"
        )
        whole = network(label).store_all_peak_bytes / 2**30
        axes.axvline(whole, color=BLACK, linestyle=":", linewidth=1, label="store-all")
        axes.set_ylim(0, 60)
        axes.set_xlim(points["gib"].min() - 0.02 * whole, 1.02 * whole)
        axes.set_title(
            f"{label}, batch {NETWORK[label][1]}, {len(network(label))} nodes",
            loc="left",
            fontsize=10,
        )
        axes.set_xlabel("budget (GiB)")
        axes.set_ylabel("overhead (%)")
        axes.spines[["top", "right"]].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return figure


draw_figure5()

# %% [markdown]
# In the paper, as here, nothing is cheaper than the optimum in any budget, and rules that ignore
# costs recompute the most expensive layers together with the cheap ones. Its U-Net costs less than
# 10 % in 16 of 23 GB.
#
# ## Table 2: ratios to the optimum
#
# The geometric mean, over the budgets in which a strategy has a schedule, of its time over the
# optimum; the paper calls it the approximation ratio. Budgets are 5, 10, ..., 95 % of the peak
# without recomputation, of ResNet50 from 40 % on; the paper does not name its own. Two-phase rounding has the paper's settings,
# threshold 1/2 and an allowance of 0.1 (`thresholds = "0.5"`, `draws = 0`, `allowances = "0.1"`), and
# those of `lp-rounding` by default, which tries 300 roundings of five relaxations. What the
# relaxation's solution is may differ from one version of the solver to the next, and so the rows of
# the rounding are never computed again.

# %%
ROUNDINGS = {
    "rounding, the paper's": LpRoundingParams(thresholds="0.5", draws=0, allowances="0.1"),
    "rounding, all tried": LpRoundingParams(),
}


@KEPT.rows("checkmate_rounding", again_s=0)
def rounding_row(label: str, percent: int) -> dict[str, int | None]:
    """Return the times of the two settings of two-phase rounding in a budget."""
    problem = jt.RematGraph(network(label), f"{percent}%")
    return {
        name: solve_with(problem, "lp-rounding", OPTIONS, params).time_ns
        for name, params in ROUNDINGS.items()
    }


def mean_ratio(times: list[tuple[int | None, int]]) -> str:
    """Return the geometric mean of times over optima, and in how many budgets there is one."""
    ratios = [time_ns / best_ns for time_ns, best_ns in times if time_ns is not None]
    if not ratios:
        return "-"
    return f"{geometric_mean(ratios):.3f} ({len(ratios)} of {len(times)})"


PRINTED = {
    "MobileNet": ("1.14", "1.07", "7.07", "1.06"),
    "VGG16": ("1.28", "1.06", "1.44", "1.01"),
    "VGG19": ("1.54", "1.39", "1.75", "1.00"),
    "U-Net": ("1.27", "1.23", "-", "1.03"),
    "ResNet50": ("1.20", "1.25", "-", "1.05"),
}
PRINTED_OF = ("ap-chen-sqrt", "ap-chen-greedy", "linearized-griewank", "rounding, the paper's")
# The relaxation of ResNet50 alone takes minutes for each budget.
ROUNDED = ("MobileNet", "VGG16", "VGG19", "U-Net")


def table2_row(label: str) -> dict[str, str]:
    """Return the ratios of all strategies on a network, beside the printed ones."""
    rows = {percent: budget_row(label, percent) for percent in budgets(label)}
    found = {
        method: mean_ratio([(row[method], row["bound_ns"]) for row in rows.values()])
        for method in FIXED_RULES
    }
    for name in ROUNDINGS:
        rounded = list(rows) if label in ROUNDED else []
        found[name] = mean_ratio(
            [(rounding_row(label, percent)[name], rows[percent]["bound_ns"]) for percent in rounded]
        )
    row = {"network": label, "budgets": f"{min(rows)} to {max(rows)} %"}
    for method, ratio in found.items():
        row[method] = ratio
        if method in PRINTED_OF:
            row[f"{method}, printed"] = PRINTED[label][PRINTED_OF.index(method)]
    return row


table2 = pd.DataFrame([table2_row(label) for label in PRINTED])
table2.set_index("network").T

# %% [markdown]
# The denominator is the lower bound that `exact` proves, for schedules in the order of the graph: no
# ratio here is too small. In brackets, in how many budgets the strategy has anything. U-Net's AP
# square root and the greedy rules of MobileNet and VGG16 are within 0.03 of what is printed. Where
# ours are smaller, our rules are better: greedy ones try every segment size, and revolve every number
# of snapshots (7.07 is printed for MobileNet). Graphs differ as well, which the last section settles
# for AP square root on the authors' own. Rounding with the paper's settings has a schedule in 12 of
# 27 budgets, at 1.000 to 1.101 times the optimum on average; all that is tried together has one in
# 23, at 1.012 at most.
#
# ## Figure 8: deterministic and randomised rounding
#
# Cost and memory of what two-phase rounding makes of one relaxation, that of 90 % of the budget: by
# the threshold 1/2, by other thresholds, and by 300 draws. The paper's figure has such points for its
# networks.

# %%
FIGURE8 = {"VGG16": "90%", "MobileNet": "60%", "U-Net": "60%"}
HALF = (Fraction(1, 2),)
ALL = tuple(Fraction(k, 20) for k in range(1, 20, 2))


def rounded_points(label: str) -> dict[str, list[tuple[float, float]]]:
    """Return peaks and times of the roundings of one relaxation, in percent."""
    graph = network(label)
    problem = jt.RematGraph(graph, FIGURE8[label])
    shares = relaxed_shares(jt.RematGraph(graph, 9 * problem.memory_bytes // 10))
    rounded = {
        "draws": round_by_draws(graph, shares, 0, 300),
        "thresholds": round_by_thresholds(graph, shares, ALL),
        "threshold 1/2": round_by_thresholds(graph, shares, HALF),
    }
    replays = {
        name: [schedule.replay(graph) for schedule in schedules]
        for name, schedules in rounded.items()
    }
    return {
        name: [
            (100 * one.peak_bytes / graph.store_all_peak_bytes, overhead(graph, one.time_ns))
            for one in found
        ]
        for name, found in replays.items()
    }


figure8 = {label: rounded_points(label) for label in FIGURE8}


def draw_figure8() -> Figure:
    """Draw cost against memory of roundings, a panel for each network."""
    styles = {
        "draws": (SKY, ".", 5),
        "thresholds": (ORANGE, "D", 6),
        "threshold 1/2": (VERMILION, "X", 9),
    }
    figure = Figure(figsize=(11, 3.9), layout="constrained")
    for axes, (label, memory) in zip(figure.subplots(1, 3), FIGURE8.items(), strict=True):
        for name, (colour, marker, size) in styles.items():
            axes.plot(
                *zip(*figure8[label][name], strict=True),
                color=colour,
                marker=marker,
                markersize=size,
                linestyle="",
                label=name,
            )
        percent = float(memory.rstrip("%"))
        best = budget_row(label, int(percent))
        axes.plot(
            percent,
            overhead(network(label), best["time_ns"]),
            color=EXACT,
            marker="o",
            markersize=8,
            linestyle="",
            label="optimum in the budget",
        )
        axes.axvline(percent, color=BLACK, linestyle=":", linewidth=1, label="budget")
        axes.set_title(f"{label}, budget {memory}", loc="left", fontsize=10)
        axes.set_xlabel("peak (% of that without recomputation)")
        axes.set_ylabel("overhead (%)")
        axes.spines[["top", "right"]].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    return figure


draw_figure8()


# %% [markdown]
# Left of the dotted line is what fits. Draws scatter widely: recomputing what is expensive costs much
# and saves nothing. In the budgets shown the threshold 1/2 takes more memory than there is, or costs
# more than the best draw; no rounding of the U-Net's relaxation fits. So all of them are worth trying,
# for several allowances, which is what `lp-rounding` does.
#
# ## Section 5.1: rounding all of it at random
#
# The paper rounds R as well as S of its relaxation for VGG16, at random, 50 000 times, and none is a
# schedule. Nor is one here. The last column is the number of violated rows of the best of them.


# %%
@KEPT.rows("checkmate_naive", again_s=0)
def naive_row(label: str, percent: int) -> dict[str, int]:
    """Return what 50 000 random roundings of R and S are."""
    found = count_naive_roundings(jt.RematGraph(network(label), f"{percent}%"), 50_000, 0)
    return {
        "roundings": found.draws,
        "fractional": found.fractional,
        "schedules": found.valid,
        "that fit": found.fitting,
        "fewest_violated": found.fewest_violated,
    }


naive = pd.DataFrame([{"network": "VGG16", "percent": 90, **naive_row("VGG16", 90)}])
naive

# %% [markdown]
# ## Figure 6: the largest batch at one more forward pass
#
# Eq. (10): the largest batch of which a step costs at most one forward pass more than without
# recomputation. `jettison largest-batch` searches for it, and for the smallest batch that is proved
# impossible. Six networks at the paper's sizes of images, in 16 GiB less twice the parameters, as its
# (2) has it; counts of parameters are those that their authors give, in millions.

# %%
LIMITED = {
    "U-Net": ("u-net-vgg", 12.3),
    "FCN8": ("fcn-8", 134.5),
    "SegNet": ("segnet", 29.5),
    "VGG19": ("vgg-19", 143.7),
    "ResNet50": ("resnet-50", 25.6),
    "MobileNet": ("mobilenet", 4.2),
}
STRATEGIES = (
    "exact",
    "chen-greedy",
    "linearized-griewank",
    "ap-chen-sqrt",
    "ap-chen-greedy",
    "store-all",
)


def memory_for_values(label: str) -> int:
    """Return 16 GiB less twice the parameters in single precision."""
    return 16 * 2**30 - round(2 * 4 * 1e6 * LIMITED[label][1])


@KEPT.rows("checkmate_batches", again_s=1.0)
def batch_row(label: str, method: str) -> dict[str, int | str | None]:
    """Return the largest batch of a strategy, and what is proved of larger ones."""
    make, memory_bytes = NETWORKS[LIMITED[label][0]], memory_for_values(label)
    options = SolveOptions(time_limit_s=60, gap=0.0)
    found = largest_batch(
        lambda batch: jt.RematGraph(make(batch), memory_bytes), method=method, options=options
    )
    return {
        "batch": None if found.best is None else found.best.batch,
        "at_most": found.at_most,
        "refuted_for": None if found.refuted is None else str(found.refuted.refuted_for),
    }


PRINTED_BATCHES = {
    "U-Net": "61",
    "MobileNet": "1105",
    "VGG19": "289; Chen 197; TensorFlow 167",
}
figure6 = pd.DataFrame(
    [
        {"network": label, "memory_gib": round(memory_for_values(label) / 2**30, 2)}
        | {method: batch_row(label, method)["batch"] for method in STRATEGIES}
        | {
            "at_most": batch_row(label, "exact")["at_most"],
            "for": batch_row(label, "exact")["refuted_for"],
            "printed": PRINTED_BATCHES.get(label, "-"),
        }
        for label in LIMITED
    ]
)
rules = figure6[[method for method in STRATEGIES if method not in ("exact", "store-all")]]
figure6["over_store_all"] = (figure6["exact"] / figure6["store-all"]).round(2)
figure6["over_best_rule"] = (figure6["exact"] / rules.max(axis=1)).round(2)
figure6


# %%
def draw_figure6() -> Figure:
    """Draw the largest batches over those without recomputation."""
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for place, method in enumerate(STRATEGIES):
        heights = figure6[method] / figure6["store-all"]
        at = [x + 0.14 * (place - 2.5) for x in range(len(figure6))]
        bars = axes.bar(
            at, heights.fillna(0), width=0.13, color=STYLES[method].colour, label=method
        )
        names = ["none" if pd.isna(b) else f"{b:.0f}" for b in figure6[method]]
        axes.bar_label(bars, names, fontsize=6, rotation=90, padding=2)
    axes.set_xticks(range(len(figure6)), figure6["network"])
    axes.set_ylim(0, 1.15 * figure6["over_store_all"].max())
    axes.set_ylabel("largest batch / that of store-all")
    axes.set_xlabel("network; the numbers are the batches")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=6, frameon=False, fontsize=9)
    return figure


draw_figure6()

# %% [markdown]
# All of our largest batches are proved, for all schedules: the next one is impossible, if durations
# grow in proportion to the batch (`studies/largest_batch.py` says what is assumed). U-Net's is 65,
# where 61 is printed, and VGG19's is 311, where 289 is. The printed factors over *checkpoint all* are
# 5.1 for MobileNet and 3.8 for U-Net, and up to 1.73 over the best rule. Ours are 1.31 to 2.69, and up
# to 1.33. They are smaller because our baselines are better: store-all frees every value after its
# last use, and has normalisation and activation within their convolution, so that MobileNet's batch
# is 809 where about 217 follows from the print; and rules try every segment size.
#
# ## Figure 7: schedules of VGG19 as matrices
#
# Three strategies on VGG19, each with its largest batch of the section above: rows are stages,
# columns are nodes; blue is a first computation, orange one of what was computed before, grey is
# what is in memory when the stage begins.

# %%
SHOWN = ("store-all", "chen-sqrt", "exact")


def vgg19_schedule(method: str) -> tuple[Graph, Result]:
    """Return VGG19 at the largest batch of a method, and its schedule there."""
    row = batch_row("VGG19", method)
    graph = NETWORKS["vgg-19"](row["batch"])
    return graph, solve_with(jt.RematGraph(graph, memory_for_values("VGG19")), method, OPTIONS)


def draw_figure7() -> Figure:
    """Draw the matrices of three schedules side by side."""
    figure = Figure(figsize=(11, 3.9), layout="constrained")
    colours = ListedColormap(["white", LIGHT_GREY, ORANGE, BLUE])
    for axes, method in zip(figure.subplots(1, 3), SHOWN, strict=True):
        graph, result = vgg19_schedule(method)
        cells = recomputation_cells(graph, result.schedule)
        axes.imshow(cells, cmap=colours, vmin=0, vmax=3, interpolation="nearest")
        forward = sum(not node.backward for node in graph.nodes)
        axes.axvline(forward - 0.5, color=GREY, linewidth=1)
        again = len(result.schedule.computations) - len(graph)
        axes.set_title(
            f"{method}: batch {batch_row('VGG19', method)['batch']}, {again} recomputed, "
            f"{overhead(graph, result.time_ns):.2f} %",
            loc="left",
            fontsize=9,
        )
        axes.set_xlabel("node: forward, then backward")
        axes.set_ylabel("stage")
    return figure


draw_figure7()

# %% [markdown]
# The rule recomputes whole segments, whatever they cost. The optimum, for a larger batch in the same
# memory, recomputes cheap layers only.
#
# ## Section 5: what took a day
#
# The paper reports that VGG16 takes its solver seconds, and that DenseNet-161 has no solution after a
# day. DenseNet-161 from the shapes of its layers, 64 images. In these memories it is proved for the
# order of the graph, in 4.02 CPU seconds at most:


# %%
@KEPT.rows("checkmate_densenet", again_s=1.0)
def densenet_row(percent: int) -> dict[str, int | str | None]:
    """Return what `exact` finds and proves on DenseNet-161."""
    graph = NETWORKS["densenet-161"](64)
    result = solve_with(jt.RematGraph(graph, f"{percent}%"), "exact", OPTIONS)
    return {
        "nodes": len(graph),
        "base_ns": graph.base_time_ns,
        "time_ns": result.time_ns,
        "bound_ns": result.lower_bound_ns,
        "status": result.status,
    }


densenet = pd.DataFrame(
    [
        {
            "nodes": row["nodes"],
            "memory (%)": percent,
            "overhead (%)": percent_above(row["base_ns"], row["time_ns"]),
            "bound (%)": percent_above(row["base_ns"], row["bound_ns"]),
            "CPU seconds": densenet_row.cpu_s(percent),
            "status": row["status"],
        }
        for percent in (95, 90, 80)
        for row in [densenet_row(percent)]
    ]
)
densenet

# %% [markdown]
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


@KEPT.rows("checkmate_published", again_s=0.5 if folder else 0, about=["bound_ns"])
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
# Table 2 on the authors' graphs: geometric means of times over the bound that `exact` proves in 10
# seconds, in those of the budgets 5, 10, ..., 95 % of the peak in which a rule has a schedule.

# %%
PUBLISHED = {"VGG16": VGG16, "VGG19": VGG19, "U-Net": UNET, "ResNet50": RESNET}


@KEPT.rows("checkmate_published_rules", again_s=0.5 if folder else 0, about=["bound_ns"])
def published_rules_row(file: str, percent: int) -> dict[str, int | None]:
    """Return the times of the rules on a published graph, and a bound where one has a schedule."""
    if folder is None:
        raise FileNotFoundError(f"no published graphs here: {file}; set JETTISON_SHARED_DATA")
    problem = jt.RematGraph(
        import_networkx_graph(folder / "moccasin" / f"{file}.json"), f"{percent}%"
    )
    row = {method: solve_with(problem, method, OPTIONS).time_ns for method in PRINTED_OF[:2]}
    some = any(time_ns is not None for time_ns in row.values())
    bound_ns = jt.solve(problem, "exact", time_limit=10, gap=0).lower_bound_ns if some else None
    return {**row, "bound_ns": bound_ns}


rules_there = {}
for label, file in PUBLISHED.items():
    found = [published_rules_row(file, percent) for percent in range(5, 100, 5)]
    found = [row for row in found if row["bound_ns"] is not None]
    rules_there[label] = {
        method: geometric_mean(
            [row[method] / row["bound_ns"] for row in found if row[method] is not None]
        )
        for method in PRINTED_OF[:2]
    }
table2_published = pd.DataFrame(
    [
        {
            "network": label,
            "rule": method,
            "ratio": round(ratio, 3),
            "printed": float(PRINTED[label][place]),
        }
        for label, ratios in rules_there.items()
        for place, (method, ratio) in enumerate(ratios.items())
    ]
)
table2_published

# %% [markdown]
# Ratios of AP square root come out within 0.05 of the printed ones on all four. The others are
# smaller than printed: here the greedy rule tries every segment size.
#
# The tables that `tests/notebooks` compares with the expected ones:

# %%
TABLES = {
    "checkmate_networks": networks,
    "checkmate_gaps": gaps,
    "checkmate_figure5": figure5.drop(columns="bound"),
    "checkmate_table2": table2[["network", "budgets", *FIXED_RULES]],
    "checkmate_figure6": figure6,
    "checkmate_naive": naive.drop(columns=["fractional", "fewest_violated"]),
    "checkmate_densenet": densenet.drop(columns=["CPU seconds", "bound (%)"]),
    "checkmate_table2_published": table2_published,
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
gap_of = gaps.set_index("program")["gap"]
cells = table2.set_index("network")


def ratio_of(label: str, method: str) -> float:
    """Return a ratio of the table."""
    return float(cells.loc[label, method].partition(" ")[0])


def budgets_of(method: str) -> list[int]:
    """Return in how many budgets of each network rounding has a schedule."""
    return [int(cells.loc[label, method].partition("(")[2].split()[0]) for label in ROUNDED]


CLAIMS = {
    "what is saved, not the parameters, fills the memory.": bool((networks["ratio"] > 4).all()),
    "The gaps come out here to their last digit": gap_of["without stages, as printed"] == 21.56
    and gap_of["with stages, as printed"] == 1.18,
    "`any-order-bound` proves that 26 is optimal whatever the order": line_best.time_ns
    == line_any.bound_of_all.time_ns
    == 26,
    "`exact` is proved in every budget of these panels.": bool(
        figure5["status"].str.startswith("optimal").all()
    ),
    "nothing is cheaper than the optimum in any budget": bool(
        (figure5[list(FIXED_RULES)].min(axis=1).fillna(math.inf) >= figure5["exact"]).all()
    ),
    "All of our largest batches are proved, for all schedules: the next one is impossible": bool(
        (figure6["exact"] == figure6["at_most"]).all() and (figure6["for"] == "all schedules").all()
    ),
    "U-Net's is 65, where 61 is printed, and VGG19's is 311, where 289 is.": [
        int(batch_row(label, "exact")["batch"]) for label in ("U-Net", "VGG19")
    ]
    == [65, 311],
    "Ours are 1.31 to 2.69, and up to 1.33.": [
        figure6["over_store_all"].min(),
        figure6["over_store_all"].max(),
        figure6["over_best_rule"].max(),
    ]
    == [1.31, 2.69, 1.33],
    "the greedy rules of MobileNet and VGG16 are within 0.03 of what is printed.": all(
        abs(ratio_of(label, method) - float(PRINTED[label][PRINTED_OF.index(method)])) < 0.03
        for label, method in (
            ("U-Net", "ap-chen-sqrt"),
            ("MobileNet", "ap-chen-greedy"),
            ("VGG16", "ap-chen-greedy"),
        )
    ),
    "has a schedule in 12 of 27 budgets, at 1.000 to 1.101 times the optimum on average": (
        sum(budgets_of("rounding, the paper's")),
        min(ratio_of(label, "rounding, the paper's") for label in ROUNDED),
        max(ratio_of(label, "rounding, the paper's") for label in ROUNDED),
    )
    == (12, 1.0, 1.101),
    "all that is tried together has one in 23, at 1.012 at most.": (
        sum(budgets_of("rounding, all tried")),
        max(ratio_of(label, "rounding, all tried") for label in ROUNDED),
    )
    == (23, 1.012),
    "Nor is one here.": bool(
        (naive["schedules"] == 0).all() and (naive["roundings"] == 50_000).all()
    ),
    "in 4.02 CPU seconds at most:": densenet["CPU seconds"].max() == 4.02,
    "In these memories it is proved": bool(densenet["status"].str.startswith("optimal").all()),
    "Ratios of AP square root come out within 0.05 of the printed ones on all four.": all(
        abs(rules_there[label]["ap-chen-sqrt"] - float(PRINTED[label][0])) < 0.05
        for label in rules_there
    ),
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
