"""Check of a schedule file: its instance is found by its hash, and the replay judges it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from jettison.cli.finding import Finding
from jettison.cli.posed_problem import check_options
from jettison.cli.verify.claimed_resources import check_claim, claimed_resources
from jettison.instances.catalog import Instance, bundled_instances, bundled_with_hash, load
from jettison.instances.core.errors import InputError
from jettison.instances.core.units import LARGEST_AMOUNT
from jettison.schedules.core.schedule_claim import ScheduleClaim
from jettison.schedules.core.schedule_file import load_schedule
from jettison.solvers.core.pose import pose_problem
from jettison.solvers.core.problem_kind import ProblemKind
from jettison.solvers.core.registry import PROBLEM_KINDS
from jettison.solvers.core.resources import Resources
from jettison.solvers.core.result import replay_schedule


def schedule_kinds() -> dict[str, ProblemKind[Any]]:
    """Return the problems by the kind of the schedules that answer them."""
    return {kind.schedules[0].name: kind for kind in PROBLEM_KINDS}


def verify_schedule(
    document: Mapping[str, Any], path: Path, instances: Sequence[str], resources: Resources
) -> Finding:
    """Replay a schedule, and return its time and peak as a finding.

    A file that holds a claim is replayed in the resources of the claim, and has to have its time
    and its peak. Without a memory only the instance limits a schedule whose files hold no claims;
    resources that its problem does not use are ignored.

    Parameters
    ----------
    document
        The parsed file, whose kind is one of `schedule_kinds`.
    path
        The file.
    instances
        Names or files of instances for which it may be, beside the bundled ones.
    resources
        The resources of the replay.

    Raises
    ------
    InputError
        If its instance is not found, a resource is missing or contradicts the file, it breaks a
        rule, or it has not the time and the peak that the file says.
    """
    source = str(path)
    kind = schedule_kinds()[document["kind"]]
    instance = _instance_of(document, kind, instances, source)
    schedule = load_schedule(path, instance)
    try:
        claim = ScheduleClaim.of_file(document)
        given = _resources_of_replay(claim, kind, instance, resources)
        check_options(kind, given)
        replay = replay_schedule(pose_problem(kind.name, instance, given), schedule)
        if claim is not None and replay.valid:
            check_claim(claim, replay)
    except InputError as error:
        raise error.within(source=source) from None
    if not replay.valid:
        raise InputError(
            f"{replay.violations[0]} ({len(replay.violations)} broken rules)",
            source=source,
            expected=f"jettison bound {kind.name} INSTANCE --schedule {path} names all of them",
        )
    has_limit = replay.limit_bytes is not None and (
        resources.says_memory or claim is not None or "memory" not in kind.needs
    )
    limit = f"the limit {replay.limit_bytes}" if has_limit else "no limit"
    return Finding(
        source,
        f"a valid {kind.schedules[0].noun} for {instance.name}: {replay.time_ns} ns, "
        f"peak {replay.peak_bytes} bytes{replay.remark}, {limit} "
        f"({kind.name}, instance {instance.sha256[:12]})",
        {
            "kind": document["kind"],
            "problem": kind.name,
            "instance": instance.name,
            "instance_sha256": instance.sha256,
            "time_ns": replay.time_ns,
            "peak_bytes": replay.peak_bytes,
            "limit_bytes": replay.limit_bytes if has_limit else None,
        },
    )


def _resources_of_replay(
    claim: ScheduleClaim | None, kind: ProblemKind[Any], instance: Instance, resources: Resources
) -> Resources:
    """Return the resources of the claim, or as far as they are given."""
    given = replace(
        resources,
        bandwidth=resources.bandwidth if "bandwidth" in kind.takes else None,
        transfers=resources.transfers if "transfers" in kind.takes else None,
        models=resources.models if "models" in kind.takes else None,
        devices=resources.devices if "devices" in kind.takes else None,
        microbatches=resources.microbatches if "microbatches" in kind.takes else None,
        weight_copies=resources.weight_copies if "weight_copies" in kind.takes else None,
        chunks=resources.chunks if "chunks" in kind.takes else None,
        host_memory=resources.host_memory if "host_memory" in kind.takes else None,
    )
    if claim is not None:
        return claimed_resources(claim, kind, instance, given)
    if resources.says_memory or "memory" not in kind.needs:
        return given
    if kind.schedules[0].claim is not None:
        raise InputError(
            "the file does not say for which memory the schedule was made",
            field="claim",
            expected="add --memory, and the other options that it was made with",
        )
    return replace(given, memory=f"{LARGEST_AMOUNT}B")


def _instance_of(
    document: Mapping[str, Any], kind: ProblemKind[Any], instances: Sequence[str], source: str
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
        expected=f"give a {kind.schedules[0].instance} that has this hash: add --instance FILE",
    )


def _as_kind(instance: Instance, kind: ProblemKind[Any], sha256: str) -> Instance | None:
    """Return an instance, or the graph of a chain, if it has the hash."""
    own = kind.own(instance)
    return own if own.sha256 == sha256 else None
