"""Check of a folder of generated instances, to the last byte.

The folder must hold the files of its index and no others, with the listed hashes; every certificate
must prove its answer; and every file must be exactly what follows from the instances: the model
files, the answers, and the index itself. Hashes alone would only show that no file was changed
without the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import Any

from jettison.cli.generate.instance_set import (
    INDEX,
    FileFormat,
    SetLayout,
    SetProblem,
    file_entry,
    layout_of,
)
from jettison.instances.core.errors import InputError
from jettison.instances.core.generated import Generated
from jettison.instances.core.json_file import (
    LARGEST_FILE_BYTES,
    check_header,
    check_schema,
    json_text,
    read_json,
    read_text,
)
from jettison.instances.three_partition.certificate import Answer
from jettison.instances.three_partition.instance import ThreePartition
from jettison.instances.three_partition.offload_chain import shortest_period_ns

_SCHEMAS = "jettison.instances"

Claim = tuple[str, str]


def read_three_partition(document: Any, path: Path) -> tuple[ThreePartition, str]:
    """Return the instance of a parsed file, and the statement that its certificate proves.

    Raises
    ------
    InputError
        If it is no valid instance, or the certificate proves nothing.
    """
    source = str(path)
    check_header(document, {ThreePartition.kind: 1}, source)
    check_schema(document, _SCHEMAS, "three-partition.schema.json", source)
    try:
        instance = ThreePartition.from_json(document)
        return instance, instance.proof()
    except InputError as error:
        raise error.within(source=source) from None


def verify_set(folder: Path) -> Iterator[Claim]:
    """Check a folder and yield the name of each file with what is proved of it.

    Raises
    ------
    InputError
        At the first file that does not hold.
    """
    index, written = _read_index(folder / INDEX)
    layout = layout_of(index)
    listed = {str(entry["name"]): entry for entry in index["files"]}
    _check_listing(folder, listed.keys() | {INDEX})
    for name, entry in listed.items():
        _check_hash(folder / name, entry)
    instances: list[ThreePartition] = []
    for number, entry in enumerate(index["instances"]):
        path = folder / layout.certificate_file(entry["name"])
        if path.name not in listed:
            raise _unlike(folder / INDEX, f"{path.name} is not listed")
        instance, claim = read_three_partition(read_json(path), path)
        _check_origin(instance, index, number, path)
        _check_size(layout, instance, listed, folder)
        for name, text in layout.instance_files(instance).items():
            _check_text(folder / name, text)
            yield name, claim if name == path.name else _derived(layout, instance, name)
        instances.append(instance)
    _check_text(folder / layout.solutions_file, layout.solutions(instances))
    yield layout.solutions_file, f"the answer of each instance ({len(instances)})"
    # The rest of the index is compared here, as text, since 3.0 equals 3 in Python.
    expected = layout.index(
        instances,
        [file_entry(name, _data(folder / name)) for name in layout.names(instances)],
    )
    if json_text(expected) != written:
        raise _unlike(folder / INDEX, "it does not describe the instances of the folder")
    yield INDEX, f"{len(listed)} files, all as listed, and no others"


def _data(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or "unknown reason"
        raise InputError(
            f"cannot read the file: {reason}", source=str(path), expected="check the folder"
        ) from None


def _read_index(path: Path) -> tuple[dict[str, Any], str]:
    if path.exists() and not path.is_file():
        # Reading a pipe would block.
        raise _not_plain(path)
    if not path.exists():
        raise InputError(
            f"the folder has no {INDEX}: it is not a set of instances",
            source=str(path.parent),
            expected="name the files in it, certificates and schedules, one by one",
        )
    index = read_json(path)
    check_header(index, {"instance-set": 1}, str(path))
    check_schema(index, _SCHEMAS, "instance-set.schema.json", str(path))
    return index, read_text(path)


def _check_listing(folder: Path, expected: Set[str]) -> None:
    found = {entry.name: entry for entry in folder.iterdir()}
    for name in sorted(expected - found.keys()):
        raise InputError(
            "the file is missing", source=str(folder / name), expected="generate the set again"
        )
    for name in sorted(found.keys() - expected):
        raise InputError(
            "the file is not listed in the index",
            source=str(folder / name),
            expected="a set holds the files of its index and no others",
        )
    for name, entry in sorted(found.items()):
        if entry.is_symlink() or not entry.is_file():
            raise _not_plain(folder / name)


def _check_hash(path: Path, entry: Mapping[str, Any]) -> None:
    size = path.stat().st_size
    if size != entry["bytes"] or size > LARGEST_FILE_BYTES:
        raise InputError(
            f"{size} bytes",
            source=str(path),
            expected=f"the index lists {entry['bytes']}, and {LARGEST_FILE_BYTES} is the most",
        )
    if file_entry(path.name, _data(path)) != entry:
        raise InputError(
            "the SHA-256 is not the listed one",
            source=str(path),
            expected="the file was changed: generate the set again",
        )


def _check_origin(
    instance: ThreePartition, index: Mapping[str, Any], number: int, path: Path
) -> None:
    expected = Generated(
        family=index["family"],
        parameters=index["parameters"],
        seed=index["seed"],
        number=number,
        version=index["generator_version"],
    )
    if instance.generated != expected:
        raise InputError(
            "not what the index says",
            field="generated",
            source=str(path),
            expected=f"family {expected.family}, seed {expected.seed}, number {number}",
        )


def _check_size(
    layout: SetLayout, instance: ThreePartition, listed: Mapping[str, Any], folder: Path
) -> None:
    """Refuse model files that are too short for their model, before that is written again."""
    for suffix in layout.models:
        name = layout.model_file(instance.name, suffix)
        least = layout.model.least_bytes(instance.groups)
        if name not in listed or listed[name]["bytes"] < least:
            raise _unlike(folder / name, "it cannot hold the model of its instance")


def _check_text(path: Path, text: str) -> None:
    if not path.is_file() or _data(path) != text.encode("ascii"):
        raise _unlike(path, "it is not what its instance makes of it")


def _derived(layout: SetLayout, instance: ThreePartition, name: str) -> str:
    """Describe a file that was made from an instance."""
    if layout.problem is SetProblem.WEIGHT_OFFLOAD and name.endswith(".json"):
        least = shortest_period_ns(instance)
        word = "is" if instance.answer is Answer.YES else "is more than"
        return f"weight offloading by Theorem 1, whose shortest period {word} {least} ns"
    if name.endswith(f".{FileFormat.CERTIFICATE}"):
        return f"the same for {instance.name}, as a certificate that the checker has followed"
    return f"the model {layout.model} of {instance.name}"


def _not_plain(path: Path) -> InputError:
    return InputError(
        "this is not a plain file", source=str(path), expected="a set holds plain files"
    )


def _unlike(path: Path, problem: str) -> InputError:
    return InputError(problem, source=str(path), expected="generate the set again")
