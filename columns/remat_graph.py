"""Recompute on a graph: the instance, the problem, and its schedules."""

from jettison.instances.remat_graph.chain_to_graph import chain_to_graph
from jettison.instances.remat_graph.graph import Graph, Node, OperatorResult
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.remat_graph.schedule import (
    GraphOperation,
    GraphOperationKind,
    GraphSchedule,
)
from jettison.solvers.remat_graph.orders.least_peak_order import PeakBracket, least_peak_order

__all__ = [
    "Graph",
    "GraphOperation",
    "GraphOperationKind",
    "GraphSchedule",
    "Node",
    "OperatorResult",
    "PeakBracket",
    "RematGraph",
    "chain_to_graph",
    "least_peak_order",
]
