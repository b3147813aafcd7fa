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
# # Why weight offloading is hard: Theorem 1, live
#
# Beaumont, Eyraud-Dubois, Shilova and Zhao, *Weight offloading strategies for training large DNN
# models*, 2022, Section 4.
#
# `docs/papers/weight_offload.toml` lists what the paper states, entry by entry, and where it is here.
#
# **The problem.** A training step repeats. Layer $i$ runs forward, $F_i$, and backward, $B_i$, in the
# order $F_1, \dots, F_L, B_L, \dots, B_1$, and both need its weights $w_i$ on the device. In between
# the weights may leave: they are *uploaded* to the host, deleted, and *prefetched* before they are
# used again. $B_i$ changes $w_i$, and needs room for a gradient of the same size. The device has
# memory for $M$ bytes, and the link carries $\beta$ bytes per unit of time each way. OFF asks: is
# there a schedule whose period is at most $T$?
#
# **The theorem.** OFF is NP-complete in the strong sense. The proof turns instances of 3-PARTITION
# into chains of layers: $3m$ numbers between $V/4$ and $V/2$ that sum to $mV$ can be put in groups of
# sum $V$ if, and only if, the chain has a schedule of period $2m$.
#
# Here the proof runs. A partition becomes a schedule, which the replay judges in exact integers. A
# solver that knows nothing of partitions finds a schedule, and the partition is read off it. Where
# there is no partition, the solver proves that no such schedule exists.

# %%
# %matplotlib inline
from collections.abc import Iterator, Sequence
from itertools import combinations, combinations_with_replacement

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

import jettison as jt
from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.weight_offload.timed_events.frame import Prefetch
from jettison.formulations.weight_offload.timed_events.least_period import (
    AnySelection,
    EventMilp,
    Exactly,
    ValidRow,
    Within,
    WithoutIdle,
)
from jettison.instances.three_partition.instance import Partition, ThreePartition
from jettison.instances.three_partition.offload_chain import (
    absences_without_idle,
    shortest_period_ns,
    weight_offload_of,
)
from jettison.schedules.core.picture_style import (
    BLACK,
    GREEN,
    GREY,
    LIGHT_GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
)
from jettison.schedules.three_partition.partition_schedule import (
    partition_of_schedule,
    schedule_of_partition,
)
from jettison.schedules.weight_offload.cyclic_event import CyclicEventKind
from jettison.schedules.weight_offload.cyclic_plot import plot_cycle
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.result import Result
from jettison.solvers.core.solve import solve_with
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.weight_offload.events.event_order import EventOrder

# No number below depends on how fast this machine is.
OPTIONS = SolveOptions(time_limit_s=None, gap=0.0)


def partition_by_enumeration(items: Sequence[int], target: int) -> Partition | None:
    """Return groups of three of this sum, by trying all of them, or None if there are none."""

    def group(left: tuple[int, ...]) -> Partition | None:
        if not left:
            return ()
        for second, third in combinations(left[1:], 2):
            if items[left[0]] + items[second] + items[third] == target:
                rest = group(tuple(k for k in left[1:] if k not in {second, third}))
                if rest is not None:
                    return ((left[0], second, third), *rest)
        return None

    return group(tuple(range(len(items))))


# %% [markdown]
# ## 3-PARTITION
#
# Two instances with $m = 3$ and $V = 100$: nine items each, of 300 together. The first has a
# partition. The second has none, and one sees why: 47 needs 53 from two others, which only 27 + 26
# would give, and there is no 27. In general nobody knows a method that is much better than trying;
# an enumeration tells it here.

# %%
YES = ThreePartition("yes", (33, 27, 37, 29, 38, 26, 44, 29, 37), 100)
NO = ThreePartition("no", (47, 28, 28, 26, 40, 26, 34, 33, 38), 100)
PARTITION = partition_by_enumeration(YES.values, YES.target)
assert PARTITION is not None
assert partition_by_enumeration(NO.values, NO.target) is None
" and ".join(" + ".join(str(YES.values[item]) for item in group) for group in PARTITION)

# %% [markdown]
# That every item is between $V/4$ and $V/2$ is not printed in the paper, and the proof needs it: it
# is what makes a group of sum $V$ have three items. Without it 1, 1, 1, 1, 1, 5 with $V = 5$ has no
# partition into triples, and its chain has a schedule of period $2m$ all the same, with the groups
# 1 + 1 + 1 + 1 + 1 and 5. So such items are refused:

