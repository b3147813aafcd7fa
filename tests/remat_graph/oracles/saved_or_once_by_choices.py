"""Least time of the class saved-or-once on tiny graphs, by all choices, from its definition.

Each forward node is either saved, or computed again in one of the backward stages. Memory is
counted anew at every computation: what is there is what a later computation reads, or the end
keeps. It shares nothing with the replay, the class or any model.
"""

from __future__ import annotations

from itertools import product

from jettison.instances.remat_graph.graph import Graph


def least_saved_or_once_time_ns(graph: Graph, memory_bytes: int) -> int | None:
    """Return the least time of a schedule of the class that fits; None if none does."""
    forward = [i for i, node in enumerate(graph.nodes) if not node.backward]
    backward = [i for i, node in enumerate(graph.nodes) if node.backward]
    best = None
    for again in product((None, *backward), repeat=len(forward)):
        sequence = list(forward)
        for stage in backward:
            sequence += [i for i, chosen in zip(forward, again, strict=True) if chosen == stage]
            sequence.append(stage)
        time_ns = sum(graph.nodes[i].duration_ns for i in sequence)
        if best is not None and time_ns >= best:
            continue
        if _is_of_the_class(graph, sequence, len(forward)) and _fits(graph, sequence, memory_bytes):
            best = time_ns
    return best


def _is_of_the_class(graph: Graph, sequence: list[int], boundary: int) -> bool:
    """Tell that nothing behind the boundary reads what is computed again later."""
    for place in range(boundary, len(sequence)):
        if sequence[place] < boundary:
            name = graph.nodes[sequence[place]].name
            if any(name in graph.nodes[i].inputs for i in sequence[boundary:place]):
                return False
    return True


def _fits(graph: Graph, sequence: list[int], memory_bytes: int) -> bool:
    position = {node.name: i for i, node in enumerate(graph.nodes)}
    # For each computation, the place of the last one that reads its value.
    until = list(range(len(sequence)))
    for place, i in enumerate(sequence):
        for name in graph.nodes[i].inputs:
            made = [p for p in range(place) if sequence[p] == position[name]]
            if not made:
                return False
            until[made[-1]] = place
    for i, node in enumerate(graph.nodes):
        if node.keep:
            last = max(p for p, j in enumerate(sequence) if j == i)
            until[last] = len(sequence)
    for place, i in enumerate(sequence):
        held = sum(
            graph.nodes[sequence[p]].output_bytes for p in range(place + 1) if until[p] >= place
        )
        if held + graph.nodes[i].workspace_bytes > memory_bytes:
            return False
    return True
