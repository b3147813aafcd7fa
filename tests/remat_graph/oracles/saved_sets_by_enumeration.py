"""Best saved set of a small graph, by trying all of them; shares no code with what it checks."""

from __future__ import annotations

from collections.abc import Collection
from itertools import combinations

from jettison import Graph


def time_and_peak(graph: Graph, saved: Collection[int]) -> tuple[int, int]:
    """Run a saved set value by value, and look after each operation at what is read later."""
    names = [node.name for node in graph.nodes]
    by_name = {node.name: node for node in graph.nodes}
    forward = [node.name for node in graph.nodes if not node.backward]
    kept_names = {names[place] for place in saved}
    run = list(forward)
    in_backward = set(kept_names)

    def make(name: str, todo: list[str]) -> None:
        for source in by_name[name].inputs:
            if source in forward and source not in in_backward and source not in todo:
                todo.append(source)
                make(source, todo)

    for node in graph.nodes:
        if node.backward:
            todo: list[str] = []
            make(node.name, todo)
            in_backward.update(todo)
            run += [name for name in names if name in todo]
            run.append(node.name)
    peak = 0
    for now in range(len(run)):
        # A copy is there from when it is made until its last reader before the next copy.
        there = 0
        for made, name in enumerate(run[: now + 1]):
            again = next((k for k in range(made + 1, len(run)) if run[k] == name), len(run))
            reads = [k for k in range(made + 1, again) if name in by_name[run[k]].inputs]
            end = max(reads, default=made)
            if by_name[name].keep and again == len(run):
                end = len(run)
            there += by_name[name].output_bytes if end >= now else 0
        peak = max(peak, there + by_name[run[now]].workspace_bytes)
    return sum(by_name[name].duration_ns for name in run), peak


def best_by_enumeration(
    graph: Graph, memory_bytes: int, never_again: Collection[int]
) -> int | None:
    """Return the least time of all saved sets that fit; None if none does."""
    forward = [place for place, node in enumerate(graph.nodes) if not node.backward]
    free = [place for place in forward if place not in never_again]
    times = []
    for size in range(len(free) + 1):
        for chosen in combinations(free, size):
            time_ns, peak = time_and_peak(graph, {*chosen, *never_again})
            if peak <= memory_bytes:
                times.append(time_ns)
    return min(times, default=None)
