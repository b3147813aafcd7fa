"""Sharding without a limit on memory: the model of `sharding_rows`, and nothing else.

Every operator is computed once. Its optimum is a lower bound on the time of every schedule in every
memory, and its point the fastest plan that shares of memory refer to.
"""

from __future__ import annotations

from jettison.formulations.array_model import ArrayModel
from jettison.formulations.array_model_builder import ArrayModelBuilder
from jettison.formulations.sharding_rows import ShardingRows
from jettison.instances.sharded_graph import ShardedGraph


def sharding_only(sharded: ShardedGraph) -> ArrayModel:
    """Return the model; it counts in `time_scale` of the graph."""
    builder = ArrayModelBuilder("sharding_only")
    ShardingRows(sharded, builder)
    return builder.build()
