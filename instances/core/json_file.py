"""JSON files that come from outside: read with limits and checks, written atomically."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from jettison.instances.core.atomic_file import replacing
from jettison.instances.core.compressed import packed, unpacked
from jettison.instances.core.errors import InputError
from jettison.instances.core.schema_check import Check, quick_check

LARGEST_FILE_BYTES = 64 * 2**20
FORMAT = "jettison"


def read_bytes(path: Path) -> bytes:
    """Read a file of at most 64 MiB.

    Raises
    ------
    InputError
        If the file cannot be read, or is too large.
    """
    source = str(path)
    try:
        # No more is read than allowed, whatever the file says of its size: it may be a pipe.
        with path.open("rb") as stream:
            data = stream.read(LARGEST_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        # A path with a null character is a ValueError.
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"cannot read the file: {reason}", source=source, expected="check the path"
        ) from None
    if len(data) > LARGEST_FILE_BYTES:
        raise InputError(
            f"the file has more than {LARGEST_FILE_BYTES} bytes",
            source=source,
            expected=f"files of up to {LARGEST_FILE_BYTES} bytes are read",
        )
    return data


def read_text(path: Path, *, largest_unpacked_bytes: int = LARGEST_FILE_BYTES) -> str:
    """Read a text file of at most 64 MiB, plain or compressed by gzip, whatever its name.

    Parameters
    ----------
    path
        The file.
    largest_unpacked_bytes
        Limit on what a compressed file unpacks to.

    Raises
    ------
    InputError
        If the file cannot be read, is too large, damaged, or not UTF-8 text.
    """
    source = str(path)
    data = unpacked(read_bytes(path), largest_unpacked_bytes, source)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(
            "the file is not UTF-8 text", source=source, expected="give a text file"
        ) from None


def read_json(path: Path) -> Any:
    """Parse a JSON file of at most 64 MiB, plain or compressed by gzip.

    Raises
    ------
    InputError
        If the file cannot be read, is too large, damaged, truncated or otherwise not JSON, nests
        too deeply, names a key twice in one object, or holds a number that is not finite.
    """
    return parse_json(read_text(path), str(path))


def parse_json(text: str, source: str) -> Any:
    """Parse JSON text that comes from `source`.

    Raises
    ------
    InputError
        As `read_json` does for what is not JSON.
    """
    try:
        return json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_reject_constant,
            parse_float=_finite_float,
        )
    except json.JSONDecodeError as error:
        raise InputError(
            f"not JSON at line {error.lineno}, column {error.colno}: {error.msg}",
            source=source,
            expected="check that the file is complete",
        ) from None
    except RecursionError:
        raise InputError(
            "the JSON nests too deeply", source=source, expected="give a flat instance file"
        ) from None
    except InputError as error:
        raise error.within(source=source) from None
    except ValueError:
        # Python refuses to convert integers of more than a few thousand digits.
        raise InputError(
            "a number is too long", source=source, expected="write integers below 2**53"
        ) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise InputError(
                f"the key {key!r} stands twice in one object", expected="write each key once"
            )
        found[key] = value
    return found


def _reject_constant(text: str) -> None:
    raise InputError(f"{text} is not a number", expected="write a finite integer")


def _finite_float(text: str) -> float:
    # A number such as 1e400 would be read as an infinity, which JSON cannot write again.
    value = float(text)
    if math.isinf(value):
        raise InputError(f"{text[:40]} is too large", expected="write a finite number")
    return value


def write_json(document: Mapping[str, object], path: Path) -> None:
    """Write JSON with sorted keys; the file appears complete or not at all.

    Raises
    ------
    InputError
        If the folder does not exist or cannot be written.
    """
    write_text(json_text(document), path)


def json_text(document: Mapping[str, object]) -> str:
    """Return the text that `write_json` writes: equal documents give equal bytes."""
    return json.dumps(document, indent=1, sort_keys=True, allow_nan=False) + "\n"


def rows_text(document: Mapping[str, object]) -> str:
    """Return JSON with sorted keys and one line for each entry of each list in the document.

    Tables of many short columns are legible this way, and half as large.
    """
    lines = []
    for key in sorted(document):
        value = document[key]
        if isinstance(value, list) and value and isinstance(value[0], dict):
            rows = ",\n  ".join(_compact(entry) for entry in value)
            lines.append(f"{_compact(key)}: [\n  {rows}\n ]")
        else:
            lines.append(f"{_compact(key)}: {_compact(value)}")
    return "{\n " + ",\n ".join(lines) + "\n}\n"


def _compact(value: object) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False, separators=(",", ":"))


def write_text(text: str, path: Path) -> None:
    """Write a text file through a temporary file beside it, then rename.

    It is compressed by gzip if its name ends in ``.gz``; equal texts give equal bytes either way.

    Raises
    ------
    InputError
        If the folder does not exist or cannot be written.
    """
    data = text.encode("utf-8")
    with replacing(path) as stream:
        stream.write(packed(data) if path.suffix == ".gz" else data)


def check_header(document: Any, kinds: Mapping[str, int], source: str) -> str:
    """Return the kind of a jettison document after checking its format, kind and version.

    `kinds` maps each kind that the caller can read to its newest version.

    Raises
    ------
    InputError
        If the document is not ours, of another kind, or of a version from the future.
    """
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError(
            "this is not a jettison file",
            field="format",
            source=source,
            expected='a file that jettison reads has "format": "jettison"; '
            "for other formats see: jettison import --help",
        )
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        raise InputError(
            f"{kind!r} cannot be used here",
            field="kind",
            source=source,
            expected=f"give a file of kind {' or '.join(kinds)}",
        )
    version = document.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise InputError(
            f"{version!r} is not a version",
            field="version",
            source=source,
            expected=f"write a version from 1 to {kinds[kind]}",
        )
    if version > kinds[kind]:
        raise InputError(
            f"version {version} is newer than this program",
            field="version",
            source=source,
            expected=f"update jettison, or save the file as version {kinds[kind]}",
        )
    return kind


def check_schema(document: Any, package: str, schema_name: str, source: str) -> None:
    """Check a document against a JSON Schema file that is shipped with `package`.

    Raises
    ------
    InputError
        With the path of the first field that is wrong.
    """
    try:
        # The validator takes seconds for large documents; it decides and explains the others.
        if _quick_check(package, schema_name)(document):
            return
        from jsonschema.exceptions import best_match

        error = best_match(_validator(package, schema_name).iter_errors(document))
    except RecursionError:
        # The messages of the validator show the value, however deeply it nests.
        raise InputError(
            "the JSON nests too deeply", source=source, expected="give a flat instance file"
        ) from None
    if error is None:
        return
    path = error.json_path.removeprefix("$").removeprefix(".")
    message = error.message if len(error.message) <= 200 else error.message[:200] + " ..."
    raise InputError(
        message, field=path, source=source, expected=f"see {schema_name} for what is allowed"
    )


@cache
def _schemas(package: str) -> dict[str, Any]:
    folder = resources.files(package) / "schemas"
    return {
        entry.name: json.loads(entry.read_text(encoding="utf-8"))
        for entry in folder.iterdir()
        if entry.name.endswith(".schema.json")
    }


@cache
def _quick_check(package: str, schema_name: str) -> Check:
    schemas = _schemas(package)
    return quick_check(schemas[schema_name], schemas[schema_name], schemas)


@cache
def _validator(package: str, schema_name: str) -> Any:
    from jsonschema import Draft202012Validator
    from referencing import Registry, Resource

    schemas = _schemas(package)
    registry: Registry[Any] = Registry().with_resources(
        (name, Resource.from_contents(schema)) for name, schema in schemas.items()
    )
    return Draft202012Validator(schemas[schema_name], registry=registry)
