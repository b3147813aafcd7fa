"""Least peak over orders without recomputation, and arenas of plans: brackets beside each other.

Run: ``python benchmarks/graph_peaks.py``, with ``--limit`` seconds for each, ``--only`` and
``--arenas`` for the second table.

The first table has, for bundled and drawn graphs, the peak of the order given, that of the best
order found, the bound for all orders, the gap between the two in per cent, sets of operators that
were looked at, and CPU seconds. The second has schedules of `anneal` in a share of the peak: what
an arena of `remat-arena` takes above the live peak, in per cent, its proven least excess, and what
allocators at run time take: best fit, first fit, and PyTorch's for CUDA.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

from jettison.instances.catalog import load
from jettison.instances.generators.layered_graph import LayeredGraphs, Passes
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.remat_arena.allocator import allocate
from jettison.schedules.remat_arena.buffers import buffers_of, live_peak_bytes
from jettison.schedules.remat_arena.held_memory import ALLOCATORS
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.remat_arena.buffer_placement import PLACEMENT, place_all
from jettison.solvers.remat_graph.orders.least_peak_order import least_peak_order

BUNDLED = (
    "gpt2-tiny-graph-b4-64-cpu",
    "alexnet-graph-b256-gpu",
    "densenet121-graph-b64-gpu",
    "gnmt-graph-b32-gpu",
)


def graphs(only: str) -> Iterator[Graph]:
    for name in BUNDLED:
        graph = load(name)
        if only in name and isinstance(graph, Graph):
            yield graph
    for passes in Passes:
        for nodes in (50, 120, 500):
            drawn = LayeredGraphs(nodes=nodes, passes=passes).draw(1)
            if only in drawn.name:
                yield drawn


def show_peak(graph: Graph, limit_s: float) -> None:
    started = time.process_time()
    found = least_peak_order(graph, SolveOptions(time_limit_s=limit_s))
    print(
        f"{graph.name[:30]:<30} {len(graph):>5} {graph.store_all_peak_bytes:>13} "
        f"{found.peak_bytes:>13} {found.bound_bytes:>13} "
        f"{100 * (found.peak_bytes / found.bound_bytes - 1):>7.3f} {found.sets:>7} "
        f"{time.process_time() - started:>6.2f}",
        flush=True,
    )


def show_arena(graph: Graph, memory: str, limit_s: float) -> None:
    problem = RematGraph(graph, memory)
    result = solve_with(problem, "anneal", SolveOptions(time_limit_s=limit_s))
    if not isinstance(result.schedule, GraphSchedule):
        print(f"{graph.name[:30]:<30} {memory:>5} no schedule", flush=True)
        return
    buffers = buffers_of(graph, result.schedule.operations)
    live = live_peak_bytes(buffers)
    started = time.process_time()
    placed = place_all(buffers, PLACEMENT, Clock(limit_s))
    seconds = time.process_time() - started
    held = [placed.arena_bytes, placed.bound_bytes]
    held += [allocate(buffers, make()).held_peak_bytes for make in ALLOCATORS.values()]
    print(
        f"{graph.name[:30]:<30} {memory:>5} {len(buffers):>6} {live:>13} "
        + " ".join(f"{100 * (size / live - 1):>8.3f}" for size in held)
        + f" {seconds:>6.2f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each")
    parser.add_argument("--only", default="", help="a part of the names to look at")
    parser.add_argument("--arenas", action="store_true", help="the second table")
    parser.add_argument("--memory", nargs="*", default=["100%", "80%", "60%"])
    arguments = parser.parse_args()
    if not arguments.arenas:
        print("graph, operators, peaks: given, best, bound; gap in %, sets, CPU s")
    else:
        print("graph, memory, buffers, live peak; above it in %: arena, bound, allocators; CPU s")
    for graph in graphs(arguments.only):
        if not arguments.arenas:
            show_peak(graph, arguments.limit)
            continue
        for memory in arguments.memory:
            show_arena(graph, memory, arguments.limit)


if __name__ == "__main__":
    main()
