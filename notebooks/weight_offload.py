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
# What takes minutes was **recorded**: the paper's ILP, the searches and bounds over bandwidths, the
# methods on small cases, greedy on many memories. The rows stand in `notebooks/_rows`. Each run of this notebook computes
# some of them again, which have to come out the same, and any row that is not there; the last cell
# says how many. To have all of them computed, remove the files `weight_offload_*.jsonl` there, and
# run it again (`make notebooks`).

# %%
# %matplotlib inline
import random
import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import jettison as jt
from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.weight_offload.aggregated import Aggregated, Layers
from jettison.formulations.weight_offload.paper import IMPLIED_CUTS, Cut, WeightOffloadMilp
from jettison.formulations.weight_offload.scale import WeightOffloadScale
from jettison.instances.generators.published_transformers import PUBLISHED_ROWS, PublishedRow
from jettison.schedules.core.picture_style import (
    BLACK,
    BLUE,
    GREEN,
    LIGHT_GREY,
    ORANGE,
)
from jettison.schedules.weight_offload.cyclic_plot import plot_cycle
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.result import Result
from jettison.solvers.core.solve import solve_with
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions, LinearAlgorithm
from jettison.solvers.weight_offload.bounds.any_model import relaxed_bound_ns, solve_relaxation
from jettison.solvers.weight_offload.greedy.selection import Absence, Choice, select_choices
from jettison.solvers.weight_offload.rounding import rounded_selections
from jettison.solvers.weight_offload.scheduler import Discount, WeightScheduler
from jettison.studies.comparison.method_style import method_styles
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
#   of the fifteen rows. The integer programs themselves are solved in the next section.
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

# %% [markdown]
# How such a schedule looks: `greedy` waits at the beginning of the step, where memory is full and
# the weights of each layer have to be away before those of the next can come. What is under way at
# the end of the period goes on at its start.

# %%
shown = solved("gpt2-38-b64-table1", "greedy")
plot_cycle(shown.replay, title="gpt2-38-b64-table1: greedy")

# %% [markdown]
# ## The ILP of Table 1, solved
#
# The paper solves its integer program with CPLEX. Here is **the paper's own program**, `paper-milp`:
# its rows (2) to (8), misprints corrected, and none of ours. HiGHS solves it with one thread, without
# a start and without a look at any schedule. `point_ms` is the objective of its best point, and
# `bound_ms` what its dual bound proves, which is lowered by the solver's tolerances. `CPU s` is what
# a row took when it was recorded, writing the program down included.

# %%
ILPS = {
    "paper-milp": WeightOffloadMilp(),
    # (6c) is left out of models of this size; (8c), below, is no part of either.
    "paper-milp-strengthened": WeightOffloadMilp(cuts=frozenset(Cut) - {Cut.COPIED} - IMPLIED_CUTS),
}
# HiGHS stops after so much work, counted in iterations, and not after a time.
ILP_WORK = 30_000


def solved_ilp(name: str, mib_per_ms: float) -> dict[str, int | str | None]:
    """Solve the paper's own program, and return how large it is and what HiGHS finds and proves."""
    built = ILPS["paper-milp"].build(problem_of(name, mib_per_ms))
    model = from_pulp(built.problem).model
    options = HighsOptions(gap=0, threads=1, feasibility_tolerance=1e-9, work_limit=ILP_WORK)
    solution = solve_model(model, options)
    bound_ns = CHAINS[name].base_time_ns
    if solution.dual_bound is not None:
        bound_ns = max(bound_ns, built.scale.time_from_solver_ns(solution.dual_bound))
    return {
        "columns": model.num_columns,
        "rows": model.num_rows,
        "ended": str(solution.termination),
        "nodes": solution.nodes,
        "point": None if solution.objective is None else built.scale.time_ns(solution.objective),
        "bound": bound_ns,
    }


@KEPT.rows("weight_offload_ilp", again_s=1.5, about=["bound", "point"])
def ilp_row(name: str, mib_per_ms: float) -> dict[str, int | str | None]:
    """Return what HiGHS finds and proves with the paper's own program."""
    return solved_ilp(name, mib_per_ms)


def shown_ilp(name: str, mib_per_ms: float) -> dict[str, object]:
    """Return a recorded row with its times in ms and its gap."""
    found = ilp_row(name, mib_per_ms)
    point_ns, bound_ns = found["point"], found["bound"]
    return {
        "columns": found["columns"],
        "rows": found["rows"],
        "nodes": found["nodes"],
        "point_ms": None if point_ns is None else ms(point_ns),
        "bound_ms": ms(bound_ns),
        "gap_percent": None if point_ns is None else round(100 * (1 - bound_ns / point_ns), 4),
    }


ilp = pd.DataFrame(
    [
        {"row": name, "ilp_of_the_paper_ms": row.ilp_ms, "base_ms": ms(CHAINS[name].base_time_ns)}
        | shown_ilp(name, 12)
        for name, row in ROWS.items()
    ]
)
ilp_cpu_s = [ilp_row.cpu_s(name, 12) for name in ROWS]
ilp.assign(**{"CPU s": ilp_cpu_s})

# %% [markdown]
# In all fifteen rows HiGHS closes the gap at the root, and the program's optimum is
# $\sum_j u_j$: the paper's column ILP comes out to the millisecond, from the ILP. The longest took
# 8 CPU seconds (Bert-144, 210 830 columns), the shortest a third of a second. The paper gives no times of
# CPLEX. One row live, and it has to be as it was recorded:

# %%
LIVE = "gpt2-74-b16-table1"
started_s = time.process_time()
live_ilp = solved_ilp(LIVE, 12)
print(f"{LIVE}: {time.process_time() - started_s:.1f} CPU seconds")
live_ilp

