"""`jettison show`: one instance, in numbers."""

from __future__ import annotations

from jettison.cli.arguments import InstanceName, JsonOption
from jettison.cli.output import print_json, print_pairs
from jettison.instances.catalog import Instance, load
from jettison.instances.chain import Chain
from jettison.instances.sharded_graph import ShardedGraph
from jettison.instances.strategy_graph import StrategyGraph
from jettison.instances.three_partition import ThreePartition
from jettison.instances.units import format_bytes, format_ns
from jettison.instances.value_triples import value_triples
from jettison.instances.weight_cycle import WeightCycle


def show(instance: InstanceName, json: JsonOption = False) -> None:
    """Show an instance: times, memory, where it comes from."""
    loaded = load(instance)
    if json:
        print_json(_facts(loaded) | {"provenance": loaded.provenance.to_json()})
        return
    rows = [(name, _written(name, value)) for name, value in _facts(loaded).items()]
    origin = loaded.provenance.to_json()
    origin.pop("spread", None)
    rows += [(name, str(value)) for name, value in origin.items()]
    print_pairs(rows)


def _facts(instance: Instance) -> dict[str, str | int]:
    if isinstance(instance, ThreePartition):
        return {
            "name": instance.name,
            "kind": instance.kind,
            "sha256": instance.sha256,
            "groups": instance.groups,
            "target": instance.target,
            "distinct_values": len(set(instance.values)),
            "triples": len(value_triples(instance.values, instance.target)),
            "answer": instance.answer or "unknown",
            "family": instance.generated.family if instance.generated else "unknown",
        }
    if isinstance(instance, ShardedGraph):
        return {
            "name": instance.name,
            "kind": instance.kind,
            "sha256": instance.sha256,
            "mesh": "x".join(map(str, instance.mesh)) or "unknown",
            "operators": len(instance),
            "parameters": len(instance.parameters),
            "choices": len(instance.groups),
            "most_strategies": max(len(item.strategies) for item in instance.operators),
            "edges": sum(len(inputs) for inputs in instance.inputs),
            "base_time_ns": instance.base_time_ns,
            "least_peak_bound_bytes": instance.least_peak_bound_bytes,
        }
    if isinstance(instance, StrategyGraph):
        return {
            "name": instance.name,
            "kind": instance.kind,
            "sha256": instance.sha256,
            "nodes": len(instance),
            "edges": len(instance.edges),
            "strategies": sum(map(len, instance.nodes)),
            "pairs": sum(len(edge.costs_ns) for edge in instance.edges),
            "forbidden_pairs": sum(edge.costs_ns.count(None) for edge in instance.edges),
            "base_time_ns": instance.base_time_ns,
            "cheapest_peak_bytes": instance.store_all_peak_bytes,
            "least_peak_bound_bytes": instance.least_peak_bound_bytes,
            **(
                {}
                if instance.usage_limit_bytes is None
                else {"usage_limit_bytes": instance.usage_limit_bytes}
            ),
        }
    facts: dict[str, str | int] = {
        "name": instance.name,
        "kind": instance.kind,
        "sha256": instance.sha256,
        "base_time_ns": instance.base_time_ns,
        "store_all_peak_bytes": instance.store_all_peak_bytes,
    }
    if isinstance(instance, Chain):
        facts["stages"] = len(instance)
        facts["recompute_all_peak_bytes"] = instance.recompute_all_peak_bytes
        facts["input_bytes"] = instance.input_bytes
        cycle = WeightCycle(instance)
        facts["weight_bytes"] = cycle.total_weight_bytes
        if cycle.total_weight_bytes:
            facts["all_weights_peak_bytes"] = cycle.no_offload_peak_bytes
            facts["offloaded_weights_peak_bytes"] = cycle.least_memory_bytes
    else:
        facts["nodes"] = len(instance)
        facts["edges"] = sum(len(inputs) for inputs in instance.inputs)
        facts["least_peak_bound_bytes"] = instance.least_peak_bound_bytes
    return facts


def _written(name: str, value: str | int) -> str:
    if name.endswith("_bytes"):
        return f"{format_bytes(int(value))} ({value} bytes)"
    if name.endswith("_ns"):
        return f"{format_ns(int(value))} ({value} ns)"
    return str(value)
