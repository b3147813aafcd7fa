"""Plans, bounds and seconds of the methods for KIWI's problem on programs over four devices.

Times are multiples of the fastest plan's without a limit on memory. Seconds are CPU seconds of one
run on one thread, HiGHS in its child process included; they differ from run to run. Each plan has
been replayed. Name sections to run only those.

    .venv/bin/python benchmarks/kiwi.py literal perceptrons reduced
    .venv/bin/python benchmarks/kiwi.py quadratic       # needs jettison[scip]
    .venv/bin/python benchmarks/kiwi.py transformers    # minutes
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from statistics import median

from cpu_clock import cpu_seconds

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.from_pyomo import from_pyomo
from jettison.formulations.milp.quadratic_model import QuadraticModel
from jettison.formulations.remat_sharding.kiwi.compact import KiwiReducedCompact
from jettison.formulations.remat_sharding.kiwi.products import Linearised
from jettison.formulations.remat_sharding.kiwi.reduced import KiwiReduced
from jettison.instances.catalog import load
from jettison.instances.generators.perceptron_program import perceptron
from jettison.instances.remat_sharding.chosen_strategies import with_strategies
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.instances.tensor_programs.program_names import named_program
from jettison.instances.tensor_programs.program_on_mesh import on_v100_mesh
from jettison.instances.tensor_programs.tensor_program import TensorProgram
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.result import Result
from jettison.solvers.core.solve import solve_with
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.milp.scip import solve_quadratic
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.remat_sharding.fastest_plan import with_fastest

LITERAL_LIMIT_S = 30.0
RUNS = 3
LAYERS = (4, 8, 20)
MESH = (1, 4)


def on_mesh(name: str, program: TensorProgram) -> ShardedGraph:
    """Return a program on the four devices, with its fastest plan."""
    return with_fastest(on_v100_mesh(program, MESH, 1, name))


def perceptron_steps() -> Iterator[ShardedGraph]:
    """Yield steps of 26 operators: weights as large as activations, and a fourth of them."""
    yield on_mesh("perceptron", perceptron())
    yield on_mesh("wide perceptron", perceptron(6, 8192, 2048))


def encoders() -> Iterator[ShardedGraph]:
    """Yield steps of encoders of more and more layers."""
    for layers in LAYERS:
        name = f"encoder-{layers}l"
        yield on_mesh(name, named_program(name))


def relative(sharded: ShardedGraph, time_ns: int | None) -> str:
    """Return a time as a multiple of the fastest plan's."""
    if time_ns is None:
        return "none"
    return f"{time_ns / with_strategies(sharded, sharded.fastest).base_time_ns:.4f}"


def solved(
    sharded: ShardedGraph, percent: int, method: str, limit_s: float, gap: float = 0.0
) -> tuple[Result, float]:
    """Return what a method finds, and its seconds."""
    started = cpu_seconds()
    options = SolveOptions(time_limit_s=limit_s, gap=gap)
    result = solve_with(RematSharding(sharded, f"{percent}%"), method, options)
    return result, cpu_seconds() - started


def show(
    sharded: ShardedGraph,
    percents: Iterable[int],
    methods: Iterable[str],
    limit_s: float,
    gap: float = 0.0,
) -> None:
    """Print a line for each memory and method."""
    print(f"{sharded.name}, {len(sharded)} operators; {limit_s:g} s at most")
    for percent in percents:
        for method in methods:
            result, seconds = solved(sharded, percent, method, limit_s, gap)
            print(
                f"  {percent:3} %  {method:20} {relative(sharded, result.time_ns):>8}"
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

    for sharded in perceptron_steps():
        print(f"{sharded.name}, {len(sharded)} operators")
        for percent in (80, 60, 40, 30):
            problem = RematSharding(sharded, f"{percent}%")
            if problem.memory_bytes < sharded.least_peak_bound_bytes:
                print(f"  {percent:3} %  less than one operator needs")
                continue
            seconds, answers = [], []
            for build in (printed, compact):
                started = cpu_seconds()
                model = build(problem)
                found = solve_model(model, HighsOptions(gap=0, time_limit_s=LITERAL_LIMIT_S))
                seconds.append(cpu_seconds() - started)
                answers.append(str(found.answer))
            print(
                f"  {percent:3} %  printed {seconds[0]:6.2f} s {answers[0]:10}"
                f"  compact {seconds[1]:6.2f} s {answers[1]:10}"
                f"  {seconds[0] / seconds[1]:5.1f} times",
                flush=True,
            )


def quadratic() -> None:
    """Solve the reduced problem of mlp-26 as it is printed, by SCIP, and linearised, by HiGHS."""
    sharded = load("mlp-26")
    assert isinstance(sharded, ShardedGraph)
    print(f"{sharded.name}, {len(sharded)} operators; medians of {RUNS} runs, models built before")
    for percent in (80, 60, 40, 20):
        problem = RematSharding(sharded, f"{percent}%")
        products = QuadraticModel(KiwiReduced().build(problem).concrete)
        compact = KiwiReducedCompact().build(problem).model
        runs: list[tuple[str, Callable[[], ModelSolution]]] = [
            ("SCIP, quadratic", lambda model=products: solve_quadratic(model)),
            ("HiGHS, compact", lambda model=compact: solve_model(model, HighsOptions(gap=0))),
        ]
        for name, run in runs:
            seconds, objectives = [], []
            for _ in range(RUNS):
                started = cpu_seconds()
                objectives.append(run().objective)
                seconds.append(cpu_seconds() - started)
            print(
                f"  {percent:3} %  {name:16} {median(seconds):6.2f} s  {objectives[0]:.3f}",
                flush=True,
            )


def elementwise() -> None:
    """Let elementwise operators be recomputed together, on an encoder over slow links."""
    sharded = with_fastest(
        on_v100_mesh(named_program("encoder-4l"), MESH, 10, "encoder-4l over links 10 times slower")
    )
    methods = ("alpa-checkpoint-dots", "kiwi-reduced", "kiwi-elementwise")
    show(sharded, (70, 60, 50), methods, 60, gap=1e-3)


def perceptrons() -> None:
    """Solve both problems on the perceptrons."""
    for sharded in perceptron_steps():
        show(sharded, (80, 60, 40, 30), ("alpa", "kiwi-reduced", "exact"), 20)


def transformers() -> None:
    """Solve the full problem on encoders."""
    for sharded in encoders():
        show(sharded, (90, 70, 60, 50), ("exact",), 30)


def reduced() -> None:
    """Solve the reduced problem on encoders."""
    for sharded in encoders():
        show(sharded, (90, 70), ("kiwi-reduced",), 20)


SECTIONS: dict[str, Callable[[], None]] = {
    section.__name__: section
    for section in (literal, quadratic, perceptrons, reduced, elementwise, transformers)
}


def main() -> None:
    """Run the named sections, or all."""
    for name in sys.argv[1:] or SECTIONS:
        print(f"\n{name}: {(SECTIONS[name].__doc__ or '').splitlines()[0]}")
        SECTIONS[name]()


if __name__ == "__main__":
    main()
