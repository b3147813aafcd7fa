"""Offload the weights of a chain: the problem, and schedules that repeat."""

from jettison.instances.core.link import Link
from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.weight_offload.cyclic_event import CyclicEvent, CyclicEventKind
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule

__all__ = [
    "Chain",
    "CyclicEvent",
    "CyclicEventKind",
    "CyclicSchedule",
    "Link",
    "Stage",
    "WeightOffload",
]
