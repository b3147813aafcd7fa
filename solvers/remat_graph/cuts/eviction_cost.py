r"""Knapsack bound on the cost of memory at each stage, to rank the stages for cuts.

When node :math:`t` is computed first, its needs must be in memory. Of the other values that a node
after :math:`t` reads or that are kept, those that are not in memory are computed again later, and
each takes at least its own duration :math:`C_i`. With :math:`e_t` for the bytes by which all of
them and the node's need exceed the memory,

.. math::
    \min \Big\{ \sum_i C_i z_i \;:\; \sum_i M_i z_i \ge e_t,\; 0 \le z_i \le 1 \Big\}

bounds the recomputation that the stage forces, and is solved by taking values in ascending order of
time per byte. It is the relaxation of `SingleCut` without its rows (path), which charge the
ancestors as well, and without integers: weaker, but a sort per stage is enough, and it ranks the
stages almost as the models do. The excess in bytes alone does not, since many bytes may be cheap to
recompute.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from jettison.instances.remat_graph.graph import Graph


@dataclass(frozen=True, slots=True)
class StageCost:
    """Least cost of the memory at one stage, in floating point, for ranking.

    Attributes
    ----------
    excess_bytes
        By how much the step without recomputation exceeds the memory there; at least 1.
    cost_ns
        The value of the knapsack; infinite where the node's own need exceeds the memory.
    """

    excess_bytes: int
    cost_ns: float

    @property
    def ns_per_byte(self) -> float:
        """Cost of a byte of excess at the stage."""
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
        key=lambda i: _duration_ns(graph, i) / max(nodes[i].output_bytes, 1),
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


def _duration_ns(graph: Graph, node: int) -> int:
    """Return the time in which the value of a node is made again, at least."""
    made_by = graph.operators[node] if graph.comes_in_a_run(node) else node
    return graph.nodes[made_by].duration_ns


def _knapsack(graph: Graph, cheapest_first: list[int], excess_bytes: int) -> float:
    """Return the least duration of values that cover an excess, the last one in part."""
    duration_ns = 0.0
    for i in cheapest_first:
        output_bytes = graph.nodes[i].output_bytes
        if output_bytes >= excess_bytes:
            return duration_ns + _duration_ns(graph, i) * excess_bytes / output_bytes
        excess_bytes -= output_bytes
        duration_ns += _duration_ns(graph, i)
    return math.inf
