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
# # Weight offloading
#
# Beaumont, Eyraud-Dubois, Shilova and Zhao, *Weight offloading strategies for training large DNN
# models*, 2022.
#
# `docs/papers/weight_offload.toml` lists what the paper states, entry by entry, and where it is here.
#
# A training step repeats. Its activations stay on the device; the weights of a layer may go to the
# host when they are not needed, and come back in time. The paper proves that the best choice is
# hard to find, gives two greedy algorithms that together make a schedule, and a lower bound. Here
# are the numbers of its Section 7, each beside ours. Every time below is that of a schedule which
# jettison has replayed in exact integers, event by event.
#
# Two parts take minutes, and were **recorded**: the searches and bounds over bandwidths, and the
# methods on small cases. Their rows stand in `notebooks/_rows`. Each run of this notebook computes
# some of them again, which have to come out the same, and any row that is not there; the last cell
# says how many. To have all of them computed, remove the files `weight_offload_*.jsonl` there, and
# run it again (`make notebooks`).

# %%
# %matplotlib inline
import random
from dataclasses import replace
from functools import cache

import pandas as pd
from matplotlib.figure import Figure

import jettison as jt
from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.weight_offload.aggregated import Aggregated, Layers
from jettison.formulations.weight_offload.paper import WeightOffloadMilp
from jettison.instances.generators.published_transformers import PUBLISHED_ROWS, PublishedRow
from jettison.schedules.core.picture_style import (
    BLUE,
    GREEN,
    LIGHT_GREY,
    ORANGE,
    VERMILION,
)
from jettison.schedules.weight_offload.cyclic_plot import plot_cycle
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.result import Result
from jettison.solvers.core.solve import solve_with
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.weight_offload.bounds.any_model import relaxed_bound_ns
from jettison.studies.kept_rows import KeptRows
from jettison.studies.paper_list import found_paper

MIB, MS = 2**20, 10**6
ROWS = {row.name: row for row in PUBLISHED_ROWS}
CHAINS = {name: jt.load(name) for name in ROWS}
# The paper's own chains: no other profile has its columns.
print(f"{len(CHAINS)} chains of {', '.join({c.provenance.device for c in CHAINS.values()})}")
# No number below depends on how fast this machine is.
OPTIONS = SolveOptions(time_limit_s=None, gap=0.0)
KEPT = KeptRows.found("notebooks/_rows")


def problem_of(
    name: str, mib_per_ms: float = 12, memory_bytes: int | None = None
) -> jt.WeightOffload:
    """Return the problem of a row of Table 1, at another bandwidth or in another memory."""
    if memory_bytes is None:
        memory_bytes = ROWS[name].memory_mib * MIB
    return jt.WeightOffload(CHAINS[name], memory_bytes, int(mib_per_ms * MIB * 1000))


@cache
def solved(
    name: str, method: str, mib_per_ms: float = 12, memory_bytes: int | None = None
) -> Result:
    """Return what a method finds; a schedule in it has been replayed."""
    return solve_with(problem_of(name, mib_per_ms, memory_bytes), method, OPTIONS)


def ms(time_ns: int) -> float:
    """Return a time in milliseconds, as the paper prints it but with two more digits."""
    return round(time_ns / MS, 2)


# %% [markdown]
# ## What the paper leaves open
#
# Table 1 has fifteen rows: network, depth, batch, $\sum_j u_j$ measured on a V100, and the times of
# four algorithms. The text adds a hidden size of 3072, 24 heads, "about 20 MB" of saved activations
# per layer for a batch of 16, and a link of 12 GB/s. Everything else had to be derived, so that
# **all four columns come out**:
#
# * *The link* carries $\beta$ = 12 MiB/ms, which is 12.6 GB/s.
# * *Weights* are in single precision. GPT-2 of depth $D$ is an embedding, $D - 2$ blocks of $12 h^2
#   + 13 h$ parameters with $h = 3072$, and a head that has nothing. This follows from the column
#   L2L, which is $\sum_j u_j + 2 \sum_i |w_i| / \beta$ and so tells the weights.
# * *Bert* does not have $h = 3072$, whatever the text says: with it, L2L would be far longer than
#   printed. An embedding and $D$ blocks with $h = 2560$ whose inner layer has 3072 do fit.
# * *Activations* are batch · 128 · $h$ numbers per layer: 24 MiB for GPT-2 and 20 MiB for Bert per
#   16 samples.
# * *Times*: all blocks take the same, .2525 of it in the forward; the embedding takes none.
# * *Memory* is printed nowhere; only that it is smaller than 16 GB and depends on the batch. The
#   column Greedy tells it, up to a number of whole blocks: see below.
#
# So 35 of the 60 numbers of the four columns were used to make the chains: all fifteen of L2L for the
# link and the weights, all fifteen of Greedy for the memory, of which there are nine, and the
# five of Greedy\* with a batch of 16 for the share of the forward. That they come out shows that
# few parameters fit many numbers, and is no prediction. 25 were not used: the lower bound of all
# fifteen rows, and Greedy\* in the ten rows with a batch of 32 or 64.

