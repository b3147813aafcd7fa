"""JSON files of schedules; each names the instance that it is for by its hash."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import check_header, check_schema, read_json, write_json
from jettison.instances.multi_model.instance import MultiModel
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.instances.sharding.strategy_graph import StrategyGraph
from jettison.schedules.core.any_schedule import Schedule
from jettison.schedules.multi_model.schedule import MultiModelSchedule
from jettison.schedules.multi_model.units_text import read_units, write_units
from jettison.schedules.remat_chain.schedule import (
    ChainOperation,
    ChainOperationKind,
    ChainSchedule,
)
from jettison.schedules.remat_graph.schedule import (
    GraphOperation,
    GraphOperationKind,
    GraphSchedule,
)
from jettison.schedules.remat_offload.schedule import OffloadSchedule
from jettison.schedules.remat_offload.transfer_operation import (
    TransferOperation,
    TransferOperationKind,
)
from jettison.schedules.remat_sharding.schedule import ShardedSchedule
from jettison.schedules.sharding.strategy_choice import StrategyChoice
from jettison.schedules.weight_offload.cyclic_event import CyclicEvent, CyclicEventKind
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule

_CHAIN_KINDS = {kind.value: kind for kind in ChainOperationKind}
_TRANSFER_KINDS = {kind.value: kind for kind in TransferOperationKind}
_FILE_KINDS = {
    Chain.kind: ("chain-schedule", "offload-schedule", "cyclic-schedule"),
    Graph.kind: ("graph-schedule",),
    ShardedGraph.kind: ("sharded-schedule",),
    StrategyGraph.kind: ("strategy-choice",),
    MultiModel.kind: ("multi-model-schedule",),
}

Instance = Chain | Graph | ShardedGraph | StrategyGraph | MultiModel


def save_schedule(schedule: Schedule, instance: Instance, path: str | Path) -> None:
    """Write a schedule for an instance; the file appears complete or not at all.

    A chain operation is written as ``["F_all", 3]``, a drop as ``["D", 3]``, a transfer as
    ``["O_all", 3]``, a graph operation as ``["compute", "conv1"]``, an event of a cycle as
    ``["prefetch", 3, 1200]``, a strategy of a sharded graph by its name, a choice of strategies as
    ``{"conv1": 2}``, an operation on the second sub-array of a unit as ``["F2", "conv1"]``.

    Raises
    ------
    InputError
        If the folder does not exist or cannot be written.
    TypeError
        If the schedule is of another kind than the instance.
    """
    content: dict[str, object]
    if isinstance(schedule, CyclicSchedule) and isinstance(instance, Chain):
        kind = "cyclic-schedule"
        content = {
            "period_ns": schedule.period_ns,
            "events": [[str(item.kind), item.layer, item.start_ns] for item in schedule.events],
        }
    elif isinstance(schedule, ChainSchedule | OffloadSchedule) and isinstance(instance, Chain):
        is_offload = isinstance(schedule, OffloadSchedule)
        kind = "offload-schedule" if is_offload else f"{instance.kind}-schedule"
        content = {"operations": [[str(item.kind), item.stage] for item in schedule.operations]}
    elif isinstance(schedule, GraphSchedule) and isinstance(instance, Graph):
        kind = f"{instance.kind}-schedule"
        content = {
            "operations": [
                [str(item.kind), instance.nodes[item.node].name] for item in schedule.operations
            ]
        }
    elif isinstance(schedule, ShardedSchedule) and isinstance(instance, ShardedGraph):
        kind = "sharded-schedule"
        content = {
            "strategies": [
                operator.strategies[place].name
                for operator, place in zip(instance.operators, schedule.strategies, strict=True)
            ],
            "operations": [
                [str(item.kind), instance.operators[item.node].name] for item in schedule.operations
            ],
        }
    elif isinstance(schedule, StrategyChoice) and isinstance(instance, StrategyGraph):
        kind = "strategy-choice"
        names = (node.name for node in instance.nodes)
        content = {"strategies": dict(zip(names, schedule.strategies, strict=True))}
    elif isinstance(schedule, MultiModelSchedule) and isinstance(instance, MultiModel):
        kind = "multi-model-schedule"
        content = {"units": write_units(schedule, instance)}
    else:
        raise TypeError(f"a {type(schedule).__name__} is no schedule for a {instance.kind}")
    write_json(
        {
            "format": "jettison",
            "kind": kind,
            "version": 1,
            "instance": instance.name,
            "instance_sha256": instance.sha256,
            **content,
        },
        Path(path),
    )


def load_schedule(path: str | Path, instance: Instance) -> Schedule:
    """Read a schedule for an instance.

    Raises
    ------
    InputError
        If the file is not a valid schedule file, is for another kind of instance or for another
        instance, or names a stage, node or strategy that the instance does not have.
    """
    source = str(path)
    document = read_json(Path(path))
    check_header(document, dict.fromkeys(_FILE_KINDS[instance.kind], 1), source)
    check_schema(document, "jettison.schedules", f"{document['kind']}.schema.json", source)
    if document["instance_sha256"] != instance.sha256:
        raise InputError(
            f"the schedule is for the instance {document['instance_sha256'][:12]}..., "
            f"not for {instance.name} ({instance.sha256[:12]}...)",
            field="instance_sha256",
            source=source,
            expected="give the instance that the schedule was made for",
        )
    try:
        if isinstance(instance, StrategyGraph):
            return _strategy_choice(document["strategies"], instance)
        if isinstance(instance, MultiModel):
            return read_units(document["units"], instance)
        if isinstance(instance, Graph):
            return GraphSchedule(_graph_operations(document["operations"], instance))
        if isinstance(instance, ShardedGraph):
            return _sharded_schedule(document["strategies"], document["operations"], instance)
        if document["kind"] == "cyclic-schedule":
            return _cyclic_schedule(document["period_ns"], document["events"], instance)
        if document["kind"] == "offload-schedule":
            return _offload_schedule(document["operations"], instance)
        return _chain_schedule(document["operations"], instance)
    except InputError as error:
        raise error.within(source=source) from None


def _chain_schedule(entries: list[list[Any]], chain: Chain) -> ChainSchedule:
    operations = tuple(ChainOperation(_CHAIN_KINDS[kind], stage) for kind, stage in entries)
    _check_stages(operations, chain)
    return ChainSchedule(operations)


def _offload_schedule(entries: list[list[Any]], chain: Chain) -> OffloadSchedule:
    # A drop is one of the transfers: it says which of the two tensors of a stage goes.
    operations = tuple(
        TransferOperation(_TRANSFER_KINDS[kind], stage)
        if kind in _TRANSFER_KINDS
        else ChainOperation(_CHAIN_KINDS[kind], stage)
        for kind, stage in entries
    )
    _check_stages(operations, chain)
    return OffloadSchedule(operations)


def _check_stages(operations: Sequence[ChainOperation | TransferOperation], chain: Chain) -> None:
    for position, item in enumerate(operations):
        field = f"operations[{position}][1]"
        _checked_stage(field, item.stage, least=item.least_stage, most=len(chain))


def _cyclic_schedule(period_ns: int, entries: list[list[Any]], chain: Chain) -> CyclicSchedule:
    return CyclicSchedule(
        period_ns,
        tuple(
            CyclicEvent(
                CyclicEventKind(kind),
                _checked_stage(f"events[{position}][1]", layer, least=1, most=len(chain)),
                start_ns,
            )
            for position, (kind, layer, start_ns) in enumerate(entries)
        ),
    )


def _checked_stage(field: str, stage: int, *, least: int, most: int) -> int:
    if not least <= stage <= most:
        raise InputError(
            f"{stage} is not a stage",
            field=field,
            expected=f"write a stage from {least} to {most}",
        )
    return stage


def _sharded_schedule(
    names: list[str], entries: list[list[Any]], sharded: ShardedGraph
) -> ShardedSchedule:
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
    return ShardedSchedule(tuple(strategies), _graph_operations(entries, sharded))


def _graph_operations(
    entries: list[list[Any]], graph: Graph | ShardedGraph
) -> tuple[GraphOperation, ...]:
    for position, (_, name) in enumerate(entries):
        if name not in graph.position_of:
            raise InputError(
                f"{name!r} is not a node of {graph.name}",
                field=f"operations[{position}][1]",
                expected="name a node of the instance",
            )
    return tuple(
        GraphOperation(GraphOperationKind(kind), graph.position_of[name]) for kind, name in entries
    )


def _strategy_choice(strategies: dict[str, int], graph: StrategyGraph) -> StrategyChoice:
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
                f"nothing says which strategy {node.name!r} has",
                field="strategies",
                expected="give a strategy for every node",
            )
    return StrategyChoice(tuple(strategies[node.name] for node in graph.nodes))
