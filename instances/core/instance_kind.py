"""A kind of instance: how its files are read and written, and what is shown of it."""

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
    """One kind of file, and the instances that come out of it.

    Attributes
    ----------
    name
        The ``kind`` of the files.
    read
        Returns the instance of a document that its schema allows.
    facts
        What is shown of an instance, after its name, kind and hash. Names that end in
        ``_bytes``, ``_ns`` or ``_bytes_per_s`` are written with their units.
    parts
        What JSON says beside them of the parts of an instance.
    part_rows
        What is printed of the parts in place of that.
    noun
        What its parts are, those that `len` counts.
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