# %%
try:
    ThreePartition("outside", (1, 1, 1, 1, 1, 5), 5)
except jt.InputError as refused:
    print(refused)

# %% [markdown]
# ## The chain (Figure 2)
#
# The chain for $m$ groups has $L = 5m$ layers, $\beta = V$ bytes per unit of time, and a memory of
# $M = (m + 1) V$. Nothing but weights takes memory, and nearly all operations take no time:
#
# * *Clocks:* the even layers up to $2m$ have no weights. Each $B_{2k}$ takes one unit, and $F_{2m}$
#   takes $m$ units. All operations together take $2m$: a schedule of that period never waits.
# * *Blocks:* the odd layers up to $2m$ have $V$ bytes, as much as the link carries in a unit.
# * *Items:* the last $3m$ layers have the $x_i$ as their weights.

# %%
problem = weight_offload_of(YES)
cycle = problem.cycle
chain_table = pd.DataFrame(
    [
        {
            "layer": layer,
            "kind": "item" if layer > 6 else "block" if layer % 2 else "clock",
            "weight (bytes)": stage.weight_bytes,
            "forward (units)": stage.forward_ns // YES.target,
            "backward (units)": stage.backward_ns // YES.target,
        }
        for layer, stage in enumerate(problem.instance.stages, start=1)
    ]
)
chain_table

# %%
KIND_COLOURS = {"clock": LIGHT_GREY, "block": ORANGE, "item": SKY}


def draw_chain() -> Figure:
    """Draw the chain: large nodes take time, thick rims have large weights."""
    figure = Figure(figsize=(11, 3.2), layout="constrained")
    axes = figure.add_subplot()
    count = len(chain_table)
    for row, sign in (("forward (units)", "F"), ("backward (units)", "B")):
        height = 1.0 if sign == "F" else 0.0
        step = 1 if sign == "F" else -1
        for x in range(1, count):
            start, end = (x, x + 1) if step > 0 else (x + 1, x)
            axes.annotate(
                "",
                (end - 0.34 * step, height),
                (start + 0.34 * step, height),
                arrowprops={"arrowstyle": "-|>", "color": GREY, "lw": 1},
            )
        for _, layer in chain_table.iterrows():
            takes = layer[row]
            axes.scatter(
                layer["layer"],
                height,
                s=420 + 300 * takes,
                facecolor=KIND_COLOURS[layer["kind"]],
                edgecolor=BLACK,
                linewidth=0.4 + layer["weight (bytes)"] / 25,
                zorder=3,
            )
            axes.text(
                layer["layer"],
                height,
                f"${sign}_{{{layer['layer']}}}$",
                ha="center",
                va="center",
                fontsize=9,
                zorder=4,
            )
            if takes:
                unit = "unit" if takes == 1 else "units"
                shift = 0.5 if takes > 1 else 0.36
                axes.text(
                    layer["layer"],
                    height + (shift if sign == "F" else -shift),
                    f"{takes} {unit}",
                    ha="center",
                    va="center",
                    fontsize=8.5,
                    color=VERMILION,
                )
    for _, layer in chain_table.iterrows():
        axes.text(
            layer["layer"],
            0.5,
            f"{layer['weight (bytes)']} B" if layer["weight (bytes)"] else "none",
            ha="center",
            va="center",
            fontsize=8.5,
            color=BLACK if layer["weight (bytes)"] else GREY,
        )
    axes.annotate(
        "",
        (count + 0.25, 0.22),
        (count + 0.25, 0.78),
        arrowprops={
            "arrowstyle": "-|>",
            "color": GREY,
            "lw": 1,
            "connectionstyle": "arc3,rad=-0.6",
        },
    )
    axes.text(0.35, 0.5, "weights", ha="right", va="center", fontsize=9)
    axes.set_xlim(-0.6, count + 0.9)
    axes.set_ylim(-0.55, 1.75)
    axes.axis("off")
    axes.legend(
        handles=[
            Patch(facecolor=colour, edgecolor=BLACK, label=name)
            for name, colour in (
                ("clock: takes time, has no weights", LIGHT_GREY),
                ("block: V bytes", ORANGE),
                ("item: x bytes", SKY),
            )
        ],
        loc="upper right",
        ncols=3,
        frameon=False,
        fontsize=9,
    )
    axes.set_title(
        "Chain of the proof for m = 3, V = 100 (the paper's Figure 2)", loc="left", fontsize=11
    )
    return figure


