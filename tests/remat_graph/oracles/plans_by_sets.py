"""Checkpointing heuristics as their definitions say, with sets, every schedule replayed.

Slow and plain: which values stay is a set for each stage, thresholds and numbers of snapshots come
one after the other, and the replay measures each schedule. Evicted neighbourhoods are searched for
anew each time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from math import comb

from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.remat_graph.schedule import GraphSchedule

Stays = Callable[[int, set[int]], set[int]]


def schedule_where(graph: Graph, stays: Stays) -> GraphSchedule:
    """Recompute what each stage lacks; `stays` says what of the memory is left for a stage."""
    kept = {i for i, node in enumerate(graph.nodes) if node.keep}
    present: set[int] = set()
    computations: list[int] = []
    for stage in range(len(graph)):
        lacking = {stage}
        for node in range(stage, -1, -1):
            if node in lacking:
                lacking.update(set(graph.inputs[node]) - present)
        computations += sorted(lacking)
        present |= lacking
        present = stays(stage + 1, present) | (present & kept)
    return GraphSchedule.from_computations(graph, computations)


def segments(graph: Graph, checkpoints: Collection[int]) -> GraphSchedule:
    """Drop all but the checkpoints behind each of them."""
    chosen = set(checkpoints)
    return schedule_where(
        graph, lambda stage, present: present & chosen if stage - 1 in chosen else present
    )


def all_greedy_checkpoints(graph: Graph, candidates: Collection[int]) -> Iterator[list[int]]:
    """Yield what Chen's greedy rule chooses, from the largest threshold to 0."""
    last = max(candidates, default=-1)
    threshold = sum(node.output_bytes for node in graph.nodes)
    while threshold >= 0:
        chosen, total, passed = [], 0, -1
        for node in range(last + 1):
            total += graph.nodes[node].output_bytes
            if node in candidates and total > threshold:
                chosen.append(node)
                total = 0
            elif node in candidates:
                passed = max(passed, total)
        yield chosen
        threshold = passed - 1


def held_snapshots(first: int, behind: int, left: int, there: set[int]) -> list[set[int]]:
    """Return what revolve holds for each value from `first` to the one before `behind`."""
    steps = behind - first
    if steps <= 1 or left == 1:
        return [there] * steps
    again = next(r for r in range(steps + 1) if comb(left + r, left) >= steps)
    ahead = min(comb(left + again - 1, left), steps - comb(left + again - 2, left - 1))
    middle = first + ahead
    return [
        *held_snapshots(first, middle, left, there),
        *held_snapshots(middle, behind, left - 1, there | {middle}),
    ]


def revolve(graph: Graph, steps: int, most: int) -> GraphSchedule:
    """Hold revolve's snapshots of the first `steps` nodes."""
    held = held_snapshots(0, steps, most, {0})

    def stays(stage: int, present: set[int]) -> set[int]:
        if stage == len(graph):
            return present
        if stage < steps:
            unread = {i for i in present if any(stage <= u < steps for u in graph.users[i])}
            return unread | (present & held[-1])
        # The backward stands at the least of the last forward values that were read.
        reads = [
            max(source for source in graph.inputs[t] if source < steps)
            for t in range(steps, stage + 1)
            if any(source < steps for source in graph.inputs[t])
        ]
        here = held[min([steps - 1, *reads])]
        return {i for i in present if i in here or i >= steps or i in graph.inputs[stage]}

    return schedule_where(graph, stays)


def best_of(
    graph: Graph, schedules: Iterable[GraphSchedule], memory_bytes: int
) -> tuple[GraphSchedule | None, int]:
    """Return the first of the fastest schedules that fit, and the least peak of all."""
    best = None
    peaks = []
    for schedule in schedules:
        replay = schedule.replay(graph)
        peaks.append(replay.peak_bytes)
        if replay.peak_bytes <= memory_bytes and (best is None or replay.time_ns < best[0]):
            best = (replay.time_ns, schedule)
    return (best[1] if best else None), min(peaks)


def neighbourhood(graph: Graph, node: int, evicted: Collection[int]) -> set[int]:
    """Return the evicted values reached from a node over evicted ones, up or down."""
    found: set[int] = set()
    for neighbours in (graph.inputs, graph.users):
        reached = {node}
        for _ in graph.nodes:
            reached |= {other for one in reached for other in neighbours[one] if other in evicted}
        found |= reached - {node}
    return found
