"""Kind of addressed schedules: their files, operations and an address for every buffer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.core.schedule_kind import ScheduleKind
from jettison.schedules.remat_arena.schedule import AddressedSchedule
from jettison.schedules.remat_graph.kind import read_operations


def _write(schedule: AddressedSchedule, graph: Graph) -> dict[str, object]:
    return {
        "alignment_bytes": schedule.alignment_bytes,
        "operations": [
            [str(item.kind), graph.nodes[item.node].name] for item in schedule.operations
        ],
        "value_offsets": list(schedule.value_offsets),
        "workspace_offsets": list(schedule.workspace_offsets),
    }


def _read(document: Mapping[str, Any], graph: Graph) -> AddressedSchedule:
    return AddressedSchedule(
        read_operations(document["operations"], graph.position_of, graph.name),
        tuple(document["value_offsets"]),
        tuple(document["workspace_offsets"]),
        document["alignment_bytes"],
    )


ADDRESSED_SCHEDULE = ScheduleKind(
    name=AddressedSchedule.kind,
    schedule=AddressedSchedule,
    instance=Graph.kind,
    write=_write,
    read=_read,
)
