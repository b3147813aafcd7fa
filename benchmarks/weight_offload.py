"""CPU time and quality of the methods for weight offloading.

Each benchmark is a function that prints its table; name those that should run. CPU seconds are of
this process. Times are in units of the step without waiting. "floor" is the simple bound that ends
the searches; give better bounds by another benchmark.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable

from jettison.instances.chain import Chain, Stage
from jettison.instances.generators.published_transformers import PUBLISHED_ROWS, published_chain
from jettison.instances.weight_offload import WeightOffload
from jettison.solvers.outcome import SolveOptions
from jettison.solvers.solve import solve_with
from jettison.solvers.weight_incumbent import simple_floor_ns
from jettison.solvers.weight_scheduler import WeightScheduler
from jettison.solvers.weight_selection import select_choices

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
        problem = WeightOffload(chain, "40%", "4000MiB/s")
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
        print(
            f"{chain.name:>26} {len(choices):>8} {statistics.median(selecting):>9.4f} "
            f"{statistics.median(scheduling):>10.4f} {period_ns / chain.base_time_ns:>7.4f}",
            flush=True,
        )


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
        + f" {simple_floor_ns(problem) / base_ns:>8.4f} {seconds:>7.2f}",
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
