"""Pairwise choice problem: strategies, their costs by node and by pair, and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import starmap

from jettison.instances.core.live_sets import maximal_live_times
from jettison.instances.sharding.problem import Sharding

Costs = Sequence[int | None]


@dataclass(frozen=True, slots=True)
class Limit:
    """Limit: the values that are live at one time use at most `capacity`.

    Attributes
    ----------
    name
        Unique name: letters, digits and ``_``.
    capacity
        The limit, an integer.
    usages
        For some nodes, the usage of each strategy.
    """

    name: str
    capacity: int
    usages: Mapping[int, Sequence[int]]

    @classmethod
    def less_least(cls, name: str, capacity: int, usages: Mapping[int, Sequence[int]]) -> Limit:
        """Subtract the least usage of each node from both sides; drop nodes without a choice."""
        least = {node: min(values) for node, values in usages.items()}
        return cls(
            name,
            capacity - sum(least.values()),
            {
                node: tuple(value - least[node] for value in values)
                for node, values in usages.items()
                if max(values) > least[node]
            },
        )


@dataclass(frozen=True, slots=True)
class PairwiseChoice:
    """Pairwise choice problem, with costs in exact integers of either sign.

    Attributes
    ----------
    costs
        For each node the cost of each strategy, None where it is forbidden.
    tables
        For pairs of different nodes, the costs row by row, None where a pair is forbidden.
    limits
        Limits that a choice has to keep.
    offset
        A constant that every choice costs.
    """

    costs: Sequence[Costs]
    tables: Mapping[tuple[int, int], Sequence[Costs]]
    limits: Sequence[Limit] = field(default=())
    offset: int = 0

    @classmethod
    def of(cls, problem: Sharding) -> PairwiseChoice:
        """Return the choice problem of a sharding problem: one limit for each maximal live set.

        Limits that the largest usages keep are left out.
        """
        graph = problem.instance
        costs = [node.costs_ns for node in graph.nodes]
        tables: dict[tuple[int, int], list[list[int | None]]] = {}
        for (first, second), edge in zip(graph.ends, graph.edges, strict=True):
            width = len(costs[second])
            table = [
                list(edge.costs_ns[start : start + width])
                for start in range(0, len(edge.costs_ns), width)
            ]
            ends = (min(first, second), max(first, second))
            if first > second:
                table = [list(column) for column in zip(*table, strict=True)]
            if ends in tables:
                pairs = zip(tables[ends], table, strict=True)
                table = [list(starmap(_sum, zip(*rows, strict=True))) for rows in pairs]
            tables[ends] = table
        limits = []
        for time in maximal_live_times([node.interval for node in graph.nodes]):
            live = {
                place: node.usages_bytes
                for place, node in enumerate(graph.nodes)
                if node.interval[0] <= time < node.interval[1]
            }
            if sum(map(max, live.values())) > problem.memory_bytes:
                limits.append(Limit.less_least(f"{time}", problem.memory_bytes, live))
        return cls(costs, tables, limits)


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