# %% [markdown]
# The same program with three of the four kinds of rows that are ours (`Cut` in
# `formulations/weight_offload/paper.py`) is called `paper-milp-strengthened`, there and wherever both
# appear: as methods, among the models that `jettison export` writes, and below. In Table 1 nothing is
# left to strengthen; on slow links and on small cases there is.

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
    styles = method_styles()
    for method, printed in (
        ("greedy-no-discount", row.greedy_no_discount_ms),
        ("greedy", row.greedy_ms),
    ):
        colour = styles[method].colour
        idle = [idle_ms(solved(name, method, 12, memory_at(name, offset))) for offset in offsets]
        axes.plot(offsets, idle, drawstyle="steps-mid", color=colour, label=method)
        axes.axhline(printed - row.base_ms, color=colour, linestyle=":", label="the paper's")
    idle = [
        idle_ms(solved(name, "margin-sweep", 12, memory_at(name, offset))) for offset in offsets
    ]
    axes.plot(offsets, idle, color=styles["margin-sweep"].colour, label="margin-sweep")
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

# %% [markdown]
# ## Fewest constants
#
# The chains have nine memories. How few would do? `memory_row` runs Greedy and Greedy\* of a row in
# every memory that is a multiple of 4 MiB, from the least to the 16 GiB of the device, and notes in
# which one, or both, come out within a millisecond. From these sets the best memories of each family
# follow; they are chosen by all thirty numbers, so that none of the thirty is left to predict.

# %%
GRID_MIB = 4
GRID = range(0, 16 * 1024 + 1, GRID_MIB)


def greedy_hits(row: PublishedRow, memory_bytes: int) -> tuple[bool, bool]:
    """Return whether Greedy and Greedy* of a row come out in a memory, within a millisecond."""
    problem = problem_of(row.name, 12, memory_bytes)
    choices = select_choices(problem)
    scheduler = WeightScheduler(problem)
    assert choices is not None
    hits = []
    for discount, printed in (
        (Discount.USED, row.greedy_ms),
        (Discount.NOT_USED, row.greedy_no_discount_ms),
    ):
        period_ns = scheduler.period_ns(choices, discount)
        assert period_ns is not None
        hits.append(abs(period_ns - printed * MS) < MS)
    return hits[0], hits[1]


def as_text(steps: list[int]) -> str:
    """Return numbers in ascending order as ranges: ``3-5 8``."""
    ranges: list[list[int]] = []
    for step in steps:
        if ranges and step == ranges[-1][1] + 1:
            ranges[-1][1] = step
        else:
            ranges.append([step, step])
    return " ".join(f"{first}-{last}" if first < last else f"{first}" for first, last in ranges)


def from_text(text: str) -> set[int]:
    """Return the numbers of such ranges."""
    numbers: set[int] = set()
    for part in text.split():
        first, _, last = part.partition("-")
        numbers |= set(range(int(first), int(last or first) + 1))
    return numbers


@KEPT.rows("weight_offload_memories", again_s=1.0)
def memory_row(name: str) -> dict[str, str]:
    """Return the memories, in steps of the grid, in which Greedy and Greedy* come out."""
    least_bytes = problem_of(name).cycle.least_memory_bytes
    steps = [step for step, mib in enumerate(GRID) if mib * MIB >= least_bytes]
    hits = {step: greedy_hits(ROWS[name], GRID[step] * MIB) for step in steps}
    return {
        method: as_text([step for step in steps if hits[step][number]])
        for number, method in enumerate(("greedy", "greedy-no-discount"))
    }


def hits_by_step(name: str) -> list[int]:
    """Return how many of a row's two numbers come out in each memory of the grid."""
    sets = [from_text(text) for text in memory_row(name).values()]
    return [sum(step in found for found in sets) for step in range(len(GRID))]


HITS = {name: hits_by_step(name) for name in ROWS}


def hits_of(names: Iterable[str]) -> list[int]:
    """Return how many numbers of these rows come out in each memory of the grid."""
    return [sum(found) for found in zip(*(HITS[name] for name in names), strict=True)]


def most_hits(key: Callable[[PublishedRow], Hashable]) -> int:
    """Return the most numbers that come out with one memory for each value of a key."""
    groups: dict[Hashable, list[str]] = {}
    for row in PUBLISHED_ROWS:
        groups.setdefault(key(row), []).append(row.name)
    return sum(max(hits_of(names)) for names in groups.values())


BY_BATCH = {
    batch: hits_of(name for name, row in ROWS.items() if row.batch == batch)
    for batch in (16, 32, 64)
}


