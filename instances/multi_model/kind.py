"""Kind of multi-model instances: their files, and the facts that are shown of one."""

from __future__ import annotations

from jettison.instances.core.instance_kind import Facts, InstanceKind
from jettison.instances.core.json_file import rows_text
from jettison.instances.core.units import exact_bytes, format_bytes, format_ns
from jettison.instances.multi_model.instance import MultiModel


def _facts(instance: MultiModel) -> Facts:
    every = instance.architectures
    return {
        "models": sum(item.models for item in every),
        **({"architectures": len(every)} if instance.others else {}),
        "forward_operators": sum(len(item.forward) for item in every),
        "backward_operators": sum(len(item.backward) for item in every),
        "feature_maps": sum(len(item.feature_maps) for item in every),
        "bandwidth_bytes_per_s": instance.bandwidth,
    }


def _profiles(instance: MultiModel) -> list[dict[str, int | str]]:
    """Return the time and memory of each number of fused models, architecture by architecture."""
    return [
        {
            **({"architecture": item.name, "of": item.models} if instance.others else {}),
            "models": array.models,
            "compute_ns": array.compute_ns,
            "store_all_peak_bytes": array.store_all_peak_bytes,
            "feature_map_bytes": array.idle_bytes,
            "static_bytes": array.static_bytes,
            "largest_peak_bytes": array.largest_peak_bytes,
        }
        for item in instance.architectures
        for array in map(item.fused, item.sizes)
    ]


def _profile_rows(instance: MultiModel) -> list[tuple[str, str]]:
    return [
        (
            f"{array.models} fused" + (f" of {item.name}" if instance.others else ""),
            f"{format_ns(array.compute_ns)}, no-saving peak "
            f"{exact_bytes(array.store_all_peak_bytes)}, feature maps "
            f"{format_bytes(array.idle_bytes)}, static "
            f"{format_bytes(array.static_bytes)}, largest operator "
            f"{format_bytes(array.largest_peak_bytes)}",
        )
        for item in instance.architectures
        for array in map(item.fused, item.sizes)
    ]


MULTI_MODEL = InstanceKind(
    name=MultiModel.kind,
    read=MultiModel.from_json,
    facts=_facts,
    parts=lambda instance: {"profiles": _profiles(instance)},
    part_rows=_profile_rows,
    noun="operators",
    text=rows_text,
)