# %%
pd.DataFrame(
    [
        {
            "row": row.name,
            "layers": len(CHAINS[row.name]),
            "weights (GiB)": round(problem_of(row.name).cycle.total_weight_bytes / 2**30, 2),
            "embedding (MiB)": round(CHAINS[row.name].stages[0].weight_bytes / MIB, 2),
            "block (MiB)": round(CHAINS[row.name].stages[1].weight_bytes / MIB, 2),
            "saved per layer (MiB)": CHAINS[row.name].stages[1].saved_bytes // MIB,
            "M (MiB)": row.memory_mib,
            "M in all weights (%)": round(
                100 * row.memory_mib * MIB / problem_of(row.name).cycle.no_offload_peak_bytes, 1
            ),
        }
        for row in PUBLISHED_ROWS
    ]
)

# %% [markdown]
# ## Table 1
#
# * `greedy`: Algorithm 1 chooses what leaves, Algorithm 2 when;
# * `greedy-no-discount`: the paper's Greedy\*, where each deletion pays its own upload;
# * `l2l`: layer to layer (Pudipeddi et al. 2020);
# * the lower bound (ILP in the paper). Where a schedule without any waiting exists, no valid lower
#   bound can be above $\sum_j u_j$. `margin-sweep`, described below, finds such a schedule in each
#   of the fifteen rows. So the column is settled without solving one of the integer programs.
#
# Times in ms, and the differences to the printed ones.

# %%
COLUMNS = {
    "lower_bound": ("margin-sweep", "ilp_ms"),
    "greedy": ("greedy", "greedy_ms"),
    "l2l": ("l2l", "l2l_ms"),
    "greedy_no_discount": ("greedy-no-discount", "greedy_no_discount_ms"),
}


def table1_row(row: PublishedRow) -> dict[str, object]:
    """Return our times and the differences to the paper's."""
    found: dict[str, object] = {"row": row.name, "base": ms(CHAINS[row.name].base_time_ns)}
    for column, (method, printed) in COLUMNS.items():
        time = ms(solved(row.name, method).time_ns)
        found |= {column: time, f"{column}_diff": round(time - getattr(row, printed), 2)}
    return found


table1 = pd.DataFrame([table1_row(row) for row in PUBLISHED_ROWS])
table1

# %%
largest = table1[[f"{column}_diff" for column in COLUMNS]].abs().max()
assert (largest < 1).all()
largest

# %% [markdown]
# All 60 numbers are within a millisecond of the paper's, and 54 are equal to them when they are
# rounded to milliseconds, as the paper's are. The other six: three of L2L on GPT-2 56, one of L2L on
# Bert-96, and two of Greedy\*. Our chains are made of the column $\sum_j u_j$, which is rounded too,
# and a difference of two rounded numbers may be off by one: the same weights of Bert-96 cost
# 2612, 2613 and 2612 ms in the paper's three rows. Of the 25 numbers that were not used to make the
# chains all come out when rounded. They say that no row has to wait, and that the discount saves
# nothing with batches of 32 and 64.
#
# How such a schedule looks: `greedy` waits at the beginning of the step, where memory is full and
# the weights of each layer have to be away before those of the next can come. What is under way at
# the end of the period goes on at its start.

# %%
shown = solved("gpt2-38-b64-table1", "greedy")
plot_cycle(shown.replay, title="gpt2-38-b64-table1: greedy")

