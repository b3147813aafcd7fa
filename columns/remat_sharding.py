"""Shard and recompute: the instance, the problem, and its schedules."""

from jettison.instances.remat_sharding.operator import Operator, Role, Strategy
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.instances.remat_sharding.sharded_graph import Resharding, ShardedGraph
from jettison.schedules.remat_graph.schedule import GraphOperation, GraphOperationKind
from jettison.schedules.remat_sharding.schedule import ShardedSchedule

__all__ = [
    "GraphOperation",
    "GraphOperationKind",
    "Operator",
    "RematSharding",
    "Resharding",
    "Role",
    "ShardedGraph",
    "ShardedSchedule",
    "Strategy",
]
