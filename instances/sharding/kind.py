"""Kind of strategy graphs: their files, and the facts that are shown of one."""

from __future__ import annotations

from jettison.instances.core.instance_kind import Facts, InstanceKind
from jettison.instances.sharding.strategy_graph import StrategyGraph


def _facts(graph: StrategyGraph) -> Facts:
    facts = {
        "nodes": len(graph),
        "edges": len(graph.edges),
        "strategies": sum(map(len, graph.nodes)),
        "pairs": sum(len(edge.costs_ns) for edge in graph.edges),
        "forbidden_pairs": sum(edge.costs_ns.count(None) for edge in graph.edges),
        "base_time_ns": graph.base_time_ns,
        "cheapest_peak_bytes": graph.store_all_peak_bytes,
        "least_peak_bound_bytes": graph.least_peak_bound_bytes,
    }
    if graph.usage_limit_bytes is not None:
        facts["usage_limit_bytes"] = graph.usage_limit_bytes
    return facts


STRATEGY_GRAPH = InstanceKind(name=StrategyGraph.kind, read=StrategyGraph.from_json, facts=_facts)
