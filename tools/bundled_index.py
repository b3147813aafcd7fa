"""Index of the bundled data set."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from pathlib import Path

from jettison.instances.catalog import CatalogEntry, load
from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import rows_text, write_text

DATA = Path(__file__).resolve().parents[1] / "instances" / "data"
_INDEX = "index.json"


def write_index(output: Path) -> None:
    """Write the index of all instances in a folder and its folders, in the order of their names.

    Raises
    ------
    InputError
        If a file is not an instance, or does not say what was run on which device.
    """
    entries = [_entry(output, path) for path in _instance_files(output)]
    entries.sort(key=lambda entry: entry.name)
    write_text(rows_text({"instances": [asdict(entry) for entry in entries]}), output / _INDEX)


def _instance_files(output: Path) -> list[Path]:
    found = [*output.rglob("*.json"), *output.rglob("*.json.gz")]
    programs = output / "programs"
    return [path for path in found if path.name != _INDEX and path.parent != programs]


def _entry(output: Path, path: Path) -> CatalogEntry:
    instance = load(path)
    known = instance.provenance
    if not (known.device and known.device_kind and known.model and known.batch and known.dtype):
        raise InputError(
            "the device, the model, the batch or the data type is not known",
            field="provenance",
            source=str(path),
            expected="bundle instances whose origin is known",
        )
    return CatalogEntry(
        name=instance.name,
        kind=instance.kind,
        size=len(instance),
        file=path.relative_to(output).as_posix(),
        device=known.device,
        device_kind=known.device_kind,
        model=known.model,
        batch=known.batch,
        input_shape=known.input_shape,
        dtype=known.dtype,
        source=known.source,
        file_sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        instance_sha256=instance.sha256,
    )
