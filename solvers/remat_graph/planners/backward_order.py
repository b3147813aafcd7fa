"""Order of a traced step in which each pass computes what it needs, and nothing else.

A tracer marks as backward what depends on the gradient of the loss. Derivatives also need values
that depend on inputs alone, such as a power in the derivative of another one: they are traced among
forward nodes, but no forward node needs them, and autograd and torch's partitioner compute them in
the backward pass (`PlanBoundary.late`).
"""

from __future__ import annotations

from dataclasses import replace

from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.reordered_graph import ReorderedGraph
from jettison.solvers.remat_graph.planners.boundary_plan import PlanBoundary


def in_backward_order(graph: Graph) -> ReorderedGraph:
    """Return the graph with late nodes right before the first backward node that needs them.

    Plans of `PlanBoundary` that save no late node compute every node for the first time in this
    order, so that bounds for the order hold for them. :math:`O(n + |E|)`.
    """
    boundary = PlanBoundary(graph)
    early = {
        place
        for place, node in enumerate(graph.nodes)
        if not node.backward and place not in boundary.late
    }
    # Each node once: nothing is computed again where all that is early is saved.
    return ReorderedGraph(graph, tuple(dict.fromkeys(boundary.computations(early))))


def with_late_nodes_marked(graph: Graph) -> Graph:
    """Return a graph in this order with all nodes of the backward pass marked as backward."""
    first = next((place for place, node in enumerate(graph.nodes) if node.backward), len(graph))
    nodes = tuple(
        replace(node, backward=node.backward or place > first)
        for place, node in enumerate(graph.nodes)
    )
    return replace(graph, nodes=nodes)
