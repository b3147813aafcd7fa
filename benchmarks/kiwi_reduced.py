"""KIWI's reduced problem: the paper's linearisation against the compact one.

Both models of the same problem are built, translated and solved by HiGHS on one thread, to a gap of
0; times are CPU seconds with building, medians of some runs. Below stands the compact model on
transformers of up to 725 operators, where the paper's is not tried.

    .venv/bin/python benchmarks/kiwi_reduced.py
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from jettison.formulations.array_model import ArrayModel
from jettison.formulations.from_pyomo import from_pyomo
from jettison.formulations.kiwi_reduced import KiwiReduced
from jettison.formulations.kiwi_reduced_compact import KiwiReducedCompact
from jettison.formulations.products import Linearised
from jettison.instances.chosen_strategies import with_strategies
from jettison.instances.generators.sharded_mlp import sharded_mixed, sharded_mlp
from jettison.instances.generators.sharded_transformer import sharded_transformer
from jettison.instances.remat_sharding import RematSharding
from jettison.instances.sharded_graph import ShardedGraph
from jettison.solvers.fastest_sharding import with_fastest
from jettison.solvers.highs import solve_model
from jettison.solvers.highs_options import HighsOptions
from jettison.solvers.model_solution import ModelSolution

SHARES = ("80%", "60%", "50%", "40%", "30%")
RUNS = 3
LIMIT_S = 30.0


def literal(problem: RematSharding) -> ArrayModel:
    """Return the paper's linearisation."""
    return from_pyomo(KiwiReduced(Linearised()).build(problem).concrete).model


def compact(problem: RematSharding) -> ArrayModel:
    """Return the compact model."""
    return KiwiReducedCompact().build(problem).model


def measure(
    build: Callable[[RematSharding], ArrayModel], problem: RematSharding
) -> tuple[ModelSolution, float, float]:
    """Return the last solution, and the median seconds of building and of all."""
    built_s, all_s = [], []
    while len(all_s) < RUNS:
        started = time.process_time()
        model = build(problem)
        built_s.append(time.process_time() - started)
        solution = solve_model(model, HighsOptions(gap=0, time_limit_s=LIMIT_S))
        all_s.append(time.process_time() - started)
        if all_s[-1] > LIMIT_S / 3:
            break
    return solution, statistics.median(built_s), statistics.median(all_s)


def row(problem: RematSharding, *builds: Callable[[RematSharding], ArrayModel]) -> None:
    """Print one line: the time as a multiple of the fastest plan's, and the seconds."""
    sharded = problem.instance
    fastest_ns = with_strategies(sharded, sharded.fastest).base_time_ns
    text = f"  {problem.memory!s:>6}"
    seconds = []
    for build in builds:
        solution, built_s, all_s = measure(build, problem)
        built = KiwiReducedCompact().build(problem)
        value = str(solution.answer)
        if solution.objective is not None:
            value = f"{built.time_scale.from_model(solution.objective) / fastest_ns:.4f}"
        bound = "" if solution.gap is None else f"gap {100 * solution.gap:.1f}%"
        text += f"  {build.__name__} {value:>10} {bound} {built_s:6.2f} + {all_s - built_s:6.2f} s"
        seconds.append(all_s)
    if len(seconds) > 1:
        text += f"  {seconds[0] / seconds[1]:5.1f} times"
    print(text, flush=True)


def compare(sharded: ShardedGraph, *builds: Callable[[RematSharding], ArrayModel]) -> None:
    """Print a line for each share of the fastest plan's peak."""
    started = time.process_time()
    fastest = with_fastest(sharded)
    spent_s = time.process_time() - started
    print(f"{sharded.name}, {len(sharded)} operators; fastest plan in {spent_s:.2f} s")
    for share in SHARES:
        problem = RematSharding(fastest, share)
        if problem.memory_bytes >= fastest.least_peak_bound_bytes:
            row(problem, *builds)


def main() -> None:
    """Measure perceptrons in both forms, transformers in the compact one."""
    compare(sharded_mlp(), literal, compact)
    compare(sharded_mixed(), literal, compact)
    for layers, strategies in ((4, 3), (8, 3), (20, 2)):
        compare(sharded_transformer(layers, strategies=strategies), compact)


if __name__ == "__main__":
    main()
