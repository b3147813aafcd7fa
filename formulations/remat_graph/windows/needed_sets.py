"""Needed sets of the windows of a graph: older nodes that may have to be computed again.

The definitions are in `frontier`.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from jettison.instances.remat_graph.graph import Graph


def needed_sets(
    graph: Graph, cuts: Sequence[int], computed_once: Set[int] = frozenset()
) -> list[set[int]]:
    """Return the needed set of each window, in O(k (n + |E|)) for k cuts.

    The nodes `computed_once` are not computed again and need no inputs.
    """
    found: list[set[int]] = []
    later: set[int] = set()
    ends = (*cuts[1:], len(graph) - 1)
    for window in range(len(cuts) - 1, -1, -1):
        start = cuts[window]
        needed = {node for node in later if node <= start}
        needed |= read_in_window(graph, start, ends[window])
        if window == len(cuts) - 1:
            needed |= kept_until(graph, start)
        waiting = list(needed)
        while waiting:
            node = waiting.pop()
            for source in () if node in computed_once else graph.inputs[node]:
                if source not in needed:
                    needed.add(source)
                    waiting.append(source)
        found.append(needed)
        later = needed
    return found[::-1]


def read_in_window(graph: Graph, start: int, end: int) -> set[int]:
    """Return the nodes up to `start` that first computations after it, up to `end`, read."""
    return {p for j in range(start + 1, end + 1) for p in graph.inputs[j] if p <= start}


def kept_until(graph: Graph, last: int) -> set[int]:
    """Return the kept nodes up to `last`."""
    return {node for node in range(last + 1) if graph.nodes[node].keep}
