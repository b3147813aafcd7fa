"""The kinds of schedules that there are, as one type."""

from __future__ import annotations

from jettison.schedules.chain_schedule import ChainSchedule
from jettison.schedules.cyclic_schedule import CyclicSchedule
from jettison.schedules.graph_schedule import GraphSchedule
from jettison.schedules.multi_model_schedule import MultiModelSchedule
from jettison.schedules.offload_schedule import OffloadSchedule
from jettison.schedules.sharded_schedule import ShardedSchedule
from jettison.schedules.strategy_choice import StrategyChoice

Schedule = (
    ChainSchedule
    | OffloadSchedule
    | GraphSchedule
    | CyclicSchedule
    | ShardedSchedule
    | StrategyChoice
    | MultiModelSchedule
)
