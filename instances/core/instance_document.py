"""Base of all instances as JSON documents: header, name, provenance and hash."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from jettison.instances.core.content_hash import content_sha256
from jettison.instances.core.errors import InputError
from jettison.instances.core.instance_kind import INSTANCE_KINDS
from jettison.instances.core.provenance import Provenance

_Entry = TypeVar("_Entry")


class InstanceDocument(ABC):
    """An instance with a JSON form: a frozen dataclass with a name and a provenance.

    Attributes
    ----------
    kind
        The kind of its file.
    name
        Name of the instance.
    provenance
        Provenance of the numbers.
    """

    kind: ClassVar[str]
    name: str
    provenance: Provenance

    def __repr__(self) -> str:
        """Say in one line what it is; its parts would fill pages."""
        kind = INSTANCE_KINDS.find(self.kind)
        noun = "parts" if kind is None else kind.noun
        return f"<{type(self).__name__} {self.name} of {len(self)} {noun}>"

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of its parts."""

    @abstractmethod
    def content(self) -> dict[str, object]:
        """Return the fields of the JSON object that schedules depend on."""

    def remarks(self) -> dict[str, object]:
        """Return the other fields of the JSON object, which are no part of the hash."""
        return {}

    @cached_property
    def sha256(self) -> str:
        """Hash of all that schedules depend on: not of the name and the provenance."""
        return content_sha256({**self._header(), **self.content()})

    def to_json(self) -> dict[str, object]:
        """Return the instance as a JSON object of the published schema."""
        provenance = self.provenance.to_json()
        return {
            **self._header(),
            "name": self.name,
            **self.content(),
            **self.remarks(),
            **({"provenance": provenance} if provenance else {}),
        }

    def _header(self) -> dict[str, object]:
        return {"format": "jettison", "kind": self.kind, "version": 1}


def read_provenance(document: Mapping[str, Any]) -> Provenance:
    """Return the provenance of a document that has passed the schema.

    Raises
    ------
    InputError
        If a value contradicts another; the field is named by its path.
    """
    try:
        return Provenance.from_json(document.get("provenance", {}))
    except InputError as error:
        raise error.within(prefix="provenance") from None


def read_each(
    document: Mapping[str, Any], field: str, read: Callable[[Any], _Entry]
) -> tuple[_Entry, ...]:
    """Read each entry of a list; an error names the entry by its position.

    Raises
    ------
    InputError
        What `read` raises, within ``field[place]``.
    """
    found = []
    for place, entry in enumerate(document[field]):
        try:
            found.append(read(entry))
        except InputError as error:
            raise error.within(prefix=f"{field}[{place}]") from None
    return tuple(found)
