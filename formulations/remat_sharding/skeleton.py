"""Skeleton of a sharded graph: its nodes and edges without sizes, and without parameters."""

from __future__ import annotations

from jettison.instances.remat_graph.graph import Graph, Node
from jettison.instances.remat_sharding.operator import Role
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph


def skeleton(sharded: ShardedGraph) -> tuple[Graph, frozenset[int]]:
    """Return the operators as nodes without sizes, and those that are computed once.

    Nothing reads a parameter there, and none is kept: it is in memory whatever a plan does.
    Positions are those of the sharded graph. :math:`O(n + |E|)`.
    """
    parameters = {
        operator.name for operator in sharded.operators if operator.role is Role.PARAMETER
    }
    nodes = tuple(
        Node(
            name=operator.name,
            duration_ns=0,
            output_bytes=0,
            inputs=tuple(name for name in operator.inputs if name not in parameters),
            backward=operator.role is Role.BACKWARD,
            keep=operator.keep and operator.name not in parameters,
        )
        for operator in sharded.operators
    )
    once = frozenset(
        position
        for position, operator in enumerate(sharded.operators)
        if operator.role.is_computed_once
    )
    return Graph(sharded.name, nodes), once
