"""Articulation points of the forward graph: the nodes that no edge bypasses."""

from __future__ import annotations

from jettison.instances.remat_graph.graph import Graph
from jettison.solvers.remat_graph.baselines.checkpoints import forward_nodes


def articulation_points(graph: Graph) -> tuple[int, ...]:
    r"""Return the forward nodes that no forward edge bypasses, in order.

    Node :math:`v` is one if no edge :math:`(i, j)` of the forward graph has :math:`i < v < j`, and
    some node after it reads it. The nodes after :math:`v` then read no value from before it. The
    last forward node is none, since no forward node follows it. :math:`O(n + |E|)`.
    """
    forward = forward_nodes(graph)
    found: list[int] = []
    furthest = 0  # the last forward user of any node before the one that is looked at
    for node in forward[:-1]:
        last_user = max((user for user in graph.users[node] if user < len(forward)), default=node)
        if furthest <= node < last_user:
            found.append(node)
        furthest = max(furthest, last_user)
    return tuple(found)
