"""Offload schedules of tests, written as text."""

from __future__ import annotations

from jettison.schedules.remat_chain.schedule import ChainOperation, ChainOperationKind
from jettison.schedules.remat_offload.schedule import OffloadSchedule
from jettison.schedules.remat_offload.transfer_operation import (
    TransferOperation,
    TransferOperationKind,
)


def sequence(text: str) -> OffloadSchedule:
    """Read a sequence such as ``F_all 1, O_all 1, D_all 1``."""
    operations: list[ChainOperation | TransferOperation] = []
    for word in text.split(","):
        kind, stage = word.split()
        if kind in list(TransferOperationKind):
            operations.append(TransferOperation(TransferOperationKind(kind), int(stage)))
        else:
            operations.append(ChainOperation(ChainOperationKind(kind), int(stage)))
    return OffloadSchedule(tuple(operations))
