"""Kind of cyclic schedules: their files, in which an event is ``["prefetch", 3, 1200]``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.schedule_kind import ScheduleKind
from jettison.schedules.remat_chain.kind import checked_stage
from jettison.schedules.weight_offload.cyclic_event import CyclicEvent, CyclicEventKind
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule


def _write(schedule: CyclicSchedule, _: Chain) -> dict[str, object]:
    return {
        "period_ns": schedule.period_ns,
        "events": [[str(item.kind), item.layer, item.start_ns] for item in schedule.events],
    }


def _read(document: Mapping[str, Any], chain: Chain) -> CyclicSchedule:
    return CyclicSchedule(
        document["period_ns"],
        tuple(
            CyclicEvent(
                CyclicEventKind(kind),
                checked_stage(f"events[{position}][1]", layer, least=1, most=len(chain)),
                start_ns,
            )
            for position, (kind, layer, start_ns) in enumerate(document["events"])
        ),
    )


CYCLIC_SCHEDULE = ScheduleKind(
    name=CyclicSchedule.kind,
    schedule=CyclicSchedule,
    instance=Chain.kind,
    write=_write,
    read=_read,
)
