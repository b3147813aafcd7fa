"""Repeated blocks of the forward pass: those that the graph names, or else those that are found."""

from __future__ import annotations

from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from jettison.instances.remat_graph.graph import Graph


def forward_blocks(graph: Graph) -> tuple[frozenset[int], ...]:
    """Return the blocks of the forward pass, in order; empty where nothing repeats.

    Of `Graph.repeated_blocks` it is the group with the most forward nodes, without its backward
    nodes. Where a graph names none, forward nodes are compared by operator and size: the stretch
    of the forward pass in which most nodes equal those one period later is divided into blocks of
    that length, beginning where the fewest bytes cross from one block to the next.
    :math:`O(n^2)`, in steps of whole arrays.
    """
    named = [
        tuple(
            frozenset(
                graph.position_of[name]
                for name in block
                if not graph.nodes[graph.position_of[name]].backward
            )
            for block in group
        )
        for group in graph.repeated_blocks
    ]
    if any(map(any, named)):
        best = max(named, key=lambda group: sum(map(len, group)))
        return tuple(sorted((block for block in best if block), key=min))
    return _found(graph)


def _found(graph: Graph) -> tuple[frozenset[int], ...]:
    forward = [i for i, node in enumerate(graph.nodes) if not node.backward]
    kinds = [
        (graph.nodes[i].operator_name or graph.nodes[i].duration_ns, graph.nodes[i].output_bytes)
        for i in forward
    ]
    numbers = {kind: number for number, kind in enumerate(dict.fromkeys(kinds))}
    sequence = np.array([numbers[kind] for kind in kinds], dtype=np.int64)
    best = (0, 0, 0)
    for period in range(1, len(kinds) // 2 + 1):
        start, run = _longest_run(sequence[:-period] == sequence[period:])
        # At least two whole blocks, the shorter period where both cover as much.
        if run >= period and run + period > best[0]:
            best = (run + period, period, start)
    covered, period, start = best
    if not covered:
        return ()
    crossing_bytes = _crossing_bytes(graph, forward)
    choices = []
    for phase in range(min(period, covered - 2 * period + 1)):
        ends = range(start + phase, start + covered + 1, period)
        crossing = sum(crossing_bytes[end] for end in ends[1:-1])
        choices.append((crossing // max(1, len(ends) - 2), phase))
    phase = min(choices)[1]
    ends = range(start + phase, start + covered + 1, period)
    return tuple(frozenset(forward[begin:end]) for begin, end in pairwise(ends))


def _longest_run(equal: NDArray[np.bool_]) -> tuple[int, int]:
    """Return start and length of the first of the longest runs of what is true."""
    others = np.concatenate(([-1], np.flatnonzero(~equal), [len(equal)]))
    lengths = np.diff(others) - 1
    longest = int(np.argmax(lengths))
    return int(others[longest]) + 1, int(lengths[longest])


def _crossing_bytes(graph: Graph, forward: list[int]) -> list[int]:
    """Return, for each number of first forward nodes, the bytes of theirs that others read."""
    place_of = {node: place for place, node in enumerate(forward)}
    change = [0] * (len(forward) + 1)
    for place, node in enumerate(forward):
        last = max((place_of[user] for user in graph.users[node] if user in place_of), default=0)
        if last > place:
            change[place + 1] += graph.nodes[node].output_bytes
            change[last + 1] -= graph.nodes[node].output_bytes
    return list(accumulate(change))
