"""The stages of an unfinished profile, in a file beside the one that it will become."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from jettison.instances.errors import InputError
from jettison.instances.json_file import read_json, write_json
from jettison.instances.profilers.stage_measurement import StageMeasurement
from jettison.instances.provenance import Scalar

_FORMAT = "jettison-partial-profile"
_VERSION = 1


class PartialProfile:
    """Keeps every measured stage at once, so that a second run goes on where the first stopped.

    The file is replaced as a whole after each stage: whatever ends the program, it holds complete
    stages. What is there counts only if it was measured for the same key; otherwise the file is
    written anew.

    Parameters
    ----------
    path
        Of the file; it need not exist.
    key
        All that the numbers depend on: the model, its input, the device, versions.
    announce
        Called with the number of a stage, from 1, their count and its name before it is measured.

    Attributes
    ----------
    measured
        The stages known so far.
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
        announce: Callable[[int, int, str], None],
    ) -> None:
        self._path = path
        self._key = dict(key)
        self._announce = announce
        self.measured: dict[str, StageMeasurement] = {}
        self.differs_in: tuple[str, ...] = ()
        if path.exists():
            self._read()

    def recall(self, stage: str) -> StageMeasurement | None:
        """Return what is known of a stage."""
        return self.measured.get(stage)

    def starting(self, number: int, count: int, stage: str) -> None:
        """Pass the news on."""
        self._announce(number, count, stage)

    def record(self, stage: str, measurement: StageMeasurement) -> None:
        """Write the file with one more stage.

        Raises
        ------
        InputError
            If the folder cannot be written.
        """
        self.measured[stage] = measurement
        document = {
            "format": _FORMAT,
            "version": _VERSION,
            "key": self._key,
            "stages": {name: known.to_json() for name, known in self.measured.items()},
        }
        write_json(document, self._path)

    def discard(self) -> None:
        """Remove the file; the profile is complete."""
        self._path.unlink(missing_ok=True)

    def _read(self) -> None:
        document = read_json(self._path)
        try:
            if (document["format"], document["version"]) != (_FORMAT, _VERSION):
                raise KeyError("format")
            found: dict[str, Scalar] = dict(document["key"])
            stages = {
                name: StageMeasurement.from_json(entry)
                for name, entry in document["stages"].items()
            }
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InputError(
                "this is not an unfinished profile of this version",
                source=str(self._path),
                expected="remove it, or choose another output file",
            ) from None
        names = dict.fromkeys((*self._key, *found))
        self.differs_in = tuple(name for name in names if self._key.get(name) != found.get(name))
        if not self.differs_in:
            self.measured = stages
