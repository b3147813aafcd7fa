"""Kind of chain schedules: their files, in which an operation is ``["F_all", 3]``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from jettison.instances.core.errors import InputError
from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.schedule_kind import ScheduleKind
from jettison.schedules.remat_chain.schedule import (
    ChainOperation,
    ChainOperationKind,
    ChainSchedule,
)

CHAIN_KINDS = {kind.value: kind for kind in ChainOperationKind}


def _write(schedule: ChainSchedule, _: Chain) -> dict[str, object]:
    return {"operations": [[str(item.kind), item.stage] for item in schedule.operations]}


def _read(document: Mapping[str, Any], chain: Chain) -> ChainSchedule:
    operations = tuple(
        ChainOperation(CHAIN_KINDS[kind], stage) for kind, stage in document["operations"]
    )
    check_stages(operations, chain)
    return ChainSchedule(operations)


class OnStage(Protocol):
    """Protocol of operations on a stage of a chain, computations and transfers alike."""

    @property
    def stage(self) -> int:
        """The stage."""
        ...

    @property
    def least_stage(self) -> int:
        """Least number of a stage that the operation may name."""
        ...


def check_stages(operations: Sequence[OnStage], chain: Chain) -> None:
    """Check that a chain has the stages of operations that were read from a file.

    Raises
    ------
    InputError
        If it does not; the field is that of the file.
    """
    for position, item in enumerate(operations):
        field = f"operations[{position}][1]"
        checked_stage(field, item.stage, least=item.least_stage, most=len(chain))


def checked_stage(field: str, stage: int, *, least: int, most: int) -> int:
    """Return a stage that was read from a field of a file.

    Raises
    ------
    InputError
        If it is out of range.
    """
    if not least <= stage <= most:
        raise InputError(
            f"{stage} is not a stage",
            field=field,
            expected=f"write a stage from {least} to {most}",
        )
    return stage


CHAIN_SCHEDULE = ScheduleKind(
    name=ChainSchedule.kind,
    schedule=ChainSchedule,
    instance=Chain.kind,
    write=_write,
    read=_read,
)
