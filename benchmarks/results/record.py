"""Recorded result: what one run found for a problem, as it stands in its folder.

A folder holds ``record.json``, and beside it the schedule (``schedule.json.gz``) and the
certificate (``certificate.gz``), as far as there are any. `record.schema.json` says what the keys
are.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from jettison.instances.catalog import load
from jettison.instances.core.errors import InputError
from jettison.instances.core.instance import Instance
from jettison.instances.core.json_file import read_json
from jettison.instances.importers.iopddl import import_iopddl
from jettison.solvers.core.pose import pose_problem
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.resources import Resources

HERE = Path(__file__).parent
RECORDS = HERE / "records"
LARGEST_BYTES = 25_000
CERTIFIED = "checked certificate"


@dataclass(frozen=True, kw_only=True)
class RecordedSchedule:
    """Schedule of a record: who found it, and what its replay says.

    Attributes
    ----------
    method
        The method, or whoever wrote it.
    time_ns, peak_bytes, schedule_class
        What the replay says.
    sha256
        Of its file.
    """

    method: str
    time_ns: int
    peak_bytes: int
    schedule_class: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class RecordedBound:
    """Bound of a record, with its evidence.

    Attributes
    ----------
    method
        The method that found it, or the formulation of the certificate.
    time_ns, valid_for, evidence
        No schedule of the class is faster, and why one may believe it.
    certificate_sha256
        Of the certificate; None without one.
    certificate_bytes
        Size of a certificate that is too large to be kept; None where it is kept, or there is none.
    """

    method: str
    time_ns: int
    valid_for: str
    evidence: str
    certificate_sha256: str | None = None
    certificate_bytes: int | None = None

    @property
    def is_kept(self) -> bool:
        """Whether its certificate stands beside the record."""
        return self.certificate_sha256 is not None and self.certificate_bytes is None


@dataclass(frozen=True, kw_only=True)
class Record:
    """Recorded result.

    Attributes
    ----------
    folder
        Where it stands.
    problem, instance, published_file, instance_sha256, device
        What it is about; `published_file` is None for a bundled instance.
    resources, memory_bytes
        The resources as they were given, and the memory that they come to.
    schedule, bound
        What was found.
    cpu_seconds, certificate_cpu_seconds
        What it took; None where nobody says so.
    versions, found_by, note
        Versions of the programs, the finder, and a remark.
    """

    folder: Path
    problem: str
    instance: str
    published_file: str | None
    instance_sha256: str
    device: str
    resources: Resources
    memory_bytes: int
    schedule: RecordedSchedule | None
    bound: RecordedBound | None
    cpu_seconds: float | None = None
    certificate_cpu_seconds: float | None = None
    versions: dict[str, str] = field(default_factory=dict)
    found_by: str
    note: str = ""

    @property
    def case(self) -> tuple[str, ...]:
        """The case that records compete in: problem, instance and resources."""
        others = {
            key: value
            for key, value in asdict(self.resources).items()
            if value is not None and key not in {"memory", "alpha"}
        }
        return (
            self.problem,
            self.instance,
            str(self.memory_bytes),
            *(f"{key}={value}" for key, value in sorted(others.items())),
        )

    @property
    def schedule_path(self) -> Path:
        """The file of the schedule."""
        return self.folder / "schedule.json.gz"

    @property
    def certificate_path(self) -> Path:
        """The file of the certificate."""
        return self.folder / "certificate.gz"

    def posed(self, published: Path | None = None) -> Problem:
        """Return the problem.

        Parameters
        ----------
        published
            The folder of published files, for an instance that is not bundled.

        Raises
        ------
        InputError
            If the file is not there, or holds another instance.
        """
        loaded = self._loaded(published)
        posed = pose_problem(self.problem, loaded, self.resources)
        for key, stated, found in (
            ("instance_sha256", self.instance_sha256, posed.instance.sha256),
            ("memory_bytes", self.memory_bytes, posed.memory_bytes),
        ):
            if stated != found:
                raise InputError(
                    f"the record says {stated}",
                    field=key,
                    source=str(self.folder),
                    expected=f"it is {found}",
                )
        return posed

    def _loaded(self, published: Path | None) -> Instance:
        if self.published_file is None:
            return load(self.instance)
        path = None if published is None else published / self.published_file
        if path is None or not path.is_file():
            raise InputError(
                f"{self.instance} is not bundled",
                field="published_file",
                source=str(self.folder),
                expected=f"give the folder that holds {self.published_file}",
            )
        return import_iopddl(path)


@cache
def _schema() -> Any:
    return json.loads((HERE / "record.schema.json").read_text(encoding="utf-8"))


def read_record(folder: Path) -> Record:
    """Read and check the record of a folder.

    Raises
    ------
    InputError
        If it cannot be read, or is not what the schema says.
    """
    path = folder / "record.json"
    document = read_json(path)
    errors = sorted(jsonschema.Draft202012Validator(_schema()).iter_errors(document), key=str)
    if errors:
        where = ".".join(map(str, errors[0].absolute_path)) or "record"
        raise InputError(
            errors[0].message, field=where, source=str(path), expected="see record.schema.json"
        )
    schedule, bound = document.get("schedule"), document.get("bound")
    if schedule is None and bound is None:
        raise InputError(
            "neither a schedule nor a bound", source=str(path), expected="record one of them"
        )
    return Record(
        folder=folder,
        problem=document["problem"],
        instance=document["instance"],
        published_file=document.get("published_file"),
        instance_sha256=document["instance_sha256"],
        device=document["device"],
        resources=Resources(**{"memory": None, **document["resources"]}),
        memory_bytes=document["memory_bytes"],
        schedule=None
        if schedule is None
        else RecordedSchedule(
            schedule_class=schedule["class"],
            **{key: value for key, value in schedule.items() if key != "class"},
        ),
        bound=None if bound is None else RecordedBound(**bound),
        cpu_seconds=document.get("cpu_seconds"),
        certificate_cpu_seconds=document.get("certificate_cpu_seconds"),
        versions=document.get("versions", {}),
        found_by=document["found_by"],
        note=document.get("note", ""),
    )


def read_records(root: Path = RECORDS) -> list[Record]:
    """Read all records below a folder, in the order of their paths."""
    return [read_record(path.parent) for path in sorted(root.glob("*/*/record.json"))]


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
