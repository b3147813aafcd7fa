"""Kind of chains: their files, and the facts that are shown of one."""

from __future__ import annotations

from jettison.instances.core.instance_kind import Facts, InstanceKind
from jettison.instances.remat_chain.chain import Chain


def _facts(chain: Chain) -> Facts:
    return {
        "base_time_ns": chain.base_time_ns,
        "store_all_peak_bytes": chain.store_all_peak_bytes,
        "stages": len(chain),
        "recompute_all_peak_bytes": chain.recompute_all_peak_bytes,
        "input_bytes": chain.input_bytes,
    }


CHAIN = InstanceKind(
    name=Chain.kind,
    read=Chain.from_json,
    facts=_facts,
    noun="stages",
    part_names=lambda chain: [stage.name for stage in chain.stages],
)
