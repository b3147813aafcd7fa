"""Protocol of instances: the attributes that all kinds of instances have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from jettison.instances.core.provenance import Provenance


@runtime_checkable
class Instance(Protocol):
    """Protocol of an instance: immutable data of a problem, with a JSON form."""

    @property
    def kind(self) -> str:
        """Kind of the instance as it stands in files: ``"chain"``."""
        ...

    @property
    def name(self) -> str:
        """Name of the instance."""
        ...

    @property
    def sha256(self) -> str:
        """Hash of all that answers depend on, by which schedules and certificates name it."""
        ...

    @property
    def provenance(self) -> Provenance:
        """Provenance of the instance."""
        ...

    def __len__(self) -> int:
        """Return the number of its parts: stages of a chain, nodes of a graph."""
        ...

    def to_json(self) -> Mapping[str, object]:
        """Return the instance as a JSON object."""
        ...
