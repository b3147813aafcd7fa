"""Kind of graph schedules: their files, in which an operation is ``["compute", "conv1"]``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.core.schedule_kind import ScheduleKind
from jettison.schedules.remat_graph.schedule import (
    GraphOperation,
    GraphOperationKind,
    GraphSchedule,
)


def _write(schedule: GraphSchedule, graph: Graph) -> dict[str, object]:
    return {
        "operations": [
            [str(item.kind), graph.nodes[item.node].name] for item in schedule.operations
        ]
    }


def _read(document: Mapping[str, Any], graph: Graph) -> GraphSchedule:
    return GraphSchedule(read_operations(document["operations"], graph.position_of, graph.name))


def read_operations(
    entries: list[list[Any]], position_of: Mapping[str, int], graph: str
) -> tuple[GraphOperation, ...]:
    """Return the operations of a file on nodes, given by name, of the graph of a name.

    Raises
    ------
    InputError
        If the graph has no node of a name.
    """
    for position, (_, name) in enumerate(entries):
        if name not in position_of:
            raise InputError(
                f"{name!r} is not a node of {graph}",
                field=f"operations[{position}][1]",
                expected="name a node of the instance",
            )
    return tuple(
        GraphOperation(GraphOperationKind(kind), position_of[name]) for kind, name in entries
    )


GRAPH_SCHEDULE = ScheduleKind(
    name=GraphSchedule.kind,
    schedule=GraphSchedule,
    instance=Graph.kind,
    write=_write,
    read=_read,
)
