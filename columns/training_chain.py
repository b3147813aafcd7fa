"""One budget: a chain trained within a memory that holds all of its tensors."""

from jettison.instances.core.link import Link
from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.training_chain.problem import TrainingChain
from jettison.schedules.training_chain.event import (
    StageTensor,
    TrainingEvent,
    TrainingEventKind,
)
from jettison.schedules.training_chain.schedule import TrainingSchedule
from jettison.schedules.training_chain.training_verdict import MemoryKind, TrainingVerdict

__all__ = [
    "Chain",
    "Link",
    "MemoryKind",
    "Stage",
    "StageTensor",
    "TrainingChain",
    "TrainingEvent",
    "TrainingEventKind",
    "TrainingSchedule",
    "TrainingVerdict",
]
