r"""Fastest strategies of a sharded graph without a memory limit, in exact integers.

The model of `formulations/remat_sharding/strategies_only.py`: every operator is computed once, and
costs what its strategy and the resharding of its inputs cost. Columns and rows are those of
`strategy_columns`. Every plan of the graph, in any memory, chooses strategies and computes every
operator at least once: its time is at least that of this point. The only resource, which the model
does not use, is the memory that the bound is asked for.

Version 1. No options.
"""

from __future__ import annotations

from ..header_fields import Fields, integer_field, only_fields
from ..integer_model import IntegerModel
from ..stated_model import StatedModel
from .given_sharded_graph import GivenShardedGraph
from .strategy_columns import StrategyColumns


def sharding_only(instance: Fields, resources: Fields, options: Fields) -> StatedModel:
    """Build the model; linear in the size of all tables.

    Raises
    ------
    CertificateError
        If the instance is no sharded graph, or there are options.
    """
    only_fields(resources, {"memory_bytes"}, "resources")
    only_fields(options, set(), "the formulation")
    integer_field(resources, "memory_bytes")
    sharded = GivenShardedGraph.from_json(instance)
    model = IntegerModel()
    StrategyColumns(model, sharded, [1] * len(sharded))
    return StatedModel(model, "all schedules")
