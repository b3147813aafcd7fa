r"""Baseline by tree decompositions: separators stay, what lies between them is computed again.

Source: Kumar, Purohit, Svitkina, Vee and Wang, "Efficient Rematerialization for Deep Networks",
NeurIPS 2019, from which tools such as TW-REMAT are made. A graph of :math:`n` nodes and tree width
:math:`k`, all values alike, has a schedule in :math:`O(k \log n)` memory whose number of
computations is polynomial in :math:`n` for constant :math:`k`:

1. a bag of the tree decomposition that leaves no part with more than half of the nodes is a
   *separator*. Its nodes are computed one after the other, in topological order, and stay;
2. before each of them, its inputs in each part between are computed, by the same procedure in that
   part: all that it needs outside of the part is in separators, and in memory;
3. at last, what is wanted of each part is computed likewise.

The tree decomposition comes from eliminating nodes of least degree. In the paper parts are divided
down to single nodes; here every size of the parts that are divided no more, halved from the whole
graph on, is a plan of its own: large parts take memory, small ones time. Each value is freed at its
last read, and the fastest plan that fits is the answer. First computations come in any order.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator
from functools import partial

from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_graph.baselines.checkpoints import (
    PlanLimit,
    PlanStoppedError,
    PlanTooLongError,
)
from jettison.solvers.remat_graph.baselines.plans import Plan, fastest_that_fits
from jettison.solvers.remat_graph.operators import on_held_values

# Sums of durations stay below it, as those of an instance do.
_LONGEST_NS = 2**60


class TreeDecomposition:
    """Tree decomposition of a graph without the directions of its edges, by least degrees.

    Each node has a bag: the node and its neighbours when it is eliminated. Quadratic in the width
    for each node.

    Attributes
    ----------
    bags
        The bag of each node.
    beside
        For each node, those whose bags are next to its bag in the tree; a forest has several.
    """

    def __init__(self, graph: Graph, clock: Clock) -> None:
        count = len(graph)
        neighbours = [{*graph.inputs[i], *graph.users[i]} for i in range(count)]
        self.bags: list[frozenset[int]] = [frozenset()] * count
        turn = [-1] * count
        waiting = [(len(row), i) for i, row in enumerate(neighbours)]
        heapq.heapify(waiting)
        number = 0
        while waiting:
            degree, node = heapq.heappop(waiting)
            if turn[node] >= 0 or degree != len(neighbours[node]):
                continue
            clock.require_time()
            turn[node], number = number, number + 1
            around = neighbours[node]
            self.bags[node] = frozenset((node, *around))
            for other in around:
                neighbours[other] |= around
                neighbours[other] -= {node, other}
                heapq.heappush(waiting, (len(neighbours[other]), other))
        self.beside: list[list[int]] = [[] for _ in range(count)]
        for node, bag in enumerate(self.bags):
            later = bag - {node}
            if later:
                parent = min(later, key=lambda other: turn[other])
                self.beside[node].append(parent)
                self.beside[parent].append(node)

    @property
    def width(self) -> int:
        """Size of the largest bag, less 1."""
        return max(map(len, self.bags)) - 1

    def parts(self, nodes: Collection[int], without: int | None = None) -> Iterator[set[int]]:
        """Yield the nodes whose bags are connected in the tree, within some, without one."""
        left = set(nodes) - {without}
        while left:
            part, waiting = set(), [left.pop()]
            while waiting:
                node = waiting.pop()
                part.add(node)
                for other in self.beside[node]:
                    if other in left:
                        left.remove(other)
                        waiting.append(other)
            yield part

    def centre(self, part: Collection[int], weighing: Collection[int]) -> int:
        """Return a node of a connected part without which no rest has more than half the weight."""
        inside = set(part)
        root = min(inside)
        parent: dict[int, int] = {root: -1}
        order = [root]
        for node in order:
            for other in self.beside[node]:
                if other in inside and other not in parent:
                    parent[other] = node
                    order.append(other)
        weight = {node: int(node in weighing) for node in order}
        heaviest = dict.fromkeys(order, 0)
        for node in reversed(order):
            if parent[node] >= 0:
                weight[parent[node]] += weight[node]
                heaviest[parent[node]] = max(heaviest[parent[node]], weight[node])
        total = weight[root]
        return min(order, key=lambda node: (max(heaviest[node], total - weight[node]), node))


class _Sequence:
    """Sequence of computations of one plan, while it is made."""

    def __init__(self, graph: Graph, tree: TreeDecomposition, leaf: int, limit: PlanLimit) -> None:
        self.computations: list[int] = []
        self._time_ns = 0
        self._graph = graph
        self._tree = tree
        self._leaf = leaf
        self._limit = limit

    def produce(self, part: set[int], tree_part: set[int], wanted: Collection[int]) -> None:
        """Compute what is wanted of a part; what it reads outside of the part is in memory."""
        needed = self._ancestors(part, wanted)
        if len(needed) <= self._leaf:
            for node in sorted(needed):
                self._compute(node)
            return
        centre = self._tree.centre(tree_part, needed)
        separator = self._tree.bags[centre] & part
        rests = [
            (rest & part - separator, rest) for rest in self._tree.parts(tree_part, without=centre)
        ]
        for node in sorted(separator & needed):
            for nodes, rest in rests:
                inputs = nodes.intersection(self._graph.inputs[node])
                if inputs:
                    self.produce(nodes, rest, inputs)
            self._compute(node)
        for nodes, rest in rests:
            own = nodes.intersection(wanted)
            if own:
                self.produce(nodes, rest, own)

    def _ancestors(self, part: set[int], wanted: Collection[int]) -> set[int]:
        found, waiting = set(wanted), list(wanted)
        while waiting:
            for source in self._graph.inputs[waiting.pop()]:
                if source in part and source not in found:
                    found.add(source)
                    waiting.append(source)
        return found

    def _compute(self, node: int) -> None:
        self.computations.append(node)
        self._time_ns += self._graph.nodes[node].duration_ns
        if self._time_ns >= _LONGEST_NS:
            raise PlanTooLongError
        if self._limit.most_ns is not None and self._time_ns > self._limit.most_ns:
            raise PlanStoppedError
        self._limit.require_time(len(self.computations))


def computations_by_separators(
    graph: Graph, tree: TreeDecomposition, leaf: int, limit: PlanLimit
) -> tuple[int, ...]:
    """Return the computations of the plan that divides parts of more than `leaf` nodes."""
    sequence = _Sequence(graph, tree, leaf, limit)
    for part in tree.parts(range(len(graph))):
        wanted = {node for node in part if graph.nodes[node].keep or not graph.users[node]}
        sequence.produce(part, part, wanted)
    return GraphSchedule.from_computations(graph, sequence.computations).computations


@on_held_values
def solve_tree_width(problem: RematGraph, options: SolveOptions) -> Outcome:
    """Return the fastest of the schedules by separators that fit."""
    graph = problem.instance
    clock = Clock(options.time_limit_s)
    try:
        tree = TreeDecomposition(graph, clock)
    except TimeoutError:
        return Outcome(
            termination=Termination.TIME_LIMIT,
            note="tree-width had no tree decomposition in its time",
        )
    leaves = [len(graph)]
    while leaves[-1] > 1:
        leaves.append(leaves[-1] // 2)
    plans = (
        Plan(rank, partial(computations_by_separators, graph, tree, leaf))
        for rank, leaf in enumerate(leaves)
    )
    return fastest_that_fits(problem, "tree-width", plans, options)