def most_hits_on_a_line() -> int:
    """Return the most numbers that come out in a memory that falls linearly with the batch."""
    last = len(GRID) - 1
    return max(
        BY_BATCH[16][step] + BY_BATCH[32][step - fall] + BY_BATCH[64][step - 3 * fall]
        for step in range(last + 1)
        for fall in range(step // 3 + 1)
    )


# The line of the second family, in MiB: one for both networks and all depths.
LINE = (15538.0, 27.25)
# Batch 16 of GPT-2: the depths agree on an eighth of a MiB, which no multiple of 4 MiB meets.
SLIVER_MIB = 14236.65
SIX = {
    ("gpt2", 64): 12048,
    ("gpt2", 32): 14664,
    ("gpt2", 16): SLIVER_MIB,
    ("bert", 64): 13640,
    ("bert", 32): 14508,
    ("bert", 16): 15256,
}
# What a family is, its constants, its memory of a row in MiB, and the most numbers of any of its
# members on the grid.
FAMILIES: list[tuple[str, int, Callable[[PublishedRow], float], int]] = [
    ("one memory", 1, lambda row: 15104, most_hits(lambda row: 0)),
    ("M = a - b batch", 2, lambda row: LINE[0] - LINE[1] * row.batch, most_hits_on_a_line()),
    (
        "one for each batch",
        3,
        lambda row: LINE[0] - LINE[1] * row.batch,
        most_hits(lambda row: row.batch),
    ),
    (
        "one for each network and batch",
        6,
        lambda row: SIX[row.network, row.batch],
        most_hits(lambda row: (row.network, row.batch)),
    ),
    (
        "as bundled",
        9,
        lambda row: row.memory_mib,
        most_hits(lambda row: (row.network, row.memory_mib)),
    ),
]


def family_row(
    family: str, constants: int, memory_mib: Callable[[PublishedRow], float], most: int
) -> dict[str, object]:
    """Return how many numbers come out with the memories of a family, and which do not."""
    hits = {row: greedy_hits(row, int(memory_mib(row) * MIB)) for row in PUBLISHED_ROWS}
    reproduced = sum(map(sum, hits.values()))
    missed = [
        f"{row.name.removesuffix('-table1')} {' '.join(both)}"
        for row, found in hits.items()
        if (
            both := [
                word for word, hit in zip(("Greedy", "Greedy*"), found, strict=True) if not hit
            ]
        )
    ]
    return {
        "memories": family,
        "constants": constants,
        "most_on_grid_of_30": most,
        "reproduced_of_30": reproduced,
        "of_all_60": 30 + reproduced,
        "missed": "; ".join(missed) or "none",
    }


families = pd.DataFrame([family_row(*family) for family in FAMILIES])
pd.set_option("display.max_colwidth", None)
families

# %% [markdown]
# The other thirty of the sixty, L2L and the lower bound, do not depend on the memory, and come out in
# all families. One memory of 15 104 MiB for all fifteen rows reproduces 51 of the 60 numbers. A
# memory that falls with the batch, as the text says it does, 15 538 MiB less 27.25 MiB for each
# sample, the same for both networks and all depths, reproduces **55 of 60 with two constants**. The
# five that it misses are Greedy and Greedy\* of GPT-2 38 with batches of 64 and 16, and Greedy\* of
# Bert-96 with 16. A third constant, one memory for each batch, gains nothing. Six, one for each network and batch,
# reproduce 58; there the three depths of GPT-2 with a batch of 16 agree on an eighth of a MiB only. The
# bundled chains have nine, and all 60 numbers; they stay as they are.
#
# With a share of the forward of exactly a quarter, which is no constant but what recomputation of a
# forward half as long as its backward gives, one number more is missed, Greedy\* of Bert-144 with 16:

# %%
QUARTERS = {name: with_forward_share(chain, 0.25) for name, chain in CHAINS.items()}


def hits_with_a_quarter(memory_mib: Callable[[PublishedRow], float]) -> int:
    """Return how many of the thirty come out if the forward takes a quarter of the time."""
    hits = 0
    for row in PUBLISHED_ROWS:
        memory_bytes = int(memory_mib(row) * MIB)
        problem = jt.WeightOffload(QUARTERS[row.name], memory_bytes, 12 * MIB * 1000)
        for method, printed in (
            ("greedy", row.greedy_ms),
            ("greedy-no-discount", row.greedy_no_discount_ms),
        ):
            time_ns = solve_with(problem, method, OPTIONS).time_ns
            hits += abs(time_ns - printed * MS) < MS
    return hits


quarters = pd.DataFrame(
    [
        {"memories": family, "share_.2525": reproduced, "share_.25": hits_with_a_quarter(memory)}
        for (family, _, memory, _), reproduced in zip(
            FAMILIES, families["reproduced_of_30"], strict=True
        )
    ]
)
quarters

# %% [markdown]
# **No memory for a batch fits GPT-2 with 64**, and that can be checked by hand. Greedy waits there for
# 72, 72 and 144 ms at depths 74, 56 and 38 (the table, Greedy less $\sum_j u_j$). A block takes
# (52707 - 47421) / (2 · 73.39) = 36.01 ms to come back, by the column L2L, in which the weights are 73.39
# blocks. So it waits for $\nu$ = 2, 2 and 4 transfers. The picture shows $\nu$ against the memory. It falls
# by one whenever the memory grows by what a layer saves, $a$ = 96 MiB, since the first block comes
# back once enough backwards have freed its place; and it starts again after a block of $w$ = 432 MiB,
# when one block less leaves. So $\nu = \lceil \tau / a \rceil$, where $\tau$ is $C + D a - M$
# modulo $w$ at depth $D$, or less where few blocks leave (depth 38 above 13 GiB).

# %%
DEPTHS = {74: BLUE, 56: ORANGE, 38: GREEN}


def transfers_waited(depth: int, memory_mib: int) -> float:
    """Return for how many transfers of a block Greedy waits, GPT-2 with a batch of 64."""
    name = f"gpt2-{depth}-b64-table1"
    problem = problem_of(name, 12, memory_mib * MIB)
    choices = select_choices(problem)
    assert choices is not None
    period_ns = WeightScheduler(problem).period_ns(choices)
    assert period_ns is not None
    block_ns = problem.link.transfer_ns(CHAINS[name].stages[1].weight_bytes)
    return round((period_ns - CHAINS[name].base_time_ns) / block_ns, 3)


WAITED_MIB = range(10 * 1024, 14 * 1024, 8)
waited = {depth: [transfers_waited(depth, mib) for mib in WAITED_MIB] for depth in DEPTHS}
figure = Figure(figsize=(9, 3.4), layout="constrained")
panels = figure.subplots(len(DEPTHS), 1, sharex=True, sharey=True)
for axes, (depth, colour) in zip(panels, DEPTHS.items(), strict=True):
    row = ROWS[f"gpt2-{depth}-b64-table1"]
    printed = round((row.greedy_ms - row.base_ms) / 36.01)
    axes.plot(WAITED_MIB, waited[depth], color=colour, drawstyle="steps-mid")
    axes.axhline(printed, color=BLACK, linestyle=":", linewidth=1)
    axes.set_title(f"depth {depth}; the paper's ν = {printed} dotted", loc="left", fontsize=9)
    axes.set_yticks([0, 2, 4])
    axes.spines[["top", "right"]].set_visible(False)
figure.supylabel("ν, transfers waited for", fontsize=10)
panels[-1].set_xlabel("M (MiB), GPT-2 with a batch of 64")
figure

# %% [markdown]
# Let $\tau, \tau', \tau''$ belong to the depths 74, 56 and 38 in one memory. Each step takes off
# $18 a$ modulo $w$. $\nu = 2$ twice says that $\tau$ and $\tau'$ are in $(a, 2a]$; so
# $y = \tau - \tau'$ is between $-a$ and $a$, and it is $18 a$ modulo $w$. Then $\tau' - y$, which
# is between 0 and $3a$, is $\tau''$ modulo $w$, but $\nu \ge 4$ asks for $3a < \tau'' < w$: a
# contradiction, **whatever $a$ is**. So rows GPT-2 56 and 38 with a batch of 64 exclude each other in
# one memory with 74, for every size of activations, and at least two numbers of this
# family of six are lost: 58 is its best. With $a$ = 96 MiB it is plain: 18 layers save 1728 MiB, four
# blocks are 1728.6, and the curves of depths 74 and 56 are the same.
#
# **No time for a layer fits $\sum_j u_j$**, which is why that column is given and not counted: with a
# time for each block and a constant, the three depths of GPT-2 would lie on a line. But
# 47421 - 2 · 35553 + 23694 = 9 with a batch of 64, 13 with 32 and 12 with 16, and rounding
# accounts for 2. In Bert 48 layers more take 11521 ms with a batch of 64, that is 240 each, and
# 96 of these would take 23042, more than the 22965 of the table.

# %% [markdown]
# ## Bandwidth (Figure 4)
#
# The paper varies $\beta$ from .5 to 12 GB/s, with batches of 32 and 64: ten rows. Durations over
# $\sum_j u_j$. The black curve is the ILP's, **the paper's own program**, `paper-milp`. Each of its 60
# points is closed in one of three ways (`paper-milp_by` in the table):
#
# * `HiGHS`: HiGHS solved the program as it is, its point and its bound meet;
# * `(8c)`: with rows (8c), **which the paper's own rows imply for integers**, so that the optimum is the
#   paper's. Where an operation needs so many bytes to be absent, (7) and (8) let whole layers leave
#   only: as many as it takes are counted (`formulations/weight_offload/paper.py` has the proof). The
#   bound is what the relaxation proves in exact arithmetic, or HiGHS's dual bound where that is
#   larger; the point is the best one of the relaxation rounded, and of HiGHS;
# * `schedule`: a schedule that the replay accepts does not wait, every schedule is a point of the
#   program (Theorem 2), and nothing is faster than $\sum_j u_j$. HiGHS did not run.
#
# The dotted curve is the same for `paper-milp-strengthened`, our three kinds of rows added. The grey
# area is ruled out for all schedules by two more bounds of ours, the relaxation of `aggint`, whose
# multipliers are evaluated in exact arithmetic, and `closed-form`. `plan` is the best schedule that
# `margin-sweep` finds, or `local-search` in the four rows on which it ran.

# %%
BANDWIDTHS = [0.5, 1, 2, 4, 8, 12]
SHOWN = ["gpt2-74-b64-table1", "gpt2-38-b32-table1", "bert-96-b64-table1", "bert-96-b32-table1"]
# A method looks the same in all pictures; the paper's integer program is black.
LINES = {
    method: method_styles()[method]
    for method in ("l2l", "greedy-no-discount", "greedy", "local-search")
}
# Without `local-search`, the paper's three.
PAPERS_LINES = [method for method in LINES if method != "local-search"]
# Where HiGHS closed the paper's program without (8c): from 1 MiB/ms on but for these.
NOT_WITHOUT_8C = {
    ("gpt2-74-b32-table1", 1),
    ("bert-96-b32-table1", 1),
    ("bert-144-b64-table1", 1),
    ("bert-144-b32-table1", 1),
    ("bert-144-b32-table1", 2),
}
FIGURE_4 = [name for name, row in ROWS.items() if row.batch > 16]


def over_base(name: str, time_ns: int) -> float:
    """Return a time over that of a step without waiting."""
    return round(time_ns / CHAINS[name].base_time_ns, 4)


def whole_layers_bound_ns(name: str, mib_per_ms: float) -> int:
    """Return what the relaxation of aggint proves in exact arithmetic."""
    built = Aggregated(Layers.WHOLE).build(problem_of(name, mib_per_ms))
    relaxation = solve_model(built.model.relaxed(), HighsOptions())
    return relaxed_bound_ns(built.model, built.scale, relaxation)


@KEPT.rows("weight_offload_bandwidths", again_s=0.5, about=["bound"])
def times_ns(name: str, mib_per_ms: float) -> dict[str, int]:
    """Return the times of all methods, and the better of two lower bounds in exact arithmetic."""
    methods = [*LINES, "margin-sweep"]
    found = {method: solved(name, method, mib_per_ms).time_ns for method in methods}
    found["bound"] = solved(name, "closed-form", mib_per_ms).bound.time_ns
    if found["local-search"] > found["bound"]:
        found["bound"] = max(found["bound"], whole_layers_bound_ns(name, mib_per_ms))
    return found


@KEPT.rows("weight_offload_bounds", again_s=0.5, about=["bound"])
def bound_row(name: str, mib_per_ms: float) -> dict[str, int]:
    """Return the better of the two lower bounds, where no local search ran."""
    low_ns = solved(name, "closed-form", mib_per_ms).bound.time_ns
    if solved(name, "margin-sweep", mib_per_ms).time_ns > low_ns:
        low_ns = max(low_ns, whole_layers_bound_ns(name, mib_per_ms))
    return {"bound": low_ns}


def best_bound_ns(name: str, mib_per_ms: float) -> int:
    """Return the better of our two lower bounds."""
    found = times_ns if name in SHOWN else bound_row
    return found(name, mib_per_ms)["bound"]


@KEPT.rows("weight_offload_relaxations", again_s=1.0, about=["relaxed"])
def relaxed_row(name: str, mib_per_ms: float, model_name: str) -> dict[str, int]:
    """Return what the relaxation of an ILP proves in exact arithmetic."""
    built = ILPS[model_name].build(problem_of(name, mib_per_ms))
    model = from_pulp(built.problem).model
    relaxation = solve_relaxation(model, OPTIONS, Clock(None), LinearAlgorithm.INTERIOR)
    return {"relaxed": relaxed_bound_ns(model, built.scale, relaxation)}


def is_settled(bound_ns: int, point_ns: int | None) -> bool:
    """Tell whether bound and point are one number, up to the solver's tolerance."""
    return point_ns is not None and point_ns - bound_ns <= 1e-6 * point_ns


def with_selection(model: ArrayModel, selection: Iterable[Choice]) -> ArrayModel:
    """Return the linear program that is left of an ILP once it is chosen what is absent when."""
    words = {Absence.AFTER_BACKWARD: "gone0", Absence.AFTER_FORWARD: "gone1"}
    chosen = {f"{words[choice.absence]}_{choice.layer}" for choice in selection}
    chosen |= {f"upload_{name.split('_')[1]}" for name in chosen}
    values = np.array([float(name in chosen) for name in model.column_names])
    lower = np.where(model.integer, values, model.column_lower)
    upper = np.where(model.integer, values, model.column_upper)
    return replace(model.relaxed(), column_lower=lower, column_upper=upper)


def absences(model: ArrayModel, values: np.ndarray, word: str, layers: int) -> np.ndarray:
    """Return by layer how much of it is absent in a gap, at a point of an ILP's relaxation."""
    found = dict(zip(model.column_names, values, strict=True))
    return np.array([found.get(f"{word}_{layer}", 0.0) for layer in range(1, layers + 1)])


# HiGHS is not asked where its simplex method would take longer for the root than all else here.
MOST_ROWS = 50_000


# Where the interior point method takes long, the multipliers of a slightly faster link are as good: the
# bandwidth stands in the right-hand sides only, and multipliers prove a bound wherever they come from.
# What is left of the program after rounding takes as long there: the point is our schedule's.
NEARBY = {("bert-144-b32-table1", 1): 1.03}


def counted(name: str, mib_per_ms: float, model_name: str) -> tuple[ArrayModel, WeightOffloadScale]:
    """Return an ILP with (8c), and its scale."""
    milp = ILPS[model_name]
    built = replace(milp, cuts=milp.cuts | IMPLIED_CUTS).build(problem_of(name, mib_per_ms))
    return from_pulp(built.problem).model, built.scale


@KEPT.rows("weight_offload_brackets", again_s=1.5, about=["bound", "point"])
def bracket_row(name: str, mib_per_ms: float, model_name: str) -> dict[str, int | str | None]:
    """Return a bracket of an ILP's optimum: from its relaxation with (8c), rounded, and HiGHS."""
    problem = problem_of(name, mib_per_ms)
    model, scale = counted(name, mib_per_ms, model_name)
    near = NEARBY.get((name, mib_per_ms))
    nearby = model if near is None else counted(name, near, model_name)[0]
    relaxation = solve_relaxation(nearby, OPTIONS, Clock(None), LinearAlgorithm.INTERIOR)
    bound_ns = relaxed_bound_ns(model, scale, relaxation)
    if near is not None:
        return {"ended": "relaxed", "nodes": 0, "point": None, "bound": bound_ns}
    parts = [
        absences(model, relaxation.values, word, len(CHAINS[name])) for word in ("gone0", "gone1")
    ]
    interior = HighsOptions(linear_algorithm=LinearAlgorithm.INTERIOR)
    points = [
        solve_model(with_selection(model, selection), interior)
        for selection in set(rounded_selections(problem, *parts))
    ]
    best = min(points, key=lambda point: point.objective)
    point_ns, ended, nodes = scale.time_ns(best.objective), "rounded", 0
    if not is_settled(bound_ns, point_ns) and model.num_rows < MOST_ROWS:
        options = HighsOptions(
            gap=0,
            threads=1,
            feasibility_tolerance=1e-9,
            work_limit=ILP_WORK,
            start=best.values,
        )
        solution = solve_model(model, options)
        ended, nodes = str(solution.termination), solution.nodes
        bound_ns = max(bound_ns, scale.time_from_solver_ns(solution.dual_bound))
        if solution.objective is not None:
            point_ns = min(point_ns, scale.time_ns(solution.objective))
    return {"ended": ended, "nodes": nodes, "point": point_ns, "bound": bound_ns}


def best_plan_ns(name: str, mib_per_ms: float) -> int:
    """Return the time of the best schedule of ours."""
    if name in SHOWN:
        return times_ns(name, mib_per_ms)["local-search"]
    return solved(name, "margin-sweep", mib_per_ms).time_ns


def ilp_bracket(name: str, mib_per_ms: float, model_name: str) -> tuple[int, int, str]:
    """Return what is proved of an ILP's optimum, its best point, and what closed it."""
    is_plain = model_name == "paper-milp" and mib_per_ms >= 1
    if is_plain and (name, mib_per_ms) not in NOT_WITHOUT_8C:
        found = ilp_row(name, mib_per_ms)
        return found["bound"], found["point"], "HiGHS"
    base_ns = CHAINS[name].base_time_ns
    if best_plan_ns(name, mib_per_ms) == base_ns:
        return base_ns, base_ns, "schedule"
    found = bracket_row(name, mib_per_ms, model_name)
    # Every schedule is a point: Theorem 2.
    point_ns = best_plan_ns(name, mib_per_ms)
    if found["point"] is not None:
        point_ns = min(point_ns, found["point"])
    return found["bound"], point_ns, "(8c)"


def figure4_row(name: str, mib_per_ms: float) -> dict[str, object]:
    """Return the durations of the paper's methods, of both ILPs, and our bound and plan."""
    row: dict[str, object] = {"row": name, "mib_per_ms": mib_per_ms}
    row |= {
        method: over_base(name, solved(name, method, mib_per_ms).time_ns) for method in PAPERS_LINES
    }
    for model_name in ILPS:
        bound_ns, point_ns, by = ilp_bracket(name, mib_per_ms, model_name)
        row |= {
            model_name: over_base(name, bound_ns),
            f"{model_name}_gap_percent": round(100 * (1 - bound_ns / point_ns), 3),
            f"{model_name}_by": by if is_settled(bound_ns, point_ns) else "open",
        }
    return row | {
        "bound": over_base(name, best_bound_ns(name, mib_per_ms)),
        "plan": over_base(name, best_plan_ns(name, mib_per_ms)),
    }


# How the points of the paper's ILP are marked, by what closed them.
MARKERS = {"HiGHS": ("o", "full"), "(8c)": ("D", "full"), "schedule": ("s", "full")}
MARKERS["open"] = ("o", "none")


def draw_bandwidths(table: pd.DataFrame) -> Figure:
    """Draw durations against bandwidth, a panel for each row of the paper's table."""
    figure = Figure(figsize=(12, 6), layout="constrained")
    panels = figure.subplots(2, 5, sharex=True, sharey=True)
    shown = {}
    for axes, name in zip(panels.flat, FIGURE_4, strict=True):
        points = table[table["row"] == name]
        where = points["mib_per_ms"]
        axes.fill_between(where, points["bound"], color=LIGHT_GREY, linewidth=0, label="our bound")
        for method in PAPERS_LINES:
            colour, marker = LINES[method]
            axes.plot(
                where, points[method], color=colour, marker=marker, markersize=4, label=method
            )
        axes.plot(
            where,
            points["plan"],
            color=LINES["local-search"].colour,
            linewidth=1,
            label="plan",
        )
        ilp_line = {"color": BLACK, "linewidth": 1}
        axes.plot(where, points["paper-milp"], linestyle="--", **ilp_line)
        axes.plot(
            where,
            points["paper-milp-strengthened"],
            linestyle=":",
            label="paper-milp-strengthened",
            **ilp_line,
        )
        for by, (marker, fill) in MARKERS.items():
            some = points[points["paper-milp_by"] == by]
            if some.empty:
                continue
            axes.plot(
                some["mib_per_ms"],
                some["paper-milp"],
                color=BLACK,
                marker=marker,
                markersize=5,
                fillstyle=fill,
                linestyle="",
                label=f"paper-milp (ILP), {by}",
            )
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_ylim(0.93, 9)
        axes.set_yticks([1, 1.5, 2, 3, 4, 6, 8])
        axes.minorticks_off()
        axes.set_xticks(BANDWIDTHS)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.set_title(name.removesuffix("-table1"), loc="left", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        handles, labels = axes.get_legend_handles_labels()
        shown |= dict(zip(labels, handles, strict=True))
    for axes in panels[-1]:
        axes.set_xlabel("β (MiB/ms)")
    for axes in panels[:, 0]:
        axes.set_ylabel("duration / Σ u")
    figure.legend(
        shown.values(), shown, loc="outside lower center", ncols=5, frameon=False, fontsize=9
    )
    return figure


figure4 = pd.DataFrame(
    [figure4_row(name, mib_per_ms) for name in FIGURE_4 for mib_per_ms in BANDWIDTHS]
)
draw_bandwidths(figure4)

# %%
figure4

# %% [markdown]
# 57 of the 60 points of the paper's ILP are closed: 45 by HiGHS on the program as it is, 11 with (8c),
# one by a schedule. The three others are Bert-96 at .5 MiB/ms, where HiGHS takes too long for the root
# and the bracket of the optimum is 1.5 % wide, and Bert-144 with a batch of 32 at 1, where it is 6.3 %
# wide. Of the strengthened program the same three are open, 17 points are closed with (8c) and 40 by a
# schedule. Of the closed points its optimum is larger in three, GPT-2 at .5 MiB/ms with a batch of 64.
#
# The paper's claims:
#
# * *The lower bound gives no idle time in all settings* of Table 1: so here.
# * *The ILP shows almost no idle time when the bandwidth is higher than 4 GB/s*: so here, by the ILP
#   itself. From 4 MiB/ms on its optimum is $\sum_j u_j$ in all ten rows, at 2 MiB/ms in seven of
#   ten; with a batch of 32 Bert-144 and GPT-2 56 and 74 wait there, for 1, 4 and 13 %. And it can be
#   reached: in the four rows on which `local-search` ran it does not wait from 2 MiB/ms on.
# * *Greedy is very close to the lower bound*: within 3 % of the step from 4 MiB/ms on, in all ten rows.
#   At 1 MiB/ms it waits for 2 to 90 % of $\sum_j u_j$, where our bounds prove 0 to 68 %.
# * *L2L always causes a reduction in throughput compared to Greedy*: so here, by a factor of 1.1 to 5.1.
# * *Greedy\* is always slower than Greedy. Not considering the discount can induce up to 5 times more
#   idle time.* Idle time of Greedy\* over that of Greedy:

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
        for name in FIGURE_4
    ]
)
ratios

