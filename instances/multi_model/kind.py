"""Kind of multi-model instances: their files, and the facts that are shown of one."""

from __future__ import annotations

from jettison.instances.core.instance_kind import Facts, InstanceKind
from jettison.instances.core.json_file import rows_text
from jettison.instances.core.units import exact_bytes, format_bytes, format_ns
from jettison.instances.multi_model.instance import MultiModel


def _facts(instance: MultiModel) -> Facts:
    return {
        "models": instance.models,
        "forward_operators": len(instance.forward),
        "backward_operators": len(instance.backward),
        "feature_maps": len(instance.feature_maps),
        "bandwidth_bytes_per_s": instance.bandwidth,
    }


def _profiles(instance: MultiModel) -> list[dict[str, int]]:
    """Return the time and memory of each number of fused models."""
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


def _profile_rows(instance: MultiModel) -> list[tuple[str, str]]:
    return [
        (
            f"{profile['models']} fused",
            f"{format_ns(profile['compute_ns'])}, no-saving peak "
            f"{exact_bytes(profile['store_all_peak_bytes'])}, feature maps "
            f"{format_bytes(profile['feature_map_bytes'])}, static "
            f"{format_bytes(profile['static_bytes'])}, largest operator "
            f"{format_bytes(profile['largest_peak_bytes'])}",
        )
        for profile in _profiles(instance)
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
