"""The check of a schedule file: its instance is found by its hash, and the replay judges it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jettison.cli.finding import Finding
from jettison.instances.catalog import Instance, bundled_instances, bundled_with_hash, load
from jettison.instances.core.errors import InputError
from jettison.instances.core.units import LARGEST_AMOUNT
from jettison.instances.multi_model.instance import MultiModel
from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_chain.problem import RematChain
from jettison.instances.remat_graph.chain_to_graph import chain_to_graph
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.instances.sharding.problem import Sharding
from jettison.instances.sharding.strategy_graph import StrategyGraph
from jettison.instances.three_partition.instance import ThreePartition
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.core.schedule_file import load_schedule
from jettison.solvers.core.pose import Resources, pose_problem
from jettison.solvers.core.result import replay_schedule

# Of each kind of schedule, the kind of its instance and the problem that it answers.
SCHEDULES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "chain-schedule": (Chain.kind, RematChain.problem),
        "offload-schedule": (Chain.kind, RematOffloadChain.problem),
        "cyclic-schedule": (Chain.kind, WeightOffload.problem),
        "graph-schedule": (Graph.kind, RematGraph.problem),
        "sharded-schedule": (ShardedGraph.kind, RematSharding.problem),
        "strategy-choice": (StrategyGraph.kind, Sharding.problem),
        "multi-model-schedule": (MultiModel.kind, MultiModelTraining.problem),
    }
)
_LINKED = {RematOffloadChain.problem, WeightOffload.problem, MultiModelTraining.problem}


def verify_schedule(
    document: Mapping[str, Any], path: Path, instances: Sequence[str], resources: Resources
) -> Finding:
    """Replay a schedule, and say what it takes.

    Without a memory nothing limits it but the instance; of the resources only those of its problem
    count.

    Parameters
    ----------
    document
        The parsed file, whose kind is one of `SCHEDULES`.
    path
        The file.
    instances
        Names or files of instances that it may be for, beside the bundled ones.
    resources
        What it is to be replayed in.

    Raises
    ------
    InputError
        If its instance is not found, a resource is missing, or it breaks a rule.
    """
    source = str(path)
    kind, problem_name = SCHEDULES[document["kind"]]
    instance = _instance_of(document, kind, instances, source)
    assert not isinstance(instance, ThreePartition)
    schedule = load_schedule(path, instance)
    is_limited = resources.memory is not None or resources.alpha is not None
    given = replace(
        resources,
        bandwidth=resources.bandwidth if problem_name in _LINKED else None,
        transfers=resources.transfers if problem_name == RematOffloadChain.problem else None,
        models=resources.models if problem_name == MultiModelTraining.problem else None,
    )
    if not is_limited and problem_name != Sharding.problem:
        given = replace(given, memory=f"{LARGEST_AMOUNT}B")
    try:
        replay = replay_schedule(pose_problem(problem_name, instance, given), schedule)
    except InputError as error:
        raise error.within(source=source) from None
    if not replay.valid:
        raise InputError(
            f"{replay.violations[0]} ({len(replay.violations)} broken rules)",
            source=source,
            expected=f"jettison bound {problem_name} INSTANCE --schedule {path} names all of them",
        )
    has_limit = replay.limit_bytes is not None and (is_limited or problem_name == Sharding.problem)
    limit = f"the limit {replay.limit_bytes}" if has_limit else "no limit"
    word = "choice" if problem_name == Sharding.problem else "schedule"
    return Finding(
        source,
        f"a valid {word} for {instance.name}: {replay.time_ns} ns, peak {replay.peak_bytes} bytes, "
        f"{limit} ({problem_name}, instance {instance.sha256[:12]})",
        {
            "kind": document["kind"],
            "problem": problem_name,
            "instance": instance.name,
            "instance_sha256": instance.sha256,
            "time_ns": replay.time_ns,
            "peak_bytes": replay.peak_bytes,
            "limit_bytes": replay.limit_bytes if has_limit else None,
        },
    )


def _instance_of(
    document: Mapping[str, Any], kind: str, instances: Sequence[str], source: str
) -> Instance:
    """Return the instance whose hash the schedule names."""
    sha256 = str(document.get("instance_sha256"))
    for name in instances:
        if found := _as_kind(load(name), kind, sha256):
            return found
    bundled = bundled_with_hash(sha256)
    if bundled is not None:
        return bundled
    # A chain that was given to a problem on graphs has a graph, which bears its name.
    if document.get("instance") in {entry.name for entry in bundled_instances()}:
        found = _as_kind(load(document["instance"]), kind, sha256)
        if found is not None:
            return found
    raise InputError(
        f"it is for the instance {sha256[:12]}..., which is not bundled"
        + (", nor given" if instances else ""),
        field="instance_sha256",
        source=source,
        expected=f"give a {kind} that has this hash: add --instance FILE",
    )


def _as_kind(instance: Instance, kind: str, sha256: str) -> Instance | None:
    """Return an instance, or the graph of a chain, if it has the hash."""
    if isinstance(instance, Chain) and kind == Graph.kind:
        instance = chain_to_graph(instance)
    return instance if instance.sha256 == sha256 else None