draw_chain()

# %% [markdown]
# A large node takes time and a thick rim means large weights, as in the paper's figure.
#
# ## From a partition to a schedule (Figure 3)
#
# Memory has $m + 1$ slots of $V$ bytes. When the backwards begin, the items are in memory, one group
# in each of $m$ slots, and one slot is free. In each unit of the first half a block comes into the
# free slot, while a group of items is uploaded: both take exactly one unit, *because the group has
# exactly $V$ bytes*. Then the group is deleted, which leaves a slot for the gradient of the block. In
# the second half, under the one long forward, the blocks go out and the groups come back.

# %%
KNOWN = schedule_of_partition(YES, PARTITION)
known_replay = KNOWN.replay(cycle, problem.link, problem.memory_bytes)
busy_ns = {
    kind: sum(
        item.end_ns - item.start_ns
        for item in known_replay.transfers
        if item.operation.split()[0] == kind
    )
    for kind in (str(CyclicEventKind.UPLOAD), str(CyclicEventKind.PREFETCH))
}
direct_table = pd.DataFrame(
    [
        ("the replay finds it valid", str(known_replay.valid)),
        ("period (units)", str(KNOWN.period_ns / YES.target)),
        ("memory at its peak (bytes)", str(known_replay.peak_bytes)),
        ("memory there is, M (bytes)", str(problem.memory_bytes)),
        *(
            (f"link busy, {kind} (%)", str(100 * ns / KNOWN.period_ns))
            for kind, ns in busy_ns.items()
        ),
    ],
    columns=["of the schedule of a partition", "value"],
)
direct_table


# %%
def stays(schedule: CyclicSchedule, layer: int) -> tuple[int, int, int, int]:
    """Return when the weights of a layer that leaves once arrive, are there, go up, are gone."""
    times = {event.kind: event.start_ns for event in schedule.events if event.layer == layer}
    lasts_ns = problem.link.transfer_ns(cycle.weight_bytes[layer - 1])
    begins_ns, up_ns = times[CyclicEventKind.PREFETCH], times[CyclicEventKind.UPLOAD]
    gone_ns = times[CyclicEventKind.DELETE]
    if begins_ns > gone_ns:
        begins_ns -= schedule.period_ns
    return begins_ns, begins_ns + lasts_ns, up_ns, gone_ns


GROUP_COLOURS = (SKY, GREEN, PURPLE)
Stay = tuple[int, int, int, int]


def slots_over_time() -> list[tuple[int, list[int], list[Stay]]]:
    """Return slots of V bytes, each with the layers that share it, and when they come and go."""
    groups = [[2 * YES.groups + 1 + item for item in group] for group in PARTITION]
    blocks = [[2 * k + 1] for k in range(YES.groups)]
    parts: list[tuple[list[int], list[Stay]]] = []
    for layers in (*groups, *blocks):
        for shift in (0, KNOWN.period_ns):
            times = [tuple(time + shift for time in stays(KNOWN, layer)) for layer in layers]
            if min(time[0] for time in times) < KNOWN.period_ns and max(t[3] for t in times) > 0:
                parts.append((layers, times))
    parts.sort(key=lambda part: min(time[0] for time in part[1]))
    free_from = [-KNOWN.period_ns] * (YES.groups + 1)
    placed = []
    for layers, times in parts:
        begins = min(time[0] for time in times)
        slot = next(k for k, since in enumerate(free_from) if since <= begins)
        free_from[slot] = max(time[3] for time in times)
        placed.append((slot, layers, times))
    return placed


