"""Graph with prices instead of durations, for searches that cannot forbid recomputation.

With its strategies chosen, a sharded graph becomes a graph in which parameters and inputs, which
must not be recomputed, look like other nodes. Here each of them has a price as its duration, many
times that of everything else, so that no good schedule recomputes one. A schedule of this graph
that does so is no plan, as its replay shows; the time of any other exceeds that of its plan by the
same amount.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jettison.instances.core.units import LARGEST_AMOUNT
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_sharding.chosen_strategies import with_strategies
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph

# `Graph` refuses a base time that, times the number of nodes, is larger than this.
_MOST_NS = 2**60 - 1


@dataclass(frozen=True)
class PricedGraph:
    """Graph with prices, and by how much its schedules take longer than their plans.

    Attributes
    ----------
    graph
        The graph, in which nodes that must be computed once have the price as their duration.
    extra_ns
        Time that the prices add to a step that computes each of these nodes once.
    """

    graph: Graph
    extra_ns: int


def priced_graph(
    sharded: ShardedGraph, strategies: Sequence[int], times_the_step: int
) -> PricedGraph:
    """Return the graph of a choice of strategies, with prices; :math:`O(n + |E|)`.

    Parameters
    ----------
    sharded, strategies
        The instance, and for each operator the index of its strategy.
    times_the_step
        The price, as a multiple of the time of the step.

    Raises
    ------
    InputError
        If the strategies are not allowed together.
    """
    graph = with_strategies(sharded, strategies)
    once = sum(operator.role.is_computed_once for operator in sharded.operators)
    # Durations of a node and of the graph are limited; a lower price does no harm, since the replay
    # judges every plan.
    most_ns = (_MOST_NS // len(graph) - graph.base_time_ns) // max(once, 1)
    wanted_ns = times_the_step * max(graph.base_time_ns, 1)
    price_ns = max(1, min(wanted_ns, most_ns, LARGEST_AMOUNT))
    nodes = []
    extra_ns = 0
    for node, operator in zip(graph.nodes, sharded.operators, strict=True):
        if operator.role.is_computed_once and price_ns > node.duration_ns:
            extra_ns += price_ns - node.duration_ns
            nodes.append(replace(node, duration_ns=price_ns))
        else:
            nodes.append(node)
    return PricedGraph(Graph(graph.name, tuple(nodes)), extra_ns)
