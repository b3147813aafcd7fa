"""Recompute and offload on a graph: the problem, and schedules with transfers to the host."""

from jettison.instances.core.link import Link
from jettison.instances.remat_graph.graph import Graph, Node, OperatorResult
from jettison.instances.remat_offload_graph.problem import RematOffloadGraph
from jettison.instances.remat_offload_graph.saving_graph import saves_only_outputs, saving_graph
from jettison.schedules.remat_graph.schedule import GraphOperation, GraphOperationKind
from jettison.schedules.remat_offload_graph.schedule import OffloadGraphSchedule
from jettison.schedules.remat_offload_graph.value_transfer import (
    ValueTransfer,
    ValueTransferKind,
)

__all__ = [
    "Graph",
    "GraphOperation",
    "GraphOperationKind",
    "Link",
    "Node",
    "OffloadGraphSchedule",
    "OperatorResult",
    "RematOffloadGraph",
    "ValueTransfer",
    "ValueTransferKind",
    "saves_only_outputs",
    "saving_graph",
]
