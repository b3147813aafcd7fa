"""Index of the bundled data set."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from pathlib import Path

from jettison.instances.catalog import CatalogEntry, load
from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import write_json

DATA = Path(__file__).resolve().parents[1] / "instances" / "data"
_INDEX = "index.json"


def write_index(output: Path) -> None:
    """Write the index of all instances in a folder, in the order of their names.

    Raises
    ------
    InputError
        If a file is not an instance, or does not say what was run on which device.
    """
    paths = sorted(path for path in output.glob("*.json") if path.name != _INDEX)
    entries = [asdict(_entry(path)) for path in paths]
    write_json({"instances": entries}, output / _INDEX)


def _entry(path: Path) -> CatalogEntry:
    instance = load(path)
    known = instance.provenance
    if not (known.device and known.device_kind and known.model and known.batch):
        raise InputError(
            "the device, the model or the batch is not known",
            field="provenance",
            source=str(path),
            expected="bundle instances whose origin is known",
        )
    return CatalogEntry(
        name=instance.name,
        kind=instance.kind,
        size=len(instance),
        device=known.device,
        device_kind=known.device_kind,
        model=known.model,
        batch=known.batch,
        input_shape=known.input_shape,
        source=known.source,
        file_sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        instance_sha256=instance.sha256,
    )
