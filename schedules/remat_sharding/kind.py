"""Kind of sharded schedules: their files, with names of strategies and operations on nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.schedules.core.schedule_kind import ScheduleKind
from jettison.schedules.remat_graph.kind import read_operations
from jettison.schedules.remat_sharding.schedule import ShardedSchedule


def _write(schedule: ShardedSchedule, sharded: ShardedGraph) -> dict[str, object]:
    return {
        "strategies": [
            operator.strategies[place].name
            for operator, place in zip(sharded.operators, schedule.strategies, strict=True)
        ],
        "operations": [
            [str(item.kind), sharded.operators[item.node].name] for item in schedule.operations
        ],
    }


def _read(document: Mapping[str, Any], sharded: ShardedGraph) -> ShardedSchedule:
    names = document["strategies"]
    if len(names) != len(sharded):
        raise InputError(
            f"{len(names)} entries",
            field="strategies",
            expected=f"name a strategy for each of the {len(sharded)} operators",
        )
    strategies = []
    for position, (name, operator) in enumerate(zip(names, sharded.operators, strict=True)):
        known = [strategy.name for strategy in operator.strategies]
        if name not in known:
            raise InputError(
                f"{name!r} is not a strategy of {operator.name!r}",
                field=f"strategies[{position}]",
                expected=f"write one of {', '.join(known)}",
            )
        strategies.append(known.index(name))
    operations = read_operations(document["operations"], sharded.position_of, sharded.name)
    return ShardedSchedule(tuple(strategies), operations)


SHARDED_SCHEDULE = ScheduleKind(
    name=ShardedSchedule.kind,
    schedule=ShardedSchedule,
    instance=ShardedGraph.kind,
    write=_write,
    read=_read,
)
