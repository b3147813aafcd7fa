"""File of an unfinished profile, from which a second run goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import read_json, write_json
from jettison.instances.core.provenance import Scalar

_FORMAT = "jettison-partial-profile"
_VERSION = 2

Measured = TypeVar("Measured")


@dataclass(frozen=True, slots=True)
class Codec(Generic[Measured]):
    """Encoder and decoder of one measurement as JSON.

    `decode` raises KeyError, TypeError or ValueError for what `encode` has not written.
    """

    encode: Callable[[Measured], object]
    decode: Callable[[Any], Measured]


class PartialProfile(Generic[Measured]):
    """File of the measurements so far, so that a second run goes on where the first stopped.

    The file is replaced as a whole: whatever ends the program, it holds complete measurements. What
    is there counts only if it was measured for the same key; otherwise the file is written anew.

    Parameters
    ----------
    path
        Path of the file; it need not exist.
    key
        All that the numbers depend on: the model, its input, the device, versions.
    codec
        Encoder and decoder of one measurement.
    patience_s
        Time after a writing within which no other one begins, for measurements that are short and
        many; `flush` writes what is left.

    Attributes
    ----------
    measured
        Measurements so far, by name.
    differs_in
        Names in the key whose values differ from those of a file that was found and is not used.

    Raises
    ------
    InputError
        If the file exists and is not an unfinished profile.
    """

    def __init__(
        self,
        path: Path,
        key: Mapping[str, Scalar],
        codec: Codec[Measured],
        *,
        patience_s: float = 0.0,
    ) -> None:
        self._path = path
        self._key = dict(key)
        self._codec = codec
        self._patience_s = patience_s
        self._written_s = -patience_s
        self._waiting = False
        self.measured: dict[str, Measured] = {}
        self.differs_in: tuple[str, ...] = ()
        if path.exists():
            self._read()

    def record(self, name: str, measurement: Measured) -> None:
        """Add a measurement, and write the file unless that has been done just before.

        Raises
        ------
        InputError
            If the folder cannot be written.
        """
        self.measured[name] = measurement
        self._waiting = True
        if time.monotonic() - self._written_s >= self._patience_s:
            self.flush()

    def flush(self) -> None:
        """Write the file if some measurement is not in it yet.

        Raises
        ------
        InputError
            If the folder cannot be written.
        """
        if not self._waiting:
            return
        document = {
            "format": _FORMAT,
            "version": _VERSION,
            "key": self._key,
            "measured": {name: self._codec.encode(item) for name, item in self.measured.items()},
        }
        write_json(document, self._path)
        self._written_s = time.monotonic()
        self._waiting = False

    def discard(self) -> None:
        """Remove the file; the profile is complete."""
        self._waiting = False
        self._path.unlink(missing_ok=True)

    def _read(self) -> None:
        document = read_json(self._path)
        try:
            if (document["format"], document["version"]) != (_FORMAT, _VERSION):
                raise KeyError("format")
            found: dict[str, Scalar] = dict(document["key"])
            names = dict.fromkeys((*self._key, *found))
            differs = tuple(name for name in names if self._key.get(name) != found.get(name))
            entries = dict(document["measured"])
            measured = {} if differs else {k: self._codec.decode(v) for k, v in entries.items()}
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InputError(
                "this is not an unfinished profile of this version",
                source=str(self._path),
                expected="remove it, or choose another output file",
            ) from None
        self.differs_in = differs
        self.measured = measured
