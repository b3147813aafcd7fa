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
from jettison.instances.errors import InputError
from jettison.instances.json_file import check_header, read_json


def verify(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH", help="A folder that `jettison generate` wrote, or one of its instances."
        ),
    ],
) -> None:
    """Check certificates without a solver.

    All arithmetic is in exact integers; one line per file says what is proved. Of a folder every
    byte is checked: a file that is missing, added or changed is an error. Exit status 0 means that
    everything holds.
    """
    for name, claim in _claims(path):
        sys.stdout.write(f"{name}: {claim}\n")


def _claims(path: Path) -> Iterator[Claim]:
    if path.is_dir():
        return verify_set(path)
    document = read_json(path)
    kind = check_header(document, dict.fromkeys(_VERIFIERS, 1), str(path))
    return _VERIFIERS[kind](document, path)


def _verify_three_partition(document: Any, path: Path) -> Iterator[Claim]:
    yield path.name, read_three_partition(document, path)[1]


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
