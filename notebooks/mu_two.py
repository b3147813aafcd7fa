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
# # Many models on one device (µ-TWO)
#
# Purandare, Wasay, Jain and Idreos, *µ-TWO: 3× faster multi-model training with orchestration and
# memory optimization*, MLSys 2023.
#
# `docs/papers/mu_two.toml` lists what the paper states, entry by entry, and where it is here.
#
# Models of one architecture are trained together. Fusing their operators saves launches and fills
# the device, and needs the memory of all of them; µ-TWO fuses them into sub-arrays, runs the
# backward pass of one beside the forward pass of another, and swaps or recomputes what does not
# fit. Here are the figures and tables of its Section 5 and appendix in structure. Every time below
# is that of a schedule which jettison has replayed in exact integers, and beside it stands what no
# schedule can beat, for any division of the models, any interleaving and any choice of what leaves.
#
# **No device was measured.** Operators and feature maps follow from shapes, times from the assumed
# rates of an A100 (`instances/generators/fused_networks/device.py`). The paper's figures are
# pictures without numbers, and what can be set beside ours are the numbers in its text.
#
# What the methods find, the bounds and the optima of small models take minutes, and were
# **recorded** in `notebooks/_rows`. Each run of this notebook computes some of them again, which have
# to come out the same, and any that is not there; the last cell says how many. To have all of them
# computed, remove the files `mu_two_*.jsonl` there, and run it again (`make notebooks`).

# %%
# %matplotlib inline
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

import jettison as jt
from jettison.instances.best_profile import best_profile, origin
from jettison.instances.generators.fused_networks.device import (
    A100,
    LINK_BYTES_PER_S,
    MEMORY_BYTES_PER_NS,
    TILE_FLOPS_PER_NS,
    V100,
    AssumedDevice,
)
from jettison.instances.generators.fused_networks.networks import FUSED_NETWORKS, fused_network
from jettison.instances.generators.random_models import RandomModels
from jettison.instances.multi_model.joined import joined_models
from jettison.instances.multi_model.sub_array import SubArray
from jettison.instances.multi_model.sub_array_key import parts_of
from jettison.schedules.core.picture_style import (
    BLUE,
    GREEN,
    GREY,
    LIGHT_GREY,
    ORANGE,
    PURPLE,
    VERMILION,
)
from jettison.schedules.multi_model.schedule import MultiModelSchedule
from jettison.schedules.multi_model.training_replay import TrainingReplay
from jettison.schedules.multi_model.unit_plot import plot_training
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.result import Result
from jettison.solvers.core.solve import solve_with
from jettison.solvers.multi_model.bound.divisions import DivisionBound
from jettison.solvers.multi_model.executor.executed_units import UnitExecutor
from jettison.solvers.multi_model.least_division import best_division, units_that_fit
from jettison.solvers.multi_model.mu_two.method import scheduled_divisions
from jettison.solvers.multi_model.mu_two.policy import unit_decisions
from jettison.solvers.multi_model.mu_two.unit import scheduled_unit
from jettison.studies.comparison.method_style import method_styles
from jettison.studies.kept_rows import KeptRows
from jettison.studies.paper_list import found_paper

GIB, MS = 2**30, 10**6
HOUR_NS = 3600 * 10**9
DEVICE_BYTES = 40 * GIB
COUNTS = tuple(range(1, 9))
SOME_COUNTS = (1, 2, 4, 8)
# No number below depends on how fast this machine is.
OPTIONS = SolveOptions(time_limit_s=None, gap=0.0)
KEPT = KeptRows.found("notebooks/_rows")
# The networks of the paper with its batches: measured on a GPU, or with the assumed rates of one.
ZOO = {"bert": "bert-base", "gpt2": "gpt2-small", "vit": "vit-b16", "mobilenet": "mobilenet-v3"}
BUNDLED = {
    network: best_profile(network, ZOO.get(network, network), kind="multi-model", batch=known.batch)
    for network, known in FUSED_NETWORKS.items()
}
for entry in BUNDLED.values():
    print(origin(entry))


