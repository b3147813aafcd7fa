"""Least registers of a program whose nodes are computed once, by search over sets of nodes.

A state is the set of nodes computed so far. In registers are those of them that some node outside
the set reads, and while a node is computed its own value. Written from that definition and from the
positions that each node reads: it shares nothing with graphs, replays, methods or generators.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations, product


def least_registers(reads: Sequence[Sequence[int]]) -> int:
    """Least memory in which all nodes can be computed once, in any order."""
    best = {frozenset[int](): 0}
    for _ in reads:
        further: dict[frozenset[int], int] = {}
        for done, peak in best.items():
            held = {i for k, inputs in enumerate(reads) if k not in done for i in inputs} & done
            for node, inputs in enumerate(reads):
                if node not in done and done.issuperset(inputs):
                    here = max(peak, len(held) + 1)
                    after = done | {node}
                    further[after] = min(here, further.get(after, here))
        best = further
    return min(best.values())


def least_separation(vertices: int, edges: Sequence[tuple[int, int]]) -> int:
    """Vertex separation number of a graph: its definition, order by order."""
    return min(
        max(
            sum(
                any(
                    {one, other} == {vertex, later} for one, other in edges for later in order[cut:]
                )
                for vertex in order[:cut]
            )
            for cut in range(vertices + 1)
        )
        for order in permutations(range(vertices))
    )


def programs(nodes: int) -> list[tuple[tuple[int, ...], ...]]:
    """Every directed acyclic graph of so many nodes once, up to the names of the nodes."""
    pairs = [(i, j) for j in range(nodes) for i in range(j)]
    found = {}
    for chosen in product((False, True), repeat=len(pairs)):
        arcs = [pair for pair, there in zip(pairs, chosen, strict=True) if there]
        names = min(
            sorted((order[i], order[j]) for i, j in arcs) for order in permutations(range(nodes))
        )
        found[tuple(names)] = tuple(tuple(i for i, k in arcs if k == j) for j in range(nodes))
    return list(found.values())