# %% [markdown]
# Never faster, and equal at 12 MiB/ms. The ratio goes up to 4.4 in nine of the rows, which is the
# paper's "up to 5"; in the tenth it is 15 at 2 MiB/ms, where Greedy hardly waits at all. The
# discount counts where the link is just fast enough: on a slow link, prefetches take longer than
# the uploads that it saves.
#
# ### The paper's own program, (8c), and the strengthened one
#
# Idle ms on slow links, GPT-2 38. Without (8c): what the relaxations of both programs prove, and what
# HiGHS proves and finds with the paper's program until it has done so much work. With (8c): what is proved
# of both optima, each of which is met by a point. Beside them our other bound, and the plan:

# %%
WAITING = [
    (name, mib_per_ms) for mib_per_ms in (0.5, 1) for name in FIGURE_4 if name.startswith("gpt2-38")
]


def beside_row(name: str, mib_per_ms: float) -> dict[str, object]:
    """Return the idle ms that both programs prove, with (8c) and without, and ours."""
    without = ilp_row(name, mib_per_ms)
    found = {f"{model}_relaxed": relaxed_row(name, mib_per_ms, model)["relaxed"] for model in ILPS}
    found |= {"without_(8c)": without["bound"], "without_(8c)_point": without["point"]}
    found |= {model: ilp_bracket(name, mib_per_ms, model)[0] for model in ILPS}
    found |= {
        "our_bound": best_bound_ns(name, mib_per_ms),
        "plan": best_plan_ns(name, mib_per_ms),
    }
    base_ns = CHAINS[name].base_time_ns
    return {"row": name, "mib_per_ms": float(mib_per_ms)} | {
        column: round(ms(time_ns - base_ns), 1) for column, time_ns in found.items()
    }


