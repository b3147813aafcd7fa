"""The instance: values, each with its size and the time to compute it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jettison.instances.core.content_hash import content_sha256
from jettison.instances.core.instance_kind import InstanceKind
from jettison.instances.core.provenance import Provenance


@dataclass(frozen=True)
class Shelf:
    kind = "toy-shelf"

    name: str
    values: tuple[tuple[int, int], ...]
    provenance: Provenance = field(default_factory=Provenance, compare=False)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def base_time_ns(self) -> int:
        return sum(time_ns for _, time_ns in self.values)

    @property
    def sha256(self) -> str:
        return content_sha256({"values": [list(value) for value in self.values]})

    def to_json(self) -> dict[str, object]:
        values = [{"size_bytes": size, "time_ns": time} for size, time in self.values]
        header = {"format": "jettison", "kind": self.kind, "version": 1, "name": self.name}
        return {**header, "values": values}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Shelf:
        values = ((item["size_bytes"], item["time_ns"]) for item in document["values"])
        return cls(document["name"], tuple(values))


SHELF = InstanceKind(
    name=Shelf.kind,
    read=Shelf.from_json,
    facts=lambda shelf: {"values": len(shelf), "base_time_ns": shelf.base_time_ns},
    noun="values",
    schema_package="toy_column",
)
