"""Schedule files in JSON; each names its instance by hash."""

from __future__ import annotations

from pathlib import Path

from jettison.instances.core.errors import InputError
from jettison.instances.core.instance import Instance
from jettison.instances.core.json_file import check_header, check_schema, read_json, write_json
from jettison.schedules.core.any_schedule import Schedule
from jettison.schedules.core.schedule_claim import ScheduleClaim
from jettison.schedules.core.schedule_kind import SCHEDULE_KINDS


def save_schedule(
    schedule: Schedule,
    instance: Instance,
    path: str | Path,
    claim: ScheduleClaim | None = None,
) -> None:
    """Write a schedule for an instance; the file appears complete or not at all.

    A chain operation is written as ``["F_all", 3]``, a drop as ``["D", 3]``, a transfer as
    ``["O_all", 3]``, a graph operation as ``["compute", "conv1"]``, an event of a cycle as
    ``["prefetch", 3, 1200]``, a strategy of a sharded graph by its name, a choice of strategies as
    ``{"conv1": 2}``, an operation on the second sub-array of a unit as ``["F2", "conv1"]``.

    Parameters
    ----------
    schedule, instance, path
        What is written, and where.
    claim
        The resources that it was made for with its time and peak, as `Result.claim` has them, for
        kinds whose files hold them: `jettison verify` then replays it in these resources.

    Raises
    ------
    InputError
        If the folder does not exist or cannot be written.
    TypeError
        If the schedule is of another kind than the instance, or its files hold no claims.
    """
    kind = SCHEDULE_KINDS.find(schedule.kind)
    if kind is None or kind.instance != instance.kind:
        raise TypeError(f"a {type(schedule).__name__} is no schedule for a {instance.kind}")
    if claim is not None and kind.claim is None:
        raise TypeError(f"the file of a {kind.name} holds no claim")
    write_json(
        {
            "format": "jettison",
            "kind": kind.name,
            "version": 1,
            "instance": instance.name,
            "instance_sha256": instance.sha256,
            **({} if claim is None else {"claim": claim.to_json()}),
            **kind.write(schedule, instance),
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
    kinds = {kind.name: kind for kind in SCHEDULE_KINDS if kind.instance == instance.kind}
    kind = kinds[check_header(document, dict.fromkeys(kinds, 1), source)]
    check_schema(document, kind.schema_package, f"{kind.name}.schema.json", source)
    if document["instance_sha256"] != instance.sha256:
        raise InputError(
            f"the schedule is for the instance {document['instance_sha256'][:12]}..., "
            f"not for {instance.name} ({instance.sha256[:12]}...)",
            field="instance_sha256",
            source=source,
            expected="give the instance that the schedule was made for",
        )
    try:
        read: Schedule = kind.read(document, instance)
    except InputError as error:
        raise error.within(source=source) from None
    return read
