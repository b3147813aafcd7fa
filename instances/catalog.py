"""Instances by name or by file: the bundled data set, and `load` and `save`."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from jettison.instances.bundled_entries import CatalogEntry, bundled_instances, data_file
from jettison.instances.core.errors import InputError
from jettison.instances.core.instance import Instance
from jettison.instances.core.instance_kind import INSTANCE_KINDS, InstanceKind
from jettison.instances.core.json_file import check_header, check_schema, read_json, write_text
from jettison.instances.core.names import suggestion

__all__ = [
    "CatalogEntry",
    "Instance",
    "bundled_instances",
    "bundled_with_hash",
    "instance_of",
    "kind_of",
    "load",
    "save",
]


def bundled_with_hash(instance_sha256: str) -> Instance | None:
    """Return the bundled instance with this SHA-256 hash, or None."""
    for entry in bundled_instances():
        if entry.instance_sha256 == instance_sha256:
            return load(entry.name)
    return None


def load(name_or_path: str | Path, *, kinds: Collection[str] | None = None) -> Instance:
    """Return a bundled instance by its name, or the instance in a file.

    A text that ends in ``.json`` or ``.json.gz`` or holds a path separator is a path.

    Parameters
    ----------
    name_or_path
        Name or path.
    kinds
        Kinds of instances among which a misspelt name is looked for; None for all.

    Raises
    ------
    InputError
        If the name is unknown, or the file is not a valid instance; the message names the file,
        the field, the value, and what would be right.
    """
    text = str(name_or_path)
    is_path = isinstance(name_or_path, Path) or "/" in text or "\\" in text
    if is_path or text.endswith((".json", ".json.gz")):
        return _read(Path(name_or_path))
    for entry in bundled_instances():
        if entry.name == text:
            path = data_file(entry.file)
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
        expected=suggestion(
            text,
            [entry.name for entry in bundled_instances() if kinds is None or entry.kind in kinds],
        )
        + "run `jettison list instances` for the names, or give the path of a .json file",
    )


def save(instance: Instance, path: str | Path) -> None:
    """Write an instance as JSON; the file appears complete or not at all.

    A file whose name ends in ``.gz`` is compressed.

    Raises
    ------
    InputError
        If the folder does not exist or cannot be written.
    """
    write_text(kind_of(instance).text(instance.to_json()), Path(path))


def _read(path: Path) -> Instance:
    return instance_of(read_json(path), str(path))


def instance_of(document: Any, source: str) -> Instance:
    """Return the instance of a parsed JSON file.

    Parameters
    ----------
    document
        The parsed JSON.
    source
        Source of the document, for messages.

    Raises
    ------
    InputError
        If it is not a valid instance; the message names the source, the field and the value.
    """
    name = check_header(document, dict.fromkeys(INSTANCE_KINDS.names, 1), source)
    kind = INSTANCE_KINDS.find(name)
    assert kind is not None
    check_schema(document, kind.schema_package, f"{name}.schema.json", source)
    try:
        return kind.read(document)
    except InputError as error:
        raise error.within(source=source) from None


def kind_of(instance: Instance) -> InstanceKind[Instance]:
    """Return the kind of an instance.

    Raises
    ------
    InputError
        If no kind of this name is registered.
    """
    kind = INSTANCE_KINDS.find(instance.kind)
    if kind is None:
        raise InputError(
            f"{instance.kind!r} is not a kind of instance",
            field="kind",
            expected=f"register it as one of {INSTANCE_KINDS.group}, or use one of "
            f"{', '.join(INSTANCE_KINDS.names)}",
        )
    return kind
