"""Kind of 3-PARTITION instances: their files, and the facts that are shown of one."""

from __future__ import annotations

from jettison.instances.core.instance_kind import Facts, InstanceKind
from jettison.instances.three_partition.instance import ThreePartition
from jettison.instances.three_partition.value_triples import value_triples


def _facts(instance: ThreePartition) -> Facts:
    return {
        "groups": instance.groups,
        "target": instance.target,
        "distinct_values": len(set(instance.values)),
        "triples": len(value_triples(instance.values, instance.target)),
        "answer": instance.answer or "unknown",
        "family": instance.generated.family if instance.generated else "unknown",
    }


THREE_PARTITION = InstanceKind(
    name=ThreePartition.kind, read=ThreePartition.from_json, facts=_facts
)
