"""Store of plans that are solved once: in the process, and in a folder where one is given."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import read_json, write_json
from jettison.instances.core.memory import Amount
from jettison.instances.profilers.torch_graphs.joint.joint_graph import JointGraph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.remat_graph.kind import read_operations
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.torch.accepted_replay import accepted_replay
from jettison.torch.compilation.solved_plan import Planning, SolvedPlan, solve_plan, states_bytes

_KIND = "compiled-plan"
_in_process: dict[str, SolvedPlan] = {}


def stored_plan(joint: JointGraph, planning: Planning, folder: Path | None = None) -> SolvedPlan:
    """Return the plan of a joint graph: the stored one, or a new one, which is stored.

    Plans are found by the content of the graph, the limit in bytes and the way in which they were
    solved. The replay confirms a plan that comes from a file before it is used.

    Raises
    ------
    InputError
        If no schedule was found, or a file is no plan of this graph.
    """
    key = plan_key(joint, planning)
    if key not in _in_process:
        path = None if folder is None else folder / f"{key}.json"
        if path is not None and path.exists():
            _in_process[key] = _read(path, joint, planning)
        else:
            _in_process[key] = solve_plan(joint, planning)
    plan = _in_process[key]
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{key}.json"
        if not path.exists():
            _write(path, joint, plan)
    return plan


def forget_plans() -> None:
    """Forget the plans of this process; files stay."""
    _in_process.clear()


def plan_key(joint: JointGraph, planning: Planning) -> str:
    """Return the key of a plan: the same for the same graph, limit and way to solve it."""
    settings = {name: value for name, value in asdict(planning).items() if name != "memory"}
    settings |= {
        "graph": joint.graph.sha256,
        "limit_bytes": planning.limit_bytes(joint),
        "reserve_bytes": joint.reserve_bytes,
    }
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def _write(path: Path, joint: JointGraph, plan: SolvedPlan) -> None:
    nodes = joint.graph.nodes
    write_json(
        {
            "format": "jettison",
            "kind": _KIND,
            "version": 1,
            "instance_sha256": joint.graph.sha256,
            "limit_bytes": plan.limit_bytes,
            "bound_ns": plan.bound_ns,
            "bound_class": plan.bound_class,
            "operations": [
                [str(item.kind), nodes[item.node].name] for item in plan.schedule.operations
            ],
        },
        path,
    )


def _read(path: Path, joint: JointGraph, planning: Planning) -> SolvedPlan:
    document: dict[str, Any] = dict(read_json(path))
    expected = {
        "kind": _KIND,
        "version": 1,
        "instance_sha256": joint.graph.sha256,
        "limit_bytes": planning.limit_bytes(joint),
    }
    for name, value in expected.items():
        if document.get(name) != value:
            raise InputError(
                f"{document.get(name)!r}",
                field=name,
                source=str(path),
                expected=f"{value!r}: remove the file, and the plan is solved again",
            )
    graph, limit = joint.graph, planning.limit_bytes(joint)
    schedule = GraphSchedule(read_operations(document["operations"], graph.position_of, graph.name))
    within = max(0, limit - joint.reserve_bytes - states_bytes(joint, schedule))
    replay = accepted_replay(RematGraph(graph, Amount(within)), schedule)
    bound = document["bound_ns"]
    return SolvedPlan(
        schedule=schedule,
        limit_bytes=limit,
        predicted_peak_bytes=replay.peak_bytes
        + joint.reserve_bytes
        + states_bytes(joint, schedule),
        time_ns=replay.time_ns,
        base_time_ns=graph.base_time_ns,
        bound_ns=None if bound is None else min(int(bound), replay.time_ns),
        bound_class=document["bound_class"],
    )
