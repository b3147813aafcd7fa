"""Folder of results: one file for each job, and the instances of the jobs.

=========================== ==================================================================
``jobs/KEY.json``           the record of a job, by its key; it appears complete or not at all
``schedules/KEY.json``      its schedule, if it found one
``certificates/KEY.gz``     its certificate, if one was wanted and made
``instances/SHA256.json``   an instance
``studies/NAME-SHA12.toml`` a study that was run into this folder, as it was written
``claims/KEY``              locked while a job runs; the system unlocks it if its owner dies
``damaged/...``             records, schedules and instances that could not be read, set aside
=========================== ==================================================================

Any number of processes may work on one folder, on several machines if its file system has locks:
a job that another one has claimed is left to it. Only the owner of a claim writes the files of its
key, and it first removes what an earlier owner left unfinished.

A disk can damage any of these files. Whoever reads the folder goes on with the rest and says which
file it is; a sweep sets it aside and makes it again.
"""

from __future__ import annotations

import hashlib
import itertools
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jettison.instances.catalog import Instance, load, save
from jettison.instances.core.atomic_file import put_on_disk
from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import (
    check_header,
    check_schema,
    read_json,
    read_text,
    write_json,
    write_text,
)

_KIND = "study-record"
# The first is made first: a folder that has it is one of results.
_FOLDERS = ("jobs", "schedules", "certificates", "instances", "studies", "claims")
_WAIT_S = 0.05
_MADE_AGAIN = "start the sweep again: it sets damaged files aside and makes them again"


@dataclass(frozen=True, slots=True)
class Survey:
    """Survey of all records of a folder.

    Attributes
    ----------
    records
        Those that can be read, by key.
    damaged
        What is wrong with the others, by key.
    """

    records: Mapping[str, dict[str, Any]]
    damaged: Mapping[str, InputError]


