"""Repeated blocks of the forward pass: those that the graph names, or else those that are found."""

from __future__ import annotations

from itertools import pairwise

from jettison.instances.remat_graph.graph import Graph


def forward_blocks(graph: Graph) -> tuple[frozenset[int], ...]:
    """Return the blocks of the forward pass, in order; empty where nothing repeats.

    Of `Graph.repeated_blocks` it is the group with the most forward nodes, without its backward
    nodes. Where a graph names none, forward nodes are compared by operator and size: the stretch
    of the forward pass in which most nodes equal those one period later is divided into blocks of
    that length, beginning where the fewest bytes cross from one block to the next.
    :math:`O(n^2)`.
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
    best = (0, 0, 0)
    for period in range(1, len(kinds) // 2 + 1):
        run = 0
        for place in range(len(kinds) - period):
            run = run + 1 if kinds[place] == kinds[place + period] else 0
            covered = run + period
            # At least two whole blocks, the shorter period where both cover as much.
            if run >= period and covered > best[0]:
                best = (covered, period, place + 1 - run)
    covered, period, start = best
    if not covered:
        return ()
    choices = []
    for phase in range(min(period, covered - 2 * period + 1)):
        ends = range(start + phase, start + covered + 1, period)
        crossing = sum(_crossing_bytes(graph, forward[:end]) for end in ends[1:-1])
        choices.append((crossing // max(1, len(ends) - 2), phase))
    phase = min(choices)[1]
    ends = range(start + phase, start + covered + 1, period)
    return tuple(frozenset(forward[begin:end]) for begin, end in pairwise(ends))


def _crossing_bytes(graph: Graph, before: list[int]) -> int:
    """Return the bytes of the first forward nodes that later forward nodes read."""
    last = before[-1]
    return sum(
        graph.nodes[node].output_bytes
        for node in before
        if any(user > last and not graph.nodes[user].backward for user in graph.users[node])
    )
