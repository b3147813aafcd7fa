"""Kind of graphs: their files, and the facts that are shown of one."""

from __future__ import annotations

from jettison.instances.core.instance_kind import Facts, InstanceKind
from jettison.instances.remat_graph.graph import Graph


def _facts(graph: Graph) -> Facts:
    return {
        "base_time_ns": graph.base_time_ns,
        "store_all_peak_bytes": graph.store_all_peak_bytes,
        "nodes": len(graph),
        "edges": sum(len(inputs) for inputs in graph.inputs),
        "least_peak_bound_bytes": graph.least_peak_bound_bytes,
    }


GRAPH = InstanceKind(name=Graph.kind, read=Graph.from_json, facts=_facts)