class ResultFolder:
    """Folder of results.

    Parameters
    ----------
    path
        The folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self) -> None:
        """Make the folder, or its missing parts.

        Raises
        ------
        InputError
            If it cannot be made, or holds something else.
        """
        try:
            foreign = self.path.is_dir() and {entry.name for entry in self.path.iterdir()}
            if foreign and _FOLDERS[0] not in foreign:
                raise InputError(
                    "the folder holds other things than results",
                    source=str(self.path),
                    expected="give a new folder, or one of an earlier sweep",
                )
            for name in _FOLDERS:
                (self.path / name).mkdir(parents=True, exist_ok=True)
            for folder in (self.path, self.path.absolute().parent):
                put_on_disk(folder)
        except OSError as error:
            raise InputError(
                f"cannot make the folder: {error.strerror or error}",
                source=str(self.path),
                expected="give a folder that can be written",
            ) from None

    def record_path(self, key: str) -> Path:
        """Return where the record of a job is, or will be."""
        return self.path / "jobs" / f"{key}.json"

    def schedule_path(self, key: str) -> Path:
        """Return where the schedule of a job is, or will be."""
        return self.path / "schedules" / f"{key}.json"

    def certificate_path(self, key: str) -> Path:
        """Return where the certificate of a job is, or will be."""
        return self.path / "certificates" / f"{key}.gz"

    def has(self, key: str) -> bool:
        """Tell whether the record of a job is there."""
        return self.record_path(key).exists()

    def record(self, key: str) -> dict[str, Any]:
        """Return the record of a job.

        Raises
        ------
        InputError
            If it cannot be read, or is none.
        """
        path = self.record_path(key)
        document = read_json(path)
        check_header(document, {_KIND: 1}, str(path))
        check_schema(document, "jettison.studies", f"{_KIND}.schema.json", str(path))
        if document["key"] != key:
            raise InputError("the record of another job", source=str(path), expected=_MADE_AGAIN)
        found: dict[str, Any] = document
        return found

    def sound_record(self, key: str) -> dict[str, Any]:
        """Return the record of a job, if the files to which it refers exist as well.

        Raises
        ------
        InputError
            As `record` does, or if its schedule is missing or empty, or its certificate is not the
            one that was written.
        """
        record = self.record(key)
        schedule = self.schedule_path(key)
        if (record.get("result") or {}).get("time_ns") is not None and not (
            schedule.is_file() and schedule.stat().st_size
        ):
            raise InputError(
                "the schedule of a record is missing", source=str(schedule), expected=_MADE_AGAIN
            )
        certificate = record.get("certificate")
        path = self.certificate_path(key)
        if certificate is not None and _sha256_of(path) != certificate["sha256"]:
            raise InputError(
                "the certificate of a record is missing, or was changed",
                source=str(path),
                expected=_MADE_AGAIN,
            )
        return record

    def survey(self) -> Survey:
        """Read all records.

        Raises
        ------
        InputError
            If there is no such folder.
        """
        jobs = self.path / "jobs"
        if not jobs.is_dir():
            raise InputError(
                "no results", source=str(self.path), expected="give the folder of a sweep"
            )
        records, damaged = {}, {}
        for path in sorted(jobs.glob("*.json")):
            # A name with a dot in front is a file that is being written.
            if path.name.startswith("."):
                continue
            try:
                records[path.stem] = self.record(path.stem)
            except InputError as error:
                damaged[path.stem] = error
        return Survey(records, damaged)

    def set_aside(self, key: str) -> None:
        """Move the damaged record of a job and its schedule out of the way.

        Nothing happens while another process works on the job.
        """
        with self.claimed(key) as ours:
            if ours:
                self._set_aside(self.record_path(key))
                self._set_aside(self.schedule_path(key))
                self._set_aside(self.certificate_path(key))

    def _set_aside(self, path: Path) -> None:
        if not path.exists():
            return
        damaged = self.path / "damaged"
        damaged.mkdir(exist_ok=True)
        taken = {entry.name for entry in damaged.iterdir()}
        names = (
            f"{path.parent.name}-{path.stem}-{number}{path.suffix}" for number in itertools.count(1)
        )
        path.rename(damaged / next(name for name in names if name not in taken))

    def write(self, key: str, content: Mapping[str, object]) -> None:
        """Write the record of a job; a present one is replaced."""
        document = {"format": "jettison", "kind": _KIND, "version": 1, "key": key, **content}
        write_json(document, self.record_path(key))

    def discard_failure(self, key: str) -> None:
        """Remove the record of a job that failed, so that it runs again."""
        with self.claimed(key) as ours:
            if ours and self.has(key) and "failed" in self.record(key):
                self.record_path(key).unlink()

    @contextmanager
    def claimed(self, key: str) -> Iterator[bool]:
        """Claim a job while the block runs; yields whether that worked.

        Raises
        ------
        InputError
            If the file system has no locks.
        FileNotFoundError
            If the folder is not there.
        """
        # Locks of this kind exist on POSIX systems only, and results can be read on any.
        from jettison.studies.file_lock import claimed_file

        with claimed_file(self.path / "claims" / key) as ours:
            if ours:
                for name in ("jobs", "schedules", "certificates", "instances"):
                    # What was being written when its writer was killed.
                    for path in (self.path / name).glob(f".{key}.*"):
                        path.unlink(missing_ok=True)
            yield ours

    def keep_study(self, study: Path) -> None:
        """Keep the file of a study beside its results."""
        text = read_text(study)
        short = hashlib.sha256(text.encode()).hexdigest()[:12]
        path = self.path / "studies" / f"{study.stem}-{short}.toml"
        if not path.exists():
            write_text(text, path)

    def instance_path(self, sha256: str) -> Path:
        """Return where an instance is."""
        return self.path / "instances" / f"{sha256}.json"

    def add_instance(self, instance: Instance) -> InputError | None:
        """Keep an instance beside the results; return what was wrong with an existing file.

        Such a file is set aside.
        """
        path, sha256 = self.instance_path(instance.sha256), instance.sha256
        fault = None
        while (found := self._fault_of_instance(sha256)) or not path.exists():
            with self.claimed(sha256) as ours:
                if ours:
                    fault = found
                    self._set_aside(path)
                    save(instance, path)
            if not ours:
                # Another process is writing it.
                time.sleep(_WAIT_S)
        return fault

    def _fault_of_instance(self, sha256: str) -> InputError | None:
        if self.instance_path(sha256).exists():
            try:
                self.instance(sha256)
            except InputError as error:
                return error
        return None

    def instance(self, sha256: str) -> Instance:
        """Return an instance.

        Raises
        ------
        InputError
            If it is not there, or is another one than its name says.
        """
        path = self.instance_path(sha256)
        found = load(path)
        if found.sha256 != sha256:
            raise InputError(
                f"its SHA-256 is {found.sha256}",
                source=str(path),
                expected=_MADE_AGAIN,
            )
        return found


def _sha256_of(path: Path) -> str | None:
    """Return the hash of a file, or None if it is not there."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
