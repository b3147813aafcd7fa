"""Kind of strategy choices: their files, such as ``{"conv1": 2}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.sharding.strategy_graph import StrategyGraph
from jettison.schedules.core.schedule_kind import ScheduleKind
from jettison.schedules.sharding.strategy_choice import StrategyChoice


def _write(schedule: StrategyChoice, graph: StrategyGraph) -> dict[str, object]:
    names = (node.name for node in graph.nodes)
    return {"strategies": dict(zip(names, schedule.strategies, strict=True))}


def _read(document: Mapping[str, Any], graph: StrategyGraph) -> StrategyChoice:
    strategies: dict[str, int] = document["strategies"]
    for name, strategy in strategies.items():
        field = f"strategies[{name!r}]"
        if name not in graph.position_of:
            raise InputError(
                f"{name!r} is not a node of {graph.name}",
                field=field,
                expected="name the nodes of the instance",
            )
        most = len(graph.nodes[graph.position_of[name]]) - 1
        if strategy > most:
            raise InputError(
                f"{strategy} is not a strategy of {name!r}",
                field=field,
                expected=f"write a strategy from 0 to {most}",
            )
    for node in graph.nodes:
        if node.name not in strategies:
            raise InputError(
                f"{node.name!r} has no strategy",
                field="strategies",
                expected="give a strategy for every node",
            )
    return StrategyChoice(tuple(strategies[node.name] for node in graph.nodes))


STRATEGY_CHOICE = ScheduleKind(
    name=StrategyChoice.kind,
    schedule=StrategyChoice,
    instance=StrategyGraph.kind,
    write=_write,
    read=_read,
    noun="choice",
)
