"""Columns that reduced costs fix in the models of windows, given the best restricted schedule.

Graphs are Checkmate's and MOCCASIN's, as networkx files. Each line is one model: the share of its
integer columns that one linear relaxation fixes, and CPU seconds of HiGHS on the model with its
integers, without and with it, the median of three seeds. Overheads are in percent of the time
without recomputation.
"""

from __future__ import annotations

import argparse
import statistics
import time
from fractions import Fraction
from pathlib import Path

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.remat_graph.windows.frontier import WindowedFrontier
from jettison.instances.importers.networkx import import_networkx_graph
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.milp.reduced_cost_fixing import tightened_by_reduced_costs
from jettison.solvers.remat_graph.cuts.stage_excess import StageExcess

SEEDS = range(3)


def seconds(model: ArrayModel, time_limit_s: float) -> float:
    """Return CPU seconds, the median over the seeds."""
    taken = []
    for seed in SEEDS:
        started = time.process_time()
        options = HighsOptions(
            gap=0, feasibility_tolerance=1e-9, seed=seed, time_limit_s=time_limit_s
        )
        solve_model(model, options)
        taken.append(time.process_time() - started)
    return statistics.median(taken)


def report(graph: Graph, memory: str, num_cuts: int, time_limit_s: float) -> None:
    """Print one line."""
    problem = RematGraph(graph, memory)
    best = solve_with(problem, "restricted", SolveOptions(time_limit_s=time_limit_s, gap=0))
    line = f"{graph.name:>40.40} {len(graph):>4} {memory:>5}"
    if best.time_ns is None:
        print(f"{line} no restricted schedule", flush=True)
        return
    excess = StageExcess(graph, problem.memory_bytes, range(len(graph)))
    cuts = tuple(sorted(excess.worst_stages()[: num_cuts or None]))
    built = WindowedFrontier(cuts).build(problem)
    started = time.process_time()
    duals = solve_model(built.model.relaxed()).row_duals
    assert duals is not None
    again_ns = best.time_ns - graph.base_time_ns
    at_most = Fraction(again_ns, built.time_scale.unit * built.time_scale.factor)
    tightened = tightened_by_reduced_costs(built.model, duals, at_most)
    fixing_s = time.process_time() - started
    assert tightened is not None
    binaries = int(built.model.integer.sum())
    print(
        f"{line} {100 * again_ns / graph.base_time_ns:9.4f} {len(cuts):>4} {binaries:>6} "
        f"{100 * tightened.num_fixed / binaries:5.0f} % {fixing_s:7.2f} "
        f"{seconds(built.model, time_limit_s):7.2f} {seconds(tightened.model, time_limit_s):7.2f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="+", type=Path, help="networkx files")
    parser.add_argument("--memory", nargs="+", default=["90%", "70%", "50%"])
    parser.add_argument("--cuts", type=int, default=0, help="worst stages; 0 for all above")
    parser.add_argument("--time-limit", type=float, default=30)
    arguments = parser.parse_args()
    print("graph, nodes, memory, overhead %, cuts, binaries, fixed, fixing s, without s, with s")
    for path in arguments.graphs:
        graph = import_networkx_graph(path)
        for memory in arguments.memory:
            report(graph, memory, arguments.cuts, arguments.time_limit)


if __name__ == "__main__":
    main()
