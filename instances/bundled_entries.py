"""Index of the bundled instances, read without loading any of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEntry:
    """Entry of one bundled instance in the index."""

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
    index = json.loads(data_file("index.json").read_text(encoding="utf-8"))
    return tuple(
        CatalogEntry(**{**entry, "input_shape": tuple(entry["input_shape"])})
        for entry in sorted(index["instances"], key=lambda entry: str(entry["name"]))
    )


def data_file(name: str) -> Path:
    """Return the path of a file of the data set."""
    # The package is always unpacked on disk: it holds a native extension.
    return Path(str(resources.files("jettison.instances") / "data" / name))
