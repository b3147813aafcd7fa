"""Recompute and offload on a chain: the problem, and schedules with transfers to the host."""

from jettison.instances.core.link import Link, Transfers
from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.schedules.remat_offload.schedule import OffloadSchedule
from jettison.schedules.remat_offload.transfer_operation import (
    TransferOperation,
    TransferOperationKind,
)

__all__ = [
    "Chain",
    "Link",
    "OffloadSchedule",
    "RematOffloadChain",
    "Stage",
    "TransferOperation",
    "TransferOperationKind",
    "Transfers",
]