beside = pd.DataFrame([beside_row(name, mib_per_ms) for name, mib_per_ms in WAITING])
beside

# %% [markdown]
# Without (8c) HiGHS does not close the two points at .5 MiB/ms; with (8c) it does, at the root. With a
# batch of 32 the optimum of the paper's program is 2853 ms of idle time, where its relaxation
# proves 2328, and the best point without (8c) was 3191; no schedule waits for less than 3144, by our
# other bound. At 1 MiB/ms the program's optimum is no idle time at all, and our bound proves 118.5 ms:
# layers that leave as a whole are what the paper's program does not see. Our three kinds of rows raise
# none of these four relaxations without (8c), and one of the four optima, by 280 ms; on the small cases
# below they raise more.

# %% [markdown]
# ## How long Greedy takes
#
# The paper: *the time complexity of this greedy algorithm is $O(L^3)$. In practice, it takes less than 1
# minute to find a solution for a DNN with up to 128 layers.* Here are both algorithms, all cuts, on
# chains of $L$ layers of unequal sizes and times (up to 1.5 times more or less than 200 MiB and 120
# ms), in 40 % of their memory at 4000 MiB/s. Each was repeated, and the CPU seconds of the repetitions were
# recorded.

# %%
# Layers, and repetitions that take some tenths of a second together.
GREEDY_LAYERS = {128: 1000, 256: 250, 512: 80, 1024: 20, 2048: 4, 4096: 1}


