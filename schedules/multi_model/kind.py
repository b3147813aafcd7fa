"""Kind of multi-model schedules: their files, with training units of operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jettison.instances.multi_model.instance import MultiModel
from jettison.schedules.core.schedule_kind import ScheduleKind
from jettison.schedules.multi_model.schedule import MultiModelSchedule
from jettison.schedules.multi_model.units_text import read_units, write_units


def _write(schedule: MultiModelSchedule, instance: MultiModel) -> dict[str, object]:
    return {"units": write_units(schedule, instance)}


def _read(document: Mapping[str, Any], instance: MultiModel) -> MultiModelSchedule:
    return read_units(document["units"], instance)


MULTI_MODEL_SCHEDULE = ScheduleKind(
    name=MultiModelSchedule.kind,
    schedule=MultiModelSchedule,
    instance=MultiModel.kind,
    write=_write,
    read=_read,
)
