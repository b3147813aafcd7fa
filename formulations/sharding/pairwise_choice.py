"""What the models of sharding are built from: choices, costs by choice and by pair, limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import starmap

from jettison.instances.core.live_sets import maximal_live_times
from jettison.instances.sharding.problem import Sharding

Costs = Sequence[int | None]


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `capacity` is used at once.

    Attributes
    ----------
    name
        What tells the limit from others: a word of letters, digits and ``_``.
    capacity
        The limit, an integer.
    usages
        For some nodes, what each strategy uses.
    """

    name: str
    capacity: int
    usages: Mapping[int, Sequence[int]]

    @classmethod
    def less_least(cls, name: str, capacity: int, usages: Mapping[int, Sequence[int]]) -> Limit:
        """Take the least usage of each node off both sides; nodes without a choice go."""
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
    """One strategy for each node; costs of nodes and pairs, in exact integers of either sign.

    Attributes
    ----------
    costs
        For each node the cost of each strategy, None where it is forbidden.
    tables
        For pairs of different nodes, the costs row by row, None where a pair is forbidden.
    limits
        What has to be kept besides.
    offset
        A constant that every choice costs.
    """

    costs: Sequence[Costs]
    tables: Mapping[tuple[int, int], Sequence[Costs]]
    limits: Sequence[Limit] = field(default=())
    offset: int = 0

    @classmethod
    def of(cls, problem: Sharding) -> PairwiseChoice:
        """Return a problem as it stands: parallel edges added, a limit for each maximal live set.

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
