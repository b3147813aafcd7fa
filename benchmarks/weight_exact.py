"""Exact solutions of random steps with offloaded weights: number solved, time, and L2L's gap.

Run: ``python benchmarks/weight_exact.py``, or with numbers of layers, ``--count``, ``--limit``,
``--unit`` and ``--equal``. For each number of layers and seed: forward 1 to 10 units of time,
backward 2 to 20, saved 1 to 4 units of bytes, weights 1 to 20, at one of a half, one and two bytes
per nanosecond; memory drawn between the least one and 70 % of the way to the one that holds all
weights. A unit is 1, or with ``--unit 100003`` one that makes sizes and times share no divisor.
``--equal`` makes all layers of a chain equal.

``--chains 3 4`` has the chains of Theorem 1 instead, with so many groups of V = 100: items drawn at
random, first with a partition, then without one, as an enumeration says.

Every instance runs in this process, on one thread, with `limit` seconds of wall clock; HiGHS, which
is asked where sweeps end, has a process of its own. A line gives how many of them were solved
(bound equal to the period), in how many of these the bound rests on HiGHS, the median and the
largest CPU seconds and numbers of labels, the largest gap that was left in per cent, and means over
the solved ones: of L2L and of the simple bound, each divided by the optimum. Every schedule is
replayed.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from cpu_clock import cpu_seconds

from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.three_partition.instance import ThreePartition
from jettison.instances.three_partition.offload_chain import weight_offload_of
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.weight_offload.bounds.closed_form import closed_form_ns
from jettison.solvers.weight_offload.exact.method import solve_weight_exact
from jettison.solvers.weight_offload.layer_to_layer import layer_to_layer

BANDWIDTHS = (500_000_000, 1_000_000_000, 2_000_000_000)
TARGET = 100


@dataclass(frozen=True)
class Row:
    """One instance."""

    seconds: float
    by_solver: bool
    labels: int
    gap: float
    l2l: float
    simple: float


def drawn(layers: int, seed: int, unit: int, *, equal: bool) -> WeightOffload:
    chance = random.Random(seed)

    def amount(least: int, most: int) -> int:
        return chance.randint(least * unit, most * unit)

    def stage() -> Stage:
        return Stage(
            name="layer",
            forward_ns=amount(1, 10),
            backward_ns=amount(2, 20),
            output_bytes=0,
            saved_bytes=amount(1, 4),
            weight_bytes=amount(1, 20),
        )

    first = stage()
    stages = tuple(
        replace(first if equal else stage(), name=f"layer {number}")
        for number in range(1, layers + 1)
    )
    problem = WeightOffload(Chain("drawn", 0, stages), 10**15, chance.choice(BANDWIDTHS))
    least_bytes = problem.cycle.least_memory_bytes
    spare_bytes = problem.cycle.no_offload_peak_bytes - least_bytes
    return replace(problem, memory=least_bytes + int(spare_bytes * chance.uniform(0, 0.7)))


def has_partition(items: Sequence[int], target: int) -> bool:
    """Whether all items can be grouped in threes of this sum, by enumeration."""
    if not items:
        return True
    first, *others = items
    for second, third in combinations(range(len(others)), 2):
        if first + others[second] + others[third] == target:
            rest = [size for k, size in enumerate(others) if k not in {second, third}]
            if has_partition(rest, target):
                return True
    return False


def drawn_chain(groups: int, seed: int, *, is_yes: bool) -> WeightOffload:
    chance = random.Random(seed)
    least, most = TARGET // 4 + 1, (TARGET - 1) // 2
    while True:
        items = [chance.randint(least, most) for _ in range(3 * groups)]
        if is_yes:
            # The third of each group is what the others leave.
            for k in range(0, 3 * groups, 3):
                items[k + 2] = TARGET - items[k] - items[k + 1]
            chance.shuffle(items)
        fits = all(least <= size <= most for size in items) and sum(items) == groups * TARGET
        if fits and has_partition(items, TARGET) == is_yes:
            return weight_offload_of(ThreePartition("drawn", tuple(items), TARGET))


def measure(problem: WeightOffload, limit_s: float) -> Row:
    started = cpu_seconds()
    outcome = solve_weight_exact(problem, SolveOptions(time_limit_s=limit_s, gap=0))
    seconds = cpu_seconds() - started
    schedule, bound = outcome.schedule, max(outcome.bounds, key=lambda item: item.time_ns)
    if not isinstance(schedule, CyclicSchedule):
        raise SystemExit("no schedule")
    replay = schedule.replay(problem.cycle, problem.link, problem.memory_bytes)
    if not replay.valid or bound.time_ns > schedule.period_ns:
        raise SystemExit("the schedule is not what was promised")
    return Row(
        seconds=seconds,
        by_solver=bound.evidence is Evidence.SOLVER,
        labels=outcome.work["labels"],
        gap=(schedule.period_ns - bound.time_ns) / schedule.period_ns,
        l2l=layer_to_layer(problem).period_ns / schedule.period_ns,
        simple=closed_form_ns(problem) / schedule.period_ns,
    )


def show(name: str, problems: Iterable[WeightOffload], limit_s: float) -> None:
    rows = [measure(problem, limit_s) for problem in problems]
    solved = [row for row in rows if row.gap == 0]
    l2l = statistics.mean(row.l2l for row in solved) if solved else float("nan")
    simple = statistics.mean(row.simple for row in solved) if solved else float("nan")
    print(
        f"{name:>8} {len(solved):>4}/{len(rows):<3} {sum(row.by_solver for row in solved):>8} "
        f"{statistics.median(row.seconds for row in rows):>9.3f} "
        f"{max(row.seconds for row in rows):>8.2f} "
        f"{statistics.median(row.labels for row in rows):>14.0f} "
        f"{max(row.labels for row in rows):>12} {100 * max(row.gap for row in rows):>8.4f} "
        f"{l2l:>6.2f} {simple:>7.3f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("layers", nargs="*", type=int, default=[3, 4, 5, 6, 7, 8])
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for each")
    parser.add_argument("--unit", type=int, default=1)
    parser.add_argument("--equal", action="store_true", help="all layers of a chain are equal")
    parser.add_argument("--chains", nargs="+", type=int, metavar="GROUPS", help="of Theorem 1")
    arguments = parser.parse_args()
    seeds = range(arguments.count)
    print(
        f"{'layers':>8} {'solved':>8} {'by HiGHS':>8} {'median s':>9} {'most s':>8} "
        f"{'median labels':>14} {'most labels':>12} {'gap %':>8} {'L2L':>6} {'simple':>7}"
    )
    if arguments.chains:
        for groups in arguments.chains:
            for answer in ("yes", "no"):
                chains = (drawn_chain(groups, seed, is_yes=answer == "yes") for seed in seeds)
                show(f"{5 * groups} {answer}", chains, arguments.limit)
        return
    for layers in arguments.layers:
        steps = (drawn(layers, seed, arguments.unit, equal=arguments.equal) for seed in seeds)
        show(str(layers), steps, arguments.limit)


if __name__ == "__main__":
    main()