def draw_memory_slots() -> Figure:
    """Draw what each slot of V bytes holds over a period, and what moves."""
    figure = Figure(figsize=(11, 5.2), layout="constrained")
    axes = figure.add_subplot()
    unit, halves = YES.target, YES.groups

    def draw(start: int, end: int, bottom: float, height: float, colour: str, hatch: str) -> None:
        left, right = max(start, 0) / unit, min(end, KNOWN.period_ns) / unit
        if right > left:
            box = ((left, bottom), right - left, height)
            axes.add_patch(Rectangle(*box, facecolor="white", edgecolor="none"))
            axes.add_patch(
                Rectangle(
                    *box,
                    facecolor=colour,
                    edgecolor=BLACK,
                    linewidth=0.7,
                    alpha=0.45 if hatch else 1.0,
                    hatch=hatch,
                )
            )

    group_of = {2 * halves + 1 + k: number for number, group in enumerate(PARTITION) for k in group}
    for slot, layers, times in slots_over_time():
        bottom = float(slot)
        for layer, (begins, there, up, gone) in zip(layers, times, strict=True):
            size = cycle.weight_bytes[layer - 1]
            height = size / unit
            is_item = layer in group_of
            colour = GROUP_COLOURS[group_of[layer]] if is_item else ORANGE
            draw(begins, there, bottom, height, colour, "\\\\\\")
            draw(there, gone, bottom, height, colour, "")
            draw(up, up + problem.link.transfer_ns(size), bottom, height, colour, "///")
            left, right = max(there, 0), min(up, KNOWN.period_ns)
            if right - left < unit / 4:
                left, right = max(begins, 0), min(gone, KNOWN.period_ns)
            if right - left >= unit / 4:
                axes.text(
                    (left + right) / 2 / unit,
                    bottom + height / 2,
                    f"{size}" if is_item else f"$w_{layer}$",
                    ha="center",
                    va="center",
                    fontsize=9,
                )
            bottom += height
    for k in range(2 * halves + 1):
        axes.axvline(k, color=GREY, linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
    above = halves + 1.16
    for k in range(halves):
        axes.text(k + 0.5, above, f"$B_{{{2 * (halves - k)}}}$", ha="center", fontsize=11)
    axes.text(1.5 * halves, above, f"$F_{{{2 * halves}}}$", ha="center", fontsize=11)
    axes.set_xlim(0, 2 * halves)
    axes.set_ylim(0, halves + 1.4)
    axes.set_yticks(range(halves + 2), ["0", "V", *(f"{k}V" for k in range(2, halves + 2))])
    axes.set_ylabel("memory, in slots of V bytes")
    axes.set_xlabel("time (units)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(
        "Schedule of a partition over one period (the paper's Figure 3)", loc="left", fontsize=11
    )
    figure.legend(
        handles=[
            *(
                Patch(facecolor=colour, edgecolor=BLACK, label=f"group $S_{k + 1}$")
                for k, colour in enumerate(GROUP_COLOURS)
            ),
            Patch(facecolor=ORANGE, edgecolor=BLACK, label="blocks"),
            Patch(facecolor="white", edgecolor=BLACK, hatch="///", label="being uploaded"),
            Patch(facecolor="white", edgecolor=BLACK, hatch="\\\\\\", label="being prefetched"),
        ],
        loc="outside lower center",
        ncols=6,
        frameon=False,
        fontsize=9,
    )
    return figure


draw_memory_slots()

# %% [markdown]
# A number is the size of an item. White is free memory: in the second half an item takes its place
# only when its own prefetch starts. (Which slot something is in is a matter of drawing; a group may
# come back into another one.) The same period as the replay saw it, event by event, with both directions of the
# link and the memory in use:

# %%
plot_cycle(known_replay, title="The same schedule as it was replayed")

# %% [markdown]
# The peak is all of the memory, and both directions of the link are busy all the time. There is
# nothing to spare, and that is what the other half of the proof rests on.
#
# ## From a schedule to a partition
#
# Let some schedule have period $2m$. It never waits, and so:
#
# 1. Between $F_{5m}$ and $B_{5m}$ no time passes: no item can come then, and all are in memory, $mV$
#    bytes. With any gradient less than $V$ is left, so that no block is there.
# 2. Each block must come in the first half, a unit each: the link to the device carries nothing else.
# 3. At the backward of the $k$-th block there are $k$ blocks and a gradient of $V$. So items of at
#    least $kV$ bytes have gone, uploaded in $k$ units, in which the link carries at most $kV$ bytes.
# 4. So exactly $V$ bytes of items go up in each unit: a group of sum $V$.
#
# Now the test: `exact` sees a chain of 15 layers and a memory limit. It knows of no partition.

# %%
SOLVED: dict[str, Result] = {
    instance.name: solve_with(weight_offload_of(instance), "exact", OPTIONS)
    for instance in (YES, NO)
}
found = SOLVED["yes"].schedule
assert isinstance(found, CyclicSchedule)
found_replay = found.replay(cycle, problem.link, problem.memory_bytes)
assert found_replay.valid
read_off = partition_of_schedule(YES, found)
uploads_table = pd.DataFrame(
    [
        {
            "during": f"B_{2 * (YES.groups - unit)}",
            "items uploaded": " + ".join(
                str(YES.values[event.layer - 2 * YES.groups - 1])
                for event in sorted(found.events, key=lambda event: event.start_ns)
                if event.kind is CyclicEventKind.UPLOAD
                and event.layer > 2 * YES.groups
                and event.start_ns // YES.target == unit
            ),
        }
        for unit in range(YES.groups)
    ]
)
uploads_table["sum"] = [sum(map(int, row.split(" + "))) for row in uploads_table["items uploaded"]]
print(f"a period of {found.period_ns / YES.target} units; the groups: {read_off}")
uploads_table

# %%
plot_cycle(found_replay, title="A schedule of 2m units that a solver found")

# %% [markdown]
# In every unit of the first half the items that go up sum to 100. Nobody told the solver.
#
# ## Where there is no partition
#
# Then no schedule has period $2m$, and the solver has to prove it. Times are whole nanoseconds and a
# unit is $V$ of them, so the next period is $2mV + 1$ ns. Below are the two instances from above and
# every multiset of six items with $V = 13$ and $V = 17$: the answer by enumeration, the shortest
# period and what proves that nothing is shorter.


# %%
def all_items(groups: int, target: int) -> Iterator[ThreePartition]:
    """Yield all multisets of 3m items between V/4 and V/2 that sum to mV."""
    sizes = [size for size in range(1, target) if target < 4 * size and 2 * size < target]
    for items in combinations_with_replacement(sizes, 3 * groups):
        if sum(items) == groups * target:
            yield ThreePartition(f"m{groups}-{target}", items, target)


instances = [YES, NO, *all_items(2, 13), *all_items(2, 17)]
questions_rows = []
for instance in instances:
    result = SOLVED.get(instance.name) or solve_with(weight_offload_of(instance), "exact", OPTIONS)
    assert result.time_ns is not None
    evidence = {str(bound.evidence) for bound in result.bounds if bound.time_ns == result.time_ns}
    questions_rows.append(
        {
            "items": " ".join(map(str, instance.values)),
            "V": instance.target,
            "partition": "no"
            if partition_by_enumeration(instance.values, instance.target) is None
            else "yes",
            "2m units (ns)": shortest_period_ns(instance),
            "shortest period (ns)": result.time_ns,
            "lower bound (ns)": result.lower_bound_ns,
            "rests on": ", ".join(sorted(evidence)),
        }
    )
questions = pd.DataFrame(questions_rows)
questions

# %% [markdown]
# Period and bound meet in every row, and the period is $2m$ units exactly where there is a partition.
# The bounds rest on exact arithmetic, no solver in floating point among them. What `exact` does is in
# `solvers/weight_offload/exact/method.py`.
#
# *Strong* NP-completeness says that this does not get easy when the numbers are small: here all
# sizes and times are at most a few times $V$, and 3-PARTITION stays hard for $V$ bounded by a
# polynomial in $m$. So no algorithm is polynomial even in the sizes written in unary, unless P = NP.
#
# ## When the selection is given
#
# The paper remarks after the proof that it shows more: even if it is known *which* weights leave,
# finding *when* stays NP-complete, because the selection says nothing of the partition. In a schedule
# of period $2m$ every item is absent between its backward and its forward, and every block between
# its forward and its backward, whatever the numbers are (`docs/hard_instances.md` has the proof).
#
# So three questions must have one answer, that of the enumeration: is there a schedule of period
# $2m$ in which exactly these weights are absent; in which none but these may be; and in which any may
# be? Here they are asked of the exact event model (`formulations/weight_offload/timed_events`), for
# every multiset of the sizes below.


# %%
def without_idle(
    instance: ThreePartition, selection: AnySelection | Within | Exactly
) -> CyclicSchedule | None:
    """Return a schedule of period 2m, or None if HiGHS says that there is none."""
    posed = weight_offload_of(instance)
    built = EventMilp(WithoutIdle(), selection, frozenset(ValidRow)).build(posed)
    model = from_pulp(built.problem).model
    solution = solve_model(model, HighsOptions(gap=0, feasibility_tolerance=1e-9))
    if solution.values is None:
        return None
    schedule = EventOrder.from_point(built.frame, solution.by_name(model)).schedule()
    assert schedule is not None
    assert schedule.replay(posed.cycle, posed.link, posed.memory_bytes).valid
    return schedule


absence_rows = []
for groups, target in ((1, 10), (1, 16), (2, 9), (2, 13), (2, 14), (2, 17)):
    given = frozenset(Prefetch(*absence) for absence in absences_without_idle(groups))
    known: list[bool] = []
    answers: dict[str, list[bool]] = {"exactly these": [], "none but these": [], "any": []}
    read: int = 0
    for instance in all_items(groups, target):
        known.append(partition_by_enumeration(instance.values, target) is not None)
        for name, selection in zip(
            answers, (Exactly(given), Within(given), AnySelection()), strict=True
        ):
            schedule = without_idle(instance, selection)
            answers[name].append(schedule is not None)
            if schedule is not None:
                groups_found = partition_of_schedule(instance, schedule)
                read += all(
                    sum(instance.values[k] for k in group) == target for group in groups_found
                )
    absence_rows.append(
        {
            "m": groups,
            "V": target,
            "multisets": len(known),
            "yes": known.count(True),
            "no": known.count(False),
            **{
                name: f"{sum(map(bool.__eq__, known, given_answers))} of {len(known)} as enumerated"
                for name, given_answers in answers.items()
            },
            "partitions read off": read,
        }
    )
absences = pd.DataFrame(absence_rows)
absences

# %% [markdown]
# All three questions have the answer of the enumeration for every multiset, and every schedule gives
# a partition back. Each schedule was judged by the replay; that there is none, where there is none,
# is HiGHS's answer in this table, and exact arithmetic's in the table before it for $V = 13$ and 17.
#
# What follows for practice: neither choosing well nor knowing what others chose makes the problem
# easy. Where steps are short `exact` closes the gap; for long ones there are bounds and heuristics
# ([Weight offloading](weight_offload.ipynb)). And the chains are a fair test for any solver, with
# answers that are known beforehand: `jettison generate weight-offload` writes them.
#
# Tables that the tests compare with what is expected:

# %%
TABLES = {
    "theorem1_chain": chain_table,
    "theorem1_schedule": direct_table,
    "theorem1_questions": questions,
    "theorem1_absences": absences,
}

# %% [markdown]
# Sentences of this notebook, and whether they hold of what was computed:

# %%
is_yes = questions["partition"] == "yes"
CLAIMS = {
    "nine items each, of 300 together": all(
        (len(one), sum(one.values)) == (9, 300) for one in (YES, NO)
    ),
    "47 needs 53 from two others, which only 27 + 26 would give, and there is no 27.": (
        47 in NO.values
        and 27 not in NO.values
        and {pair for pair in combinations(sorted(NO.values), 2) if sum(pair) == 53} == set()
    ),
    "All operations together take $2m$: a schedule of that period never waits.": (
        chain_table[["forward (units)", "backward (units)"]].to_numpy().sum() == 2 * YES.groups
    ),
    "The peak is all of the memory, and both directions of the link are busy all the time.": (
        known_replay.peak_bytes == problem.memory_bytes
        and set(busy_ns.values()) == {KNOWN.period_ns}
    ),
    "In every unit of the first half the items that go up sum to 100.": bool(
        (uploads_table["sum"] == YES.target).all()
    ),
    "Period and bound meet in every row, and the period is $2m$ units exactly where there is a "
    "partition.": bool(
        (questions["shortest period (ns)"] == questions["lower bound (ns)"]).all()
        and ((questions["shortest period (ns)"] == questions["2m units (ns)"]) == is_yes).all()
    ),
    "The bounds rest on exact arithmetic, no solver in floating point among them.": set(
        questions["rests on"]
    )
    == {"exact arithmetic"},
    "All three questions have the answer of the enumeration for every multiset, and every schedule "
    "gives a partition back.": all(
        row[name] == f"{row['multisets']} of {row['multisets']} as enumerated"
        and row["partitions read off"] == 3 * row["yes"]
        for row in absence_rows
        for name in ("exactly these", "none but these", "any")
    ),
}
print(f"{sum(CLAIMS.values())} of {len(CLAIMS)} sentences hold")
