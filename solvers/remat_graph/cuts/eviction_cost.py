r"""Knapsack bound on the cost of memory at each stage, to rank the stages for cuts.

When node :math:`t` is computed first, its needs must be in memory. Of the other values that a node
after :math:`t` reads or that are kept, those that are not in memory are computed again later, and
each takes at least its own duration :math:`C_i`; those that are computed once stay. With
:math:`e_t` for the bytes by which all of them and the node's need exceed the memory,

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

import numpy as np
from numpy.typing import NDArray

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
    For each stage that exceeds the memory, sums over the values in it, which stand in the order of
    the knapsack.
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
    stays = [rank[i] for i in sorted(graph.computed_once)]
    knapsack = _Knapsack(graph, cheapest_first)
    live = np.zeros(len(graph), dtype=np.bool_)
    live_bytes = 0
    costs: dict[int, StageCost] = {}
    for t, node in enumerate(nodes):
        live[rank[t]] = True
        live_bytes += node.output_bytes
        excess_bytes = live_bytes + node.workspace_bytes - memory_bytes
        if excess_bytes > 0:
            # All others in memory are read later, or kept.
            idle = live.copy()
            idle[[rank[i] for i in (*graph.inputs[t], t)]] = False
            idle[stays] = False
            costs[t] = StageCost(excess_bytes, knapsack.cost_ns(idle, excess_bytes))
        gone = [i for i in (*graph.inputs[t], t) if last_use[i] <= t]
        live[[rank[i] for i in gone]] = False
        live_bytes -= sum(nodes[i].output_bytes for i in gone)
    return costs


def _duration_ns(graph: Graph, node: int) -> int:
    """Return the time in which the value of a node is made again, at least."""
    made_by = graph.operators[node] if graph.comes_in_a_run(node) else node
    return graph.nodes[made_by].duration_ns


class _Knapsack:
    """Knapsacks of values by rank, which is the order in which they are taken."""

    def __init__(self, graph: Graph, cheapest_first: list[int]) -> None:
        self._bytes = np.array([graph.nodes[i].output_bytes for i in cheapest_first], np.int64)
        self._durations_ns = np.array([_duration_ns(graph, i) for i in cheapest_first], np.int64)

    def cost_ns(self, is_there: NDArray[np.bool_], excess_bytes: int) -> float:
        """Return the least duration of values that cover an excess, the last one in part."""
        ranks = np.flatnonzero(is_there)
        covered = np.cumsum(self._bytes[ranks])
        place = int(np.searchsorted(covered, excess_bytes))
        if place == len(ranks):
            return math.inf
        before_ns = int(self._durations_ns[ranks[:place]].sum())
        last = int(ranks[place])
        missing_bytes = excess_bytes - (int(covered[place - 1]) if place else 0)
        share = int(self._durations_ns[last]) * missing_bytes / int(self._bytes[last])
        return float(before_ns) + share
