"""Kinds of sharded graphs and their recipes: their files, and the facts that are shown of one."""

from __future__ import annotations

from typing import Any

from jettison.instances.core.instance_kind import Facts, InstanceKind
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.instances.tensor_programs.program_on_mesh import ProgramOnMesh


def _facts(graph: ShardedGraph) -> Facts:
    return {
        "mesh": "x".join(map(str, graph.mesh)) or "unknown",
        "operators": len(graph),
        "parameters": len(graph.parameters),
        "choices": len(graph.groups),
        "most_strategies": max(len(item.strategies) for item in graph.operators),
        "edges": sum(len(inputs) for inputs in graph.inputs),
        "base_time_ns": graph.base_time_ns,
        "least_peak_bound_bytes": graph.least_peak_bound_bytes,
    }


def _read_program(document: Any) -> ShardedGraph:
    return ProgramOnMesh.from_json(document).sharded_graph()


SHARDED_GRAPH = InstanceKind(
    name=ShardedGraph.kind, read=ShardedGraph.from_json, facts=_facts, noun="operators"
)
# A sharded graph that is kept as what it is made from.
PROGRAM_ON_MESH = InstanceKind(
    name=ProgramOnMesh.kind, read=_read_program, facts=_facts, noun="operators"
)
