r"""Strategy graph under reduction: the native graph, and what Python reads of it.

The graph is a problem of the form

.. math::
    \min\ c_0 + \sum_i c_i(s_i) + \sum_{ij} c_{ij}(s_i, s_j), \qquad
    \sum_i u_{ri}(s_i) \le M_r \quad \forall r

with a row :math:`r` for each maximal set of values that are live together. All numbers are exact:
64-bit integers where the largest values add up to less than 2^50, so that no sum of reductions
overflows, and 128-bit integers otherwise. The usage of a node is a list of parts, each a vector
over its strategies that holds on a range of rows; sums over nodes are difference arrays over the
rows, so that nothing takes time or memory for each pair of a row and a node.

A *choice* here is a list with, for each node of the instance, the place of its strategy among those
left; what it says of removed nodes counts nothing. Removed nodes leave records from which `decode`
restores the strategies of the instance.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jettison.formulations.sharding.pairwise_choice import Limit, PairwiseChoice
from jettison.instances.core.live_sets import maximal_live_times
from jettison.instances.sharding.problem import Sharding
from jettison.solvers import _kernels
from jettison.solvers.core.clock import Clock

_MOST_FOR_64_BITS = 2**50
_FORBIDDEN = -1
# Pairs that a kernel looks at in the time of one move of annealing (`core.work`).
PAIRS_PER_MOVE = 500


class NoChoiceError(Exception):
    """The problem has no choice: none is left at `node`, or memory row `row` is exceeded."""

    def __init__(self, node: int, row: int | None = None) -> None:
        super().__init__(node, row)
        self.node = node
        self.row = row


@dataclass(frozen=True, slots=True)
class Size:
    """Size of a reduced problem.

    Attributes
    ----------
    nodes, edges, strategies, pairs, rows
        Nodes, edges, strategies of nodes, allowed pairs of edges, and rows of memory that are left.
    """

    nodes: int
    edges: int
    strategies: int
    pairs: int
    rows: int


def limits_of(clock: Clock) -> tuple[float, float]:
    """Return the seconds and the pairs that a kernel may use; infinite where nothing limits."""
    moves = clock.left_moves
    return clock.left_s, math.inf if moves is None else moves * PAIRS_PER_MOVE


def spend_pairs(clock: Clock, pairs: float) -> None:
    """Count the pairs that a kernel has looked at as work."""
    clock.spend(pairs / PAIRS_PER_MOVE)


class ReducedGraph:
    """Sharding problem that reductions change in place.

    Parameters
    ----------
    problem
        The instance and its memory.
    memory_bytes
        The memory, where it is another than that of the problem.

    Attributes
    ----------
    native
        The graph of the kernels.
    is_wide
        Whether its integers have 128 bits.
    """

    def __init__(self, problem: Sharding, memory_bytes: int | None = None) -> None:
        self._graph = graph = problem.instance
        everything = graph.usage_sum_bytes
        # More than everything is as good as everything.
        memory_bytes = problem.memory_bytes if memory_bytes is None else memory_bytes
        self._capacity = min(memory_bytes, everything)
        self._times = maximal_live_times([node.interval for node in graph.nodes])
        self.is_wide = graph.cost_sum_ns + 2 * everything >= _MOST_FOR_64_BITS
        kind = _kernels.ShardingGraph128 if self.is_wide else _kernels.ShardingGraph64
        self.native: Any = kind(
            np.array([len(node) for node in graph.nodes], dtype=np.int32),
            _flat(node.costs_ns for node in graph.nodes),
            np.fromiter(
                chain.from_iterable(node.usages_bytes for node in graph.nodes), dtype=np.int64
            ),
            np.array(
                [
                    [bisect_left(self._times, time) for time in node.interval]
                    for node in graph.nodes
                ],
                dtype=np.int32,
            ),
            len(self._times),
            self._capacity,
            np.array(graph.ends, dtype=np.int32).reshape(-1, 2),
            _flat(edge.costs_ns for edge in graph.edges),
        )

    def copy(self) -> ReducedGraph:
        """Return a copy, which reductions change without changing this."""
        copied = object.__new__(ReducedGraph)
        copied.__dict__.update(self.__dict__)
        copied.native = self.native.copy()
        return copied

    @property
    def size(self) -> Size:
        """Size of what is left."""
        return Size(*self.native.size())

    @property
    def is_empty(self) -> bool:
        """Whether every node is removed."""
        return not self.native.alive()

    @property
    def is_consistent(self) -> bool:
        """Whether every strategy has an allowed partner at each of its edges."""
        return bool(self.native.is_consistent())

    @property
    def offset_ns(self) -> int:
        """The constant of the objective."""
        return int(self.native.offset())

    @property
    def times(self) -> list[int]:
        """For each row, a time of the instance at which its values are live."""
        return [self._times[row] for row in self.native.rows()]

    def reduce(self, name: str, clock: Clock, most_more_pairs: int) -> bool:
        """Run one reduction (`reductions`); tell whether it changed anything.

        Raises
        ------
        NoChoiceError
            If there is no choice at all.
        """
        changed, pairs, none = self.native.reduce(name, limits_of(clock), most_more_pairs)
        spend_pairs(clock, pairs)
        if none is not None:
            node, row = (None if place < 0 else int(place) for place in none)
            raise NoChoiceError(self._largest_at(row) if node is None else node, row)
        return bool(changed)

    def _largest_at(self, row: int | None) -> int:
        """Return the node whose least usage is the largest of those in a row."""
        assert row is not None
        time = self.times[row]
        live = [
            (min(node.usages_bytes), place)
            for place, node in enumerate(self._graph.nodes)
            if node.interval[0] <= time < node.interval[1]
        ]
        return max(live)[1]

    def decode(self, choice: Sequence[int]) -> tuple[int, ...]:
        """Return the strategy of every node of the instance from a choice of what is left."""
        return tuple(self.native.decode(choice))

    def encode(self, strategies: Sequence[int]) -> list[int] | None:
        """Return a choice of the instance as one of what is left; None if a strategy is gone."""
        places = list(self.native.encode(strategies))
        if any(places[node] < 0 for node in self.native.alive()):
            return None
        return [max(0, place) for place in places]

    def written(self) -> tuple[PairwiseChoice, list[int]]:
        """Return what is left as a model's input, and the instance's node at each position.

        It has the usage of every node in every row, and is meant for what is small.
        """
        nodes = list(self.native.alive())
        place_of = {node: place for place, node in enumerate(nodes)}
        costs: list[Sequence[int | None]] = []
        capacity = self.native.capacity()
        usages: list[dict[int, Sequence[int]]] = [{} for _ in capacity]
        for place, node in enumerate(nodes):
            _, own, parts = self.native.node(node)
            costs.append(own)
            for first, end, usage in parts:
                for row in range(first, end):
                    usages[row][place] = usage
        tables: dict[tuple[int, int], list[Sequence[int | None]]] = {}
        for first, second, table in self.native.edges():
            ends = place_of[first], place_of[second]
            width = len(costs[ends[1]])
            tables[ends] = [table[start : start + width] for start in range(0, len(table), width)]
        limits = [
            Limit(f"{time}", room, used)
            for time, room, used in zip(self.times, capacity, usages, strict=True)
        ]
        return PairwiseChoice(costs, tables, limits, self.offset_ns), nodes

    def decode_places(self, nodes: Sequence[int], places: Sequence[int]) -> tuple[int, ...]:
        """Return the choice of the instance from strategies at the positions of `written`."""
        choice = [0] * len(self._graph)
        for node, place in zip(nodes, places, strict=True):
            choice[node] = place
        return self.decode(choice)


def _flat(rows: Iterable[Sequence[int | None]]) -> NDArray[np.int64]:
    """Return costs one after the other, -1 where they are forbidden."""
    flat = (_FORBIDDEN if cost is None else cost for cost in chain.from_iterable(rows))
    return np.fromiter(flat, dtype=np.int64)
