"""`jettison verify`: what a file proves, checked without any solver."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer

from jettison.cli.instance_set import INDEX
from jettison.cli.verify_set import Claim, read_three_partition, verify_set
from jettison.instances.catalog import load
from jettison.instances.errors import InputError
from jettison.instances.json_file import check_header, read_json
from jettison.instances.strategy_graph import StrategyGraph
from jettison.schedules.schedule_file import load_schedule
from jettison.schedules.strategy_choice import StrategyChoice


def verify(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="A folder that `jettison generate` wrote, one of its instances, or a choice of "
            "strategies.",
        ),
    ],
    instance: Annotated[
        str | None,
        typer.Option(
            metavar="INSTANCE", help="What a choice of strategies is for; its limit is kept, too."
        ),
    ] = None,
) -> None:
    """Check certificates without a solver.

    All arithmetic is in exact integers; one line per file says what is proved. Of a folder every
    byte is checked: a file that is missing, added or changed is an error. Exit status 0 means that
    everything holds.
    """
    for name, claim in _claims(path, instance):
        sys.stdout.write(f"{name}: {claim}\n")


def _claims(path: Path, instance: str | None) -> Iterator[Claim]:
    if instance is not None:
        return _verify_choice(path, instance)
    if path.is_dir():
        return verify_set(path)
    document = read_json(path)
    kind = check_header(document, dict.fromkeys([*_VERIFIERS, "strategy-choice"], 1), str(path))
    if kind not in _VERIFIERS:
        raise InputError(
            "a choice of strategies says not what it is for",
            source=str(path),
            expected="add --instance FILE",
        )
    return _VERIFIERS[kind](document, path)


def _verify_three_partition(document: Any, path: Path) -> Iterator[Claim]:
    yield path.name, read_three_partition(document, path)[1]


def _verify_choice(path: Path, name: str) -> Iterator[Claim]:
    """Replay a choice of strategies within the limit of its instance."""
    instance = load(name)
    if not isinstance(instance, StrategyGraph):
        raise InputError(
            f"{instance.name} is a {instance.kind}",
            field="instance",
            expected=f"give a {StrategyGraph.kind}",
        )
    schedule = load_schedule(path, instance)
    assert isinstance(schedule, StrategyChoice)
    replay = schedule.replay(instance, instance.usage_limit_bytes)
    if not replay.valid:
        raise InputError(
            f"{replay.violations[0]} ({len(replay.violations)} broken rules)",
            source=str(path),
            expected=f"see jettison bound sharding {name} --schedule {path}",
        )
    limit = "no limit" if replay.limit_bytes is None else f"the limit {replay.limit_bytes}"
    claim = f"a valid choice for {instance.name}: {replay.time_ns} ns"
    yield path.name, f"{claim}, peak {replay.peak_bytes} bytes, {limit}"


def _verify_index(document: Any, path: Path) -> Iterator[Claim]:
    if path.name != INDEX:
        raise InputError(
            "the index of a set under another name",
            field="kind",
            source=str(path),
            expected="give the folder of the set",
        )
    del document
    return verify_set(path.parent)


# How to check each kind of file that proves something.
_VERIFIERS: Mapping[str, Callable[[Any, Path], Iterator[Claim]]] = MappingProxyType(
    {"three-partition": _verify_three_partition, "instance-set": _verify_index}
)
