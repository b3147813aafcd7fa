"""CPU time and quality of the methods for weight offloading.

Each benchmark is a function that prints its table; name those that should run. CPU seconds are of
this process. Times are in units of the step without waiting. "floor" is the simple bound that ends
the searches.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.weight_offload.aggregated import Aggregated
from jettison.formulations.weight_offload.paper import WeightOffloadMilp
from jettison.instances.generators.published_transformers import PUBLISHED_ROWS, published_chain
from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions, LinearAlgorithm
from jettison.solvers.weight_offload.bounds.any_model import relaxed_bound_ns
from jettison.solvers.weight_offload.bounds.closed_form import closed_form_ns
from jettison.solvers.weight_offload.greedy.selection import select_choices
from jettison.solvers.weight_offload.scheduler import WeightScheduler

SEED = 1
MIB = 2**20
REPETITIONS = 5
BENCHMARKS: dict[str, Callable[[], None]] = {}


def benchmark(run: Callable[[], None]) -> Callable[[], None]:
    """Register a benchmark under the name of its function."""
    BENCHMARKS[run.__name__] = run
    return run


def synthetic_transformer(layers: int, *, spread: float) -> Chain:
    """Return layers of 200 MiB of weights and 120 ms, each up to `spread` times more or less."""
    generator = random.Random(SEED)
    stages = []
    for number in range(1, layers + 1):
        size = spread ** generator.uniform(-1, 1)
        output_bytes = 10 * MIB if number < layers else 0
        forward_ns = int(40_000_000 * size)
        stages.append(
            Stage(
                name=f"layer {number}",
                forward_ns=forward_ns,
                backward_ns=2 * forward_ns,
                output_bytes=output_bytes,
                saved_bytes=output_bytes + generator.randint(0, 20) * MIB,
                weight_bytes=int(200 * MIB * spread ** generator.uniform(-1, 1)),
            )
        )
    return Chain(f"synthetic {layers}, spread {spread:g}", 0, tuple(stages))


@dataclass(frozen=True)
class GreedyTimes:
    """Medians of five runs of both algorithms, in CPU seconds."""

    choices: int
    period_ns: int
    select_s: float
    schedule_s: float

    @classmethod
    def of(cls, problem: WeightOffload) -> GreedyTimes:
        """Run both algorithms on a problem in which they find a schedule."""
        selecting, scheduling = [], []
        for _ in range(REPETITIONS):
            started = time.process_time()
            choices = select_choices(problem)
            selected = time.process_time()
            assert choices is not None
            period_ns = WeightScheduler(problem).period_ns(choices)
            assert period_ns is not None
            selecting.append(selected - started)
            scheduling.append(time.process_time() - selected)
        select_s, schedule_s = statistics.median(selecting), statistics.median(scheduling)
        return cls(len(choices), period_ns, select_s, schedule_s)


@benchmark
def greedy() -> None:
    """CPU seconds of both algorithms, all cuts, medians of five."""
    print(f"{'chain':>26} {'choices':>8} {'select s':>9} {'schedule s':>10} {'time':>7}")
    chains = [
        synthetic_transformer(layers, spread=spread)
        for layers in (128, 1000)
        for spread in (1.0, 3.0)
    ]
    for chain in (*chains, published_chain(PUBLISHED_ROWS[9])):
        times = GreedyTimes.of(WeightOffload(chain, "40%", "4000MiB/s"))
        print(
            f"{chain.name:>26} {times.choices:>8} {times.select_s:>9.4f} "
            f"{times.schedule_s:>10.4f} {times.period_ns / chain.base_time_ns:>7.4f}",
            flush=True,
        )


@benchmark
def greedy_growth() -> None:
    """CPU ms of both algorithms while the layers double, medians of five, and the exponent."""
    print(f"{'layers':>7} {'choices':>8} {'select ms':>10} {'schedule ms':>12}")
    layers = [2**power for power in range(6, 13)]
    totals = []
    for count in layers:
        chain = synthetic_transformer(count, spread=1.5)
        times = GreedyTimes.of(WeightOffload(chain, "40%", "4000MiB/s"))
        totals.append(times.select_s + times.schedule_s)
        print(
            f"{count:>7} {times.choices:>8} {1000 * times.select_s:>10.3f} "
            f"{1000 * times.schedule_s:>12.3f}",
            flush=True,
        )
    exponent = statistics.linear_regression(*([math.log(v) for v in x] for x in (layers, totals)))
    print(f"fitted exponent {exponent.slope:.2f}; the paper has O(L^3)")


METHODS = ("l2l", "greedy-no-discount", "greedy", "margin-sweep", "local-search")
BANDWIDTHS = ("12000MiB/s", "4000MiB/s", "2000MiB/s", "1000MiB/s")


def compare_heuristics(problem: WeightOffload) -> None:
    """Print one line: the times of all heuristics, and the CPU seconds of the last."""
    base_ns = problem.instance.base_time_ns
    times = []
    for method in METHODS:
        started = time.process_time()
        time_ns = solve_with(problem, method, SolveOptions(time_limit_s=60)).time_ns
        seconds = time.process_time() - started
        assert time_ns is not None
        times.append(time_ns / base_ns)
    print(
        f"{problem.instance.name:>26} {problem.link.bytes_per_s // MIB:>6} "
        + " ".join(f"{ratio:>8.4f}" for ratio in times)
        + f" {closed_form_ns(problem) / base_ns:>8.4f} {seconds:>7.2f}",
        flush=True,
    )


def print_heading() -> None:
    names = ("l2l", "greedy*", "greedy", "margin", "search", "floor")
    print(f"{'chain':>26} {'MiB/s':>6} {' '.join(f'{name:>8}' for name in names)} {'CPU s':>7}")


@benchmark
def published() -> None:
    """All heuristics on the fifteen rows of Table 1, and on slower links."""
    print_heading()
    for row in PUBLISHED_ROWS:
        for bandwidth in BANDWIDTHS:
            compare_heuristics(
                WeightOffload(published_chain(row), f"{row.memory_mib}MiB", bandwidth)
            )


@benchmark
def synthetic() -> None:
    """All heuristics on synthetic chains of 144 unequal layers."""
    print_heading()
    for spread in (1.0, 1.5, 3.0):
        chain = synthetic_transformer(144, spread=spread)
        for memory in ("60%", "40%", "25%"):
            for bandwidth in ("4000MiB/s", "2000MiB/s"):
                compare_heuristics(WeightOffload(chain, memory, bandwidth))


def published_at_depth(name: str, depth: int, bandwidth: str = "4000MiB/s") -> WeightOffload:
    """Pose a row of Table 1 with another depth and as much time for each block.

    Where the row's memory is too little for that depth it is the least one and 4 GiB.
    """
    row = next(row for row in PUBLISHED_ROWS if row.name == name)
    chain = published_chain(replace(row, depth=depth, base_ms=row.base_ms * depth // row.depth))
    problem = WeightOffload(chain, f"{row.memory_mib}MiB", bandwidth)
    least_bytes = problem.cycle.least_memory_bytes
    if problem.memory_bytes >= least_bytes:
        return problem
    return replace(problem, memory=least_bytes + 4096 * MIB)


def idle_ms(problem: WeightOffload, time_ns: int) -> float:
    """Return what is left of a time when all operations are subtracted, in ms."""
    return (time_ns - problem.instance.base_time_ns) / 1e6


@benchmark
def relaxations() -> None:
    """CPU seconds of two relaxations at 96 layers: AGG, and the paper's corrected MILP.

    AGG is built, solved and evaluated in exact arithmetic, the median of five; the MILP's
    relaxation is solved once.
    """
    print(
        f"{'chain':>26} {'MiB/s':>6} {'write':>7} {'MILP s':>8} {'AGG s':>7} {'ratio':>6} "
        f"{'idle ms':>9} {'idle lost %':>11}"
    )
    ratios = []
    for name, mib_per_s in (
        ("gpt2-74-b16-table1", 4000),
        ("bert-96-b16-table1", 4000),
        ("bert-96-b64-table1", 4000),
        ("gpt2-74-b16-table1", 2000),
        ("gpt2-74-b32-table1", 2000),
        ("bert-96-b16-table1", 1000),
    ):
        problem = published_at_depth(name, 96, f"{mib_per_s}MiB/s")
        seconds = []
        for _ in range(5):
            started = time.process_time()
            aggregated = Aggregated().build(problem)
            small = solve_model(aggregated.model.relaxed())
            proved_ns = relaxed_bound_ns(aggregated.model, aggregated.scale, small)
            seconds.append(time.process_time() - started)
        small_s = statistics.median(seconds)
        started = time.process_time()
        built = WeightOffloadMilp().build(problem)
        model = from_pulp(built.problem).model.relaxed()
        write_s = time.process_time() - started
        large = solve_model(model)
        large_s = time.process_time() - started - write_s
        large_ns = relaxed_bound_ns(model, built.scale, large)
        idle = idle_ms(problem, large_ns)
        lost = 100 * (large_ns - proved_ns) / 1e6 / idle if idle else 0.0
        print(
            f"{problem.instance.name:>26} {mib_per_s:>6} {write_s:>7.2f} {large_s:>8.2f} "
            f"{small_s:>7.3f} {large_s / small_s:>6.1f} {idle:>9.1f} {lost:>11.4f}",
            flush=True,
        )
        ratios.append(large_s / small_s)
    print(f"geometric mean of the ratios {statistics.geometric_mean(ratios):.1f}")


@benchmark
def thousand_layers() -> None:
    """CPU seconds and idle ms of AGG's relaxation at 1000 layers, proved in exact arithmetic."""
    print(f"{'chain':>26} {'CPU s':>7} {'idle ms':>10} {'base ms':>10}")
    for name in ("gpt2-74-b16-table1", "bert-144-b16-table1"):
        problem = published_at_depth(name, 1000)
        aggregated = Aggregated().build(problem)
        started = time.process_time()
        interior = HighsOptions(linear_algorithm=LinearAlgorithm.INTERIOR)
        solution = solve_model(aggregated.model.relaxed(), interior)
        time_ns = relaxed_bound_ns(aggregated.model, aggregated.scale, solution)
        seconds = time.process_time() - started
        print(
            f"{problem.instance.name:>26} {seconds:>7.2f} {idle_ms(problem, time_ns):>10.1f} "
            f"{problem.instance.base_time_ns / 1e6:>10.1f}",
            flush=True,
        )


