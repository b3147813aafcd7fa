"""What every instance has, whatever it describes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from jettison.instances.core.provenance import Provenance


@runtime_checkable
class Instance(Protocol):
    """What is given: measured, generated or imported; immutable, and kept in a JSON file."""

    @property
    def kind(self) -> str:
        """What files call instances like it: ``"chain"``."""
        ...

    @property
    def name(self) -> str:
        """Its own name."""
        ...

    @property
    def sha256(self) -> str:
        """Hash of all that answers depend on, by which schedules and certificates name it."""
        ...

    @property
    def provenance(self) -> Provenance:
        """Where it comes from."""
        ...

    def __len__(self) -> int:
        """Return how many parts it has: stages of a chain, nodes of a graph."""
        ...

    def to_json(self) -> Mapping[str, object]:
        """Return the document that its file holds."""
        ...
