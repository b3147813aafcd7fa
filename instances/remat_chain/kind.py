"""Kind of chains: their files, and the facts that are shown of one."""

from __future__ import annotations

from jettison.instances.core.instance_kind import Facts, InstanceKind
from jettison.instances.remat_chain.chain import Chain


def _facts(chain: Chain) -> Facts:
    facts: dict[str, str | int] = {
        "base_time_ns": chain.base_time_ns,
        "store_all_peak_bytes": chain.store_all_peak_bytes,
        "stages": len(chain),
        "recompute_all_peak_bytes": chain.recompute_all_peak_bytes,
        "input_bytes": chain.input_bytes,
    }
    given = [stage for stage in chain if stage.output_gradient_bytes is not None]
    if given:
        facts["gradients_of_own_size"] = len(given)
        facts["largest_gradient_bytes"] = max(stage.gradient_bytes for stage in chain)
    return facts


CHAIN = InstanceKind(
    name=Chain.kind,
    read=Chain.from_json,
    facts=_facts,
    noun="stages",
    part_names=lambda chain: [stage.name for stage in chain.stages],
)
