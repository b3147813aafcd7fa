"""Recomputing on graphs: what is proved, and in how many CPU seconds, beside Checkmate's program.

Run: ``python benchmarks/remat_graph.py SECTION ... [--seeds N]``. Sections:

``checkmate``
    `exact` and `checkmate` on the same graphs of up to 65 nodes at half to nine tenths of the
    memory: the ratio of their CPU seconds, where Checkmate's integer program is solved in its time
    (``--checkmate-limit``), and the geometric mean of the ratios.
``single-cut``
    What models of one cut, at the stages whose memory costs most, prove of the overhead of training
    graphs in about .2 CPU seconds.
``networks``
    `exact` at half of the memory on the networks drawn here; `marks.py` has published graphs.
``large``
    `exact` on layered graphs of 1000 nodes drawn here.

Everything runs on one thread. CPU seconds are of this process and of the children that large
integer models run in; time limits are wall seconds. Each line is one run; with three seeds, the
default, there are three lines. Overheads are in per cent of the time without recomputation, memory
is a share of the peak without recomputation in the order of the graph, or bytes. Schedules are
replayed.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass

from cpu_clock import cpu_seconds

from jettison.formulations.remat_graph.windows.presets import SingleCut
from jettison.instances.core.errors import InputError
from jettison.instances.generators.layered_graph import LayeredGraphs, Passes
from jettison.instances.generators.training_networks import NETWORKS
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.result import Result
from jettison.solvers.core.solve import solve_with
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.remat_graph.cuts.eviction_cost import eviction_costs

SMALL = ("perceptron-12", "vgg-11", "vgg-16", "mobilenet", "encoder-2")
SHARES = ("50%", "60%", "70%", "80%", "90%")
SINGLE_CUT_S = 0.15
LARGE: tuple[tuple[str, float], ...] = (("90%", 30), ("80%", 180))


@dataclass(frozen=True)
class Run:
    """A result, and the CPU seconds that it took."""

    result: Result
    cpu_s: float


def run(problem: RematGraph, method: str, options: SolveOptions) -> Run:
    """Solve a problem once."""
    started = cpu_seconds()
    result = solve_with(problem, method, options)
    return Run(result, cpu_seconds() - started)


def percent(graph: Graph, time_ns: int | None) -> str:
    """Return the overhead in per cent, or a dash."""
    return "-" if time_ns is None else f"{100 * (time_ns / graph.base_time_ns - 1):.4f}"


def line(problem: RematGraph, memory: str | int, found: Run) -> str:
    """Describe a run."""
    graph, result = problem.instance, found.result
    best, bound = percent(graph, result.time_ns), percent(graph, result.lower_bound_ns)
    return (
        f"{graph.name:>32.32} {len(graph):>5} {memory:>7} {best:>8} {bound:>8} "
        f"{found.cpu_s:>7.2f} {result.seconds:>7.2f} {result.status}"
    )


def drawn_small(seeds: int) -> Iterator[Graph]:
    """Yield training graphs of up to 65 nodes."""
    for name in SMALL:
        yield NETWORKS[name](32)
    for seed in range(seeds):
        for nodes in (32, 48, 64):
            yield LayeredGraphs(nodes=nodes, passes=Passes.TRAINING).draw(seed)


def against_checkmate(seeds: int, limit_s: float) -> None:
    """Print both methods' CPU seconds where Checkmate's program is solved."""
    ratios = []
    print(
        f"{'graph':>32} {'nodes':>5} {'memory':>7} {'best':>8} {'F0 s':>7} {'exact s':>8} {'x':>7}"
    )
    for graph in drawn_small(seeds):
        for memory in SHARES:
            problem = RematGraph(graph, memory)
            if problem.memory_bytes < graph.least_peak_bound_bytes:
                continue
            checkmate = run(problem, "checkmate", SolveOptions(time_limit_s=limit_s))
            if not checkmate.result.status.startswith("optimal"):
                status = checkmate.result.status
                print(f"{graph.name:>32.32} {len(graph):>5} {memory:>7} F0: {status}", flush=True)
                continue
            runs = [
                run(problem, "exact", SolveOptions(time_limit_s=limit_s, seed=seed))
                for seed in range(seeds)
            ]
            statuses = {found.result.status for found in runs}
            if any(found.result.gap is None or found.result.gap > 1e-4 for found in runs):
                print(f"{graph.name:>32.32} {len(graph):>5} {memory:>7} exact: {statuses}")
                continue
            seconds = sorted(found.cpu_s for found in runs)[len(runs) // 2]
            ratios.append(checkmate.cpu_s / seconds)
            best = percent(graph, runs[0].result.time_ns)
            print(
                f"{graph.name:>32.32} {len(graph):>5} {memory:>7} {best:>8} "
                f"{checkmate.cpu_s:>7.2f} {seconds:>8.3f} {ratios[-1]:>7.1f}",
                flush=True,
            )
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"geometric mean of {len(ratios)} ratios: {mean:.1f}")


def one_cut_bound_ns(problem: RematGraph) -> int:
    """Return the best of the bounds of one cut each, the stages that cost most first.

    At least one stage is looked at, and no other one is begun after `SINGLE_CUT_S` CPU seconds.
    """
    graph = problem.instance
    started = cpu_seconds()
    costs = eviction_costs(graph, problem.memory_bytes)
    best_ns = graph.base_time_ns
    for cut in sorted(costs, key=lambda stage: -costs[stage].cost_ns):
        built = SingleCut(cut).build(problem)
        solution = solve_model(built.model, HighsOptions(gap=0, time_limit_s=20))
        if solution.dual_bound is not None:
            again_ns = built.time_scale.bound_from_model(solution.dual_bound)
            best_ns = max(best_ns, graph.base_time_ns + again_ns)
        if cpu_seconds() - started > SINGLE_CUT_S:
            break
    return best_ns


def single_cuts(seeds: int) -> None:
    """Print what the best of the worst stages proves of the overhead, with one cut."""
    graphs = [build(32) for build in NETWORKS.values()]
    graphs += [
        LayeredGraphs(nodes=nodes, passes=Passes.TRAINING).draw(seed)
        for nodes in (100, 320)
        for seed in range(seeds)
    ]
    head = f"{'graph':>32} {'nodes':>5} {'memory':>7} {'cut %':>8} {'best %':>8}"
    print(f"{head} {'closed':>7}  CPU s")
    for graph in graphs:
        for memory in ("50%", "70%", "90%"):
            problem = RematGraph(graph, memory)
            if problem.memory_bytes < graph.least_peak_bound_bytes:
                continue
            best = solve_with(problem, "exact", SolveOptions(time_limit_s=20, gap=0))
            if best.time_ns is None or best.time_ns == graph.base_time_ns:
                continue
            started = cpu_seconds()
            bound_ns = one_cut_bound_ns(problem)
            seconds = cpu_seconds() - started
            over_ns = best.time_ns - graph.base_time_ns
            closed = 100 * (bound_ns - graph.base_time_ns) / over_ns
            mark = "" if best.status.startswith("optimal") else " (best not proved)"
            print(
                f"{graph.name:>32.32} {len(graph):>5} {memory:>7} {percent(graph, bound_ns):>8} "
                f"{percent(graph, best.time_ns):>8} {closed:>7.1f} {seconds:>6.2f}{mark}",
                flush=True,
            )


def header() -> str:
    """Return the head of the lines."""
    return (
        f"{'graph':>32} {'nodes':>5} {'memory':>7} {'best %':>8} {'bound %':>8} "
        f"{'CPU s':>7} {'wall s':>7} status"
    )


def networks(seeds: int) -> None:
    """Print the runs on networks at half of their memory."""
    print(header())
    for build in NETWORKS.values():
        graph = build(32)
        problem = RematGraph(graph, "50%")
        if problem.memory_bytes < graph.least_peak_bound_bytes:
            continue
        for seed in range(seeds):
            found = run(problem, "exact", SolveOptions(time_limit_s=5, gap=0, seed=seed))
            print(line(problem, "50%", found), flush=True)


def large(seeds: int) -> None:
    """Print the runs on layered graphs of 1000 nodes."""
    print(header())
    for memory, limit_s in LARGE:
        for seed in range(seeds):
            graph = LayeredGraphs(nodes=1000).draw(seed + 1)
            problem = RematGraph(graph, memory)
            options = SolveOptions(time_limit_s=limit_s, gap=0)
            print(line(problem, memory, run(problem, "exact", options)), flush=True)


def main() -> None:
    """Run the sections that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "sections", nargs="+", choices=("checkmate", "single-cut", "networks", "large")
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--checkmate-limit", type=float, default=60, help="seconds, by default 60")
    arguments = parser.parse_args()
    if arguments.seeds < 1:
        raise InputError(f"{arguments.seeds}", field="seeds", expected="write 1 or more")
    for section in arguments.sections:
        if section == "checkmate":
            against_checkmate(arguments.seeds, arguments.checkmate_limit)
        elif section == "single-cut":
            single_cuts(arguments.seeds)
        elif section == "networks":
            networks(arguments.seeds)
        else:
            large(arguments.seeds)


if __name__ == "__main__":
    main()
