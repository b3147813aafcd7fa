"""Kind of multi-model schedules: their files, with training units of operations and a claim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jettison.instances.multi_model.instance import MultiModel
from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.schedules.core.replay import Replay
from jettison.schedules.core.schedule_claim import ScheduleClaim, TransferTimes
from jettison.schedules.core.schedule_kind import ScheduleKind
from jettison.schedules.multi_model.schedule import MultiModelSchedule
from jettison.schedules.multi_model.units_text import read_units, write_units


def _write(schedule: MultiModelSchedule, instance: MultiModel) -> dict[str, object]:
    return {"units": write_units(schedule, instance)}


def _read(document: Mapping[str, Any], instance: MultiModel) -> MultiModelSchedule:
    return read_units(document["units"], instance)


def _claim(problem: MultiModelTraining, replay: Replay) -> ScheduleClaim:
    return ScheduleClaim(
        memory_bytes=problem.memory_bytes,
        link=problem.link,
        transfer_times=TransferTimes.PROFILE
        if problem.has_measured_transfers
        else TransferTimes.LINK,
        models=problem.count,
        time_ns=replay.time_ns,
        peak_bytes=replay.peak_bytes,
    )


MULTI_MODEL_SCHEDULE = ScheduleKind(
    name=MultiModelSchedule.kind,
    schedule=MultiModelSchedule,
    instance=MultiModel.kind,
    write=_write,
    read=_read,
    claim=_claim,
)
