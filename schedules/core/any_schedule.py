"""The kinds of schedules that there are, as one type."""

from __future__ import annotations

from jettison.schedules.multi_model.schedule import MultiModelSchedule
from jettison.schedules.remat_chain.schedule import ChainSchedule
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.schedules.remat_offload.schedule import OffloadSchedule
from jettison.schedules.remat_sharding.schedule import ShardedSchedule
from jettison.schedules.sharding.strategy_choice import StrategyChoice
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule

Schedule = (
    ChainSchedule
    | OffloadSchedule
    | GraphSchedule
    | CyclicSchedule
    | ShardedSchedule
    | StrategyChoice
    | MultiModelSchedule
)