@cache
def models_of(network: str, part: int = 1) -> jt.MultiModel:
    """Return eight models, each with the paper's batch or so small a part of it."""
    if part == 1:
        return jt.load(BUNDLED[network].name)
    return fused_network(network, FUSED_NETWORKS[network].batch // part, 8)


def problem_of(
    network: str, part: int = 1, count: int = 8, memory_gib: float = 40
) -> jt.MultiModelTraining:
    """Return so many models, and the same part of a memory as of their batch."""
    memory_bytes = int(memory_gib * GIB) // part
    return jt.MultiModelTraining(models_of(network, part), memory=memory_bytes, models=count)


def solved(network: str, method: str, part: int, count: int, memory_gib: float) -> Result:
    """Return what a method finds; a schedule in it has been replayed."""
    return solve_with(problem_of(network, part, count, memory_gib), method, OPTIONS)


def covered_ns(replay: TrainingReplay) -> tuple[int, int]:
    """Return the time with at least one copy under way, and that part beside computations."""
    events: list[tuple[int, int, int]] = []
    for step in replay.steps:
        events += [(step.start_ns, 1, 0), (step.end_ns, -1, 0)]
    for item in replay.transfers:
        events += [(item.start_ns, 0, 1), (item.end_ns, 0, -1)]
    computing = copying = 0
    moved_ns = beside_ns = before_ns = 0
    for when_ns, computed, copied in sorted(events):
        if copying:
            moved_ns += when_ns - before_ns
            beside_ns += when_ns - before_ns if computing else 0
        before_ns = when_ns
        computing += computed
        copying += copied
    return moved_ns, beside_ns


@KEPT.rows("mu_two_replays", again_s=0.5)
def replayed(
    network: str, method: str, part: int = 1, count: int = 8, memory_gib: float = 40
) -> dict[str, int | None]:
    """Return what the replay says of the schedule that a method finds; nothing if it finds none."""
    replay = solved(network, method, part, count, memory_gib).replay
    if replay is None:
        return {"time_ns": None}
    assert isinstance(replay, TrainingReplay)
    moved_ns, beside_ns = covered_ns(replay)
    return {
        "time_ns": replay.time_ns,
        "recompute_ns": replay.recompute_ns,
        "stall_ns": replay.stall_ns,
        "peak_bytes": replay.peak_bytes,
        "moved_ns": moved_ns,
        "beside_ns": beside_ns,
        "recomputed": sum(step.operation[0] == "R" for step in replay.steps),
        "copied_bytes": sum(item.size_bytes for item in replay.transfers if item.to_host),
    }


def time_ns(
    network: str, method: str, part: int = 1, count: int = 8, memory_gib: float = 40
) -> Any:
    """Return the time of the schedule that a method finds, if it finds one."""
    return replayed(network, method, part, count, memory_gib)["time_ns"]


@KEPT.rows("mu_two_divisions", again_s=0.3)
def divided(network: str, part: int = 1) -> dict[str, int | str | None]:
    """Return the least times of any division by µ-TWO's policy, and the units of that of eight.

    Units are sub-arrays alone, and pairs of closest sizes.
    """
    problem = problem_of(network, part)
    units = [sizes for sizes in units_that_fit(problem) if sizes[-1] - sizes[0] <= 1]
    found = {sizes: scheduled_unit(problem, sizes) for sizes in units}
    times_ns = {sizes: unit.executed.time_ns for sizes, unit in found.items() if unit is not None}
    best = {count: best_division(count, times_ns) for count in COUNTS}
    assert best[8] is not None
    return {
        **{str(count): None if item is None else item.value for count, item in best.items()},
        "its units": " ".join("+".join(map(str, sizes)) for sizes in best[8].units),
    }


@KEPT.rows("mu_two_bounds", again_s=0.5, about=list(map(str, COUNTS)))
def bounds_ns(network: str, part: int = 1, memory_gib: float = 40) -> dict[str, int]:
    """Return what no schedule can beat, for each number of models.

    The bound of a unit does not depend on how many models there are beside it, so that each is
    computed once.
    """
    units = DivisionBound(problem_of(network, part, 8, memory_gib), OPTIONS, Clock(None)).units
    found = {}
    for count in reversed(COUNTS):
        problem = problem_of(network, part, count, memory_gib)
        bound = DivisionBound(problem, OPTIONS, Clock(None))
        bound.units = {sizes: units[sizes] for sizes in bound.units}
        bound.run()
        found[str(count)] = bound.solver_ns
    return found


# The devices of Table C, with assumed rates, and their memory in GiB.
DEVICES = {"a100": (A100, 40), "v100": (V100, 32)}
# The other batch of each network in Table 1.
OTHER_BATCHES = {
    "bert": 16,
    "gpt2": 16,
    "vit": 16,
    "resnet101": 48,
    "mobilenet": 64,
    "dlrm": 512,
}
# The paper says that batches are scaled to the memory of the V100, and not how.
V100_BATCHES = {"bert": 16, "dlrm": 512}


@cache
def models_on(network: str, device: str, batch: int) -> jt.MultiModel:
    """Return eight models with a batch of this size, by the assumed rates of a device."""
    return fused_network(network, batch, 8, DEVICES[device][0])


@KEPT.rows("mu_two_settings", again_s=1.0, about=["bound"])
def times_on(network: str, device: str, batch: int, count: int) -> dict[str, int | None]:
    """Return the times of methods and of µ-TWO's policy on any division, and the bound."""
    memory = f"{DEVICES[device][1]}GiB"
    problem = jt.MultiModelTraining(models_on(network, device, batch), memory, models=count)
    found: dict[str, int | None] = {
        method: solve_with(problem, method, OPTIONS).time_ns
        for method in ("hfta", "mu-two", "capuchin", "recompute-only")
    }
    units = [sizes for sizes in units_that_fit(problem) if sizes[-1] - sizes[0] <= 1]
    made = {sizes: scheduled_unit(problem, sizes) for sizes in units}
    times_ns = {sizes: unit.executed.time_ns for sizes, unit in made.items() if unit is not None}
    best = best_division(count, times_ns)
    bound = DivisionBound(problem, OPTIONS, Clock(None))
    bound.run()
    return found | {
        "any division": None if best is None else best.value,
        "bound": bound.solver_ns,
    }


def ms(time_ns: int | None) -> float | None:
    """Return a time in milliseconds."""
    return None if time_ns is None else round(time_ns / MS, 1)


def speed_up(base_ns: int | None, time_ns: int | None) -> float | None:
    """Return how many times faster than a base."""
    return None if base_ns is None or time_ns is None else round(base_ns / time_ns, 3)


def percent(part: int, whole: int) -> float:
    """Return a share in percent."""
    return round(100 * part / whole, 1)


# %% [markdown]
# ## The six networks
#
# Eight models each. `fits` says how many fused models fit into 40 GiB with every feature map kept,
# `footprint` how many times 40 GiB all eight would need, and `fused` how long eight fused models
# take, as a share of eight times one: what fusing can gain at all. A second set has **an eighth of the
# batch in an eighth of the memory** (5 GiB).

# %%
networks = pd.DataFrame(
    [
        {
            "network": network,
            "batch": FUSED_NETWORKS[network].batch // part,
            "memory (GiB)": 40 // part,
            "operators": len(models_of(network, part)),
            "feature maps": len(models_of(network, part).feature_maps),
            "one model (GiB)": round(one.store_all_peak_bytes / GIB, 2),
            "of it weights (%)": percent(one.static_bytes, one.store_all_peak_bytes),
            "fits": max(
                size
                for size in COUNTS
                if models_of(network, part).sub_array(size).store_all_peak_bytes
                <= DEVICE_BYTES // part
            ),
            "footprint": round(
                models_of(network, part).sub_array(8).store_all_peak_bytes / (DEVICE_BYTES // part),
                2,
            ),
            "fused": round(
                models_of(network, part).sub_array(8).compute_ns / (8 * one.compute_ns), 3
            ),
        }
        for part in (1, 8)
        for network in FUSED_NETWORKS
        for one in [models_of(network, part).sub_array(1)]
    ]
)
networks

# %% [markdown]
# ## Figure 3: idle feature maps, memory over a step, memory of fused models
#
# One model of BERT with the paper's batch of 24 (the paper's panels have 32), every feature map kept.
# On the left each line is a feature map: it lies idle from its last use in the forward pass to its
# first one in the backward pass. In the middle the memory of the step. On the right fused models of all
# six networks, with both batches of Table 1, against the 40 GiB of the device.


# %%
def idle_spans(array: SubArray) -> list[tuple[float, float, int]]:
    """Return when each feature map is idle in a step, in ms, and its bytes, in order of making."""
    ends = list(accumulate(work.run_ns for work in (*array.forward, *array.backward)))
    starts = [0, *ends]
    first = len(array.forward)
    return [
        (
            ends[tensor.last_forward] / MS,
            starts[first + tensor.first_backward] / MS,
            tensor.size_bytes,
        )
        for tensor in array.tensors
    ]


def memory_steps(array: SubArray) -> tuple[list[float], list[float]]:
    """Return the memory of a step with everything kept, in GiB, at the end of each operator."""
    works = (*array.forward, *array.backward)
    idle = [0] * len(works)
    for tensor in array.tensors:
        for place in range(tensor.last_forward, len(array.forward) + tensor.first_backward):
            idle[place] += tensor.size_bytes
    times = list(accumulate(work.run_ns / MS for work in works))
    held = [
        (array.static_bytes + kept + work.active_bytes) / GIB
        for kept, work in zip(idle, works, strict=True)
    ]
    return times, held


def batch_memory_gib(network: str, batch: int, count: int) -> float:
    """Return the memory of fused models with everything kept."""
    models = models_on(network, "a100", batch)
    return models.sub_array(count).store_all_peak_bytes / GIB


def draw_figure3() -> Figure:
    """Draw the three panels of Figure 3."""
    figure = Figure(figsize=(12, 4.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=(1, 1, 1.3))
    one = models_of("bert").sub_array(1)
    spans = idle_spans(one)
    for place, (begin, end, _) in enumerate(spans):
        left.plot([begin, end], [place, place], color=BLUE, linewidth=0.9)
    left.set_xlabel("time of the step (ms)")
    left.set_ylabel("feature map, in the order of making")
    left.set_title("a  bert: idle feature maps", loc="left", fontsize=10)
    times, held = memory_steps(one)
    middle.plot(times, held, color=BLUE, linewidth=1.2)
    turn = sum(work.run_ns for work in one.forward) / MS
    middle.axvline(turn, color=GREY, linewidth=0.8, linestyle=(0, (4, 3)))
    middle.annotate("backward", (turn, 0), (4, 4), textcoords="offset points", fontsize=9)
    middle.set_ylim(0, None)
    middle.set_xlabel("time of the step (ms)")
    middle.set_ylabel("memory (GiB)")
    middle.set_title("b  bert: memory over a step", loc="left", fontsize=10)
    colours = (BLUE, ORANGE, GREEN, PURPLE, GREY, VERMILION)
    for colour, (network, other) in zip(colours, OTHER_BATCHES.items(), strict=True):
        for batch, dashes in ((FUSED_NETWORKS[network].batch, (None, None)), (other, (4, 2))):
            gib = [batch_memory_gib(network, batch, count) for count in COUNTS]
            right.plot(
                COUNTS, gib, color=colour, dashes=dashes, label=f"{network}, {batch}", linewidth=1.2
            )
    right.axhline(40, color=GREY, linewidth=0.8)
    right.annotate("40 GiB", (1, 40), (0, 3), textcoords="offset points", fontsize=9)
    right.set_yscale("log", base=2)
    right.set_yticks([4, 8, 16, 32, 64, 128, 256], [4, 8, 16, 32, 64, 128, 256])
    right.set_xlabel("fused models")
    right.set_ylabel("memory with everything kept (GiB)")
    right.set_title("c  fused models, by batch", loc="left", fontsize=10)
    right.legend(frameon=False, fontsize=8, ncols=1, bbox_to_anchor=(1.02, 1), loc="upper left")
    for axes in (left, middle, right):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


draw_figure3()

# %%
bert_spans = idle_spans(models_of("bert").sub_array(1))
bert_step_ms = models_of("bert").sub_array(1).compute_ns / MS
idle_share = sum((end - begin) * size for begin, end, size in bert_spans) / sum(
    bert_step_ms * size for *_, size in bert_spans
)
four_fused = pd.DataFrame(
    [
        {
            "network": network,
            "batch": batch,
            "four fused (GiB)": round(batch_memory_gib(network, batch, 4), 1),
            "eight fused (GiB)": round(batch_memory_gib(network, batch, 8), 1),
            "fits": max(n for n in COUNTS if batch_memory_gib(network, batch, n) <= 40),
        }
        for network, other in OTHER_BATCHES.items()
        for batch in (FUSED_NETWORKS[network].batch, other)
    ]
)
print(f"idle for {100 * idle_share:.0f} % of the step, weighted by size")
four_fused

# %% [markdown]
# The paper draws this of measured models. Here as well memory rises through the forward pass and falls
# through the backward pass, and feature maps are idle for 50 % of the step, weighted by their size.
# Four fused models exceed 40 GiB in 7 of 12 settings; in the paper they do on all models of its panel.
#
# ## Every partition
#
# For eight models there are five partitions into pairs of sub-arrays; the paper's list has four and
# leaves out 2, 2, 1, 1, 1, 1. Times of one iteration in ms at 40 GiB by µ-TWO's policy, and, last,
# the best division into pairs *and* sub-arrays alone, each by the same policy.


# %%
@KEPT.rows("mu_two_partitions", again_s=0.5)
def partition_times_ns(network: str) -> dict[str, int]:
    """Return the time of each division into pairs."""
    found = {}
    for division in scheduled_divisions(problem_of(network)):
        sizes = sorted((size for unit in division.units for size in unit), reverse=True)
        found[" ".join(map(str, sizes))] = division.time_ns
    return found


def partition_row(network: str) -> dict[str, object]:
    """Return the time of each division into pairs, and of the best of all."""
    best = divided(network)
    return {
        "network": network,
        **{sizes: ms(found_ns) for sizes, found_ns in partition_times_ns(network).items()},
        "any": ms(best["8"]),
        "its units": best["its units"],
    }


partitions = pd.DataFrame([partition_row(network) for network in FUSED_NETWORKS])
partitions

# %% [markdown]
# The partition that the paper leaves out is never the fastest of the five here. Two fours are, but for
# GPT-2, where 3 3 1 1 is, and the recommender, on which they take 4 % longer than four twos. In three
# of six networks sub-arrays alone are faster than any pairs, 3 3 2 or 6 2, and in GPT-2 a pair and one
# alone: what fits with everything kept needs no partner.
#
# ## Figure 8: speed-up over HFTA against the number of models
#
# HFTA fuses as many models as fit and trains group after group. Lines are times of HFTA over times
# of each method; the grey area is above what the lower bound allows **any** schedule.
# `any division` is µ-TWO's policy with sub-arrays alone allowed beside pairs.

# %%
# A method looks the same in all pictures.
STYLES = method_styles(["any division"])
METHODS = {
    method: STYLES[method] for method in ("mu-two", "any division", "capuchin", "recompute-only")
}


def figure8_row(network: str, part: int, count: int) -> dict[str, object]:
    """Return speed-ups over HFTA."""
    hfta_ns = time_ns(network, "hfta", part, count)
    row: dict[str, object] = {
        "network": network,
        "batch": FUSED_NETWORKS[network].batch // part,
        "models": count,
        "hfta (ms)": ms(hfta_ns),
    }
    for method in METHODS:
        if method == "any division":
            found_ns = divided(network, part)[str(count)]
        else:
            found_ns = time_ns(network, method, part, count)
        row[method] = speed_up(hfta_ns, found_ns)
    return row | {"possible": speed_up(hfta_ns, bounds_ns(network, part)[str(count)])}


def figure8_of(part: int, counts: tuple[int, ...]) -> pd.DataFrame:
    """Return the speed-ups of all networks."""
    return pd.DataFrame(
        [figure8_row(network, part, count) for network in FUSED_NETWORKS for count in counts]
    )


def draw_figure8(table: pd.DataFrame, top: float, bottom: float = 0.3) -> Figure:
    """Draw speed-ups, a panel for each network."""
    networks = list(dict.fromkeys(table["network"]))
    rows, columns = (2, 3) if len(networks) == 6 else (1, len(networks))
    figure = Figure(figsize=(11, 2.8 * rows + 0.3 * (rows == 1)), layout="constrained")
    panels = figure.subplots(rows, columns, sharex=True, sharey=True).flatten()
    for axes, network in zip(panels, networks, strict=True):
        points = table[table["network"] == network]
        axes.fill_between(points["models"], points["possible"], top, color=LIGHT_GREY, linewidth=0)
        axes.axhline(1, color=GREY, linewidth=0.8)
        for method, (colour, marker) in METHODS.items():
            axes.plot(
                points["models"],
                points[method].astype(float),
                color=colour,
                marker=marker,
                markersize=4,
                label=method,
            )
        axes.set_ylim(bottom, top)
        axes.set_xlim(0.8, 8.2)
        axes.set_title(f"{network}, batch {points['batch'].iloc[0]}", loc="left", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[-columns:]:
        axes.set_xlabel("models")
    for axes in panels[::columns]:
        axes.set_ylabel("speed-up over HFTA")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    return figure


figure8 = figure8_of(1, COUNTS)
draw_figure8(figure8, 1.2)

# %%
figure8[figure8["models"] == 8].drop(columns="models")

# %% [markdown]
# **On this assumed device there is no factor of three in this regime, for any method.** With the paper's batches one model
# nearly fills the assumed device: eight fused models take 83 to 96 % of eight times one. The
# bound says that no schedule is more than 1.036 times as fast as HFTA. µ-TWO's own pairs gain at most
# 2.9 %, and lose where everything would fit: for two models it has to make two sub-arrays of one,
# where HFTA fuses both. With sub-arrays alone allowed, its policy never loses.
#
# Capuchin's own policy, with all models fused, stays within a few percent of HFTA, but for the
# recommender. An earlier version of this page showed deep dips here. They were ours: `reached_peak`
# of Algorithm C was computed afresh after case 1b (`docs/corrections.md`), so that swaps seemed
# hidden beside a link that was booked.
#
# An eighth of the batch in an eighth of the memory:

# %%
figure8_small = figure8_of(8, SOME_COUNTS)
draw_figure8(figure8_small, 1.8)

# %%
figure8_small[figure8_small["models"] == 8].drop(columns="models")

# %% [markdown]
# With small batches fusing pays: eight fused models take 38 to 80 % of eight times one. What is possible
# grows to 1.38, and µ-TWO reaches 1.20 (GPT-2) where HFTA trains one model at a time. It does not grow with
# the number of models alone: HFTA fuses, too, and where its groups are as large as µ-TWO's sub-arrays there
# is nothing left to gain. Full fusion no longer fits for eight models of the transformers, because
# weights are a fourth to a third of the memory and stay.
#
# Of the 18 points with two models and more, µ-TWO is faster than HFTA in 8 and slower in 7; with the
# paper's batches in 12 and 20 of 42. Fusing all and recomputing is faster than µ-TWO in 12 and in 21
# of them: pairs fuse half as many models.
#
# ### The other batch of each network
#
# Table 1 has two batches for each network. Here is the other one, in 40 GiB.


# %%
def setting_row(network: str, device: str, batch: int, count: int) -> dict[str, object]:
    """Return speed-ups over HFTA on a device with a batch."""
    found: Any = times_on(network, device, batch, count)
    hfta_ns = found["hfta"]
    return {
        "network": network,
        "batch": batch,
        "models": count,
        "hfta (ms)": ms(hfta_ns),
        **{method: speed_up(hfta_ns, found[method]) for method in METHODS},
        "possible": speed_up(hfta_ns, found["bound"]),
    }


figure8_other = pd.DataFrame(
    [
        setting_row(network, "a100", batch, count)
        for network, batch in OTHER_BATCHES.items()
        for count in SOME_COUNTS
    ]
)
draw_figure8(figure8_other, 1.1, 0.75)

# %%
figure8_other[figure8_other["models"] == 8].drop(columns="models")

# %% [markdown]
# µ-TWO's pairs are faster than HFTA in 3 of 18 points with two models and more: GPT-2, of which HFTA
# trains one model at a time, and eight recommenders, and by 1.5 % at most. No schedule is more than 1.042
# times as fast as HFTA.
#
# ### Figures 8g and 8h: BERT and the recommender on a V100
#
# Table C has a second machine, with a V100 of 32 GB. No V100 was measured: its rates are assumed like
# those of the A100, 80 processors and 900 GB/s by the data sheet, and the link is the same, as the
# paper says of its machine. It says as well that batches were scaled to the smaller memory, and not how;
# here they are the smaller ones of Table 1.

# %%
figure8_v100 = pd.DataFrame(
    [
        setting_row(network, "v100", batch, count)
        for network, batch in V100_BATCHES.items()
        for count in COUNTS
    ]
)
draw_figure8(figure8_v100, 1.06, 0.9)

# %%
figure8_v100[figure8_v100["models"] == 8].drop(columns="models")

# %% [markdown]
# The paper says that the trend continues to hold, and µ-TWO has the highest speed-up. Here the trend is
# that of the A100: its pairs gain 0.8 % at most, any schedule 3.3 %, and Capuchin loses up to 7.3 % as
# models are added. With sub-arrays alone allowed, µ-TWO's policy is never slower than HFTA here.
#
# ### Where a factor of three could come from
#
# Eight models, parts of the batch in the same part of 40 GiB. `fused` is time(8) / (8 time(1)) as
# above, `weights` the share of one model's memory that no policy can move, `possible` the bound.

# %%
PARTS = [1, 2, 4, 8]
batches = pd.DataFrame(
    [
        {
            "network": network,
            "batch": FUSED_NETWORKS[network].batch // part,
            "fused": round(array.sub_array(8).compute_ns / (8 * one.compute_ns), 3),
            "weights": round(one.static_bytes / one.store_all_peak_bytes, 3),
            "hfta (ms)": ms(hfta_ns),
            "mu-two": speed_up(hfta_ns, time_ns(network, "mu-two", part)),
            "capuchin": speed_up(hfta_ns, time_ns(network, "capuchin", part)),
        }
        for network in FUSED_NETWORKS
        for part in PARTS
        for array in [models_of(network, part)]
        for one in [array.sub_array(1)]
        for hfta_ns in [time_ns(network, "hfta", part)]
    ]
)
batches

# %% [markdown]
# The two conditions of a large factor pull in opposite directions. Fusing gains much where batches are
# small; but then weights are a large part of a model and HFTA's groups are limited by what no policy
# can move. Feature maps dominate where batches are large; but then one model fills the device.
# Devices with more arithmetic for their memory, or networks of smaller kernels than this model of
# costs assumes, would have more of both; on these numbers no combination comes near three.
#
# ## Figure 7: hours saved in 10 000 iterations

# %%
figure7 = pd.DataFrame(
    [
        {
            "network": network,
            "models": count,
            "hfta (h)": round(10_000 * hfta_ns / HOUR_NS, 2),
            "mu-two (h)": round(10_000 * mu_ns / HOUR_NS, 2),
            "any division (h)": round(10_000 * any_ns / HOUR_NS, 2),
            "saved by mu-two (h)": round(10_000 * (hfta_ns - mu_ns) / HOUR_NS, 2),
            "most that can be saved (h)": round(10_000 * (hfta_ns - bound_ns) / HOUR_NS, 2),
        }
        for network in ("bert", "vit")
        for count in COUNTS
        for hfta_ns in [time_ns(network, "hfta", count=count)]
        for mu_ns in [time_ns(network, "mu-two", count=count)]
        for any_ns in [divided(network)[str(count)]]
        for bound_ns in [bounds_ns(network)[str(count)]]
    ]
)
figure7


# %%
def draw_figure7(table: pd.DataFrame) -> Figure:
    """Draw hours of 10 000 iterations against the number of models, and what can be saved."""
    figure = Figure(figsize=(10, 3.4), layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, network in zip(panels, ("bert", "vit"), strict=True):
        points = table[table["network"] == network]
        for shift, method in enumerate(("hfta", "mu-two", "any division")):
            axes.bar(
                points["models"] + 0.27 * (shift - 1),
                points[f"{method} (h)"],
                width=0.25,
                color=STYLES[method].colour,
                label=method,
            )
        axes.set_xticks(COUNTS)
        axes.set_xlabel("models")
        axes.set_ylabel("hours of 10 000 iterations")
        axes.set_title(f"{network}, batch {FUSED_NETWORKS[network].batch}", loc="left", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


draw_figure7(figure7)

# %% [markdown]
# The paper saves 5 to 40 hours out of up to 60. Here all of HFTA takes 11 hours for eight models of
# BERT, and no schedule saves more than 7 minutes of them.
#
# ## Figure 9: what an iteration consists of
#
# Eight models of BERT and of ViT at 40 GiB. `compute` is the operators' own time, `stall` the time
# in which nothing is computed. `overlapped` is the part of the copies' time, both directions
# together, that is beside computations; `recomputed` how many feature maps are computed again, and
# `copied` how many GiB leave.


# %%
def breakdown_row(network: str, method: str) -> dict[str, object]:
    """Return where the time of a schedule goes."""
    row: dict[str, object] = {"network": network, "method": method}
    found: Any = replayed(network, method)
    if found["time_ns"] is None:
        return row
    moved_ns = found["moved_ns"]
    return row | {
        "time (ms)": ms(found["time_ns"]),
        "compute (ms)": ms(found["time_ns"] - found["recompute_ns"] - found["stall_ns"]),
        "recompute (ms)": ms(found["recompute_ns"]),
        "stall (ms)": ms(found["stall_ns"]),
        "copies (ms)": ms(moved_ns),
        "overlapped (%)": percent(found["beside_ns"], moved_ns) if moved_ns else None,
        "recomputed": found["recomputed"],
        "copied (GiB)": round(found["copied_bytes"] / GIB, 1),
        "peak (GiB)": round(found["peak_bytes"] / GIB, 2),
    }


BREAKDOWN = [
    "hfta",
    "mu-two",
    "local-search",
    "capuchin",
    "hfta-capuchin",
    "hfta-both-ways",
    "recompute-only",
    "swap-only",
]
figure9 = pd.DataFrame(
    [breakdown_row(network, method) for network in ("bert", "vit") for method in BREAKDOWN]
)
figure9

# %% [markdown]
# The same over the number of models, as the paper draws it: (i) the time of an iteration over that of
# HFTA's operators, computing and computing again; (ii) the share of feature maps that are computed again;
# (iii) the part of the copies that is beside computations; (iv) the peak.

# %%
FIGURE9 = {
    method: STYLES[method].colour for method in ("hfta", "mu-two", "capuchin", "recompute-only")
}


def figure9_row(network: str, method: str, count: int) -> dict[str, object]:
    """Return the four quantities of Figure 9 for a number of models."""
    found: Any = replayed(network, method, count=count)
    row: dict[str, object] = {"network": network, "method": method, "models": count}
    if found["time_ns"] is None:
        return row
    hfta: Any = replayed(network, "hfta", count=count)
    busy_ns = found["time_ns"] - found["stall_ns"]
    maps = len(models_of(network).feature_maps)
    return row | {
        "time": round(found["time_ns"] / hfta["time_ns"], 3),
        "busy": round(busy_ns / hfta["time_ns"], 3),
        "computing": round((busy_ns - found["recompute_ns"]) / hfta["time_ns"], 3),
        "recomputed (% of one model's maps)": percent(found["recomputed"], maps),
        "overlapped (%)": percent(found["beside_ns"], found["moved_ns"])
        if found["moved_ns"]
        else None,
        "peak (GiB)": round(found["peak_bytes"] / GIB, 2),
    }


figure9_counts = pd.DataFrame(
    [
        figure9_row(network, method, count)
        for network in ("bert", "vit")
        for method in FIGURE9
        for count in COUNTS
    ]
)


def draw_figure9(table: pd.DataFrame) -> Figure:
    """Draw the four quantities, a row of panels for each network."""
    figure = Figure(figsize=(12, 5.6), layout="constrained")
    grid = figure.subplots(2, 4, sharex=True)
    quantities = (
        ("computing", "computing, over HFTA's time"),
        ("recomputed (% of one model's maps)", "recomputed (% of maps)"),
        ("overlapped (%)", "copies beside computing (%)"),
        ("peak (GiB)", "peak (GiB)"),
    )
    for panels, network in zip(grid, ("bert", "vit"), strict=True):
        for axes, (column, label) in zip(panels, quantities, strict=True):
            for method, colour in FIGURE9.items():
                points = table[(table["network"] == network) & (table["method"] == method)]
                axes.plot(
                    points["models"],
                    points[column].astype(float),
                    color=colour,
                    marker="o",
                    markersize=3,
                    label=method,
                )
                if column == "computing":
                    axes.plot(
                        points["models"],
                        points["time"].astype(float),
                        color=colour,
                        linewidth=0.8,
                        linestyle=(0, (3, 2)),
                    )
            axes.set_ylabel(label)
            axes.spines[["top", "right"]].set_visible(False)
        panels[0].set_title(network, loc="left", fontsize=10)
        panels[1].set_ylim(-2, None)
        panels[2].set_ylim(-2, 104)
        panels[3].set_ylim(0, 42)
    for axes in grid[1]:
        axes.set_xlabel("models")
        axes.set_xticks(COUNTS)
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return figure


draw_figure9(figure9_counts)

# %% [markdown]
# The broken lines of the first panels are whole iterations, computing again and stalls included.
#
# Of the paper's four statements on BERT and ViT, on this assumed device,
#
# * *µ-TWO has lower compute latency*: not here. Its operators take longer than Capuchin's, 0.8 % for
#   BERT and 1.2 % for ViT, for it fuses fours and not eights;
# * *it recomputes less*: so here, nothing at all;
# * *it overlaps swaps with compute*: so here, all of them; but Capuchin as well, 99.8 and 100 %;
# * *it needs less peak memory*: not here. All that swap use the memory they are given.
#
# A schedule of mu-two in time, in the manner of the paper's Figure 6: both rounds of its slowest
# pair, which copies and when, and memory.

# %%
plot_training(solved("vit", "mu-two", 1, 8, 40).replay, title="vit-x8 in 40 GiB: mu-two")

# %% [markdown]
# With half of the memory the policy recomputes as well. GPT-2 in 20 GiB:

# %%
plot_training(solved("gpt2", "mu-two", 1, 8, 20).replay, title="gpt2-x8 in 20 GiB: mu-two")

# %% [markdown]
# ## Table E with numbers
#
# Eight models at 40 GiB: recomputation, and time in which nothing is computed, each as a share of the
# time of the operators. The paper's words beside them.

# %%
WORDS = {
    "swap-only": ("vDNN", "none", "high"),
    "recompute-only": ("Checkmate", "high", "none"),
    "capuchin": ("Capuchin", "high", "low"),
    "hfta-capuchin": ("policy of µ-TWO, all fused", None, None),
    "hfta-both-ways": ("the same, copies out charged", None, None),
    "mu-two": ("µ-TWO", "low", "none"),
}


def table_e_row(network: str, method: str) -> dict[str, object]:
    """Return the two overheads of a technique."""
    technique, overhead, stalling = WORDS[method]
    found: Any = replayed(network, method)
    compute_ns = found["time_ns"] - found["recompute_ns"] - found["stall_ns"]
    return {
        "technique": technique,
        "method": method,
        "network": network,
        "compute overhead (%)": percent(found["recompute_ns"], compute_ns),
        "stalling (%)": percent(found["stall_ns"], compute_ns),
        "paper: overhead": overhead,
        "paper: stalling": stalling,
    }


table_e = pd.DataFrame(
    [table_e_row(network, method) for method in WORDS for network in FUSED_NETWORKS]
)
table_e.pivot(
    index="network", columns="method", values=["compute overhead (%)", "stalling (%)"]
).loc[list(FUSED_NETWORKS)]

# %% [markdown]
# Swapping alone stalls for up to twice the time of the operators and more; recomputing alone costs
# up to a fourth and never waits. Capuchin has the paper's words for most networks: recomputation of
# some percent, and little stalling. µ-TWO's pairs have neither.
#
# The policy of µ-TWO on fused models predicts no waiting for four of the networks, 12 ms for BERT
# and 927 for GPT-2. What ResNet, Mobilenet and the recommender wait all the same is the **copies to
# the host in the forward pass**, which the policy counts as free: they are behind when
# memory is to be there. Charged for them, it recomputes some more instead and waits less, by 321 of
# 342 ms for ResNet, all 32 for Mobilenet and all 429 for the recommender. GPT-2 waits for prefetches,
# half as long as predicted. An earlier version of this page said that Capuchin has the opposite of the paper's
# words. That rested on the mistake named above, and on the policy of µ-TWO in Capuchin's place.
#
# ## Table D with numbers
#
# The paper gives HFTA and µ-TWO yes and no; these are the quantities behind it. `in one unit` is the
# largest number of models that share the device at a time, for HFTA fused with every feature map
# kept, for µ-TWO in a pair that its policy schedules; `footprint` what these models would need with
# every feature map kept, over the memory; `cost` the time of the pair over that of its operators.
# `peak` is the memory in use at most, and `busy` the share of the iteration in which something other
# than recomputation is computed.


# %%
@KEPT.rows("mu_two_pairs", again_s=0.2)
def largest_pair(network: str, memory_gib: int) -> dict[str, int]:
    """Return the largest pair of equal sub-arrays that the policy schedules, and its time."""
    problem = problem_of(network, memory_gib=memory_gib)
    return next(
        {"size": size, "time_ns": unit.executed.time_ns}
        for size in (4, 3, 2, 1)
        if (size, size) in units_that_fit(problem)
        and (unit := scheduled_unit(problem, (size, size))) is not None
    )


def table_d_row(network: str, memory_gib: int) -> dict[str, object]:
    """Return how many models share the device, and how well they use it."""
    problem = problem_of(network, memory_gib=memory_gib)
    memory_bytes = problem.memory_bytes
    fits = [size for size in COUNTS if problem.sub_array(size).store_all_peak_bytes <= memory_bytes]
    pair: Any = largest_pair(network, memory_gib)
    array = problem.sub_array(pair["size"])
    found: Any = replayed(network, "mu-two", memory_gib=memory_gib)
    useful_ns = found["time_ns"] - found["recompute_ns"] - found["stall_ns"]
    return {
        "network": network,
        "memory (GiB)": memory_gib,
        "hfta in one unit": max(fits, default=0),
        "mu-two in one unit": 2 * pair["size"],
        "footprint": round(2 * array.store_all_peak_bytes / memory_bytes, 2),
        "cost": round(pair["time_ns"] / (2 * array.compute_ns), 3),
        "peak (%)": percent(found["peak_bytes"], memory_bytes),
        "busy (%)": percent(useful_ns, found["time_ns"]),
    }


table_d = pd.DataFrame(
    [table_d_row(network, memory_gib) for network in FUSED_NETWORKS for memory_gib in (40, 20, 12)]
)
table_d

# %% [markdown]
# At 40 GiB µ-TWO lets 1.1 to 4 times as many models share the device as HFTA, at 20 GiB 2.7 to 8 times:
# the paper says 3 to 5. Footprints of 6 times the memory and more are possible; they cost 10 to 33 %
# of the operators' time, and so the fastest division is then mostly another one.
#
# ## How good is the greedy?
#
# Eight models in 40 and 20 GiB: times over the lower bound, in percent above it. A method without
# a number finds no schedule.

# %%


def above(time_ns: int | None, bound_ns: int) -> float | None:
    """Return by how many percent a time exceeds a bound."""
    return None if time_ns is None else round(100 * (time_ns / bound_ns - 1), 2)


def gap_row(network: str, memory_gib: int) -> dict[str, object]:
    """Return how far methods are from the bound."""
    bound_ns: Any = bounds_ns(network, 1, memory_gib)["8"]
    row: dict[str, object] = {
        "network": network,
        "memory (GiB)": memory_gib,
        "bound (ms)": ms(bound_ns),
    }
    for method in (
        "hfta",
        "mu-two",
        "mu-two-both-ways",
        "capuchin",
        "hfta-capuchin",
        "hfta-both-ways",
    ):
        row[method] = above(time_ns(network, method, memory_gib=memory_gib), bound_ns)
    return row


gaps = pd.DataFrame([gap_row(network, size) for network in FUSED_NETWORKS for size in (40, 20)])
gaps

# %% [markdown]
# At 40 GiB, µ-TWO is within 1.8 % of what any schedule can do, and in half of the memory within 4.2 %;
# with copies out charged for, within 2.9 %. HFTA is as close where it finds a schedule at all. With
# all models fused, the charge is worth 15 % for ResNet and the recommender at 40 GiB; for GPT-2 and
# three of the others in one memory or both the charged plan is no faster, and the plain one stands.
#
# On random small models the optimum can be proved. *Two models* of six operators and four feature
# maps, the memory from the least in which a pair can run towards what both need with everything
# kept: `exact` settles all 50. *Four models*
# whose feature maps stay long, in a memory in which no two fit with everything kept, but a pair of
# twos does: there `exact` takes long, and the optimum counts as known where the time of
# `local-search` meets the lower bound.

# %%
SMALL_METHODS = ["mu-two", "hfta", "capuchin", "local-search"]


def in_memory(
    models: jt.MultiModel, least_bytes: int, most_bytes: int, step: int
) -> jt.MultiModelTraining:
    """Return the problem in a memory between two, in fifths."""
    memory = least_bytes + max(0, most_bytes - least_bytes) * step // 5
    return jt.MultiModelTraining(models, memory=memory)


def twos() -> list[jt.MultiModelTraining]:
    """Return two models each, the same every time."""
    problems = []
    for seed in range(50):
        models = RandomModels(operators=6, tensors=4, models=2).draw(seed)
        one, two = models.sub_array(1), models.sub_array(2)
        least = 2 * one.static_bytes + one.largest_peak_bytes
        problems.append(in_memory(models, least, two.store_all_peak_bytes, seed % 4))
    return problems


def fours() -> list[jt.MultiModelTraining]:
    """Return four models each, the same every time."""
    problems: list[jt.MultiModelTraining] = []
    seed = 0
    while len(problems) < 50:
        models = RandomModels(operators=6, tensors=3, models=4, reach=0).draw(seed)
        two = models.sub_array(2)
        least = 2 * two.static_bytes + two.largest_peak_bytes
        if least < two.store_all_peak_bytes:
            problems.append(in_memory(models, least, two.store_all_peak_bytes, seed % 4))
        seed += 1
    return problems


def optimum_ns(problem: jt.MultiModelTraining, found_ns: int | None) -> int | None:
    """Return the least time, if it can be proved with little effort."""
    if problem.count == 2:
        exact = solve_with(problem, "exact", OPTIONS)
        assert exact.status == "optimal"
        return exact.time_ns
    return found_ns if found_ns == solve_with(problem, "bound", OPTIONS).lower_bound_ns else None


PROBLEMS = {"two models": twos(), "four models": fours()}


@KEPT.rows("mu_two_small", again_s=0.5)
def small_times_ns(cases: str, number: int) -> dict[str, int | None]:
    """Return what each method finds on a small problem, and the optimum if it is known."""
    problem = PROBLEMS[cases][number]
    found = {method: solve_with(problem, method, OPTIONS).time_ns for method in SMALL_METHODS}
    return found | {"optimum": optimum_ns(problem, found["local-search"])}


def judged(cases: str) -> list[dict[str, object]]:
    """Return how often each method is optimal, and how far from it."""
    times: list[Any] = [small_times_ns(cases, number) for number in range(len(PROBLEMS[cases]))]
    settled = [found for found in times if found["optimum"] is not None]
    rows = []
    for method in SMALL_METHODS:
        known = pd.Series(
            [found[method] / found["optimum"] for found in settled if found[method] is not None],
            dtype=float,
        )
        rows.append(
            {
                "cases": cases,
                "known optima": len(settled),
                "method": method,
                "none found": len(settled) - len(known),
                "optimal": int((known == 1).sum()),
                "mean": round(known.mean(), 3),
                "median": round(known.median(), 3),
                "90 %": round(known.quantile(0.9), 3),
                "worst": round(known.max(), 3),
            }
        )
    return rows


small = pd.DataFrame([row for cases in PROBLEMS for row in judged(cases)])
small

# %% [markdown]
# On two models nothing beats HFTA. µ-TWO may only make a pair: it misses the optimum in 5 of 50 cases
# and finds nothing in 1. With four models in little memory it misses 7 of 13 optima, by 18 % at most,
# which is the whole gain of fusing; HFTA misses 11. `local-search` finds the optima of two models,
# and those of four are known because it does.
#
# ## Models of two architectures
#
# The paper leaves sub-arrays of different architectures to future work (Appendix E): "the problem of
# finding the sub-array splits itself explodes combinatorially". Units do not depend on each other, so
# that the best division of two kinds of models follows by dynamic programming from the time of each
# unit; a pair may join two architectures. Eight and sixteen models in 40 and 20 GiB, HFTA training one
# architecture after the other; `mixed` is how many pairs of two architectures µ-TWO's division has.

# %%
MIXES = {"bert + dlrm": (("bert", "dlrm"), 4), "bert + vit": (("bert", "vit"), 8)}


@KEPT.rows("mu_two_mixes", again_s=1.0, about=["bound"])
def mixed_times_ns(mix: str, memory_gib: int) -> dict[str, int | None]:
    """Return times of models of two architectures, and the pairs that join them."""
    networks, count = MIXES[mix]
    joined = joined_models([models_of(name) for name in networks], models=(count, count))
    problem = jt.MultiModelTraining(joined, f"{memory_gib}GiB")
    found: dict[str, int | None] = {}
    for method in ("hfta", "capuchin", "mu-two"):
        result = solve_with(problem, method, OPTIONS)
        found[method] = result.time_ns
        if method == "mu-two":
            assert isinstance(result.schedule, MultiModelSchedule)
            units = [unit.sizes for unit in result.schedule.units]
            found["units"] = len(units)
            found["mixed"] = sum(len({parts_of(key)[0] for key in unit}) for unit in units) - len(
                units
            )
    bound = DivisionBound(problem, OPTIONS, Clock(None))
    bound.run()
    return found | {"bound": bound.solver_ns}


def mix_row(mix: str, memory_gib: int) -> dict[str, object]:
    """Return speed-ups over HFTA."""
    found: Any = mixed_times_ns(mix, memory_gib)
    hfta_ns = found["hfta"]
    return {
        "models": mix,
        "of each": MIXES[mix][1],
        "memory (GiB)": memory_gib,
        "hfta (ms)": ms(hfta_ns),
        "mu-two": speed_up(hfta_ns, found["mu-two"]),
        "capuchin": speed_up(hfta_ns, found["capuchin"]),
        "possible": speed_up(hfta_ns, found["bound"]),
        "units": found["units"],
        "mixed": found["mixed"],
    }


mixes = pd.DataFrame([mix_row(mix, memory) for mix in MIXES for memory in (40, 20)])
mixes

# %% [markdown]
# µ-TWO gains 0.3 to 2.9 % over HFTA where any schedule gains 0.7 to 3.9 % at most. Of its divisions none
# has a pair of two architectures: on these, as on one, what gains is fusing more. On small models with
# little memory such pairs are the fastest (`tests/multi_model/test_several_architectures.py`).
#
# ## Does what the paper's simulator says fit?
#
# Algorithm G lets a swapped feature map leave at once, though its copy takes time. Here are pairs of
# equal sub-arrays in 40, 20 and 12 GiB that fit by Algorithm G, with the decisions of Algorithm B for
# the whole memory: `does not fit` says how many of them the executor cannot run, and `waits for
# memory` how many of the rest take longer than the same decisions and prompts in unlimited memory;
# `longer` is by how much in the median of these, `worst` at most.


# %%
def simulator_row(network: str) -> dict[str, object]:
    """Return how often the executor cannot do what Algorithm G allows."""
    fits = refused = 0
    longer: list[float] = []
    for memory_gib in (40, 20, 12):
        problem = problem_of(network, memory_gib=memory_gib)
        unlimited = problem_of(network, memory_gib=10_000)
        for size in (1, 2, 3, 4):
            decisions = unit_decisions(problem, (size, size), problem.memory_bytes)
            if decisions is None:
                continue
            fits += 1
            executed = UnitExecutor(problem, (size, size)).execute(decisions)
            free = UnitExecutor(unlimited, (size, size)).execute(decisions)
            assert free is not None
            if executed is None:
                refused += 1
            elif executed.time_ns > free.time_ns:
                longer.append(100 * (executed.time_ns / free.time_ns - 1))
    return {
        "network": network,
        "fits by Algorithm G": fits,
        "does not fit": refused,
        "waits for memory": len(longer),
        "longer (%)": round(pd.Series(longer, dtype=float).median(), 2),
        "worst (%)": round(max(longer, default=0.0), 2),
    }


simulator = pd.DataFrame([simulator_row(network) for network in FUSED_NETWORKS])
simulator

# %% [markdown]
# Of 70 pairs that fit by Algorithm G, 3 cannot run with these decisions and prompts, and in 12
# computations have to wait for memory, which its times do not show: 19 % of the iteration at most.

# %% [markdown]
# ## On other devices
#
# All of this is on one assumed device. Here `rate` multiplies the rates of its arithmetic and of its
# memory, and launches stay as they are; `link` multiplies the link. Mobilenet with an eighth of its
# batch in an eighth of 40 GiB:

# %%


@KEPT.rows("mu_two_devices", again_s=0.5)
def on_device(rate: int, link_quarters: int) -> dict[str, float | None]:
    """Return speed-ups over HFTA on a device of other rates."""
    device = AssumedDevice(
        f"rates x{rate}, link x{link_quarters}/4",
        tile_flops_per_ns=rate * TILE_FLOPS_PER_NS,
        memory_bytes_per_ns=rate * MEMORY_BYTES_PER_NS,
        link_bytes_per_s=link_quarters * LINK_BYTES_PER_S // 4,
    )
    problem = jt.MultiModelTraining(fused_network("mobilenet", 16, 8, device), memory=5 * GIB)
    hfta, mu_two, charged, bound = (
        solve_with(problem, method, OPTIONS)
        for method in ("hfta", "mu-two", "mu-two-both-ways", "bound")
    )
    return {
        "rate": rate,
        "link": link_quarters / 4,
        "hfta (ms)": ms(hfta.time_ns),
        "mu-two": speed_up(hfta.time_ns, mu_two.time_ns),
        "mu-two-both-ways": speed_up(hfta.time_ns, charged.time_ns),
        "possible": speed_up(hfta.time_ns, bound.lower_bound_ns),
    }


devices = pd.DataFrame([on_device(rate, quarters) for rate in (1, 8) for quarters in (1, 4, 16)])
devices

# %% [markdown]
# All six networks, both batches, recorded by `benchmarks/multi_model_rates.py`. The most of each
# column over the networks, and how often µ-TWO is faster than HFTA and slower:

# %%
# The tests run this file from the root of the checkout, and the notebook runs beside it.
recorded_in = next(
    folder
    for up in (Path.cwd(), *Path.cwd().parents)
    for folder in (up / "notebooks" / "_recorded", up / "_recorded")
    if folder.is_dir()
)
recorded = pd.read_csv(recorded_in / "mu_two_rates.csv")
recorded["mu-two over hfta"] = recorded["hfta"] / recorded["mu-two"]
recorded["charged"] = recorded["hfta"] / recorded["mu-two-both-ways"]
recorded["possible"] = recorded["hfta"] / recorded["bound"]
whole_batch = recorded["network"].map(lambda name: FUSED_NETWORKS[name].batch)
rates = (
    recorded.assign(part=whole_batch // recorded["batch"], link=recorded["link_quarters"] / 4)
    .query("held.isna()")
    .groupby(["part", "rate", "link"])
    .agg(
        **{
            "mu-two, most": ("mu-two over hfta", "max"),
            "charged, most": ("charged", "max"),
            "possible, most": ("possible", "max"),
            "faster": ("mu-two over hfta", lambda ratio: int((ratio > 1.0005).sum())),
            "slower": ("mu-two over hfta", lambda ratio: int((ratio < 0.9995).sum())),
        }
    )
    .round(3)
    .reset_index()
)
rates

# %% [markdown]
# Eight models, and none of these devices allows more than 1.36 of any schedule. The conditions pull
# in opposite directions here as well: faster arithmetic makes fusing worth more, and copies longer
# beside it. A faster link brings µ-TWO nearer to what is possible, up to 1.29 for GPT-2 with a batch
# of one, where that is all there is; over a slow link charging for copies out is worth most, up to
# 1.22 where µ-TWO has 1.10. So a factor of three needs more than other rates: HFTA has to be
# limited to one model by feature maps, and not by weights, where eight fused models take a
# third of eight times one or less.
#
# ## Where the claim would hold: memory for less than two models
#
# So here is memory in place of the link, which is the fastest of the above. `held` is the memory over
# what one model needs with every feature map kept: below 2 HFTA trains one model after the other, and
# from 2 on pairs. Eight models, with the smallest batch that was tried of each network; the grey area
# is above what the bound allows any schedule, and the line at three is the paper's claim.

# %%
in_memory_of = recorded[recorded["held"].notna()]


def draw_held(table: pd.DataFrame, rate: int) -> Figure:
    """Draw speed-ups over HFTA against the memory, a panel for each network."""
    figure = Figure(figsize=(11, 5.6), layout="constrained")
    panels = figure.subplots(2, 3, sharex=True, sharey=True).flatten()
    top = 3.6
    for axes, network in zip(panels, FUSED_NETWORKS, strict=True):
        points = table[(table["network"] == network) & (table["rate"] == rate)]
        points = points[points["batch"] == points["batch"].min()]
        axes.fill_between(points["held"], points["possible"], top, color=LIGHT_GREY, linewidth=0)
        axes.axhline(1, color=GREY, linewidth=0.8)
        axes.axhline(3, color=GREY, linewidth=0.8, linestyle=(0, (4, 3)))
        for column, label in (("mu-two over hfta", "mu-two"), ("charged", "mu-two-both-ways")):
            colour, marker = STYLES[label]
            axes.plot(
                points["held"],
                points[column],
                color=colour,
                marker=marker,
                markersize=4,
                label=label,
            )
        axes.set_ylim(0.4, top)
        axes.set_xlim(0.9, 4.1)
        axes.set_title(f"{network}, batch {points['batch'].iloc[0]}", loc="left", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[3:]:
        axes.set_xlabel("memory, in models that are kept whole")
    for axes in panels[::3]:
        axes.set_ylabel("speed-up over HFTA")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure


draw_held(in_memory_of, 8)

# %% [markdown]
# The most that any schedule could gain, and that µ-TWO gains, over the networks and batches, with copies
# out charged for or not:

# %%
held = (
    in_memory_of.assign(best=in_memory_of[["mu-two over hfta", "charged"]].max(axis="columns"))
    .groupby(["rate", "held"])
    .agg(
        **{
            "settings": ("possible", "size"),
            "possible, most": ("possible", "max"),
            "possible, median": ("possible", "median"),
            "mu-two, most": ("best", "max"),
            "mu-two, median": ("best", "median"),
        }
    )
    .round(3)
    .reset_index()
)
held

# %% [markdown]
# Here the claim could hold. In memory for one model, but not for two, HFTA trains them one by one,
# and the bound leaves room for a factor of 2.95 with the assumed rates and of 3.29 with eight times
# these. Three or more is left open in 2 of 156 settings: Mobilenet with a batch of 4, rates x8, in
# the memory of 1.75 and of 1.95 models. µ-TWO reaches 2.20 at most in all of them, and with copies out
# charged for 2.67 (a batch of 8, in the memory of 1.95); its median just below two models is 1.54
# and more.
#
# From two models on no schedule gains more than 1.72, and µ-TWO no more than 1.49: HFTA fuses as well.
# So a factor of three takes a device with little memory for one model, large rates for launches that
# stay as long as they are, and a fast link; and a comparison just below what HFTA needs for two.
#
# ## Which claims hold
#
# Each of these on this assumed device, and nothing of it was measured:
#
# * *Up to 3× over HFTA*: not here. No schedule whatsoever reaches 1.04 with these batches of the paper; with
#   an eighth of them µ-TWO reaches 1.20, and 1.38 is the most that any could; with other rates and
#   eight models 1.36. In memory for less than two models it is not excluded in 2 of 156 settings, and
#   µ-TWO reaches 2.67.
# * *µ-TWO consistently outperforms HFTA*: not here. It is slower in 20 of 42 points with the paper's
#   batches, and never by more than 2.9 % faster.
# * *Capuchin dips as models are added*: the recommender does, by 13 %; others by 5 % at most.
# * *No stalls*: yes at 40 GiB, on all six networks.
# * *Low compute overhead*: yes, none at 40 GiB.
# * *3 to 5 times more models, up to 6 times the memory*: yes, and more, if time does not count.
#
# The tables that `tests/notebooks` compares with the expected ones:

# %%
TABLES = {
    "mu_two_networks": networks,
    "mu_two_partitions": partitions,
    "mu_two_figure7": figure7,
    "mu_two_figure8": figure8,
    "mu_two_figure8_small": figure8_small,
    "mu_two_batches": batches,
    "mu_two_figure3": four_fused,
    "mu_two_figure8_other": figure8_other,
    "mu_two_figure8_v100": figure8_v100,
    "mu_two_figure9": figure9,
    "mu_two_figure9_counts": figure9_counts,
    "mu_two_table_d": table_d,
    "mu_two_table_e": table_e,
    "mu_two_gaps": gaps,
    "mu_two_small": small,
    "mu_two_mixes": mixes,
    "mu_two_simulator": simulator,
    "mu_two_devices": devices,
    "mu_two_rates": rates,
    "mu_two_held": held,
}

# %% [markdown]
# What these words say, computed from the tables; `tests/notebooks` asks that each of them holds:

# %%
whole, eighth = networks.iloc[: len(FUSED_NETWORKS)], networks.iloc[len(FUSED_NETWORKS) :]
by_partition = partitions.set_index("network")
five = by_partition[["4 4", "3 3 1 1", "2 2 2 2", "2 2 1 1 1 1", "1 1 1 1 1 1 1 1"]]
alone = by_partition["its units"]
more, more_small, more_other = (
    table[table["models"] >= 2] for table in (figure8, figure8_small, figure8_other)
)
spent = figure9.set_index(["network", "method"])
overheads = table_e.set_index(["method", "network"])
shared = table_d["mu-two in one unit"] / table_d["hfta in one unit"].clip(lower=1)
in_40, in_20 = table_d["memory (GiB)"] == 40, table_d["memory (GiB)"] == 20
large = table_d[table_d["footprint"] > 6]
gap_40, gap_20 = (gaps[gaps["memory (GiB)"] == size] for size in (40, 20))
judged_by = small.set_index(["cases", "method"])
over = rates[["mu-two, most", "charged, most"]].max(axis="columns")
slow_link = rates.loc[rates["charged, most"].sub(rates["mu-two, most"]).idxmax()]
open_three = in_memory_of[in_memory_of["possible"] >= 3]
from_two = in_memory_of[in_memory_of["held"] >= 2]
best_charged = in_memory_of.loc[in_memory_of["charged"].idxmax()]
CLAIMS = {
    "The partition that the paper leaves out is never the fastest of the five here.": bool(
        (five["2 2 1 1 1 1"] > five.min(axis="columns")).all()
    ),
    "Two fours are, but for GPT-2, where 3 3 1 1 is, and the recommender, on which they take 4 % "
    "longer than four twos.": five.idxmin(axis="columns").to_dict()
    == dict.fromkeys(FUSED_NETWORKS, "4 4") | {"gpt2": "3 3 1 1", "dlrm": "2 2 2 2"}
    and round(100 * (five.loc["dlrm", "4 4"] / five.loc["dlrm", "2 2 2 2"] - 1)) == 4,
    "In three of six networks sub-arrays alone are faster than any pairs, 3 3 2 or 6 2, and in GPT-2 "
    "a pair and one alone": sorted(alone[alone != "4 4"]) == ["3 3 2", "3 3 2", "3+3 2", "6 2"]
    and alone["gpt2"] == "3+3 2",
    "eight fused models take 83 to 96 % of eight times one.": (
        round(100 * whole["fused"].min()),
        round(100 * whole["fused"].max()),
    )
    == (83, 96),
    "The bound says that no schedule is more than 1.036 times as fast as HFTA.": figure8[
        "possible"
    ].max()
    == 1.036,
    "µ-TWO's own pairs gain at most 2.9 %": figure8["mu-two"].max() == 1.029,
    "With sub-arrays alone allowed, its policy never loses.": figure8["any division"].min() == 1,
    "eight fused models take 38 to 80 % of eight times one.": (
        round(100 * eighth["fused"].min()),
        round(100 * eighth["fused"].max()),
    )
    == (38, 80),
    "What is possible grows to 1.38, and µ-TWO reaches 1.20 (GPT-2)": (
        figure8_small["possible"].max(),
        round(figure8_small["mu-two"].max(), 2),
        figure8_small.loc[figure8_small["mu-two"].idxmax(), "network"],
    )
    == (1.38, 1.2, "gpt2"),
    "Of the 18 points with two models and more, µ-TWO is faster than HFTA in 8 and slower in 7; with "
    "the paper's batches in 12 and 20 of 42.": [
        (len(table), int((table["mu-two"] > 1).sum()), int((table["mu-two"] < 1).sum()))
        for table in (more_small, more)
    ]
    == [(18, 8, 7), (42, 12, 20)],
    "Fusing all and recomputing is faster than µ-TWO in 12 and in 21 of them": [
        int((table["recompute-only"] > table["mu-two"]).sum()) for table in (more_small, more)
    ]
    == [12, 21],
    "Here all of HFTA takes 11 hours for eight models of BERT, and no schedule saves more than 7 "
    "minutes of them.": round(figure7.loc[figure7["network"] == "bert", "hfta (h)"].max()) == 11
    and figure7["most that can be saved (h)"].max() <= 7 / 60,
    "Its operators take longer than Capuchin's, 0.8 % for BERT and 1.2 % for ViT": [
        round(
            100
            * (
                spent.loc[(network, "mu-two"), "compute (ms)"]
                / spent.loc[(network, "capuchin"), "compute (ms)"]
                - 1
            ),
            1,
        )
        for network in ("bert", "vit")
    ]
    == [0.8, 1.2],
    "all of them; but Capuchin as well, 99.8 and 100 %;": [
        spent.loc[(network, method), "overlapped (%)"]
        for method in ("mu-two", "capuchin")
        for network in ("bert", "vit")
    ]
    == [100, 100, 99.8, 100],
    "Swapping alone stalls for up to twice the time of the operators and more; recomputing alone "
    "costs up to a fourth and never waits.": overheads.loc["swap-only", "stalling (%)"].max() > 200
    and round(overheads.loc["recompute-only", "compute overhead (%)"].max()) == 25
    and bool((overheads.loc["recompute-only", "stalling (%)"] == 0).all()),
    "µ-TWO's pairs have neither.": not overheads.loc["mu-two"][
        ["compute overhead (%)", "stalling (%)"]
    ].any(axis=None),
    "At 40 GiB µ-TWO lets 1.1 to 4 times as many models share the device as HFTA, at 20 GiB 2.7 to 8 "
    "times": [
        (round(shared[rows].min(), 1), round(shared[rows].max(), 1)) for rows in (in_40, in_20)
    ]
    == [(1.1, 4), (2.7, 8)],
    "they cost 10 to 33 % of the operators' time": (
        round(100 * (large["cost"].min() - 1)),
        round(100 * (large["cost"].max() - 1)),
    )
    == (10, 33),
    "At 40 GiB, µ-TWO is within 1.8 % of what any schedule can do, and in half of the memory within "
    "4.2 %; with copies out charged for, within 2.9 %.": gap_40["mu-two"].max() == 1.8
    and round(gap_20["mu-two"].max(), 1) == 4.2
    and gap_20["mu-two-both-ways"].max() <= 2.9,
    "it misses the optimum in 5 of 50 cases and finds nothing in 1.": (
        50 - judged_by.loc[("two models", "mu-two"), "optimal"] - 1,
        judged_by.loc[("two models", "mu-two"), "none found"],
    )
    == (5, 1),
    "it misses 7 of 13 optima, by 18 % at most, which is the whole gain of fusing; HFTA misses 11.": [
        13 - judged_by.loc[("four models", method), "optimal"] for method in ("mu-two", "hfta")
    ]
    == [7, 11]
    and round(100 * (judged_by.loc[("four models", "mu-two"), "worst"] - 1)) == 18,
    "Of 70 pairs that fit by Algorithm G, 3 cannot run with these decisions and prompts, and in 12 "
    "computations have to wait for memory, which its times do not show: 19 % of the iteration at "
    "most.": (
        *simulator[["fits by Algorithm G", "does not fit", "waits for memory"]].sum(),
        round(simulator["worst (%)"].max()),
    )
    == (70, 3, 12, 19),
    "Eight models, and none of these devices allows more than 1.36 of any schedule.": rates[
        "possible, most"
    ].max()
    < 1.36,
    "up to 1.29 for GPT-2 with a batch of one, where that is all there is;": round(over.max(), 2)
    == 1.29
    and bool((rates.loc[over == over.max(), "possible, most"] - over.max() < 0.002).all()),
    "up to 1.22 where µ-TWO has 1.10.": (
        round(slow_link["charged, most"], 2),
        round(slow_link["mu-two, most"], 2),
        slow_link["link"],
    )
    == (1.22, 1.1, 0.25),
    "the bound leaves room for a factor of 2.95 with the assumed rates and of 3.29 with eight times "
    "these.": [round(held.loc[held["rate"] == rate, "possible, most"].max(), 2) for rate in (1, 8)]
    == [2.95, 3.29],
    "Three or more is left open in 2 of 156 settings: Mobilenet with a batch of 4, rates x8, in the "
    "memory of 1.75 and of 1.95 models.": len(in_memory_of) == 156
    and open_three[["network", "batch", "rate", "held"]].to_numpy().tolist()
    == [["mobilenet", 4, 8, 1.75], ["mobilenet", 4, 8, 1.95]],
    "µ-TWO reaches 2.20 at most in all of them, and with copies out charged for 2.67 (a batch of 8, "
    "in the memory of 1.95); its median just below two models is 1.54 and more.": (
        round(in_memory_of["mu-two over hfta"].max(), 2),
        round(best_charged["charged"], 2),
        best_charged["batch"],
        best_charged["held"],
        round(held.loc[held["held"] == 1.95, "mu-two, median"].min(), 2),
    )
    == (2.2, 2.67, 8, 1.95, 1.54),
    "From two models on no schedule gains more than 1.72, and µ-TWO no more than 1.49": (
        round(from_two["possible"].max(), 2),
        round(from_two[["mu-two over hfta", "charged"]].max(axis=None), 2),
    )
    == (1.72, 1.49),
    "feature maps are idle for 50 % of the step, weighted by their size.": round(100 * idle_share)
    == 50,
    "Four fused models exceed 40 GiB in 7 of 12 settings": (
        int((four_fused["fits"] < 4).sum()),
        len(four_fused),
    )
    == (7, 12),
    "µ-TWO's pairs are faster than HFTA in 3 of 18 points with two models and more: GPT-2, of which "
    "HFTA trains one model at a time, and eight recommenders, and by 1.5 % at most.": (
        [
            (row["network"], row["models"])
            for _, row in more_other[more_other["mu-two"] > 1].iterrows()
        ],
        len(more_other),
        more_other["mu-two"].max(),
    )
    == ([("gpt2", 4), ("gpt2", 8), ("dlrm", 8)], 18, 1.015),
    "No schedule is more than 1.042 times as fast as HFTA.": figure8_other["possible"].max()
    == 1.042,
    "its pairs gain 0.8 % at most, any schedule 3.3 %, and Capuchin loses up to 7.3 % as models are "
    "added.": (
        figure8_v100["mu-two"].max(),
        figure8_v100["possible"].max(),
        figure8_v100["capuchin"].min(),
    )
    == (1.008, 1.033, 0.927),
    "With sub-arrays alone allowed, µ-TWO's policy is never slower than HFTA here.": figure8_v100[
        "any division"
    ].min()
    >= 1,
    "µ-TWO gains 0.3 to 2.9 % over HFTA where any schedule gains 0.7 to 3.9 % at most. Of its "
    "divisions none has a pair of two architectures": (
        mixes["mu-two"].min(),
        mixes["mu-two"].max(),
        mixes["possible"].min(),
        mixes["possible"].max(),
        mixes["mixed"].sum(),
    )
    == (1.003, 1.029, 1.007, 1.039, 0),
    "*No stalls*: yes at 40 GiB, on all six networks.": not overheads.loc[
        "mu-two", "stalling (%)"
    ].any(),
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
# `docs/papers/mu_two.toml` lists them; a test asks that all places exist.

# %%
pd.set_option("display.max_rows", None, "display.max_colwidth", None)
found_paper("mu_two").table()
