"""Effect of presolve on graphs: nodes and edges removed, size of models, time of HiGHS.

For each graph the model has the same number of cuts, where the step without recomputation needs
most memory, on the graph as it is and on what presolve leaves of it for schedules in order, without
and with a known time, which annealing finds in one CPU second. CPU times are medians of three.

    .venv/bin/python benchmarks/graph_presolve.py FOLDER

FOLDER holds the graphs that MOCCASIN publishes (networkx node-link JSON); without it, only chains
turned into graphs and random layered graphs are measured.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from jettison.formulations.remat_graph.windows.fixings import WindowFixings
from jettison.formulations.remat_graph.windows.frontier import WindowedFrontier
from jettison.instances.catalog import load
from jettison.instances.generators.layered_graph import LayeredGraphs, Passes
from jettison.instances.importers.networkx import import_networkx_graph
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_graph.chain_to_graph import chain_to_graph, graph_memory_bytes
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.remat_graph.annealing.method import annealing_of
from jettison.solvers.remat_graph.cuts.stage_excess import StageExcess
from jettison.solvers.remat_graph.presolve.presolved import presolve

CHAINS = ("vgg16-b2-224-cpu", "resnet50-b4-224-cpu", "gpt2-38-b16-table1", "bert-96-b16-table1")
SHARES = ("90%", "70%")
CUTS = 3
RUNS = 3
ANNEALING_S = 1.0
HIGHS_S = 3.0
STEP = 20_000


def problems(folder: Path | None) -> Iterator[RematGraph]:
    """Yield every graph in every memory in which single operations fit."""
    graphs = (
        [import_networkx_graph(file) for file in sorted(folder.glob("*.json"))] if folder else []
    )
    for passes in Passes:
        graphs += [LayeredGraphs(nodes=120, passes=passes).draw(seed) for seed in (0, 1, 2)]
    found = [RematGraph(graph, share) for graph in graphs for share in SHARES]
    for name in CHAINS:
        chain = load(name)
        assert isinstance(chain, Chain)
        memory_bytes = graph_memory_bytes(chain, int(0.7 * chain.store_all_peak_bytes))
        found.append(RematGraph(chain_to_graph(chain), memory_bytes))
    for problem in found:
        if problem.memory_bytes >= problem.instance.least_peak_bound_bytes:
            yield problem


def annealed_ns(problem: RematGraph) -> int | None:
    """Return the time of the best schedule that annealing finds."""
    search = annealing_of(problem, 0, problem.instance.base_time_ns)
    started = time.process_time()
    while not search.is_over and time.process_time() - started < ANNEALING_S:
        search.run(STEP)
    return search.time_ns


def measure(label: str, problem: RematGraph, fixings: WindowFixings, presolve_s: float) -> None:
    """Print the size of a model and how long HiGHS takes."""
    graph = problem.instance
    excess = StageExcess(graph, problem.memory_bytes, range(len(graph)))
    cuts = tuple(sorted(excess.worst_stages()[:CUTS]))
    frontier = WindowedFrontier(cuts, fixings=fixings)
    built = frontier.build(problem)
    seconds = []
    for _ in range(RUNS):
        started = time.process_time()
        solution = solve_model(built.model, HighsOptions(gap=0, time_limit_s=HIGHS_S))
        seconds.append(time.process_time() - started)
    bound = "-"
    if solution.dual_bound is not None:
        proved_ns = built.time_scale.bound_from_model(solution.dual_bound)
        bound = f"{100 * proved_ns / graph.base_time_ns:.4f}"
    print(
        f"    {label:<16} {len(graph):>5} {sum(map(len, graph.inputs)):>5} "
        f"{len(fixings.computed_once):>5} {len(fixings.twins):>5} {frontier.num_columns(graph):>7} "
        f"{built.model.num_rows:>6} {bound:>8} {statistics.median(seconds):>7.3f} "
        f"{1000 * presolve_s:>8.1f}",
        flush=True,
    )


def main() -> None:
    """Measure every problem."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", nargs="?", type=Path, help="where the published graphs are")
    folder = parser.parse_args().folder
    print(
        f"    {'':<16} {'nodes':>5} {'edges':>5} {'once':>5} {'twins':>5} {'columns':>7} "
        f"{'rows':>6} {'bound %':>8} {'CPU s':>7} {'presolve':>8}"
    )
    for problem in problems(folder):
        known_ns = annealed_ns(problem)
        print(f"{problem.instance.name[:40]} @ {problem.memory}")
        measure("as it is", problem, WindowFixings(), 0.0)
        for label, time_ns in (("in order", None), ("and known time", known_ns)):
            started = time.process_time()
            presolved = presolve(problem, (ScheduleClass.IN_ORDER,), time_ns)
            presolve_s = time.process_time() - started
            measure(label, presolved.problem, presolved.fixings, presolve_s)


if __name__ == "__main__":
    main()