# %% [markdown]
# ## How much of the memory is determined?
#
# What Greedy waits for depends on how the memory is divided into blocks, and much less on how many
# blocks there are. Idle time of Greedy and Greedy\* against $M$, over three blocks, beside what the
# paper's row implies:


# %%
def idle_ms(result: Result) -> float:
    """Return how long a step of the schedule waits."""
    return ms(result.time_ns - result.problem.instance.base_time_ns)


def memory_at(name: str, blocks: float) -> int:
    """Return the memory of a row and so many blocks more."""
    return ROWS[name].memory_mib * MIB + int(blocks * CHAINS[name].stages[1].weight_bytes)


def draw_memory(name: str, steps: int) -> Figure:
    """Draw idle times against memory in steps of a block's share."""
    row = ROWS[name]
    offsets = [step / steps for step in range(-3 * steps // 2, 3 * steps // 2 + 1)]
    figure = Figure(figsize=(7.2, 3.2), layout="constrained")
    axes = figure.add_subplot()
    for method, colour, printed in (
        ("greedy-no-discount", ORANGE, row.greedy_no_discount_ms),
        ("greedy", BLUE, row.greedy_ms),
    ):
        idle = [idle_ms(solved(name, method, 12, memory_at(name, offset))) for offset in offsets]
        axes.plot(offsets, idle, drawstyle="steps-mid", color=colour, label=method)
        axes.axhline(printed - row.base_ms, color=colour, linestyle=":", label="the paper's")
    idle = [
        idle_ms(solved(name, "margin-sweep", 12, memory_at(name, offset))) for offset in offsets
    ]
    axes.plot(offsets, idle, color=GREEN, label="margin-sweep")
    axes.set_xlabel(f"M - {row.memory_mib} MiB, in blocks")
    axes.set_ylabel("idle time (ms)")
    axes.set_ylim(-20)
    axes.set_xlim(offsets[0], offsets[-1])
    axes.set_title(name, loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    return figure


draw_memory("gpt2-74-b16-table1", 16)

# %% [markdown]
# For each row, the differences of Greedy and Greedy\* to the paper in ms, with one block less, and
# one more:

# %%
remainders = pd.DataFrame(
    [
        {"row": name}
        | {
            f"{method}_{blocks:+d}": round(
                ms(solved(name, method, 12, memory_at(name, blocks)).time_ns) - printed, 2
            )
            for blocks in (-1, 0, 1)
            for method, printed in (
                ("greedy", row.greedy_ms),
                ("greedy-no-discount", row.greedy_no_discount_ms),
            )
        }
        for name, row in ROWS.items()
    ]
)
remainders

# %% [markdown]
# A block more or less changes nothing in thirteen rows: what the selection has to free is the
# excess over $M$, and it is freed in blocks. So $M$ is known modulo a block and no further; only
# gpt2-38-b16 refuses a block more, and Greedy\* on bert-96-b16 either of them.
# Which memory the paper had, its numbers cannot tell.
#
# They are the numbers of a lucky remainder, too. In gpt2-74-b16, Greedy waits for 36 to 648 ms,
# depending on what is left of $M$ beside whole blocks, and the paper's 72 ms lie near the lower
# end. None of it has to be: `margin-sweep` waits nowhere on this picture.
#
# The share of the forward in a block's time shows in Greedy\* on four of the five rows with a batch
# of 16, where one more upload comes late. Differences to the paper in ms:


# %%
def with_forward_share(chain: jt.Chain, share: float) -> jt.Chain:
    """Return the chain with another share of each stage's time in the forward."""
    stages = []
    for stage in chain:
        time_ns = stage.forward_ns + stage.backward_ns
        forward_ns = int(share * time_ns)
        stages.append(replace(stage, forward_ns=forward_ns, backward_ns=time_ns - forward_ns))
    return replace(chain, stages=tuple(stages))


def share_row(row: PublishedRow, shares: list[float]) -> dict[str, object]:
    """Return the differences of Greedy* to the paper for several shares."""
    found: dict[str, object] = {"row": row.name}
    for share in shares:
        chain = with_forward_share(CHAINS[row.name], share)
        problem = jt.WeightOffload(chain, row.memory_mib * MIB, 12 * MIB * 1000)
        time_ns = solve_with(problem, "greedy-no-discount", OPTIONS).time_ns
        found[f"share_{share}"] = round(ms(time_ns) - row.greedy_no_discount_ms, 2)
    return found


shares = pd.DataFrame(
    [share_row(row, [0.24, 0.25, 0.2525, 0.255, 0.26]) for row in ROWS.values() if row.batch == 16]
)
shares

# %% [markdown]
# So the backward takes three times as long as the forward, nearly: as if it were twice as long and
# recomputed the forward first. That is what the paper says it does with the activations inside of a
# block.
#
# ## Bandwidth (Figure 4)
#
# The paper varies $\beta$ from .5 to 12 GB/s, with batches of 32 and 64. Durations over
# $\sum_j u_j$; the grey area is ruled out for all schedules, by the larger of two lower bounds: the
# relaxation of `aggint`, whose multipliers are evaluated in exact arithmetic, and `closed-form`.

# %%
BANDWIDTHS = [0.5, 1, 2, 4, 8, 12]
SHOWN = ["gpt2-74-b64-table1", "gpt2-38-b32-table1", "bert-96-b64-table1", "bert-96-b32-table1"]
LINES = {
    "l2l": (VERMILION, "s"),
    "greedy-no-discount": (ORANGE, "D"),
    "greedy": (BLUE, "o"),
    "local-search": (GREEN, "^"),
}


def over_base(name: str, time_ns: int) -> float:
    """Return a time over that of a step without waiting."""
    return round(time_ns / CHAINS[name].base_time_ns, 4)


@KEPT.rows("weight_offload_bandwidths", again_s=1.0, about=["bound"])
def times_ns(name: str, mib_per_ms: float) -> dict[str, int]:
    """Return the times of all methods, and the better of two lower bounds in exact arithmetic."""
    methods = [*LINES, "margin-sweep"]
    found = {method: solved(name, method, mib_per_ms).time_ns for method in methods}
    found["bound"] = solved(name, "closed-form", mib_per_ms).bound.time_ns
    if found["local-search"] > found["bound"]:
        built = Aggregated(Layers.WHOLE).build(problem_of(name, mib_per_ms))
        relaxation = solve_model(built.model.relaxed(), HighsOptions())
        relaxed_ns = relaxed_bound_ns(built.model, built.scale, relaxation)
        found["bound"] = max(found["bound"], relaxed_ns)
    return found


def figure4_row(name: str, mib_per_ms: float) -> dict[str, object]:
    """Return the durations of all methods and the best bound."""
    found = times_ns(name, mib_per_ms)
    row: dict[str, object] = {"row": name, "mib_per_ms": mib_per_ms}
    return row | {column: over_base(name, found[column]) for column in (*LINES, "bound")}


def draw_bandwidths(table: pd.DataFrame) -> Figure:
    """Draw durations against bandwidth, a panel for each instance."""
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    panels = figure.subplots(1, len(SHOWN), sharex=True, sharey=True)
    for axes, name in zip(panels, SHOWN, strict=True):
        points = table[table["row"] == name]
        where = points["mib_per_ms"]
        axes.fill_between(where, points["bound"], color=LIGHT_GREY, linewidth=0, label="bound")
        for method, (colour, marker) in LINES.items():
            axes.plot(
                where, points[method], color=colour, marker=marker, markersize=4, label=method
            )
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_ylim(0.97, 7)
        axes.set_yticks([1, 1.25, 1.5, 2, 3, 4, 6])
        axes.minorticks_off()
        axes.set_xticks(BANDWIDTHS)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.set_xlabel("β (MiB/ms)")
        axes.set_title(name, loc="left", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("duration / Σ u")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, fontsize=9)
    return figure


figure4 = pd.DataFrame(
    [figure4_row(name, mib_per_ms) for name in SHOWN for mib_per_ms in BANDWIDTHS]
)
draw_bandwidths(figure4)

# %%
figure4

# %% [markdown]
# The paper's claims:
#
# * *The lower bound gives no idle time in all settings* of Table 1: so here.
# * *The ILP shows almost no idle time when the bandwidth is higher than 4 GB/s*: so here; in these
#   four rows even from 2 MiB/ms on. And it can be reached: `local-search` does not wait there.
# * *Greedy is very close to the lower bound*: within 3 % of the step from 4 MiB/ms on. At 1
#   MiB/ms it waits for 2 to 22 % of $\sum_j u_j$, where 0 to 19 % are needed.
# * *L2L always causes a reduction in throughput compared to Greedy*: so here, by a factor of 1.1 to
#   5.1.
# * *Greedy\* is always slower than Greedy. Not considering the discount can induce up to 5 times more
#   idle time.* Idle time of Greedy\* over that of Greedy, on all rows with a batch of 32 or 64:

# %%
ratios = pd.DataFrame(
    [
        {"row": name}
        | {
            f"beta_{mib_per_ms}": round(
                idle_ms(solved(name, "greedy-no-discount", mib_per_ms))
                / idle_ms(solved(name, "greedy", mib_per_ms)),
                2,
            )
            for mib_per_ms in BANDWIDTHS
        }
        for name, row in ROWS.items()
        if row.batch > 16
    ]
)
ratios

# %% [markdown]
# Never faster, and equal at 12 MiB/ms. The ratio goes up to 4.4 in nine of the rows, which is the
# paper's "up to 5"; in the tenth it is 15 at 2 MiB/ms, where Greedy hardly waits at all. The
# discount counts where the link is just fast enough: on a slow link, prefetches take longer than
# the uploads that it saves.

# %% [markdown]
# ## Better schedules
#
# Greedy waits because Algorithm 1 takes out no more than the operations need: a transfer that has
# to have memory for a moment then waits for it, and operations wait for the transfer.
#
# * `margin-sweep` gives Algorithm 1 less memory than there is, in steps of half a block, and
#   Algorithm 2 all of it. The best of these schedules counts.
# * `local-search` starts there, and changes choices and the order of transfers one at a time.
#
# Idle times in ms, where the bandwidth makes it hard; `open` is the part of the best schedule's
# idle time that the bound does not explain.

# %%
HARD = [(name, mib_per_ms) for name in SHOWN for mib_per_ms in (0.5, 1, 2)]
HARD += [("gpt2-38-b16-table1", mib_per_ms) for mib_per_ms in (1, 2, 4)]
HARD += [("gpt2-56-b16-table1", mib_per_ms) for mib_per_ms in (2, 4)]
HARD += [("bert-96-b16-table1", mib_per_ms) for mib_per_ms in (1, 2, 4)]


def better_row(name: str, mib_per_ms: float) -> dict[str, object]:
    """Return the idle times of several methods, and of the bound."""
    found: dict[str, object] = {"row": name, "mib_per_ms": float(mib_per_ms)}
    base_ns = CHAINS[name].base_time_ns
    by_method = times_ns(name, mib_per_ms)
    for method in ("greedy", "margin-sweep", "local-search"):
        found[method] = round(ms(by_method[method] - base_ns), 1)
    best_ns, low_ns = by_method["local-search"], by_method["bound"]
    found["bound"] = round((low_ns - base_ns) / MS, 1)
    found["open_percent"] = (
        round(100 * (best_ns - low_ns) / (best_ns - base_ns), 1) if best_ns > base_ns else 0.0
    )
    return found


better = pd.DataFrame([better_row(name, mib_per_ms) for name, mib_per_ms in HARD])
better

# %% [markdown]
# Greedy waits in all of these twenty cases. In eleven of them nothing has to wait, and
# `local-search` finds such a schedule. In five more it meets the bound, up to a tenth of a
# millisecond: on gpt2-38-b32 at 1 MiB/ms it waits for 119 ms where Greedy waits for 1662. In four
# cases, all at the slowest link, between 2 and 17 % of what is left may still be avoidable.

# %% [markdown]
# ## How far from the best possible? Small cases
#
# The paper compares with its lower bound only. On small chains `exact` finds the optimum over all
# schedules. Here are 40 random chains of 3 to 6 layers, with memories between the least in which
# anything fits and the peak with all weights.

# %%
CASES = 40
SMALL_METHODS = [
    *("greedy", "greedy-no-discount", "margin-sweep", "bound-guided", "local-search", "l2l"),
]
BOUND_METHODS = ["milp", "agg", "aggint", "closed-form"]
# `milp` has four kinds of rows (`Cut`) that the paper has not; this is the paper's program, with its
# misprints corrected and without them.
PAPERS_MILP = WeightOffloadMilp()


def small_problems() -> list[jt.WeightOffload]:
    """Return the same random problems every time."""
    chance = random.Random(2022)
    problems = []
    for number in range(CASES):
        stages = [
            jt.remat_chain.Stage(
                name=f"layer{layer}",
                forward_ns=chance.randint(1, 4),
                backward_ns=chance.randint(2, 8),
                output_bytes=0,
                saved_bytes=chance.randint(0, 2),
                weight_bytes=chance.randint(1, 6),
            )
            for layer in range(chance.randint(3, 6))
        ]
        chain = jt.Chain(f"case {number}", 0, tuple(stages))
        bandwidth = chance.choice([500_000_000, 1_000_000_000])
        cycle = jt.WeightOffload(chain, "100%", bandwidth).cycle
        memory_bytes = chance.randint(cycle.least_memory_bytes, cycle.no_offload_peak_bytes - 1)
        problems.append(jt.WeightOffload(chain, memory_bytes, bandwidth))
    return problems


def papers_bound_ns(problem: jt.WeightOffload) -> int:
    """Return the time that the paper's MILP proves, by the solver's dual bound."""
    built = PAPERS_MILP.build(problem)
    model = from_pulp(built.problem).model
    solution = solve_model(model, HighsOptions(gap=0, feasibility_tolerance=1e-9))
    return built.scale.time_from_solver_ns(solution.dual_bound)


SMALL_PROBLEMS = small_problems()


@KEPT.rows("weight_offload_small", again_s=1.0)
def small_row(number: int) -> dict[str, int]:
    """Return the optimum of a problem, and what the other methods find or prove."""
    problem = SMALL_PROBLEMS[number]
    exact = solve_with(problem, "exact", OPTIONS)
    assert exact.status == "optimal"
    row = {
        "layers": len(problem.instance),
        "memory_bytes": problem.memory_bytes,
        "base": problem.instance.base_time_ns,
        "exact": exact.time_ns,
    }
    row |= {method: solve_with(problem, method, OPTIONS).time_ns for method in SMALL_METHODS}
    row |= {method: solve_with(problem, method, OPTIONS).bound.time_ns for method in BOUND_METHODS}
    return row | {"papers_milp": papers_bound_ns(problem)}


small = pd.DataFrame([small_row(number) for number in range(CASES)])
small.head(10)

# %% [markdown]
# How often each method finds the optimum, and how much its schedules wait in all, as a multiple of
# what the optima wait:

# %%
idle = small.sub(small["base"], axis="index")
small_schedules = pd.DataFrame(
    [
        {
            "method": method,
            "optimal": int((small[method] == small["exact"]).sum()),
            "idle_of_optimum": round(idle[method].sum() / idle["exact"].sum(), 3),
        }
        for method in SMALL_METHODS
    ]
)
small_schedules

# %% [markdown]
# Greedy finds 11 of 40 optima, and waits 41 % longer than is needed; `local-search` misses one.
# `bound-guided` gives Algorithm 2 what the model of a bound selects.
#
# The share of the optima's waiting that each bound explains. `papers_milp` is the paper's MILP with its
# misprints corrected; `milp` is the same with four kinds of rows that are ours (`Cut` in
# `formulations/weight_offload/paper.py`):

# %%
BOUNDS = ["papers_milp", *BOUND_METHODS]
best_bound = idle[BOUNDS].max(axis="columns")
small_bounds = pd.DataFrame(
    [
        {
            "bound": name,
            "tight": int((found == idle["exact"]).sum()),
            "explained_percent": round(100 * found.sum() / idle["exact"].sum(), 1),
        }
        for name, found in [*((name, idle[name]) for name in BOUNDS), ("best", best_bound)]
    ]
)
small_bounds

# %% [markdown]
# Where an optimum waits at all, every bound is below it: 37.8 % of the waiting is explained by the
# paper's MILP, 39.0 % with our four kinds of rows, 48.6 % by `aggint`, which lets layers of the most frequent size leave and come as a
# whole only; all of them take a transfer for something that can be split. The 18 tight ones are
# those whose optimum does not wait. With few layers, memory is had in large lumps, which is what
# these bounds do not see; with dozens of equal layers, above, they were met.
#
# The tables that `tests/notebooks` compares with the expected ones:

# %%
TABLES = {
    "weight_offload_table1": table1,
    "weight_offload_remainders": remainders,
    "weight_offload_shares": shares,
    "weight_offload_figure4": figure4,
    "weight_offload_ratios": ratios,
    "weight_offload_better": better,
    "weight_offload_small_schedules": small_schedules,
    "weight_offload_small_bounds": small_bounds,
}

# %% [markdown]
# Sentences of this notebook, and whether they hold of what was computed:


# %%
def printed_differences(column: str) -> pd.Series:
    """Return by how many ms our numbers of a column differ once they are rounded, row by row."""
    printed = [getattr(row, COLUMNS[column][1]) for row in PUBLISHED_ROWS]
    return (table1.set_index("row")[column] + 1e-9).round() - printed


rounded = pd.DataFrame({column: printed_differences(column) for column in COLUMNS})
is_small = table1["row"].str.contains("-b16-").to_numpy()
unused = pd.concat([rounded["lower_bound"], rounded.loc[~is_small, "greedy_no_discount"]])
without_l2l = rounded.drop(columns="l2l")
l2l_of_bert = [row.l2l_ms - row.base_ms for row in PUBLISHED_ROWS if row.name.startswith("bert-96")]
steady = remainders.set_index("row")
is_steady = {
    method: (steady.filter(regex=f"^{method}_").sub(steady[f"{method}_+0"], axis="index") == 0)
    for method in ("greedy", "greedy-no-discount")
}
unsteady = {
    (method, name)
    for method, table in is_steady.items()
    for name in table.index[~table.all(axis=1)]
}
PICTURED = [memory_at("gpt2-74-b16-table1", step / 16) for step in range(-24, 25)]
waits = {
    method: [idle_ms(solved("gpt2-74-b16-table1", method, 12, memory)) for memory in PICTURED]
    for method in ("greedy", "margin-sweep")
}
fast, slow = figure4[figure4["mib_per_ms"] >= 2], figure4[figure4["mib_per_ms"] == 1]
over_greedy = figure4["l2l"] / figure4["greedy"]
most = ratios.set_index("row").max(axis=1).sort_values()
met = (better["local-search"] > 0) & ((better["local-search"] - better["bound"]).abs() < 0.11)
still_open = better[better["open_percent"] > 0.1]
waiting = small["exact"] > small["base"]
explained = small_bounds.set_index("bound")["explained_percent"]
found_optima = small_schedules.set_index("method")
CLAIMS = {
    "35 of the 60 numbers of the four columns were used to make the chains": 15
    + 15
    + is_small.sum()
    == 35,
    "all fifteen of Greedy for the memory, of which there are nine": len(
        {(row.network, row.memory_mib) for row in PUBLISHED_ROWS}
    )
    == 9,
    "25 were not used: the lower bound of all fifteen rows, and Greedy\\* in the ten rows with a batch "
    "of 32 or 64.": len(unused) == 25 and (~is_small).sum() == 10,
    "All 60 numbers are within a millisecond of the paper's": rounded.size == 60
    and bool((largest < 1).all()),
    "54 are equal to them when they are rounded to milliseconds": int((rounded == 0).sum().sum())
    == 54,
    "three of L2L on GPT-2 56, one of L2L on Bert-96, and two of Greedy\\*.": (
        sorted(rounded.index[rounded["l2l"] != 0].str[:7]) == ["bert-96", *3 * ["gpt2-56"]]
        and (without_l2l != 0).sum().to_dict()
        == {"lower_bound": 0, "greedy": 0, "greedy_no_discount": 2}
    ),
    "cost 2612, 2613 and 2612 ms in the paper's three rows": l2l_of_bert == [2612, 2613, 2612],
    "Of the 25 numbers that were not used to make the chains all come out when rounded.": bool(
        (unused == 0).all()
    ),
    "the discount saves nothing with batches of 32 and 64.": all(
        row.greedy_ms == row.greedy_no_discount_ms for row in PUBLISHED_ROWS if row.batch > 16
    )
    and bool((table1["greedy"] == table1["greedy_no_discount"])[~is_small].all()),
    "`margin-sweep`, described below, finds such a schedule in each of the fifteen rows.": bool(
        (table1["lower_bound"] == table1["base"]).all()
    ),
    "A block more or less changes nothing in thirteen rows": len({name for _, name in unsteady})
    == 2,
    "only gpt2-38-b16 refuses a block more, and Greedy\\* on bert-96-b16 either of them.": unsteady
    == {
        ("greedy", "gpt2-38-b16-table1"),
        ("greedy-no-discount", "gpt2-38-b16-table1"),
        ("greedy-no-discount", "bert-96-b16-table1"),
    },
    "In gpt2-74-b16, Greedy waits for 36 to 648 ms": (
        round(min(waits["greedy"])),
        round(max(waits["greedy"])),
    )
    == (36, 648),
    "`margin-sweep` waits nowhere on this picture.": max(waits["margin-sweep"]) == 0,
    "on four of the five rows with a batch of 16": len(shares) == 5
    and int((shares["share_0.24"] != shares["share_0.26"]).sum()) == 4,
    "in these four rows even from 2 MiB/ms on.": bool((fast["bound"] == 1).all()),
    "`local-search` does not wait there.": bool((fast["local-search"] == 1).all()),
    "within 3 % of the step from 4 MiB/ms on.": bool(
        (figure4.loc[figure4["mib_per_ms"] >= 4, "greedy"] < 1.03).all()
    ),
    "At 1 MiB/ms it waits for 2 to 22 % of $\\sum_j u_j$, where 0 to 19 % are needed.": [
        round(100 * edge(slow[column]) - 100)
        for column in ("greedy", "bound")
        for edge in (min, max)
    ]
    == [2, 22, 0, 19]
    and bool((slow["bound"] == slow["local-search"]).all()),
    "by a factor of 1.1 to 5.1.": (round(over_greedy.min(), 1), round(over_greedy.max(), 1))
    == (1.1, 5.1),
    "Never faster, and equal at 12 MiB/ms.": bool(
        (ratios.drop(columns="row") >= 1).all(axis=None) and (ratios["beta_12"] == 1).all()
    ),
    "The ratio goes up to 4.4 in nine of the rows": len(most) == 10
    and round(most.iloc[-2], 1) == 4.4,
    "in the tenth it is 15 at 2 MiB/ms": round(most.iloc[-1]) == 15
    and round(ratios["beta_2"].max()) == 15,
    "Greedy waits in all of these twenty cases.": len(better) == 20 and better["greedy"].min() > 0,
    "In eleven of them nothing has to wait, and `local-search` finds such a schedule.": int(
        (better["local-search"] == 0).sum()
    )
    == 11,
    "In five more it meets the bound, up to a tenth of a millisecond": int(met.sum()) == 5,
    "In four cases, all at the slowest link, between 2 and 17 % of what is left may still be "
    "avoidable.": len(still_open) == 4
    and set(still_open["mib_per_ms"]) == {0.5}
    and still_open["open_percent"].between(2, 17).all(),
    "Greedy finds 11 of 40 optima, and waits 41 % longer than is needed; `local-search` misses one.": (
        len(small) == 40
        and found_optima.loc["greedy", "optimal"] == 11
        and round(100 * found_optima.loc["greedy", "idle_of_optimum"]) == 141
        and found_optima.loc["local-search", "optimal"] == 39
    ),
    "Where an optimum waits at all, every bound is below it": bool(
        small.loc[waiting, BOUNDS].lt(small.loc[waiting, "exact"], axis="index").all(axis=None)
    ),
    "37.8 % of the waiting is explained by the paper's MILP": explained["papers_milp"] == 37.8,
    "39.0 % with our four kinds of rows, 48.6 % by `aggint`": explained["milp"] == 39.0
    and explained["aggint"] == 48.6,
    "The 18 tight ones are those whose optimum does not wait.": int((~waiting).sum()) == 18
    and bool((small_bounds["tight"] == 18).all()),
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
# `docs/papers/weight_offload.toml` lists them; a test asks that all places exist.

# %%
pd.set_option("display.max_rows", None, "display.max_colwidth", None)
found_paper("weight_offload").table()
