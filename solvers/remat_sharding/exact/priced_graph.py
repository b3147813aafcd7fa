"""A graph for searches that know of nothing that may not be computed again.

With the strategies of a sharded graph chosen, a graph is left in which nothing says that parameters
and inputs are computed once. Here each of them takes so long that no schedule worth having computes
one again: longer than everything else, many times over. A schedule of this graph that does so after
all is no plan, which its replay tells; the time of any other is longer than that of its plan by the
same amount.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jettison.instances.core.units import LARGEST_AMOUNT
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_sharding.chosen_strategies import with_strategies
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph

# A step may take some times as long with recomputation as without; amounts lose three bits.
_TIMES_THE_STEP = 8
# `Graph` refuses a base time that, times the number of nodes, is larger.
_MOST_NS = 2**60 - 1


@dataclass(frozen=True)
class PricedGraph:
    """The graph, and what its schedules take more than the plans that they stand for.

    Attributes
    ----------
    graph
        With the price as the duration of what is computed once.
    extra_ns
        What that adds to the time of a step that computes each of them once.
    """

    graph: Graph
    extra_ns: int


def priced_graph(sharded: ShardedGraph, strategies: Sequence[int]) -> PricedGraph:
    """Return the graph of a choice of strategies, with prices; :math:`O(n + |E|)`.

    Raises
    ------
    InputError
        If the strategies are not allowed together.
    """
    graph = with_strategies(sharded, strategies)
    once = sum(operator.role.is_computed_once for operator in sharded.operators)
    # Neither a node nor the graph may take more than it can hold; a lower price is no mistake, for
    # the replay judges every plan.
    most_ns = (_MOST_NS // len(graph) - graph.base_time_ns) // max(once, 1)
    wanted_ns = _TIMES_THE_STEP * max(graph.base_time_ns, 1)
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
