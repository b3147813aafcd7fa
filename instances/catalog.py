"""Instances by name or by file: the bundled data set, and `load` and `save`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jettison.instances.bundled_entries import CatalogEntry, bundled_instances, data_file
from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import (
    check_header,
    check_schema,
    json_text,
    read_json,
    rows_text,
    write_text,
)
from jettison.instances.core.names import suggestion
from jettison.instances.multi_model.instance import MultiModel
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.instances.sharding.strategy_graph import StrategyGraph
from jettison.instances.tensor_programs.program_on_mesh import ProgramOnMesh
from jettison.instances.three_partition.instance import ThreePartition

__all__ = [
    "CatalogEntry",
    "Instance",
    "bundled_instances",
    "bundled_with_hash",
    "instance_of",
    "load",
    "save",
]

Instance = Chain | Graph | ShardedGraph | StrategyGraph | ThreePartition | MultiModel

_KINDS = (Chain, Graph, ShardedGraph, StrategyGraph, ThreePartition, MultiModel)
_READERS: Mapping[str, Callable[[Any], Instance]] = {
    **{kind.kind: kind.from_json for kind in _KINDS},
    # A sharded graph that is kept as what it is made from.
    ProgramOnMesh.kind: lambda document: ProgramOnMesh.from_json(document).sharded_graph(),
}
_VERSIONS = dict.fromkeys(_READERS, 1)
_PACKAGE = "jettison.instances"


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
            path = data_file(f"{text}.json")
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


def _read(path: Path) -> Instance:
    return instance_of(read_json(path), str(path))


def instance_of(document: Any, source: str) -> Instance:
    """Return the instance of a parsed JSON file.

    Parameters
    ----------
    document
        What was parsed.
    source
        Where it comes from, for messages.

    Raises
    ------
    InputError
        If it is not a valid instance; the message names the source, the field and the value.
    """
    kind = check_header(document, _VERSIONS, source)
    check_schema(document, _PACKAGE, f"{kind}.schema.json", source)
    try:
        return _READERS[kind](document)
    except InputError as error:
        raise error.within(source=source) from None
