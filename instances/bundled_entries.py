"""Index of the bundled instances, read without loading any of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from pathlib import Path


class Origin(StrEnum):
    """Origin of the numbers of a bundled instance."""

    MEASURED = "measured"
    """By jettison, on the device that is named."""
    IMPORTED = "imported"
    """Measured and published by others, on the device that is named."""
    MODELLED = "modelled"
    """Computed from published totals or assumed rates of the device that is named."""


_PROFILES = frozenset({"torch-profile", "jax-profile"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEntry:
    """Entry of one bundled instance in the index.

    Attributes
    ----------
    name, kind, size
        Name, kind and number of parts of the instance.
    file
        Its file, relative to the data set.
    device, device_kind, model, batch, input_shape, dtype, source
        As its `Provenance` has them.
    file_sha256, instance_sha256
        Hashes of the file and of all that schedules depend on.
    """

    name: str
    kind: str
    size: int
    file: str
    device: str
    device_kind: str
    model: str
    batch: int
    input_shape: tuple[int, ...]
    dtype: str
    source: str
    file_sha256: str
    instance_sha256: str

    @property
    def origin(self) -> Origin:
        """Origin of the numbers, from the source of the provenance."""
        if self.source in _PROFILES:
            return Origin.MEASURED
        return Origin.IMPORTED if self.source == "imported" else Origin.MODELLED

    @property
    def device_label(self) -> str:
        """Name of the device without remarks: ``CPU``, or ``V100`` of one with assumed rates."""
        return "CPU" if self.device_kind == "cpu" else self.device.partition(",")[0]


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
