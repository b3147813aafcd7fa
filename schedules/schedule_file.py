"""JSON files of schedules; each names the instance that it is for by its hash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jettison.instances.chain import Chain
from jettison.instances.errors import InputError
from jettison.instances.graph import Graph
from jettison.instances.json_file import check_header, check_schema, read_json, write_json
from jettison.schedules.chain_schedule import ChainOperation, ChainOperationKind, ChainSchedule
from jettison.schedules.graph_schedule import GraphOperation, GraphOperationKind, GraphSchedule


def save_schedule(
    schedule: ChainSchedule | GraphSchedule, instance: Chain | Graph, path: str | Path
) -> None:
    """Write a schedule for an instance; the file appears complete or not at all.

    A chain operation is written as ``["F_all", 3]``, a graph operation as ``["compute", "conv1"]``.

    Raises
    ------
    InputError
        If the folder does not exist or cannot be written.
    TypeError
        If the schedule is of another kind than the instance.
    """
    operations: list[list[object]]
    if isinstance(schedule, ChainSchedule) and isinstance(instance, Chain):
        operations = [[str(item.kind), item.stage] for item in schedule.operations]
    elif isinstance(schedule, GraphSchedule) and isinstance(instance, Graph):
        operations = [
            [str(item.kind), instance.nodes[item.node].name] for item in schedule.operations
        ]
    else:
        raise TypeError(f"a {type(schedule).__name__} is no schedule for a {instance.kind}")
    write_json(
        {
            "format": "jettison",
            "kind": f"{instance.kind}-schedule",
            "version": 1,
            "instance": instance.name,
            "instance_sha256": instance.sha256,
            "operations": operations,
        },
        Path(path),
    )


def load_schedule(path: str | Path, instance: Chain | Graph) -> ChainSchedule | GraphSchedule:
    """Read a schedule for an instance.

    Raises
    ------
    InputError
        If the file is not a valid schedule file, is for another kind of instance or for another
        instance, or names a stage or node that the instance does not have.
    """
    source = str(path)
    document = read_json(Path(path))
    kind = f"{instance.kind}-schedule"
    check_header(document, {kind: 1}, source)
    check_schema(document, "jettison.schedules", f"{kind}.schema.json", source)
    if document["instance_sha256"] != instance.sha256:
        raise InputError(
            f"the schedule is for the instance {document['instance_sha256'][:12]}..., "
            f"not for {instance.name} ({instance.sha256[:12]}...)",
            field="instance_sha256",
            source=source,
            expected="give the instance that the schedule was made for",
        )
    try:
        if isinstance(instance, Chain):
            return _chain_schedule(document["operations"], instance)
        return _graph_schedule(document["operations"], instance)
    except InputError as error:
        raise error.within(source=source) from None


def _chain_schedule(entries: list[list[Any]], chain: Chain) -> ChainSchedule:
    for position, (_, stage) in enumerate(entries):
        if not 1 <= stage <= len(chain):
            raise InputError(
                f"{stage} is not a stage",
                field=f"operations[{position}][1]",
                expected=f"write a stage from 1 to {len(chain)}",
            )
    return ChainSchedule(
        tuple(ChainOperation(ChainOperationKind(kind), stage) for kind, stage in entries)
    )


def _graph_schedule(entries: list[list[Any]], graph: Graph) -> GraphSchedule:
    for position, (_, name) in enumerate(entries):
        if name not in graph.position_of:
            raise InputError(
                f"{name!r} is not a node of {graph.name}",
                field=f"operations[{position}][1]",
                expected="name a node of the instance",
            )
    return GraphSchedule(
        tuple(
            GraphOperation(GraphOperationKind(kind), graph.position_of[name])
            for kind, name in entries
        )
    )
