"""Pipelines of devices: the problem, and its schedules in 1F1B order."""

from jettison.instances.core.link import Link
from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.schedules.pipeline_chain.schedule import DevicePlan, PipelineSchedule
from jettison.schedules.remat_chain.schedule import ChainOperation, ChainOperationKind

__all__ = [
    "Chain",
    "ChainOperation",
    "ChainOperationKind",
    "DevicePlan",
    "Link",
    "PipelineChain",
    "PipelineSchedule",
    "Stage",
]
