"""Kind of offload schedules: their files, in which a transfer is ``["O_all", 3]``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.schedule_kind import ScheduleKind
from jettison.schedules.remat_chain.kind import CHAIN_KINDS, check_stages
from jettison.schedules.remat_chain.schedule import ChainOperation
from jettison.schedules.remat_offload.schedule import OffloadSchedule
from jettison.schedules.remat_offload.transfer_operation import (
    TransferOperation,
    TransferOperationKind,
)

_TRANSFER_KINDS = {kind.value: kind for kind in TransferOperationKind}


def _write(schedule: OffloadSchedule, _: Chain) -> dict[str, object]:
    return {"operations": [[str(item.kind), item.stage] for item in schedule.operations]}


def _read(document: Mapping[str, Any], chain: Chain) -> OffloadSchedule:
    # A drop is one of the transfers: it says which of the two tensors of a stage goes.
    operations = tuple(
        TransferOperation(_TRANSFER_KINDS[kind], stage)
        if kind in _TRANSFER_KINDS
        else ChainOperation(CHAIN_KINDS[kind], stage)
        for kind, stage in document["operations"]
    )
    check_stages(operations, chain)
    return OffloadSchedule(operations)


OFFLOAD_SCHEDULE = ScheduleKind(
    name=OffloadSchedule.kind,
    schedule=OffloadSchedule,
    instance=Chain.kind,
    write=_write,
    read=_read,
)
