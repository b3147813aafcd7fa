"""All choices of strategies of a small graph, one by one; shares no code with what it checks."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

from jettison.instances.sharding.strategy_graph import StrategyEdge, StrategyGraph, StrategyNode

Choice = tuple[int, ...]


def all_choices(graph: StrategyGraph) -> Iterator[tuple[int, int, Choice]]:
    """Yield (cost, peak, strategies) of every choice without a forbidden strategy or pair."""
    names = [node.name for node in graph.nodes]
    moments = sorted({time for node in graph.nodes for time in node.interval})
    for choice in itertools.product(*(range(len(node.costs_ns)) for node in graph.nodes)):
        costs = [node.costs_ns[a] for node, a in zip(graph.nodes, choice, strict=True)]
        for edge in graph.edges:
            one, two = names.index(edge.first), names.index(edge.second)
            row_length = len(graph.nodes[two].costs_ns)
            costs.append(edge.costs_ns[choice[one] * row_length + choice[two]])
        if None in costs:
            continue
        peak = 0
        for moment in moments:
            in_use = 0
            for node, strategy in zip(graph.nodes, choice, strict=True):
                begin, end = node.interval
                if begin <= moment < end:
                    in_use += node.usages_bytes[strategy]
            peak = max(peak, in_use)
        yield sum(cost for cost in costs if cost is not None), peak, choice


def least_cost(graph: StrategyGraph, memory_bytes: int) -> int | None:
    """Return the least cost of a choice within the memory; None if there is none."""
    return min((cost for cost, peak, _ in all_choices(graph) if peak <= memory_bytes), default=None)


def least_peak(graph: StrategyGraph) -> int | None:
    """Return the least memory in which there is a choice; None if there is none in any."""
    return min((peak for _, peak, _ in all_choices(graph)), default=None)


def random_graph(seed: int, *, unit: int = 1, most_nodes: int = 6) -> StrategyGraph:
    """Draw a small graph with forbidden strategies and pairs, parallel edges, empty intervals."""
    draw = random.Random(seed)
    nodes = []
    for number in range(draw.randint(1, most_nodes)):
        size = draw.randint(1, 3)
        costs = [
            draw.choice([None, *(unit * draw.randint(0, 9) for _ in range(4))]) for _ in range(size)
        ]
        if all(cost is None for cost in costs):
            costs[draw.randrange(size)] = unit
        begin = draw.randint(0, 6)
        has_equal_usages = draw.random() < 0.3
        usage = draw.randint(0, 9)
        nodes.append(
            StrategyNode(
                name=f"node {number}",
                interval=(begin, begin + draw.choice([0, 1, 2, 3, 5])),
                costs_ns=tuple(costs),
                usages_bytes=tuple(
                    usage if has_equal_usages else draw.randint(0, 9) for _ in costs
                ),
            )
        )
    edges = []
    if len(nodes) > 1:
        for _ in range(draw.randint(0, 2 * len(nodes))):
            first, second = draw.sample(nodes, 2)
            shape = [(a, b) for a in range(len(first)) for b in range(len(second))]
            kind = draw.choice(["any", "any", "separable", "diagonal", "sparse"])
            rows = [draw.randint(0, 9) for _ in first.costs_ns]
            columns = [draw.randint(0, 9) for _ in second.costs_ns]
            table: list[int | None] = []
            for a, b in shape:
                cost: int | None = unit * draw.randint(0, 9)
                if kind == "separable":
                    cost = unit * (rows[a] + columns[b])
                elif (kind == "diagonal" and a % len(second) != b) or (
                    kind == "sparse" and draw.random() < 0.3
                ):
                    cost = None
                table.append(cost)
            edges.append(StrategyEdge(first=first.name, second=second.name, costs_ns=tuple(table)))
    return StrategyGraph(f"random {seed}", tuple(nodes), tuple(edges))
