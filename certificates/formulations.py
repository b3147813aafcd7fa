"""Registry of the formulations that the checker knows, by problem, name and version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from .claim import Claim
from .errors import CertificateError
from .header_fields import Fields, integer_field, text_field
from .remat_chain.chain_cut import chain_cut
from .remat_graph.memory_floor import graph_memory_floor
from .remat_graph.windowed_frontier import windowed_frontier
from .remat_offload.memory_floor import offload_memory_floor
from .remat_sharding.kiwi_reduced_compact import kiwi_reduced_compact
from .remat_sharding.memory_floor import sharded_memory_floor
from .remat_sharding.strategies_only import sharding_only
from .sharding.strategy_choice import strategy_choice
from .stated_model import StatedModel
from .three_partition.partition_model import three_partition_assignment, three_partition_triples
from .training_chain.training_cycle import training_cycle
from .training_chain.training_peak import training_peak
from .weight_offload.aggregated import weight_offload_aggregated
from .weight_offload.cover import weight_cover
from .weight_offload.paper import weight_offload_milp

Builder = Callable[[Fields, Fields, Fields], StatedModel]

FORMULATIONS: Mapping[tuple[str, str, int], Builder] = MappingProxyType(
    {
        ("remat-chain", "chain-cut", 1): chain_cut,
        ("remat-graph", "memory-floor", 1): graph_memory_floor,
        ("remat-graph", "windowed-frontier", 1): windowed_frontier,
        ("remat-offload-chain", "memory-floor", 1): offload_memory_floor,
        ("remat-sharding", "kiwi-reduced-compact", 1): kiwi_reduced_compact,
        ("remat-sharding", "memory-floor", 1): sharded_memory_floor,
        ("remat-sharding", "sharding-only", 1): sharding_only,
        ("sharding", "strategy-choice", 1): strategy_choice,
        ("three-partition", "assignment", 1): three_partition_assignment,
        ("three-partition", "triples", 1): three_partition_triples,
        ("training-chain", "cycle", 1): training_cycle,
        ("training-chain", "peak", 1): training_peak,
        ("weight-offload", "aggregated", 1): weight_offload_aggregated,
        ("weight-offload", "cover", 1): weight_cover,
        ("weight-offload", "milp", 1): weight_offload_milp,
    }
)


def formulation_key(claim: Claim) -> tuple[str, str, int]:
    """Return the problem, the formulation's name and its version.

    Raises
    ------
    CertificateError
        If the formulation has no name or no version.
    """
    name = text_field(claim.formulation, "name")
    version = integer_field(claim.formulation, "version", least=1)
    return claim.problem, name, version


def stated_model(claim: Claim) -> StatedModel:
    """Build the model that a claim rests on.

    Raises
    ------
    CertificateError
        If there is no such formulation of the problem, or the instance, the resources or the
        options do not fit it.
    """
    key = formulation_key(claim)
    builder = FORMULATIONS.get(key)
    if builder is None:
        raise CertificateError(
            f"{claim.problem[:60]} has no formulation {key[1][:60]!r} of version {key[2]}"
        )
    options = {
        field: value
        for field, value in claim.formulation.items()
        if field not in {"name", "version"}
    }
    return builder(claim.instance, claim.resources, options)