def unequal_layers(layers: int) -> jt.WeightOffload:
    """Return a problem with so many layers of unequal sizes and times, the same every time."""
    chance = random.Random(layers)
    stages = []
    for number in range(1, layers + 1):
        forward_ns = int(40 * MS * 1.5 ** chance.uniform(-1, 1))
        stages.append(
            jt.remat_chain.Stage(
                name=f"layer{number}",
                forward_ns=forward_ns,
                backward_ns=2 * forward_ns,
                output_bytes=0,
                saved_bytes=chance.randint(10, 30) * MIB,
                weight_bytes=int(200 * MIB * 1.5 ** chance.uniform(-1, 1)),
            )
        )
    return jt.WeightOffload(jt.Chain(f"{layers} layers", 0, tuple(stages)), "40%", "4000MiB/s")


@KEPT.rows("weight_offload_greedy", again_s=0.5)
def greedy_row(layers: int, repetitions: int) -> dict[str, int]:
    """Return how many choices both algorithms make, and the period that they find."""
    problem = unequal_layers(layers)
    for _ in range(repetitions):
        choices = select_choices(problem)
        assert choices is not None
        period_ns = WeightScheduler(problem).period_ns(choices)
        assert period_ns is not None
    return {"choices": len(choices), "period": period_ns}


