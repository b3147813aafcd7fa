"""Kind of training schedules: their files, in which an event is ``["prefetch", "w", 3, 1200]``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.schedule_kind import ScheduleKind
from jettison.schedules.remat_chain.kind import checked_stage
from jettison.schedules.training_chain.event import StageTensor, TrainingEvent, TrainingEventKind
from jettison.schedules.training_chain.schedule import TrainingSchedule


def _write(schedule: TrainingSchedule, _: Chain) -> dict[str, object]:
    return {"period_ns": schedule.period_ns, "events": [_written(e) for e in schedule.events]}


def _written(event: TrainingEvent) -> list[object]:
    tensor = [] if event.tensor is None else [str(event.tensor)]
    return [str(event.kind), *tensor, event.stage, event.start_ns]


def _read(document: Mapping[str, Any], chain: Chain) -> TrainingSchedule:
    return TrainingSchedule(
        document["period_ns"],
        tuple(
            _read_event(f"events[{position}]", entry, len(chain))
            for position, entry in enumerate(document["events"])
        ),
    )


def _read_event(field: str, entry: list[Any], stages: int) -> TrainingEvent:
    kind = TrainingEventKind(entry[0])
    expected = 3 if kind.is_computation else 4
    if len(entry) != expected:
        what = "no tensor" if kind.is_computation else "a tensor"
        raise InputError(
            f"{len(entry)} entries for {kind}",
            field=field,
            expected=f"write the kind, {what}, the number of the stage and the start in ns",
        )
    *_, stage, start_ns = entry
    return TrainingEvent(
        kind,
        checked_stage(f"{field}[{expected - 2}]", stage, least=1, most=stages),
        start_ns,
        None if kind.is_computation else StageTensor(entry[1]),
    )


TRAINING_SCHEDULE = ScheduleKind(
    name=TrainingSchedule.kind,
    schedule=TrainingSchedule,
    instance=Chain.kind,
    write=_write,
    read=_read,
)
