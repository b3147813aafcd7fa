"""Kind of instance: reader and writer of its files, and the facts that tables show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from jettison.instances.core.instance import Instance
from jettison.instances.core.json_file import json_text
from jettison.instances.core.registry import Registry

I_co = TypeVar("I_co", bound=Instance, covariant=True)

Facts = Mapping[str, str | int]


@dataclass(frozen=True, kw_only=True)
class InstanceKind(Generic[I_co]):
    """Kind of instance, as it is registered: its file format and its description.

    Attributes
    ----------
    name
        The ``kind`` of the files.
    read
        Builds the instance of a document that has passed the schema.
    facts
        Facts to show of an instance, after its name, kind and hash. Names that end in
        ``_bytes``, ``_ns`` or ``_bytes_per_s`` are written with their units.
    parts
        Facts about its parts, for ``--json``.
    part_rows
        Rows about its parts to print, in place of `parts`.
    noun
        Plural noun of its parts, those that `len` counts.
    part_names
        Names by which pictures call the parts; empty where operations have names of their own.
    text
        Writes the document of an instance.
    schema_package
        The package whose folder ``schemas`` has ``NAME.schema.json``.
    """

    name: str
    read: Callable[[Any], I_co]
    facts: Callable[[Any], Facts]
    parts: Callable[[Any], Mapping[str, object]] = lambda _: {}
    part_rows: Callable[[Any], Sequence[tuple[str, str]]] = lambda _: ()
    noun: str = "nodes"
    part_names: Callable[[Any], Sequence[str]] = lambda _: ()
    text: Callable[[Mapping[str, object]], str] = json_text
    schema_package: str = "jettison.instances"


INSTANCE_KINDS: Registry[InstanceKind[Instance]] = Registry("jettison.instances", InstanceKind)
