"""Comparison of bounds and schedules in the order of a graph with those in any order.

Run: ``python benchmarks/graph_orders.py FOLDER``, or with ``--limit``, ``--only`` and ``--memory``.
FOLDER has the graphs that MOCCASIN publishes (networkx node-link JSON); without it they are
skipped, and the reason is printed. Two bundled chains as graphs come last, and four layered graphs
drawn here, of which two are training graphs. ``--nodes 1000`` draws one of that size alone.

A line gives the nodes; of the pairs of nodes the share, in per cent, of which every order has the
same one first; the memory, as a share of the peak without recomputation in the order given; and in
per cent of the time without recomputation, beyond it, the largest bound of `exact` in the order
given (``s``: for staged schedules only) and its schedule, the bound of `any-order-bound`, the
schedule of `orders`, and bound and schedule of `any-order`, which joins them with `exact`; with the
seconds of each of the four. Each has `limit` seconds on one thread. Where the last two agree, no
schedule in any order is faster. Every schedule is replayed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from jettison.formulations.remat_graph.any_order.milestones import Precedence
from jettison.instances.catalog import load
from jettison.instances.generators.layered_graph import LayeredGraphs, Passes
from jettison.instances.importers.networkx import import_networkx_graph
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_graph.chain_to_graph import chain_to_graph
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.result import Result
from jettison.solvers.core.solve import solve_with

BUNDLED = ("resnet18-b4-224-cpu", "vgg16-b2-224-cpu")
MEMORY = ("90%", "80%", "50%")


def graphs(folder: Path | None, only: str) -> Iterator[Graph]:
    if folder is None:
        print("no folder with the published graphs was given: skipped")
    else:
        for path in sorted(folder.glob("*.json")):
            if only in path.name:
                yield import_networkx_graph(path)
    for name in BUNDLED:
        chain = load(name)
        if only in name and isinstance(chain, Chain):
            yield chain_to_graph(chain)
    if only in "drawn":
        for passes in Passes:
            for seed in (1, 2):
                yield LayeredGraphs(nodes=120, passes=passes).draw(seed)


def percent(graph: Graph, time_ns: int | None) -> str:
    if time_ns is None:
        return "none"
    return f"{100 * (time_ns - graph.base_time_ns) / graph.base_time_ns:.4f}"


def show(graph: Graph, memory: str, limit_s: float) -> None:
    problem = RematGraph(graph, memory)
    if problem.memory_bytes < graph.least_peak_bound_bytes:
        return
    results: dict[str, Result] = {
        method: solve_with(problem, method, SolveOptions(time_limit_s=limit_s))
        for method in ("exact", "any-order-bound", "orders", "any-order")
    }
    in_order = max(results["exact"].bounds, key=lambda bound: bound.time_ns)
    staged = "s" if in_order.valid_for is ScheduleClass.STAGED else ""
    precedence = Precedence(graph)
    related = sum(
        (above | below).bit_count() - 1
        for above, below in zip(precedence.ancestors, precedence.descendants, strict=True)
    )
    pairs = max(1, len(graph) * (len(graph) - 1))
    print(
        f"{graph.name[:22]:<22} {len(graph):>5} {100 * related / pairs:>6.1f} {memory:>6} | "
        f"{percent(graph, in_order.time_ns) + staged:>9} "
        f"{percent(graph, results['exact'].time_ns):>9} | "
        f"{percent(graph, results['any-order-bound'].lower_bound_ns):>9} "
        f"{percent(graph, results['orders'].time_ns):>9} | "
        f"{percent(graph, results['any-order'].lower_bound_ns):>9} "
        f"{percent(graph, results['any-order'].time_ns):>9} | "
        + " ".join(f"{result.seconds:>6.1f}" for result in results.values()),
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="where the published graphs are")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for each method")
    parser.add_argument("--nodes", type=int, help="draw one layered graph of so many nodes alone")
    parser.add_argument("--only", default="", help="a part of the names to look at")
    parser.add_argument("--memory", nargs="*", default=MEMORY)
    arguments = parser.parse_args()
    print(
        f"{'graph':<22} {'nodes':>5} {'pairs':>6} {'memory':>6} | {'bound':>9} {'exact':>9} | "
        f"{'any bound':>9} {'orders':>9} | {'joined':>9} {'joined':>9} | seconds"
    )
    drawn = None if arguments.nodes is None else LayeredGraphs(nodes=arguments.nodes).draw(1)
    chosen = graphs(arguments.folder, arguments.only) if drawn is None else iter([drawn])
    for graph in chosen:
        for memory in arguments.memory:
            show(graph, memory, arguments.limit)


if __name__ == "__main__":
    main()
