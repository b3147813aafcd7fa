r"""Sharding problem under reduction, with the records that restore a choice of the instance.

The state is a problem of the form

.. math::
    \min\ c_0 + \sum_i c_i(s_i) + \sum_{i<j} c_{ij}(s_i, s_j), \qquad
    \sum_i u_{ri}(s_i) \le M_r \quad \forall r

with a row :math:`r` for each maximal set of values that are live together. The usage of a node is a
list of *parts*, each a vector over its strategies that holds on a range of rows. A node has one
part at first; one into which others were merged has more. The least usage of every part is
subtracted from it and from the capacity of its rows.

All numbers are exact: 64-bit integers where the largest values add up to less than 2^50, so that no
sum of reductions overflows, and Python's integers otherwise. Within the state a forbidden strategy
or pair costs `forbidden`, far above any sum; no model ever sees this value.

Choices are written by *labels*: the numbers of the strategies in the instance. A removed node
leaves a record that gives its label by those of the at most two nodes on which it depends.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jettison.instances.core.live_sets import maximal_live_times
from jettison.instances.sharding.strategy_graph import StrategyGraph

Array = NDArray[Any]

_MOST_FOR_64_BITS = 2**50
_FORBIDDEN_IN_64_BITS = 2**60


class NoChoiceError(Exception):
    """The problem has no choice: none is left at `node`, or memory row `row` is exceeded."""

    def __init__(self, node: int, row: int | None = None) -> None:
        super().__init__(node, row)
        self.node = node
        self.row = row


@dataclass(frozen=True, slots=True)
class Part:
    """Memory usage by strategy on the rows from `first` to before `end`."""

    first: int
    end: int
    usage: Array


@dataclass(frozen=True, slots=True)
class Removed:
    """Record of a removed node: ``label = table[labels of the nodes on which it depends]``."""

    node: int
    hangs_on: tuple[int, ...]
    table: NDArray[np.int64]


class ShardingState:
    """Costs, usages and edges of a sharding problem, which reductions change in place.

    Attributes
    ----------
    costs, labels, parts
        For each node its costs, shape (k,), the labels of its strategies, and its usage.
    tables
        For each pair i < j with an edge, its costs, shape (k_i, k_j).
    neighbours
        For each node, the nodes that it has an edge with.
    alive
        The nodes that are left.
    capacity
        The memory left in each row after the least usages are subtracted.
    times
        For each row, a time at which its values are live.
    offset
        The constant of the objective.
    forbidden
        The cost of forbidden strategies and pairs.
    inseparable
        For some pairs, a table that was found not to be a sum of costs of both ends.
    removed
        Records of the nodes that were removed, in order.
    """

    def __init__(self, graph: StrategyGraph, memory_bytes: int) -> None:
        total = graph.cost_sum_ns
        usage = memory_bytes + graph.usage_sum_bytes
        in_64_bits = max(total, usage) < _MOST_FOR_64_BITS
        self.dtype: Any = np.int64 if in_64_bits else object
        self.forbidden = _FORBIDDEN_IN_64_BITS if in_64_bits else (total + 1) << 64
        self.offset = 0
        self.costs = [self._array(node.costs_ns) for node in graph.nodes]
        self.labels = [np.arange(len(node)) for node in graph.nodes]
        self.sizes = [len(node) for node in graph.nodes]
        self.alive = set(range(len(graph)))
        self.neighbours: list[set[int]] = [set() for _ in graph.nodes]
        self.tables: dict[tuple[int, int], Array] = {}
        self.inseparable: dict[tuple[int, int], Array] = {}
        self.removed: list[Removed] = []
        self.times = maximal_live_times([node.interval for node in graph.nodes])
        self.capacity = [memory_bytes] * len(self.times)
        self.parts: list[list[Part]] = []
        for node in graph.nodes:
            first, end = (bisect_left(self.times, time) for time in node.interval)
            part = Part(first, end, np.array(node.usages_bytes, dtype=self.dtype))
            self.parts.append([part] if first < end else [])
        for (first, second), edge in zip(graph.ends, graph.edges, strict=True):
            shape = (self.sizes[first], self.sizes[second])
            self.add_table(first, second, self._array(edge.costs_ns).reshape(shape))

    def _array(self, costs: Sequence[int | None]) -> Array:
        return np.array([self.forbidden if c is None else c for c in costs], dtype=self.dtype)

    def plus(self, one: Array, other: Array) -> Array:
        """Add two arrays of costs; an entry that is forbidden in one of them stays forbidden."""
        return np.where(
            (one >= self.forbidden) | (other >= self.forbidden), self.forbidden, one + other
        )

    def table(self, row: int, column: int) -> Array:
        """Return the table of an edge with the strategies of `row` as rows."""
        if row < column:
            return self.tables[row, column]
        return self.tables[column, row].T

    def put_table(self, row: int, column: int, table: Array) -> None:
        """Set the table of an edge, which may be new."""
        if row > column:
            row, column, table = column, row, table.T
        self.tables[row, column] = table
        self.neighbours[row].add(column)
        self.neighbours[column].add(row)

    def add_table(self, row: int, column: int, table: Array) -> None:
        """Add a table to the edge between two nodes: parallel edges become one."""
        if column in self.neighbours[row]:
            table = self.plus(self.table(row, column), table)
        self.put_table(row, column, table)

    def drop_table(self, one: int, other: int) -> None:
        """Remove an edge."""
        del self.tables[min(one, other), max(one, other)]
        self.neighbours[one].discard(other)
        self.neighbours[other].discard(one)

    def keep_strategies(self, node: int, kept: Array) -> None:
        """Keep the strategies where `kept` is true.

        Raises
        ------
        NoChoiceError
            If there is none.
        """
        if not kept.any():
            raise NoChoiceError(node)
        self.costs[node] = self.costs[node][kept]
        self.labels[node] = self.labels[node][kept]
        self.parts[node] = [
            Part(part.first, part.end, part.usage[kept]) for part in self.parts[node]
        ]
        for other in self.neighbours[node]:
            self.put_table(node, other, self.table(node, other)[kept])

    def remove(self, node: int, hangs_on: tuple[int, ...], strategies: Array) -> None:
        """Remove a node whose strategy is `strategies[those of the nodes on which it depends]`.

        Its costs must have been moved to other nodes before; its edges are removed here.
        """
        shape = tuple(self.sizes[other] for other in hangs_on)
        table = np.full(shape, -1, dtype=np.int64)
        table[np.ix_(*(self.labels[other] for other in hangs_on))] = self.labels[node][strategies]
        self.removed.append(Removed(node, hangs_on, table))
        for other in list(self.neighbours[node]):
            self.drop_table(node, other)
        self.alive.discard(node)
        self.parts[node] = []

    def usage_columns(self, node: int) -> Iterator[tuple[int, int, Array]]:
        """Yield (first row, end, usage by strategy) on ranges of rows that do not overlap."""
        parts = self.parts[node]
        bounds = sorted({bound for part in parts for bound in (part.first, part.end)})
        for first, end in pairwise(bounds):
            live = [part.usage for part in parts if part.first <= first and end <= part.end]
            if live:
                yield first, end, sum(live[1:], start=live[0])

    def decode(self, labels: dict[int, int]) -> tuple[int, ...]:
        """Return the strategy of every node of the instance, from the labels of the nodes left."""
        found = dict(labels)
        for record in reversed(self.removed):
            found[record.node] = int(record.table[tuple(found[node] for node in record.hangs_on)])
        return tuple(found[node] for node in range(len(self.sizes)))
