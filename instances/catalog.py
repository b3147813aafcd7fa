"""Instances by name or by file: the bundled data set, and `load` and `save`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from jettison.instances.chain import Chain
from jettison.instances.errors import InputError
from jettison.instances.graph import Graph
from jettison.instances.json_file import (
    check_header,
    check_schema,
    json_text,
    read_json,
    rows_text,
    write_text,
)
from jettison.instances.multi_model import MultiModel
from jettison.instances.names import suggestion
from jettison.instances.sharded_graph import ShardedGraph
from jettison.instances.strategy_graph import StrategyGraph
from jettison.instances.tensor_programs.program_on_mesh import ProgramOnMesh
from jettison.instances.three_partition import ThreePartition

Instance = Chain | Graph | ShardedGraph | StrategyGraph | ThreePartition | MultiModel

_KINDS = (Chain, Graph, ShardedGraph, StrategyGraph, ThreePartition, MultiModel)
_READERS: Mapping[str, Callable[[Any], Instance]] = {
    **{kind.kind: kind.from_json for kind in _KINDS},
    # A sharded graph that is kept as what it is made from.
    ProgramOnMesh.kind: lambda document: ProgramOnMesh.from_json(document).sharded_graph(),
}
_VERSIONS = dict.fromkeys(_READERS, 1)
_PACKAGE = "jettison.instances"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEntry:
    """What the index says of one bundled instance."""

    name: str
    kind: str
    size: int
    device: str
    device_kind: str
    model: str
    batch: int
    input_shape: tuple[int, ...]
    source: str
    file_sha256: str
    instance_sha256: str


@cache
def bundled_instances() -> tuple[CatalogEntry, ...]:
    """Return the entries of the bundled data set, by name."""
    index = json.loads(_data_file("index.json").read_text(encoding="utf-8"))
    return tuple(
        CatalogEntry(**{**entry, "input_shape": tuple(entry["input_shape"])})
        for entry in sorted(index["instances"], key=lambda entry: str(entry["name"]))
    )


def bundled_with_hash(instance_sha256: str) -> Instance | None:
    """Return the bundled instance by whose hash a schedule names it, or None."""
    for entry in bundled_instances():
        if entry.instance_sha256 == instance_sha256:
            return load(entry.name)
    return None


def load(name_or_path: str | Path) -> Instance:
    """Return a bundled instance by its name, or the instance in a file.

    A text that ends in ``.json`` or holds a path separator is a path.

    Raises
    ------
    InputError
        If the name is unknown, or the file is not a valid instance; the message names the file,
        the field, the value, and what would be right.
    """
    text = str(name_or_path)
    if isinstance(name_or_path, Path) or text.endswith(".json") or "/" in text or "\\" in text:
        return _read(Path(name_or_path))
    for entry in bundled_instances():
        if entry.name == text:
            path = _data_file(f"{text}.json")
            found = hashlib.sha256(path.read_bytes()).hexdigest()
            if found != entry.file_sha256:
                raise InputError(
                    "the bundled file does not match the checksum of the index",
                    source=str(path),
                    expected="reinstall jettison",
                )
            return _read(path)
    raise InputError(
        f"{text!r} is not a bundled instance",
        field="instance",
        expected=suggestion(text, [entry.name for entry in bundled_instances()])
        + "run `jettison list instances` for the names, or give the path of a .json file",
    )


def save(instance: Instance, path: str | Path) -> None:
    """Write an instance as JSON; the file appears complete or not at all.

    Raises
    ------
    InputError
        If the folder does not exist or cannot be written.
    """
    text = rows_text if isinstance(instance, MultiModel) else json_text
    write_text(text(instance.to_json()), Path(path))


def _data_file(name: str) -> Path:
    # The package is always unpacked on disk: it holds a native extension.
    return Path(str(resources.files(_PACKAGE) / "data" / name))


def _read(path: Path) -> Instance:
    source = str(path)
    document = read_json(path)
    kind = check_header(document, _VERSIONS, source)
    check_schema(document, _PACKAGE, f"{kind}.schema.json", source)
    try:
        return _READERS[kind](document)
    except InputError as error:
        raise error.within(source=source) from None
