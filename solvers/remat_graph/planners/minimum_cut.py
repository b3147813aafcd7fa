r"""Minimum cut of a network between a source and a sink, in exact integers.

Dinic's algorithm (1970): in the graph of shortest augmenting paths a blocking flow is found, until
no path is left; :math:`O(V^2 E)`, and far less here, where paths are short. Of all minimum cuts
the one next to the sink is returned: its side of the sink are the vertices from which a path of the
residual network leads there, the same for every maximum flow.

``scipy.sparse.csgraph.maximum_flow`` takes capacities of 32 bits, and cuts off larger ones without
a word (SciPy 1.17): bytes of tensors times weights do not fit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping


class FlowNetwork:
    """Network of arcs with capacities; the source is vertex 0, the sink vertex 1.

    Parameters
    ----------
    vertices
        How many, source and sink included.
    """

    SOURCE = 0
    SINK = 1

    def __init__(self, vertices: int) -> None:
        self._arcs: list[list[int]] = [[] for _ in range(vertices)]
        self._head: list[int] = []
        self._left: list[int] = []

    def add_arc(self, tail: int, head: int, capacity: int) -> None:
        """Add an arc; its reverse has the next number."""
        for start, end, amount in ((tail, head, capacity), (head, tail, 0)):
            self._arcs[start].append(len(self._head))
            self._head.append(end)
            self._left.append(amount)

    def sink_side(self) -> frozenset[int]:
        """Return the vertices on the side of the sink in the minimum cut next to it."""
        while (level := self._levels()) is not None:
            self._block(level)
        found = {self.SINK}
        open_vertices = [self.SINK]
        while open_vertices:
            for arc in self._arcs[open_vertices.pop()]:
                tail = self._head[arc]
                if self._left[arc ^ 1] and tail not in found:
                    found.add(tail)
                    open_vertices.append(tail)
        return frozenset(found)

    def _levels(self) -> list[int] | None:
        """Return the distance of each vertex from the source, or None if none is of the sink."""
        level = [-1] * len(self._arcs)
        level[self.SOURCE] = 0
        waiting = deque([self.SOURCE])
        while waiting:
            vertex = waiting.popleft()
            for arc in self._arcs[vertex]:
                head = self._head[arc]
                if self._left[arc] and level[head] < 0:
                    level[head] = level[vertex] + 1
                    waiting.append(head)
        return level if level[self.SINK] >= 0 else None

    def _block(self, level: list[int]) -> None:
        """Send flow along paths of rising levels until there are no more."""
        at = [0] * len(self._arcs)
        path: list[int] = []
        vertex = self.SOURCE
        while True:
            if vertex == self.SINK:
                amount = min(self._left[arc] for arc in path)
                for arc in path:
                    self._left[arc] -= amount
                    self._left[arc ^ 1] += amount
                # Go on from the first arc that is full.
                full = next(place for place, arc in enumerate(path) if not self._left[arc])
                vertex = self._head[path[full] ^ 1]
                del path[full:]
                continue
            arcs = self._arcs[vertex]
            while at[vertex] < len(arcs):
                arc = arcs[at[vertex]]
                if self._left[arc] and level[self._head[arc]] == level[vertex] + 1:
                    break
                at[vertex] += 1
            if at[vertex] < len(arcs):
                path.append(arcs[at[vertex]])
                vertex = self._head[path[-1]]
                continue
            if vertex == self.SOURCE:
                return
            # A dead end.
            vertex = self._head[path.pop() ^ 1]
            at[vertex] += 1


def connected_parts(
    vertices: Iterable[int], neighbours: Mapping[int, Iterable[int]]
) -> list[tuple[int, ...]]:
    """Return the connected components, each ascending, in the order of their least vertices."""
    seen: set[int] = set()
    parts: list[tuple[int, ...]] = []
    for start in sorted(vertices):
        if start in seen:
            continue
        part = {start}
        open_vertices = [start]
        while open_vertices:
            fresh = set(neighbours.get(open_vertices.pop(), ())) - part
            part |= fresh
            open_vertices.extend(fresh)
        seen |= part
        parts.append(tuple(sorted(part)))
    return parts