greedy_ms = {
    layers: 1000 * greedy_row.cpu_s(layers, repetitions) / repetitions
    for layers, repetitions in GREEDY_LAYERS.items()
}
exponent = np.polyfit(np.log2(list(greedy_ms)), np.log2(list(greedy_ms.values())), 1)[0]
greedy_times = pd.DataFrame(
    [
        {"layers": layers, "CPU ms": round(cpu_ms, 2)}
        | dict(greedy_row(layers, GREEDY_LAYERS[layers]))
        for layers, cpu_ms in greedy_ms.items()
    ]
)
print(f"fitted exponent {exponent:.2f}")
greedy_times

# %% [markdown]
# So Greedy takes less than a millisecond for 128 layers, and the time grows less than with $L^3$:
# few profits have to be computed again after a choice, and few cuts are possible where memory is
# full.

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
BOUND_METHODS = ["paper-milp-strengthened", "agg", "aggint", "closed-form"]


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
    built = ILPS["paper-milp"].build(problem)
    model = from_pulp(built.problem).model
    solution = solve_model(model, HighsOptions(gap=0, feasibility_tolerance=1e-9))
    return built.scale.time_from_solver_ns(solution.dual_bound)


SMALL_PROBLEMS = small_problems()


@KEPT.rows("weight_offload_small", again_s=0.5)
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
    return row | {"paper-milp": papers_bound_ns(problem)}


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
# The share of the optima's waiting that each bound explains. `paper-milp` is the paper's own MILP with
# its misprints corrected; `paper-milp-strengthened` is the same with all four kinds of rows that are
# ours (`Cut` in `formulations/weight_offload/paper.py`):