@benchmark
def bounds() -> None:
    """All bounds on the rows of Table 1 and bound-guided, as idle ms, five seconds each."""
    models = ("agg", "aggint", "paper-milp", "paper-milp-strengthened")
    names = ("closed-form", *models, "bound-guided")
    print(f"{'chain':>26} {'MiB/s':>6} " + " ".join(f"{name:>23}" for name in names))
    for row in PUBLISHED_ROWS:
        for bandwidth in BANDWIDTHS:
            problem = WeightOffload(published_chain(row), f"{row.memory_mib}MiB", bandwidth)
            cells = []
            for name in names:
                result = solve_with(problem, name, SolveOptions(time_limit_s=5))
                found_ns = result.time_ns if name == "bound-guided" else result.lower_bound_ns
                cells.append("-" if found_ns is None else f"{idle_ms(problem, found_ns):.1f}")
            print(
                f"{row.name:>26} {problem.link.bytes_per_s // MIB:>6} "
                + " ".join(f"{cell:>23}" for cell in cells),
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(BENCHMARKS)}; all if none")
    names = parser.parse_args().names or list(BENCHMARKS)
    for name in names:
        run = BENCHMARKS[name]
        print(f"{name}: {run.__doc__}")
        run()


if __name__ == "__main__":
    main()
