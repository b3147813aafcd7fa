"""CPU seconds and memory of every method of remat-graph under a limit on time, on large graphs.

Run: ``python benchmarks/graph_limits.py``, or with ``--nodes``, ``--limits``, ``--methods`` and
``--graphs``. Two kinds of graphs: *layered* are random training graphs of
`jettison.instances.generators.layered_graph`, whose forward nodes get operators in turn; *layers*
is a step of equal transformer layers as a tracer writes it. The memory is 60 % of the peak of the
step that saves everything.

Each run is a process of its own, on one thread. A line gives CPU seconds with children, by how much
they are above the limit, wall-clock seconds, the peak resident memory of the process and by how
much it grew, the status and what the method has found. The replay of the answer is part of it; to
make the graph is not. The clock of the methods counts CPU seconds here, so that what else the
machine does changes nothing; what is above the limit by more than a second is marked.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from dataclasses import dataclass, replace
from itertools import cycle

from cpu_clock import cpu_seconds
from equal_layers import layers

from jettison.instances.generators.layered_graph import LayeredGraphs, Passes
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.remat_graph.methods import METHODS

MEMORY = "60%"
MOST_ABOVE_S = 1.0
IN_TURN = ("aten.mm.default", "aten.relu.default", "aten.add.Tensor", "aten.gelu.default")


@dataclass(frozen=True)
class Run:
    """One measurement."""

    cpu_s: float
    wall_s: float
    peak_megabytes: float
    growth_megabytes: float
    status: str
    overhead: str


def layered(nodes: int) -> Graph:
    """Return a random layered training graph whose forward nodes have operators."""
    graph = LayeredGraphs(nodes=nodes, passes=Passes.TRAINING, density_percent=5).draw(0)
    names = cycle(IN_TURN)
    return Graph(
        graph.name,
        tuple(
            replace(node, operator_name="aten.mul.Tensor" if node.backward else next(names))
            for node in graph.nodes
        ),
    )


GRAPHS = {"layered": layered, "layers": layers}


def measure(kind: str, nodes: int, method: str, limit_s: float) -> Run:
    """Run one method on one graph, in a process that does nothing else."""
    Clock.seconds = Clock.cpu_seconds  # type: ignore[method-assign]
    problem = RematGraph(GRAPHS[kind](nodes), MEMORY)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, cpu_started = time.perf_counter(), cpu_seconds()
    result = solve_with(problem, method, SolveOptions(time_limit_s=limit_s))
    peak = max(
        resource.getrusage(whose).ru_maxrss
        for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    extra = None if result.time_ns is None else result.time_ns / problem.base_time_ns - 1
    return Run(
        cpu_s=cpu_seconds() - cpu_started,
        wall_s=time.perf_counter() - started,
        peak_megabytes=peak / 1000,
        growth_megabytes=(peak - before) / 1000,
        status=f"{result.status}, {result.termination}",
        overhead="-" if extra is None else f"{100 * extra:.2f} %",
    )


def main() -> None:
    """Print a line for each run."""
    parser = argparse.ArgumentParser(description="CPU seconds under a limit on time")
    parser.add_argument("--nodes", type=int, nargs="+", default=[2_000, 5_000, 10_000])
    parser.add_argument("--limits", type=float, nargs="+", default=[1.0, 5.0])
    parser.add_argument("--methods", nargs="+", default=[method.name for method in METHODS])
    parser.add_argument("--graphs", nargs="+", choices=list(GRAPHS), default=list(GRAPHS))
    given = parser.parse_args()
    print(
        f"{'graph':>8} {'nodes':>6} {'limit':>5}  {'method':24} {'CPU s':>7} {'above':>6}"
        f" {'wall s':>7} {'MB':>6} {'grew':>6} {'overhead':>9}  status"
    )
    for nodes in given.nodes:
        for kind in given.graphs:
            for method in given.methods:
                for limit_s in given.limits:
                    # A new process starts from a small resident set.
                    with multiprocessing.get_context("spawn").Pool(1) as pool:
                        run = pool.apply(measure, (kind, nodes, method, limit_s))
                    above_s = run.cpu_s - limit_s
                    mark = "  <-- above" if above_s > MOST_ABOVE_S else ""
                    print(
                        f"{kind:>8} {nodes:>6} {limit_s:>5g}  {method:24} {run.cpu_s:>7.2f}"
                        f" {above_s:>6.2f} {run.wall_s:>7.2f} {run.peak_megabytes:>6.0f}"
                        f" {run.growth_megabytes:>6.0f} {run.overhead:>9}  {run.status}{mark}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