# %%
BOUNDS = ["paper-milp", *BOUND_METHODS]
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
    "weight_offload_ilp": ilp,
    "weight_offload_remainders": remainders,
    "weight_offload_shares": shares,
    "weight_offload_families": families,
    "weight_offload_quarters": quarters,
    "weight_offload_figure4": figure4,
    "weight_offload_beside": beside,
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
by_bandwidth = dict(iter(figure4.groupby("mib_per_ms")))
slow = by_bandwidth[1.0]
ilp_waits = by_bandwidth[2.0].set_index("row")["paper-milp"].loc[lambda times: times > 1]
searched = [times_ns(name, mib) for name in SHOWN for mib in BANDWIDTHS if mib >= 2]
over_greedy = figure4["l2l"] / figure4["greedy"]
family_of = families.set_index("memories")
counts_64 = {row.depth: round((row.greedy_ms - row.base_ms) / 36.01) for row in PUBLISHED_ROWS[:3]}
bends = [
    PUBLISHED_ROWS[first].base_ms
    - 2 * PUBLISHED_ROWS[first + 1].base_ms
    + PUBLISHED_ROWS[first + 2].base_ms
    for first in (0, 3, 6)
]
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
    "In all fifteen rows HiGHS closes the gap at the root": len(ilp) == 15
    and bool((ilp["nodes"] <= 1).all())
    and bool((ilp["gap_percent"] == 0).all())
    and all(ilp_row(name, 12)["ended"] == "completed" for name in ROWS),
    "the paper's column ILP comes out to the millisecond, from the ILP.": bool(
        ((ilp["bound_ms"] + 1e-9).round() == ilp["ilp_of_the_paper_ms"]).all()
    )
    and bool((ilp["bound_ms"] == ilp["base_ms"]).all()),
    "The longest took 8 CPU seconds (Bert-144, 210 830 columns), the shortest a third of a second.": (
        round(max(ilp_cpu_s)) == 8
        and 0.3 < min(ilp_cpu_s) < 0.4
        and ilp["row"][ilp_cpu_s.index(max(ilp_cpu_s))].startswith("bert-144")
        and ilp["columns"].max() == 210830
    ),
    "One row live, and it has to be as it was recorded": live_ilp == dict(ilp_row(LIVE, 12)),
    "One memory of 15 104 MiB for all fifteen rows reproduces 51 of the 60 numbers.": (
        family_of.loc["one memory", "of_all_60"] == 51
        and family_of.loc["one memory", "most_on_grid_of_30"] == 21
    ),
    "**55 of 60 with two constants**": family_of.loc["M = a - b batch", "of_all_60"] == 55
    and family_of.loc["M = a - b batch", "most_on_grid_of_30"] == 25,
    "The five that it misses are Greedy and Greedy\\* of GPT-2 38 with batches of 64 and 16, and "
    "Greedy\\* of Bert-96 with 16.": family_of.loc["M = a - b batch", "missed"]
    == "gpt2-38-b64 Greedy Greedy*; gpt2-38-b16 Greedy Greedy*; bert-96-b16 Greedy*",
    "A third constant, one memory for each batch, gains nothing.": family_of.loc[
        "one for each batch", "most_on_grid_of_30"
    ]
    == 25,
    "Six, one for each network and batch, reproduce 58": family_of.loc[
        "one for each network and batch", "of_all_60"
    ]
    == 58,
    "one number more is missed, Greedy\\* of Bert-144 with 16": bool(
        (quarters["share_.2525"] - quarters["share_.25"] == 1).all()
    ),
    "So it waits for $\\nu$ = 2, 2 and 4 transfers.": counts_64 == {74: 2, 56: 2, 38: 4},
    "the curves of depths 74 and 56 are the same.": waited[74] == waited[56],
    "47421 - 2 · 35553 + 23694 = 9 with a batch of 64, 13 with 32 and 12 with 16": bends
    == [9, 13, 12],
    "From 4 MiB/ms on its optimum is $\\sum_j u_j$ in all ten rows, at 2 MiB/ms in seven of ten": all(
        bool((by_bandwidth[mib]["paper-milp"] == 1).all())
        and not (by_bandwidth[mib]["paper-milp_by"] == "open").any()
        for mib in (4.0, 8.0, 12.0)
    )
    and len(by_bandwidth[2.0]) - len(ilp_waits) == 7,
    "with a batch of 32 Bert-144 and GPT-2 56 and 74 wait there, for 1, 4 and 13 %": [
        (name.removesuffix("-table1"), round(100 * ratio - 100))
        for name, ratio in ilp_waits.sort_values().items()
    ]
    == [("bert-144-b32", 1), ("gpt2-56-b32", 4), ("gpt2-74-b32", 13)],
    "in the four rows on which `local-search` ran it does not wait from 2 MiB/ms on.": all(
        found["local-search"] == CHAINS[name].base_time_ns
        for found, name in zip(
            searched, [name for name in SHOWN for mib in BANDWIDTHS if mib >= 2], strict=True
        )
    ),
    "within 3 % of the step from 4 MiB/ms on, in all ten rows.": bool(
        (figure4.loc[figure4["mib_per_ms"] >= 4, "greedy"] < 1.03).all()
    ),
    "57 of the 60 points of the paper's ILP are closed: 45 by HiGHS on the program as it is, 11 with "
    "(8c), one by a schedule.": figure4["paper-milp_by"].value_counts().to_dict()
    == {"HiGHS": 45, "(8c)": 11, "open": 3, "schedule": 1},
    "The three others are Bert-96 at .5 MiB/ms, where HiGHS takes too long for the root and the "
    "bracket of the optimum is 1.5 % wide, and Bert-144 with a batch of 32 at 1, where it is 6.3 % "
    "wide.": sorted(
        (name.removesuffix("-table1"), mib_per_ms, round(gap, 1))
        for name, mib_per_ms, gap in figure4.loc[
            figure4["paper-milp_by"] == "open", ["row", "mib_per_ms", "paper-milp_gap_percent"]
        ].itertuples(index=False)
    )
    == [("bert-144-b32", 1, 6.3), ("bert-96-b32", 0.5, 1.5), ("bert-96-b64", 0.5, 1.5)],
    "Of the strengthened program the same three are open, 17 points are closed with (8c) and 40 by a "
    "schedule.": figure4["paper-milp-strengthened_by"].value_counts().to_dict()
    == {"schedule": 40, "(8c)": 17, "open": 3}
    and bool(
        (
            (figure4["paper-milp_by"] == "open")
            == (figure4["paper-milp-strengthened_by"] == "open")
        ).all()
    ),
    "Of the closed points its optimum is larger in three, GPT-2 at .5 MiB/ms with a batch of 64.": [
        (name[:4], name[-11:-7], mib_per_ms)
        for name, mib_per_ms in figure4.loc[
            (figure4["paper-milp-strengthened"] > figure4["paper-milp"] + 2e-4)
            & (figure4["paper-milp_by"] != "open"),
            ["row", "mib_per_ms"],
        ].itertuples(index=False)
    ]
    == 3 * [("gpt2", "-b64", 0.5)],
    "At 1 MiB/ms it waits for 2 to 90 % of $\\sum_j u_j$, where our bounds prove 0 to 68 %.": [
        round(100 * edge(slow[column]) - 100)
        for column in ("greedy", "bound")
        for edge in (min, max)
    ]
    == [2, 90, 0, 68],
    "by a factor of 1.1 to 5.1.": (round(over_greedy.min(), 1), round(over_greedy.max(), 1))
    == (1.1, 5.1),
    "With a batch of 32 the optimum of the paper's program is 2853 ms of idle time, where its "
    "relaxation proves 2328, and the best point without (8c) was 3191; no schedule waits for less than "
    "3144, by our other bound.": [
        round(beside.loc[beside["row"] == "gpt2-38-b32-table1", column].iloc[0])
        for column in ("paper-milp", "paper-milp_relaxed", "without_(8c)_point", "our_bound")
    ]
    == [2853, 2328, 3191, 3144],
    "At 1 MiB/ms the program's optimum is no idle time at all, and our bound proves 118.5 ms": (
        beside.set_index(["row", "mib_per_ms"])
        .loc[("gpt2-38-b32-table1", 1.0), ["paper-milp", "our_bound"]]
        .tolist()
        == [0, 118.5]
    ),
    "one of the four optima, by 280 ms": (beside["paper-milp-strengthened"] - beside["paper-milp"])
    .round()
    .tolist()
    == [280, 0, 0, 0],
    "Our three kinds of rows raise none of these four relaxations without (8c)": len(beside) == 4
    and bool((beside["paper-milp_relaxed"] == beside["paper-milp-strengthened_relaxed"]).all()),
    "So Greedy takes less than a millisecond for 128 layers, and the time grows less than with $L^3$": (
        greedy_ms[128] < 1 and exponent < 3
    ),
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
    "37.8 % of the waiting is explained by the paper's MILP": explained["paper-milp"] == 37.8,
    "39.0 % with our four kinds of rows, 48.6 % by `aggint`": explained["paper-milp-strengthened"]
    == 39.0
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
