"""Effect of the reductions of sharding, and the exact method beside plain HiGHS.

For each instance the size after every reduction, then CPU seconds (children included) of `exact`
and of HiGHS alone on Alpa's model as it is given: a memory row for each maximal live set that can
be exceeded, no other presolve but HiGHS's own. One thread; `--limit` seconds for each.

    .venv/bin/python benchmarks/sharding.py FOLDER

FOLDER holds files of the ASPLOS'25 / IOPDDL contest (.json or .json.gz); without it random graphs
of `StrategyGraphs` are measured.

`docs/sharding.md` has the numbers of contest instance B.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from cpu_clock import cpu_seconds

from jettison.formulations.sharding.ilp import sharding_ilp
from jettison.formulations.sharding.pairwise_choice import PairwiseChoice
from jettison.instances.generators.strategy_graphs import StrategyGraphs
from jettison.instances.importers.iopddl import import_iopddl
from jettison.instances.sharding.problem import Sharding
from jettison.schedules.sharding.strategy_choice import StrategyChoice
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.sharding.presolve.presolved import presolve
from jettison.solvers.sharding.presolve.reduced_graph import Size

_Found = TypeVar("_Found")


def problems(folder: Path | None) -> Iterator[Sharding]:
    """Yield the files of the contest, or random graphs."""
    if folder is not None:
        for path in sorted([*folder.glob("*.json"), *folder.glob("*.json.gz")]):
            yield Sharding(import_iopddl(path))
        return
    for nodes, limit in ((100, 25), (300, 40), (300, 60)):
        yield Sharding(StrategyGraphs(nodes=nodes, limit_percent=limit).draw(1))


def timed(run: Callable[[], _Found], runs: int) -> tuple[_Found, float]:
    """Return what a run found, and the median of its CPU seconds."""
    seconds = []
    for _ in range(runs):
        started = cpu_seconds()
        found = run()
        seconds.append(cpu_seconds() - started)
    return found, statistics.median(seconds)


def show_reductions(problem: Sharding) -> None:
    """Print the size after each reduction that changed it."""
    started = time.process_time()
    last: list[Size] = []

    def show(name: str, size: Size) -> None:
        if last != [size]:
            last[:] = [size]
            seconds = time.process_time() - started
            print(
                f"  {seconds:6.2f} s  {name:16} {size.nodes:6} nodes {size.edges:6} edges "
                f"{size.strategies:7} strategies {size.pairs:8} pairs {size.rows:5} rows"
            )

    presolve(problem, Clock(None), on_step=show)


def show_exact(problem: Sharding, limit_s: float, runs: int) -> None:
    """Print the result of `exact`."""
    options = SolveOptions(time_limit_s=limit_s, gap=0)
    result, seconds = timed(lambda: solve_with(problem, "exact", options), runs)
    evidence = None if result.bound is None else result.bound.evidence
    print(
        f"  exact {seconds:.2f} CPU s: {result.status}, cost {result.time_ns}, bound "
        f"{result.lower_bound_ns} by {evidence}, peak {result.peak_bytes} of "
        f"{problem.memory_bytes}; {dict(result.work)}"
    )


def show_plain(problem: Sharding, limit_s: float, runs: int) -> None:
    """Print the result of HiGHS without any of our reductions."""
    built = sharding_ilp(PairwiseChoice.of(problem))
    options = HighsOptions(time_limit_s=limit_s, gap=0, feasibility_tolerance=1e-9)
    solution, seconds = timed(lambda: solve_model(built.model, options), runs)
    cost = None
    if solution.values is not None:
        cost = StrategyChoice(built.choice(solution.values)).replay(problem.instance).time_ns
    bound = None if solution.dual_bound is None else built.bound_ns(solution.dual_bound)
    print(
        f"  HiGHS {seconds:.2f} CPU s: {solution.termination}, replayed cost {cost}, "
        f"bound {bound}; {built.model.num_columns} columns, {built.model.num_rows} rows"
    )


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    for problem in problems(given.folder):
        print(problem.instance.name)
        show_reductions(problem)
        show_exact(problem, given.limit, given.runs)
        show_plain(problem, given.limit, given.runs)


if __name__ == "__main__":
    main()
