"""Kind of graph schedules with transfers: their files; a transfer is ``["offload", "conv1"]``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.core.schedule_kind import ScheduleKind
from jettison.schedules.remat_graph.schedule import GraphOperation, GraphOperationKind
from jettison.schedules.remat_offload_graph.schedule import OffloadGraphSchedule
from jettison.schedules.remat_offload_graph.value_transfer import (
    ValueTransfer,
    ValueTransferKind,
)


def _write(schedule: OffloadGraphSchedule, graph: Graph) -> dict[str, object]:
    return {
        "operations": [
            [str(item.kind), graph.nodes[item.node].name] for item in schedule.operations
        ]
    }


def _read(document: Mapping[str, Any], graph: Graph) -> OffloadGraphSchedule:
    found: list[GraphOperation | ValueTransfer] = []
    for position, (kind, name) in enumerate(document["operations"]):
        if name not in graph.position_of:
            raise InputError(
                f"{name!r} is not a node of {graph.name}",
                field=f"operations[{position}][1]",
                expected="name a node of the instance",
            )
        node = graph.position_of[name]
        if kind in set(ValueTransferKind):
            found.append(ValueTransfer(ValueTransferKind(kind), node))
        else:
            found.append(GraphOperation(GraphOperationKind(kind), node))
    return OffloadGraphSchedule(tuple(found))


OFFLOAD_GRAPH_SCHEDULE = ScheduleKind(
    name=OffloadGraphSchedule.kind,
    schedule=OffloadGraphSchedule,
    instance=Graph.kind,
    write=_write,
    read=_read,
)
