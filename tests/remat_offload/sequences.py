"""Offload schedules of tests, written as text."""

from __future__ import annotations

from jettison.remat_chain import ChainOperation, ChainOperationKind
from jettison.remat_offload import OffloadSchedule, TransferOperation, TransferOperationKind


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
