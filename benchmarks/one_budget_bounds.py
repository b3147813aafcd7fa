"""Bounds, exact search and heuristics of one budget side by side on random short steps.

    python -m benchmarks.one_budget_bounds --count 300 --output benchmarks/one_budget_bounds.csv

Each row is a class of steps: how many there are, of how many no schedule fits, and how often a
bound was above the least time, a schedule below it, or a claim that nothing fits wrong: the
violations, which should be 0. Then how tight the bounds are: the mean share of the least time, and
how often it is met; and how often the local search has found the best. Seconds are of the CPU.
Where both directions share the link, exact proves a bound and need not have the best schedule.

The file is written after each class, and classes that it has with the same count are not run again:
remove it to measure all anew.
"""

from __future__ import annotations

import argparse
import csv
import random
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from jettison.instances.core.link import Link
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.training_chain.problem import TrainingChain
from jettison.solvers.core.method import Promise
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.core.solve import solve_with
from jettison.solvers.training_chain.bounds.peak_method import bound_peak
from jettison.solvers.training_chain.local_search import TrainingSearchParams
from jettison.solvers.training_chain.methods import METHODS
from tests.drawing.training_chains import random_training_chain

OPTIONS = SolveOptions(time_limit_s=10.0)
# Steps of the last class have a tenth of the count: some of them reach the limit.
SLOW = 10
# With a limit on the time the search has no end of its own but `most_rounds`.
QUICK: dict[str, Params] = {"local-search": TrainingSearchParams(rounds=2, most_rounds=2)}
BOUNDS = ("cycle", "cut-bound", "weights-bound")
HEURISTICS = tuple(method.name for method in METHODS if method.promise is Promise.HEURISTIC)
FULL, HALF = Link(10**9), Link.half_duplex(10**9)


@dataclass(frozen=True)
class StepClass:
    """Class of random steps: how to draw a chain, and the link."""

    name: str
    draw: Callable[[random.Random], Chain]
    link: Link = FULL


def _one_trained(chance: random.Random, stages: int) -> Chain:
    return random_training_chain(chance, stages, {chance.randint(1, stages)})


def _by_host(chance: random.Random) -> Chain:
    chain = random_training_chain(chance, 2)
    stages = tuple(replace(stage, host_update_ns=chance.randint(0, 2)) for stage in chain)
    return replace(chain, stages=stages)


CLASSES = (
    StepClass("2 stages, all trained", lambda chance: random_training_chain(chance, 2)),
    StepClass("2 stages, the host can update all", _by_host),
    StepClass("2 stages, half-duplex", lambda chance: random_training_chain(chance, 2), HALF),
    StepClass("3 stages, one trained", lambda chance: _one_trained(chance, 3)),
    StepClass("3 stages, without weights", lambda chance: random_training_chain(chance, 3, ())),
    StepClass("3 stages, all trained", lambda chance: random_training_chain(chance, 3)),
)


def drawn(of: StepClass, chance: random.Random) -> TrainingChain:
    """Return a step of a class in a memory from half of what all needs to all of it."""
    chain = of.draw(chance)
    peak = TrainingChain(chain, "100%", of.link).memory_bytes
    return TrainingChain(chain, chance.randint(peak // 2, peak), of.link)


def count_of(place: int, count: int) -> int:
    """Return how many steps of a class are drawn, by its place."""
    return -(-count // SLOW) if place == len(CLASSES) - 1 else count


def study(place: int, count: int) -> dict[str, object]:
    """Return the row of a class, by its place, of so many steps."""
    of = CLASSES[place]
    chance = random.Random(of.name)
    found: Counter[str] = Counter()
    share, seconds = 0.0, 0.0
    for _ in range(count):
        problem = drawn(of, chance)
        started = time.process_time()
        exact = solve_with(problem, "exact", OPTIONS)
        seconds += time.process_time() - started
        fits = exact.infeasibility is None
        found["infeasible"] += not fits
        proved_ns = exact.lower_bound_ns
        found["proved"] += fits and exact.time_ns is not None and exact.time_ns == proved_ns
        bound_ns = 0
        for name in BOUNDS:
            bound = solve_with(problem, name, OPTIONS)
            if bound.infeasibility is not None:
                found["violations"] += exact.time_ns is not None
                found["refuted by a bound"] += name == "cycle"
                continue
            assert bound.lower_bound_ns is not None
            bound_ns = max(bound_ns, bound.lower_bound_ns)
            # A bound may be above a proof that knows less, never above a schedule.
            if exact.time_ns is not None:
                found["violations"] += bound.lower_bound_ns > exact.time_ns
        # The peak bound by itself, which the cycle bound is the larger of two with.
        peak = None if exact.infeasibility is not None else bound_peak(problem, OPTIONS)
        if peak is not None and exact.time_ns is not None:
            found["peak bound"] += 1
            found["violations"] += peak.time_ns > exact.time_ns
        for name in ("local-search", *HEURISTICS):
            result = solve_with(problem, name, OPTIONS, params=QUICK.get(name))
            if result.time_ns is None:
                continue
            found["violations"] += not fits
            found["violations"] += proved_ns is not None and result.time_ns < proved_ns
            if name == "local-search":
                found["local search is best"] += result.time_ns == exact.time_ns
        if exact.time_ns is not None:
            share += bound_ns / exact.time_ns
            found["met"] += bound_ns == exact.time_ns
    feasible = count - found["infeasible"]
    return {
        "steps": of.name,
        "count": count,
        "infeasible": found["infeasible"],
        "refuted by the cycle bound": found["refuted by a bound"],
        "proved optimal": found["proved"],
        "violations": found["violations"],
        "peak bound above the base": found["peak bound"],
        "mean share of the bound": f"{share / max(feasible, 1):.3f}",
        "bound met": found["met"],
        "local search is best": found["local search is best"],
        "CPU seconds of exact": f"{seconds:.1f}",
    }


def rows_of(path: Path) -> dict[str, dict[str, object]]:
    """Return the rows of a file by class; none where there is no file."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as stream:
        return {row["steps"]: dict(row) for row in csv.DictReader(stream)}


def write_rows(path: Path, rows: list[dict[str, object]]) -> None:
    """Write rows to a file, which is complete or as it was."""
    unfinished = path.with_suffix(".unfinished")
    with unfinished.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    unfinished.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    known = {} if given.output is None else rows_of(given.output)
    rows = {
        place: known[of.name]
        for place, of in enumerate(CLASSES)
        if known.get(of.name, {}).get("count") == str(count_of(place, given.count))
    }
    left = [place for place in range(len(CLASSES)) if place not in rows]
    counts = [count_of(place, given.count) for place in left]
    with ProcessPoolExecutor(given.processes) as processes:
        for place, row in zip(left, processes.map(study, left, counts), strict=True):
            rows[place] = row
            print(row, flush=True)
            if given.output is not None:
                write_rows(given.output, [rows[place] for place in sorted(rows)])


if __name__ == "__main__":
    main()
