"""Seconds of µ-TWO's scheduler, the bound, local search and the exact method for several models.

Seconds are CPU seconds of one run on one thread, HiGHS in its child process included; they differ
from run to run. Each schedule has been replayed. Reading an instance is not counted. Name sections
to run only those.

- ``networks``: six networks, eight models each, in 40, 20 and 12 GiB: µ-TWO over all five
  divisions, the bound, and the time of the schedule over the bound's.
- ``large``: eight random models of 2000 operators and 1000 feature maps, in shares of the peak of
  all of them fused; the bound has its time limit.
- ``search``: how far µ-TWO is above the bound, and how far local search is after its time limit.
- ``exact``: how many of twenty random instances of each size the exact method settles in its time
  limit, where one model fits with everything kept (loose), and where two do not (tight).

    .venv/bin/python benchmarks/multi_model.py networks large search exact
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median

from cpu_clock import cpu_seconds

from jettison.instances.catalog import load
from jettison.instances.generators.fused_networks.networks import FUSED_NETWORKS
from jettison.instances.generators.random_models import RandomModels
from jettison.instances.multi_model.instance import MultiModel
from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.result import Result
from jettison.solvers.core.solve import solve_with

MEMORIES = ("40GiB", "20GiB", "12GiB")
BOUND_LIMIT_S = 30.0
SEARCH_LIMIT_S = 10.0
EXACT_LIMIT_S = 2.0
SEEDS = range(20)


def timed(
    problem: MultiModelTraining, method: str, limit_s: float | None = None
) -> tuple[Result, float]:
    """Return what a method finds, and its CPU seconds."""
    started = cpu_seconds()
    result = solve_with(problem, method, SolveOptions(time_limit_s=limit_s, gap=0.0))
    return result, cpu_seconds() - started


def above(result: Result, bound: Result) -> str:
    """Return by how much a schedule is above a bound."""
    if result.time_ns is None or bound.lower_bound_ns is None:
        return "none"
    return f"{100 * (result.time_ns / bound.lower_bound_ns - 1):.2f} %"


def networks() -> None:
    """Print a row for each network and memory."""
    print(f"{'network':12}{'memory':>8}{'mu-two s':>10}{'bound s':>9}{'above bound':>13}")
    for network in FUSED_NETWORKS:
        models = load(f"{network}-x8")
        assert isinstance(models, MultiModel)
        for memory in MEMORIES:
            problem = MultiModelTraining(models, memory)
            found, found_s = timed(problem, "mu-two")
            bound, bound_s = timed(problem, "bound")
            gap = above(found, bound)
            print(f"{network:12}{memory:>8}{found_s:10.2f}{bound_s:9.2f}{gap:>13}", flush=True)


def large() -> None:
    """Print a row for each share of the memory."""
    models = RandomModels(operators=2000, tensors=1000, models=8).draw(0)
    print(f"{'memory':>8}{'mu-two s':>10}{'bound s':>9}{'above bound':>13}")
    for percent in (60, 40, 20):
        problem = MultiModelTraining(models, f"{percent}%")
        found, found_s = timed(problem, "mu-two")
        bound, bound_s = timed(problem, "bound", BOUND_LIMIT_S)
        gap = above(found, bound)
        print(f"{percent:>7}%{found_s:10.2f}{bound_s:9.2f}{gap:>13}", flush=True)


def search() -> None:
    """Print what local search gains on the networks."""
    print(f"{'network':12}{'memory':>8}{'mu-two':>9}{'search':>9}{'CPU s':>8}  (above the bound)")
    for network in FUSED_NETWORKS:
        models = load(f"{network}-x8")
        assert isinstance(models, MultiModel)
        for memory in MEMORIES[:2]:
            problem = MultiModelTraining(models, memory)
            bound, _ = timed(problem, "bound", BOUND_LIMIT_S)
            greedy, _ = timed(problem, "mu-two")
            better, better_s = timed(problem, "local-search", SEARCH_LIMIT_S)
            print(
                f"{network:12}{memory:>8}{above(greedy, bound):>9}{above(better, bound):>9}"
                f"{better_s:8.1f}",
                flush=True,
            )


def loose(operators: int, maps: int, count: int) -> list[MultiModelTraining]:
    """Return problems in which one model fits with everything kept."""
    problems = []
    for seed in SEEDS:
        models = RandomModels(operators=operators, tensors=maps, models=count).draw(seed)
        one, two = models.sub_array(1), models.sub_array(2)
        least = 2 * one.static_bytes + one.largest_peak_bytes
        room = max(0, two.store_all_peak_bytes - least)
        problems.append(MultiModelTraining(models, least + room * (seed % 4) // 5))
    return problems


def tight(operators: int, maps: int, count: int) -> list[MultiModelTraining]:
    """Return problems in which two models do not fit so, and a pair of twos fits if it saves."""
    problems: list[MultiModelTraining] = []
    seed = 0
    while len(problems) < len(SEEDS):
        drawn = RandomModels(operators=operators, tensors=maps, models=count, reach=0)
        models = drawn.draw(seed)
        two = models.sub_array(2)
        least = 2 * two.static_bytes + two.largest_peak_bytes
        room = two.store_all_peak_bytes - least
        if room > 0:
            problems.append(MultiModelTraining(models, least + room * (seed % 4) // 5))
        seed += 1
    return problems


def exact() -> None:
    """Print how many instances of each size are settled, and in what time."""
    print(f"{'memory':8}{'operators':>9}{'maps':>6}{'models':>8}{'settled':>9}{'median s':>10}")
    for draw, operators, maps, count in (
        (loose, 6, 3, 2),
        (loose, 8, 5, 2),
        (loose, 8, 4, 4),
        (loose, 12, 6, 4),
        (tight, 4, 2, 4),
        (tight, 6, 3, 4),
    ):
        seconds = []
        settled = 0
        for problem in draw(operators, maps, count):
            result, spent_s = timed(problem, "exact", EXACT_LIMIT_S)
            settled += result.status == "optimal"
            seconds.append(spent_s)
        print(
            f"{draw.__name__:8}{operators:9}{maps:6}{count:8}{settled:6}/{len(SEEDS)}"
            f"{median(seconds):10.2f}",
            flush=True,
        )


SECTIONS: dict[str, Callable[[], None]] = {
    "networks": networks,
    "large": large,
    "search": search,
    "exact": exact,
}


def main(chosen: list[str]) -> None:
    """Run the sections that are named, or all of them."""
    for name in chosen or list(SECTIONS):
        print(f"\n{name}")
        SECTIONS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
