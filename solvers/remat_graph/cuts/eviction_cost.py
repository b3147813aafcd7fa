r"""What the memory at the first computation of each node costs at least, by a knapsack.

When node :math:`t` is computed first, what it needs must be in memory. Of the other values that a
node after :math:`t` reads or that are kept, those that are not in memory are computed again later,
and each takes at least its own duration :math:`C_i`. With :math:`e_t` for the bytes that all of
them and the node's need exceed the memory by,

.. math::
    \min \Big\{ \sum_i C_i z_i \;:\; \sum_i M_i z_i \ge e_t,\; 0 \le z_i \le 1 \Big\}

bounds what must be computed again, and the best of the values per byte first solves it. It is the
relaxation of `SingleCut` without its rows (path), which charge the ancestors as well, and without
integers: weaker, but it takes a sort for a stage, and it ranks the stages almost as the models do,
where the bytes alone do not: many of them may be cheap to compute again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from jettison.instances.remat_graph.graph import Graph


@dataclass(frozen=True, slots=True)
class StageCost:
    """What the memory at one stage costs at least, for ranking: a floating-point number.

    Attributes
    ----------
    excess_bytes
        By how much the step without recomputation exceeds the memory there; at least 1.
    cost_ns
        The value of the knapsack; infinite where what the node itself needs exceeds the memory.
    """

    excess_bytes: int
    cost_ns: float

    @property
    def ns_per_byte(self) -> float:
        """What a byte is worth there."""
        return self.cost_ns / self.excess_bytes


def eviction_costs(graph: Graph, memory_bytes: int) -> dict[int, StageCost]:
    """Return the value of the knapsack for each stage that exceeds the memory, by node.

    Parameters
    ----------
    graph, memory_bytes
        The instance and the limit.

    Notes
    -----
    Takes time proportional to the lifetimes of all values, and a sort of those that are in memory
    for each stage.
    """
    nodes = graph.nodes
    last_use = [
        len(graph) if nodes[i].keep else max(graph.users[i], default=i) for i in range(len(graph))
    ]
    cheapest_first = sorted(
        range(len(graph)),
        key=lambda i: nodes[i].duration_ns / max(nodes[i].output_bytes, 1),
    )
    rank = {node: place for place, node in enumerate(cheapest_first)}
    live: set[int] = set()
    live_bytes = 0
    costs: dict[int, StageCost] = {}
    for t, node in enumerate(nodes):
        live.add(t)
        live_bytes += node.output_bytes
        excess_bytes = live_bytes + node.workspace_bytes - memory_bytes
        if excess_bytes > 0:
            idle = live.difference(graph.inputs[t], (t,))
            in_turn = sorted((i for i in idle if last_use[i] > t), key=rank.__getitem__)
            costs[t] = StageCost(excess_bytes, _knapsack(graph, in_turn, excess_bytes))
        gone = [i for i in (*graph.inputs[t], t) if last_use[i] <= t]
        live.difference_update(gone)
        live_bytes -= sum(nodes[i].output_bytes for i in gone)
    return costs


def _knapsack(graph: Graph, cheapest_first: list[int], excess_bytes: int) -> float:
    """Return the least duration of values of so many bytes, the last one in part."""
    duration_ns = 0.0
    for i in cheapest_first:
        node = graph.nodes[i]
        if node.output_bytes >= excess_bytes:
            return duration_ns + node.duration_ns * excess_bytes / node.output_bytes
        excess_bytes -= node.output_bytes
        duration_ns += node.duration_ns
    return math.inf
