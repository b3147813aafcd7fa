"""Least time of a tiny graph within an arena, by search over all that a schedule can do.

Written from the definition of the problem: in memory are blocks with addresses, and any free place
may be taken at each computation. A value that is in memory is not computed again. A workspace takes
any free place while its operation runs. Addresses are tried one by one, so that nothing is assumed
about where a block should go.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import count

from jettison.instances.remat_graph.graph import Graph

Blocks = frozenset[tuple[int, int]]
"""Pairs of a node and the first byte of its value; a value without bytes is at 0."""


def least_arena_time_ns(graph: Graph, arena_bytes: int) -> int | None:
    """Least time of a schedule whose blocks fit in the arena; None if there is none."""
    number = count()
    start: tuple[Blocks, frozenset[int]] = (frozenset(), frozenset())
    queue = [(0, next(number), start)]
    settled = set()
    kept = {i for i, node in enumerate(graph.nodes) if node.keep}
    while queue:
        time_ns, _, (blocks, computed) = heapq.heappop(queue)
        if (blocks, computed) in settled:
            continue
        settled.add((blocks, computed))
        resident = {node for node, _ in blocks}
        if len(computed) == len(graph) and kept <= resident:
            return time_ns
        for block in blocks:
            heapq.heappush(queue, (time_ns, next(number), (blocks - {block}, computed)))
        for i, node in enumerate(graph.nodes):
            inputs = {graph.position_of[name] for name in node.inputs}
            if i in resident or not inputs <= resident:
                continue
            for offset in _places(graph, blocks, node.output_bytes, arena_bytes):
                after = blocks | {(i, offset)}
                if any(True for _ in _places(graph, after, node.workspace_bytes, arena_bytes)):
                    later = time_ns + node.duration_ns
                    heapq.heappush(queue, (later, next(number), (after, computed | {i})))
    return None


def _places(graph: Graph, blocks: Blocks, size_bytes: int, arena_bytes: int) -> Iterator[int]:
    """Yield every first byte at which a block of a size fits between others."""
    if not size_bytes:
        yield 0
        return
    taken = set()
    for node, offset in blocks:
        taken.update(range(offset, offset + graph.nodes[node].output_bytes))
    for offset in range(arena_bytes - size_bytes + 1):
        if not taken & set(range(offset, offset + size_bytes)):
            yield offset
