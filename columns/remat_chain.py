"""Recompute on a chain: the instance, the problem, and its schedules."""

from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.remat_chain.problem import RematChain
from jettison.schedules.remat_chain.schedule import (
    ChainOperation,
    ChainOperationKind,
    ChainSchedule,
)

__all__ = [
    "Chain",
    "ChainOperation",
    "ChainOperationKind",
    "ChainSchedule",
    "RematChain",
    "Stage",
]
