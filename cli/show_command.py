"""`jettison show`: one instance, in numbers."""

from __future__ import annotations

from jettison.cli.arguments import InstanceName, JsonOption
from jettison.cli.describe import size, span
from jettison.cli.output import print_json, print_pairs
from jettison.instances.catalog import Instance, load
from jettison.instances.core.link import Link
from jettison.instances.core.units import format_bytes, format_ns
from jettison.instances.multi_model.instance import MultiModel
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.instances.sharding.strategy_graph import StrategyGraph
from jettison.instances.three_partition.instance import ThreePartition
from jettison.instances.three_partition.value_triples import value_triples
from jettison.instances.weight_offload.cycle import WeightCycle


def show(instance: InstanceName, json: JsonOption = False) -> None:
    """Show an instance: times, memory, where it comes from."""
    loaded = load(instance)
    if json:
        profiles = {"profiles": _profiles(loaded)} if isinstance(loaded, MultiModel) else {}
        print_json({**_facts(loaded), **profiles, "provenance": loaded.provenance.to_json()})
        return
    rows = [(name, _written(name, value)) for name, value in _facts(loaded).items()]
    if isinstance(loaded, MultiModel):
        rows += [
            (
                f"{profile['models']} fused",
                f"{format_ns(profile['compute_ns'])}, no-saving peak "
                f"{_written('_bytes', profile['store_all_peak_bytes'])}, feature maps "
                f"{format_bytes(profile['feature_map_bytes'])}, static "
                f"{format_bytes(profile['static_bytes'])}, largest operator "
                f"{format_bytes(profile['largest_peak_bytes'])}",
            )
            for profile in _profiles(loaded)
        ]
    origin = loaded.provenance.to_json()
    origin.pop("spread", None)
    rows += [(name, _plain(value)) for name, value in origin.items()]
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
    if isinstance(instance, MultiModel):
        return {
            "name": instance.name,
            "kind": instance.kind,
            "sha256": instance.sha256,
            "models": instance.models,
            "forward_operators": len(instance.forward),
            "backward_operators": len(instance.backward),
            "feature_maps": len(instance.feature_maps),
            "bandwidth_bytes_per_s": instance.bandwidth,
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


def _profiles(instance: MultiModel) -> list[dict[str, int]]:
    """Say what so many fused models take, for each number that may be fused."""
    arrays = (instance.sub_array(size) for size in instance.sizes)
    return [
        {
            "models": array.models,
            "compute_ns": array.compute_ns,
            "store_all_peak_bytes": array.store_all_peak_bytes,
            "feature_map_bytes": array.idle_bytes,
            "static_bytes": array.static_bytes,
            "largest_peak_bytes": array.largest_peak_bytes,
        }
        for array in arrays
    ]


def _written(name: str, value: str | int) -> str:
    if name.endswith("_bytes"):
        return size(int(value))
    if name.endswith("_bytes_per_s"):
        return f"{Link(int(value))} ({value} bytes per second)"
    if name.endswith("_ns"):
        return span(int(value))
    return str(value)


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(entry)}" for name, entry in value.items())
    if isinstance(value, list):
        return "x".join(map(str, value))
    return str(value)
