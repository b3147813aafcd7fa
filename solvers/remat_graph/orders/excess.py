r"""Search for orders of a graph's nodes whose step without recomputation exceeds memory least.

With :math:`m_q` the memory in use while the node at place :math:`q` of an order runs, each value
freed after its last user, the search minimizes the *excess* :math:`\sum_q \max(0, m_q - B)`. An
order without excess needs no recomputation; one with little excess usually needs little.

A move takes a node to another place between the last of its inputs and the first of its users.
The set of live values changes between the two places only, so a move costs time linear in their
distance times squared degrees.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from jettison.instances.remat_graph.graph import Graph
from jettison.solvers.core.clock import Clock


class OrderExcess:
    """Order of nodes with the memory of its step without recomputation, changed by moves.

    Parameters
    ----------
    graph, memory_bytes
        The instance and the limit.
    order
        A topological order: for each place, a node.

    Attributes
    ----------
    order
        The present order.
    during_bytes
        For each place, the memory in use while its node runs.
    excess_bytes
        Sum over all places of the memory above the limit.
    """

    def __init__(self, graph: Graph, memory_bytes: int, order: Sequence[int]) -> None:
        self.graph = graph
        self.memory_bytes = memory_bytes
        self.order = list(order)
        self._place = [0] * len(graph)
        # The memory stored before each place, and after the last one.
        self._stored = [0] * (len(graph) + 1)
        self.during_bytes = [0] * len(graph)
        self._simulate(0, len(graph) - 1)
        self.excess_bytes = self._excess(0, len(graph) - 1)

    def range_of(self, node: int) -> tuple[int, int]:
        """Return the first and the last place to which a node can be moved."""
        place = self._place
        first = max((place[p] for p in self.graph.inputs[node]), default=-1) + 1
        last = min((place[j] for j in self.graph.users[node]), default=len(self.order)) - 1
        return first, last

    def place_of(self, node: int) -> int:
        """Return the place of a node."""
        return self._place[node]

    def move(self, node: int, to: int) -> int:
        """Move a node to a place in its range; return the growth of the excess."""
        start = self._place[node]
        del self.order[start]
        self.order.insert(to, node)
        low, high = min(start, to), max(start, to)
        before = self._excess(low, high)
        self._simulate(low, high)
        gained = self._excess(low, high) - before
        self.excess_bytes += gained
        return gained

    def _excess(self, low: int, high: int) -> int:
        return sum(
            during - self.memory_bytes
            for during in self.during_bytes[low : high + 1]
            if during > self.memory_bytes
        )

    def _simulate(self, low: int, high: int) -> None:
        """Recompute the memory at the places from `low` to `high`, outside which it is the same."""
        nodes, inputs, users = self.graph.nodes, self.graph.inputs, self.graph.users
        place, order = self._place, self.order
        for q in range(low, high + 1):
            place[order[q]] = q
        stored = self._stored[low]
        for q in range(low, high + 1):
            i = order[q]
            node = nodes[i]
            stored += node.output_bytes
            self.during_bytes[q] = stored + node.workspace_bytes
            for p in inputs[i]:
                if not nodes[p].keep and all(place[j] <= q for j in users[p]):
                    stored -= nodes[p].output_bytes
            if not users[i] and not node.keep:
                stored -= node.output_bytes
            self._stored[q + 1] = stored


def greedy_order(graph: Graph) -> list[int]:
    r"""Return the greedy order, in which each next node adds the least memory, or frees most.

    Ties go to the first node. :math:`O(n (n + |E|))` at worst.
    """
    nodes, inputs, users = graph.nodes, graph.inputs, graph.users
    waiting = [len(row) for row in inputs]
    unread = [len(row) for row in users]
    ready = [i for i, count in enumerate(waiting) if not count]
    order: list[int] = []

    def stores(i: int) -> int:
        freed = sum(
            nodes[p].output_bytes for p in inputs[i] if unread[p] == 1 and not nodes[p].keep
        )
        return (nodes[i].output_bytes if users[i] or nodes[i].keep else 0) - freed

    while ready:
        i = min(ready, key=lambda node: (stores(node), node))
        ready.remove(i)
        order.append(i)
        for p in inputs[i]:
            unread[p] -= 1
        for j in users[i]:
            waiting[j] -= 1
            if not waiting[j]:
                ready.append(j)
    return order


def random_move(state: OrderExcess, chance: random.Random) -> tuple[int, int] | None:
    """Draw a node and a new place for it, every other time a node above the limit or near it.

    Returns None where the node cannot move.
    """
    count = len(state.order)
    place = chance.randrange(count)
    if chance.random() < 0.5:
        place = max(
            (chance.randrange(count) for _ in range(3)), key=lambda q: state.during_bytes[q]
        )
    node = state.order[place]
    first, last = state.range_of(node)
    if first == last:
        return None
    to = chance.randint(first, last - 1)
    return node, to + (to >= place)


def anneal_order(
    state: OrderExcess,
    chance: random.Random,
    moves: int,
    clock: Clock,
    most_places: float = math.inf,
) -> list[int]:
    """Anneal the order; return the best one, and stop early at one without excess.

    Places are what moves simulate, some microseconds each.
    The temperature falls from the mean size of a value to a hundredth of it, with the share of the
    moves made, or of the places simulated, whichever is larger.
    """
    graph = state.graph
    mean = sum(node.output_bytes for node in graph.nodes) / len(graph) or 1.0
    best, least = list(state.order), state.excess_bytes
    places = 0
    for step in range(moves):
        over = max(step / moves, places / most_places)
        if not least or over > 1 or not clock.left_s:
            break
        move = random_move(state, chance)
        if move is None:
            continue
        node, to = move
        start = state.place_of(node)
        places += abs(to - start)
        gained = state.move(node, to)
        temperature = mean * 0.01**over
        if gained > 0 and chance.random() >= math.exp(-gained / temperature):
            state.move(node, start)
        elif state.excess_bytes < least:
            best, least = list(state.order), state.excess_bytes
    return best
