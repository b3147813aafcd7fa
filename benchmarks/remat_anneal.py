"""Annealing of the recomputations of graphs: gap to the best known, time, and least peak.

Run: ``python benchmarks/remat_anneal.py FOLDER``, or with ``--seeds`` and ``--limit``. FOLDER has
the graphs that MOCCASIN publishes (networkx node-link JSON: Checkmate's VGG16, VGG19, U-Net and
ResNet-50, and random layered graphs); without it, or where a file is missing, the rows are skipped,
and the reason is printed. Then come layered graphs of 1000 and of 5000 nodes, which are generated,
and a chain of 2500 layers and their backwards, which is drawn here.

Memory is a share of the peak without recomputation in the order of the file, or bytes. Every seed
has `limit` CPU seconds on one thread, and ends earlier when all rounds are over. A line gives, for
each seed, the overhead in per cent of the time without recomputation; the best known one where
there is one, with an ``*`` if it is proved optimal among staged schedules of that order; the median
CPU seconds to the first schedule that fits and to the last improvement, seen in steps of 1000
moves, and in all; and moves per CPU second. Every schedule is replayed.

The second table has the search for the least peak, each seed with the same limit: the peaks in per
cent of the one without recomputation, the median CPU seconds to the last improvement and in all,
and moves per CPU second.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from jettison.instances.generators.layered_graph import LayeredGraphs, Passes
from jettison.instances.importers.networkx import import_networkx_graph
from jettison.instances.remat_graph.graph import Graph, Node
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers import _kernels
from jettison.solvers.remat_graph.annealing.method import annealing_of
from jettison.solvers.remat_graph.kernel_arrays import graph_arrays

STEP = 1000


@dataclass(frozen=True)
class Cell:
    """A file, a memory, and the best overhead known, in per cent."""

    pattern: str
    memory: str | int
    known: float | None = None
    is_proved: bool = True


CELLS = (
    Cell("ResNet50*", "90%", 0.1085),
    Cell("ResNet50*", "80%", 0.2786),
    Cell("ResNet50*", "50%", 1.4988),
    Cell("ResNet50*", "30%", 3.6384),
    Cell("ResNet50*", "20%", 6.3488, is_proved=False),
    Cell("ResNet50*", "12%"),
    Cell("vgg_unet*", "90%", 1.1289),
    Cell("vgg_unet*", "50%", 6.9666),
    Cell("vgg_unet*", "40%"),
    Cell("VGG16*", "90%", 1.9677),
    Cell("VGG19*", "90%", 0.1042),
    Cell("VGG19*", "80%", 2.7559),
    Cell("random_layered_n100_*", "90%", 0.7892),
    Cell("random_layered_n100_*", "80%", 2.2965),
    Cell("random_layered_n250_*", 132156, 0.9039),
    Cell("random_layered_n250_*", 117472, 4.2606, is_proved=False),
)
LARGE = ("50%", "10%")

FORWARD_1000 = LayeredGraphs(nodes=1000)
FORWARD_5000 = LayeredGraphs(nodes=5000)
TRAINING_1000 = LayeredGraphs(nodes=1000, passes=Passes.TRAINING)
GENERATED = (
    (FORWARD_1000, "90%"),
    (FORWARD_1000, "80%"),
    (FORWARD_5000, "90%"),
    (FORWARD_5000, "70%"),
    (TRAINING_1000, "50%"),
)
PEAK_PATTERNS = ("ResNet50*", "random_layered_n250_*")
PEAK_GENERATED = (FORWARD_1000, FORWARD_5000, TRAINING_1000)


@dataclass(frozen=True)
class Run:
    """Run of annealing with one seed."""

    overhead: float | None
    first_s: float
    last_s: float
    seconds: float
    moves: int


def large_chain(layers: int) -> Graph:
    chance = random.Random(3)
    nodes: list[Node] = []
    for layer in range(layers):
        inputs = (f"f{layer - 1}",) if layer else ()
        nodes.append(_drawn(chance, f"f{layer}", inputs))
    for layer in reversed(range(layers)):
        inputs = (f"b{layer + 1}",) if layer < layers - 1 else ()
        nodes.append(_drawn(chance, f"b{layer}", (*inputs, f"f{layer}")))
    return Graph("chain", tuple(nodes))


def _drawn(chance: random.Random, name: str, inputs: tuple[str, ...]) -> Node:
    return Node(
        name=name,
        duration_ns=chance.randint(50, 100),
        output_bytes=chance.randint(50, 100),
        inputs=inputs,
    )


def measure(problem: RematGraph, seed: int, limit_s: float) -> Run:
    graph = problem.instance
    started = time.process_time()
    search = annealing_of(problem, seed, problem.instance.base_time_ns)
    first_s = last_s = float("nan")
    best_ns = None
    while not search.is_over and time.process_time() - started < limit_s:
        search.run(STEP)
        if search.time_ns != best_ns:
            last_s = time.process_time() - started
            first_s = last_s if best_ns is None else first_s
            best_ns = search.time_ns
    seconds = time.process_time() - started
    if best_ns is None:
        return Run(None, first_s, last_s, seconds, search.tried)
    schedule = GraphSchedule.from_computations(graph, search.computations)
    replay = schedule.replay(graph, problem.memory_bytes)
    if not replay.valid or replay.time_ns > best_ns:
        raise SystemExit("the schedule is not what was promised")
    overhead = 100 * (replay.time_ns - graph.base_time_ns) / graph.base_time_ns
    return Run(overhead, first_s, last_s, seconds, search.tried)


def show(problem: RematGraph, known: str, seeds: int, limit_s: float) -> None:
    runs = [measure(problem, seed, limit_s) for seed in range(seeds)]
    overheads = " ".join(
        f"{'none' if run.overhead is None else format(run.overhead, '.4f'):>8}" for run in runs
    )
    print(
        f"{problem.instance.name[:20]:<20} {len(problem.instance):>5} {problem.memory!s:>12} "
        f"{known:>9} | {overheads} | {statistics.median(run.first_s for run in runs):>7.2f} "
        f"{statistics.median(run.last_s for run in runs):>7.2f} "
        f"{statistics.median(run.seconds for run in runs):>7.2f} "
        f"{statistics.median(run.moves / run.seconds for run in runs):>9.0f}",
        flush=True,
    )


@dataclass(frozen=True)
class PeakRun:
    """Run of the search for the least peak with one seed."""

    peak_percent: float
    last_s: float
    seconds: float
    moves: int


def measure_peak(graph: Graph, seed: int, limit_s: float) -> PeakRun:
    started = time.process_time()
    search = _kernels.RematPeak(
        **graph_arrays(graph), stop_at_bytes=graph.least_peak_bound_bytes, seed=seed
    )
    last_s = 0.0
    peak_bytes = search.peak_bytes
    while not search.is_over and time.process_time() - started < limit_s:
        search.run(STEP)
        if search.peak_bytes != peak_bytes:
            last_s = time.process_time() - started
            peak_bytes = search.peak_bytes
    seconds = time.process_time() - started
    replay = GraphSchedule.from_computations(graph, search.computations).replay(graph, peak_bytes)
    if not replay.valid or replay.peak_bytes != peak_bytes:
        raise SystemExit("the schedule is not what was promised")
    return PeakRun(100 * peak_bytes / graph.store_all_peak_bytes, last_s, seconds, search.tried)


def show_peak(graph: Graph, seeds: int, limit_s: float) -> None:
    runs = [measure_peak(graph, seed, limit_s) for seed in range(seeds)]
    peaks = " ".join(f"{run.peak_percent:>8.3f}" for run in runs)
    bound = 100 * graph.least_peak_bound_bytes / graph.store_all_peak_bytes
    print(
        f"{graph.name[:20]:<20} {len(graph):>5} {bound:>9.3f} | {peaks} | "
        f"{statistics.median(run.last_s for run in runs):>7.2f} "
        f"{statistics.median(run.seconds for run in runs):>7.2f} "
        f"{statistics.median(run.moves / run.seconds for run in runs):>9.0f}",
        flush=True,
    )


def show_peaks(folder: Path | None, seeds: int, limit_s: float) -> None:
    print(
        f"\n{'graph':<20} {'nodes':>5} {'bound %':>9} | "
        f"{'least peaks in %, one for each seed':<{9 * seeds - 1}} | "
        f"{'last s':>7} {'in all':>7} {'moves/s':>9}"
    )
    for pattern in PEAK_PATTERNS:
        path = published(folder, pattern)
        if path is not None:
            show_peak(import_networkx_graph(path), seeds, limit_s)
    for family in PEAK_GENERATED:
        show_peak(family.draw(1), seeds, limit_s)


def published(folder: Path | None, pattern: str) -> Path | None:
    """Find a published graph, or print why its row is skipped."""
    if folder is None:
        print(f"{pattern:<20} skipped: no folder with the published graphs was given")
        return None
    path = next(folder.glob(pattern), None)
    if path is None:
        print(f"{pattern:<20} skipped: no such file in {folder}")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="where the published graphs are")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=10.0, help="CPU seconds for each seed")
    arguments = parser.parse_args()
    print(
        f"{'graph':<20} {'nodes':>5} {'memory':>12} {'known %':>9} | "
        f"{'overheads in %, one for each seed':<{9 * arguments.seeds - 1}} | "
        f"{'first s':>7} {'last s':>7} {'in all':>7} {'moves/s':>9}"
    )
    for cell in CELLS:
        path = published(arguments.folder, cell.pattern)
        if path is None:
            continue
        known = "" if cell.known is None else f"{cell.known:.4f}{'*' if cell.is_proved else ' '}"
        problem = RematGraph(import_networkx_graph(path), cell.memory)
        show(problem, known, arguments.seeds, arguments.limit)
    for family, memory in GENERATED:
        show(RematGraph(family.draw(1), memory), "", arguments.seeds, arguments.limit)
    for memory in LARGE:
        show(RematGraph(large_chain(2500), memory), "", arguments.seeds, arguments.limit)
    show_peaks(arguments.folder, arguments.seeds, arguments.limit)


if __name__ == "__main__":
    main()
