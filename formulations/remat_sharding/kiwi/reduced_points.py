"""Translation between points and plans that `KiwiReduced` and `KiwiReducedCompact` share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from jettison.formulations.remat_sharding.kiwi.columns import chosen_strategies, strategies_of_plan
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.schedules.remat_sharding.reduced_recomputation import ReducedRecomputation
from jettison.schedules.remat_sharding.schedule import ShardedSchedule


def schedule_of_reduced(sharded: ShardedGraph, values: Mapping[str, float]) -> ShardedSchedule:
    """Return the plan of a point: its columns ``s_i_k`` and ``m_i`` by name."""
    moments = ReducedRecomputation(sharded)
    # A column that no row needs is not in the model that is solved.
    again = [i for i in moments.recomputable if values.get(f"m_{i}", 1) < 0.5]
    return ShardedSchedule(chosen_strategies(sharded, values), moments.operations(again))


def point_of_reduced(sharded: ShardedGraph, plan: ShardedSchedule) -> dict[str, float]:
    """Return the values of the columns ``s_i_k`` and ``m_i`` for a plan of the reduced problem."""
    values = strategies_of_plan(sharded, plan.strategies)
    times = Counter(plan.computations)
    for i in ReducedRecomputation(sharded).recomputable:
        values[f"m_{i}"] = float(times[i] == 1)
    return values
