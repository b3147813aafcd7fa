"""KIWI's problem: plans, bounds and seconds of its methods on generated training steps.

Times are multiples of the fastest plan's without a limit on memory. Seconds are CPU seconds of one
run on one thread, HiGHS in its child process included; they differ from run to run. Each plan has
been replayed. Name sections to run only those.

    .venv/bin/python benchmarks/kiwi.py literal mlp mixed reduced changes
    .venv/bin/python benchmarks/kiwi.py transformer    # minutes
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterable

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.from_pyomo import from_pyomo
from jettison.formulations.remat_sharding.kiwi.compact import KiwiReducedCompact
from jettison.formulations.remat_sharding.kiwi.products import Linearised
from jettison.formulations.remat_sharding.kiwi.reduced import KiwiReduced
from jettison.instances.generators.sharded_mlp import sharded_mixed, sharded_mlp
from jettison.instances.generators.sharded_transformer import sharded_transformer
from jettison.instances.remat_sharding.chosen_strategies import with_strategies
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.schedules.remat_sharding.plan_table import planned_operators
from jettison.schedules.remat_sharding.schedule import ShardedSchedule
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.result import Result
from jettison.solvers.core.solve import solve_with
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.remat_sharding.fastest_plan import with_fastest

LITERAL_LIMIT_S = 30.0
TRANSFORMERS = ((4, 3), (8, 3), (20, 2))


def cpu_s() -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def relative(sharded: ShardedGraph, time_ns: int | None) -> str:
    """Return a time as a multiple of the fastest plan's."""
    if time_ns is None:
        return "none"
    return f"{time_ns / with_strategies(sharded, sharded.fastest).base_time_ns:.4f}"


def solved(
    sharded: ShardedGraph, percent: int, method: str, limit_s: float
) -> tuple[Result, float]:
    """Return what a method finds, and its seconds."""
    started = cpu_s()
    options = SolveOptions(time_limit_s=limit_s, gap=0.0)
    result = solve_with(RematSharding(sharded, f"{percent}%"), method, options)
    return result, cpu_s() - started


def show(
    sharded: ShardedGraph, percents: Iterable[int], methods: Iterable[str], limit_s: float
) -> None:
    """Print a line for each memory and method."""
    print(f"{sharded.name}, {len(sharded)} operators; {limit_s:g} s at most")
    for percent in percents:
        for method in methods:
            result, seconds = solved(sharded, percent, method, limit_s)
            print(
                f"  {percent:3} %  {method:12} {relative(sharded, result.time_ns):>8}"
                f"  bound {relative(sharded, result.lower_bound_ns):>8}"
                f"  {seconds:6.2f} s  {result.status}",
                flush=True,
            )


def literal() -> None:
    """Solve the reduced problem by the paper's linearisation and by the compact one."""

    def printed(problem: RematSharding) -> ArrayModel:
        return from_pyomo(KiwiReduced(Linearised()).build(problem).concrete).model

    def compact(problem: RematSharding) -> ArrayModel:
        return KiwiReducedCompact().build(problem).model

    for sharded in (with_fastest(sharded_mlp()), with_fastest(sharded_mixed())):
        print(f"{sharded.name}, {len(sharded)} operators")
        for percent in (80, 60, 40, 30):
            problem = RematSharding(sharded, f"{percent}%")
            if problem.memory_bytes < sharded.least_peak_bound_bytes:
                print(f"  {percent:3} %  less than one operator needs")
                continue
            seconds, answers = [], []
            for build in (printed, compact):
                started = cpu_s()
                model = build(problem)
                found = solve_model(model, HighsOptions(gap=0, time_limit_s=LITERAL_LIMIT_S))
                seconds.append(cpu_s() - started)
                answers.append(str(found.answer))
            print(
                f"  {percent:3} %  printed {seconds[0]:6.2f} s {answers[0]:10}"
                f"  compact {seconds[1]:6.2f} s {answers[1]:10}"
                f"  {seconds[0] / seconds[1]:5.1f} times",
                flush=True,
            )


def mlp() -> None:
    """Solve both problems on the perceptron of 26 operators with four strategies each."""
    sharded = with_fastest(sharded_mlp())
    show(sharded, (80, 60, 40, 30, 25), ("alpa", "kiwi-reduced", "exact"), 20)


def mixed() -> None:
    """Solve both problems where weights are as large as activations, and the full one on more."""
    show(with_fastest(sharded_mixed()), (80, 60, 40), ("alpa", "kiwi-reduced", "exact"), 20)
    for layers in (12, 36, 72):
        show(with_fastest(sharded_mixed(layers)), (80, 60, 50), ("exact",), 20)


def transformer() -> None:
    """Solve the full problem on encoders of 149, 293 and 725 operators.

    With 64 sequences activations are so much larger than weights that the batch is split in every
    plan, and only what is computed again is to be found; with 8 shardings change.
    """
    for batch in (64, 8):
        for layers, strategies in TRANSFORMERS:
            sharded = sharded_transformer(layers, batch=batch, strategies=strategies)
            print(f"{batch} sequences")
            show(with_fastest(sharded), (90, 70, 60, 50), ("exact",), 30)


def reduced() -> None:
    """Solve the reduced problem on encoders of 149, 293 and 725 operators."""
    for layers, strategies in TRANSFORMERS:
        sharded = with_fastest(sharded_transformer(layers, strategies=strategies))
        show(sharded, (90, 70), ("kiwi-reduced",), 20)


def changes() -> None:
    """Count the operators that change their strategy in little memory, and those computed again.

    A change may cost and gain nothing: the fastest plan need not be the only one.
    """
    graphs = (sharded_mlp(), sharded_mixed(), sharded_transformer(1), sharded_transformer(4))
    for sharded in map(with_fastest, graphs):
        print(f"{sharded.name}, {len(sharded)} operators")
        for percent in (90, 80, 70, 60, 50, 40):
            result, _ = solved(sharded, percent, "kiwi-reduced", 10)
            if not isinstance(result.schedule, ShardedSchedule):
                print(f"  {percent:3} %  {result.status}")
                continue
            chosen = result.schedule.strategies
            changed = sum(a != b for a, b in zip(chosen, sharded.fastest, strict=True))
            rows = planned_operators(sharded, result.schedule)
            again = sum(row.computations > 1 for row in rows)
            print(
                f"  {percent:3} %  {relative(sharded, result.time_ns)}"
                f"  {changed:3} change their strategy, {again:2} are computed again",
                flush=True,
            )


SECTIONS: dict[str, Callable[[], None]] = {
    section.__name__: section for section in (literal, mlp, mixed, reduced, changes, transformer)
}


def main() -> None:
    """Run the named sections, or all."""
    for name in sys.argv[1:] or SECTIONS:
        print(f"\n{name}: {(SECTIONS[name].__doc__ or '').splitlines()[0]}")
        SECTIONS[name]()


if __name__ == "__main__":
    main()
