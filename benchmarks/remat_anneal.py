"""Anneal the recomputations of published graphs: how close to the best known, how soon.

Run: ``python benchmarks/remat_anneal.py FOLDER``, or with ``--seeds`` and ``--limit``. FOLDER has
the graphs that MOCCASIN publishes (networkx node-link JSON: Checkmate's VGG16, VGG19, U-Net and
ResNet-50, and random layered graphs); without it, or where a file is missing, the rows are skipped,
and the reason is printed. A chain of 2500 layers and their backwards, drawn here, comes last.

Memory is a share of the peak without recomputation in the order of the file, or bytes. Every seed
has `limit` CPU seconds on one thread, and ends earlier when all rounds are over. A line gives, for
each seed, the overhead in per cent of the time without recomputation; the best known one where
there is one, with an ``*`` if it is proved optimal among staged schedules of that order; the median
CPU seconds to the first schedule that fits and to the last improvement, seen in steps of 1000
moves, and in all; and moves per CPU second. Every schedule is replayed.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from jettison.instances.graph import Graph, Node
from jettison.instances.importers.networkx import import_networkx_graph
from jettison.instances.remat_graph import RematGraph
from jettison.schedules.graph_schedule import GraphSchedule
from jettison.solvers.remat_anneal import annealing_of

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


@dataclass(frozen=True)
class Run:
    """One seed."""

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
        if arguments.folder is None:
            print(f"{cell.pattern:<20} skipped: no folder with the published graphs was given")
            continue
        path = next(arguments.folder.glob(cell.pattern), None)
        if path is None:
            print(f"{cell.pattern:<20} skipped: no such file in {arguments.folder}")
            continue
        known = "" if cell.known is None else f"{cell.known:.4f}{'*' if cell.is_proved else ' '}"
        problem = RematGraph(import_networkx_graph(path), cell.memory)
        show(problem, known, arguments.seeds, arguments.limit)
    for memory in LARGE:
        show(RematGraph(large_chain(2500), memory), "", arguments.seeds, arguments.limit)


if __name__ == "__main__":
    main()
