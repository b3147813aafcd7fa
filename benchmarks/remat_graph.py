"""Bounds for recomputing on published graphs: what is proved, and CPU time.

Graphs are Checkmate's and MOCCASIN's, as networkx files in the folder that is given. CPU seconds
are of this process, without the child that large integer models run in, hence also wall seconds.
Overheads are in percent of the time without recomputation.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from jettison.instances.errors import JettisonError
from jettison.instances.graph import Graph
from jettison.instances.importers.networkx import import_networkx_graph
from jettison.instances.remat_graph import RematGraph
from jettison.schedules.schedule_class import ScheduleClass
from jettison.solvers.bound import Evidence
from jettison.solvers.outcome import SolveOptions
from jettison.solvers.result import Result
from jettison.solvers.solve import solve_with

# Above this the ILP that gives the optimum takes too long.
_MOST_NODES_FOR_CHECKMATE = 45
MEMORIES = ("90%", "80%", "50%")


def percent(graph: Graph, time_ns: int | None) -> str:
    """Return the overhead in percent, or a dash."""
    return "-" if time_ns is None else f"{100 * (time_ns / graph.base_time_ns - 1):.4f}"


def best(result: Result, evidence: Evidence, schedule_class: ScheduleClass) -> int | None:
    """Return the largest bound of a kind that holds for a class."""
    times = (
        bound.time_ns
        for bound in result.bounds
        if bound.evidence is evidence and bound.valid_for.covers(schedule_class)
    )
    return max(times, default=None)


def bound_graph(graph: Graph, memory: str, options: SolveOptions, best_known_s: float) -> None:
    """Print one line: the bounds, the optimum where it is found, and seconds."""
    problem = RematGraph(graph, memory)
    started, wall = time.process_time(), time.perf_counter()
    result = solve_with(problem, "cut-bound", options)
    cpu_s, wall_s = time.process_time() - started, time.perf_counter() - wall
    if result.infeasibility is not None:
        print(f"{graph.name:>40.40} {len(graph):>5} {memory:>5} {result.status}", flush=True)
        return
    in_order_ns = best(result, Evidence.SOLVER, ScheduleClass.IN_ORDER)
    exact_ns = best(result, Evidence.EXACT, ScheduleClass.IN_ORDER)
    bound_ns = result.lower_bound_ns
    time_ns = None
    if len(graph) <= _MOST_NODES_FOR_CHECKMATE and best_known_s:
        time_ns = solve_with(problem, "checkmate", SolveOptions(time_limit_s=best_known_s)).time_ns
    closed = "-"
    if time_ns is not None and bound_ns is not None and time_ns > graph.base_time_ns:
        share = (bound_ns - graph.base_time_ns) / (time_ns - graph.base_time_ns)
        closed = f"{100 * share:.1f}"
    print(
        f"{graph.name:>40.40} {len(graph):>5} {memory:>5} {percent(graph, exact_ns):>8} "
        f"{percent(graph, in_order_ns or exact_ns):>8} {percent(graph, bound_ns):>8} "
        f"{percent(graph, time_ns):>8} {closed:>6} {result.work['cuts']:>4} "
        f"{result.work['slots']:>5} {cpu_s:>6.2f} {wall_s:>6.2f} {result.termination}",
        flush=True,
    )


def main() -> None:
    """Bound every graph of the folder in every memory."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="of networkx node-link files (*.json)")
    parser.add_argument("--memory", nargs="+", default=MEMORIES)
    parser.add_argument("--time-limit", type=float, default=10, help="of each bound, in seconds")
    parser.add_argument(
        "--checkmate",
        type=float,
        default=0,
        help="seconds for the optimum of small graphs",
    )
    arguments = parser.parse_args()
    files = sorted(arguments.folder.glob("*.json"))
    if not files:
        print(f"skipped: no *.json in {arguments.folder}")
    else:
        print(
            f"{'graph':>40} {'nodes':>5} {'mem':>5} {'exact %':>8} {'order %':>8} {'bound %':>8} "
            f"{'best %':>8} {'closed':>6} {'cuts':>4} {'slots':>5} {'CPU s':>6} {'wall s':>6} end"
        )
    options = SolveOptions(time_limit_s=arguments.time_limit, gap=0)
    for file in files:
        try:
            graph = import_networkx_graph(file)
        except JettisonError as error:
            print(f"skipped: {error}")
            continue
        for memory in arguments.memory:
            bound_graph(graph, memory, options, arguments.checkmate)


if __name__ == "__main__":
    main()
