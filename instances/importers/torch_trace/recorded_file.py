"""JSON that PyTorch wrote, plain or compressed, and checked access to its fields."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, TypeVar

from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import read_text

Kind = TypeVar("Kind", str, list[Any])

# Recordings with call stacks are some hundred times smaller when they are compressed.
_LARGEST_UNPACKED_BYTES = 512 * 2**20
# PyTorch writes some names twice in one object, and durations that are not numbers where a kernel
# did not end; the fields that count are checked where they are read.
_DECODER = json.JSONDecoder(parse_constant=lambda text: text)
_TAIL = re.compile(r"\s*")


def read_recording(path: Path) -> Any:
    """Parse a recording.

    Raises
    ------
    InputError
        If the file cannot be read, is damaged, or ends before its JSON does.
    """
    text = read_text(path, largest_unpacked_bytes=_LARGEST_UNPACKED_BYTES)
    try:
        document, end = _DECODER.raw_decode(text, _end_of_space(text, 0))
    except json.JSONDecodeError as error:
        raise InputError(
            f"not JSON at line {error.lineno}, column {error.colno}: {error.msg}",
            source=str(path),
            expected="give the file that PyTorch closed: stop the profiler, unregister the "
            "observer, then copy it",
        ) from None
    except (RecursionError, ValueError):
        raise InputError(
            "the JSON nests too deeply, or holds a number that is too long",
            source=str(path),
            expected="give the file as PyTorch wrote it",
        ) from None
    if _end_of_space(text, end) != len(text):
        raise InputError(
            "there is more behind the end of the JSON",
            source=str(path),
            expected="give one recording a file",
        )
    return document


def whole_number(value: Any, field: str) -> int:
    """Return a whole number that stands in a recording.

    Raises
    ------
    InputError
        If it is something else.
    """
    if type(value) is not int or abs(value) >= 2**63:
        raise InputError(
            f"{str(value)[:40]!r} is not a whole number", field=field, expected="write one"
        )
    return value


def checked(value: Any, kind: type[Kind], field: str) -> Kind:
    """Return a text or a list that stands in a recording.

    Raises
    ------
    InputError
        If it is something else.
    """
    if not isinstance(value, kind):
        noun = "text" if kind is str else "list"
        raise InputError(f"{str(value)[:40]!r} is not a {noun}", field=field, expected="write one")
    return value


def _end_of_space(text: str, start: int) -> int:
    found = _TAIL.match(text, start)
    assert found is not None
    return found.end()
