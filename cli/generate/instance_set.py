"""Folder of generated instances: its files and their contents.

All files follow from the index and the instances, from which every byte can be written again.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, assert_never

from jettison.instances.core.content_hash import content_sha256
from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import json_text
from jettison.instances.three_partition.certificate import Answer
from jettison.instances.three_partition.instance import ThreePartition
from jettison.instances.three_partition.offload_chain import (
    LINK_BYTES_PER_S,
    shortest_period_ns,
    weight_offload_of,
)

INDEX = "index.json"
LARGEST_COUNT = 1000
# PuLP takes about a kilobyte for each of the 9 m^2 coefficients, of the some 600 m^2 of a bound, or
# of the some 800 m^3 of a model over events.
LARGEST_MODEL_GROUPS = 200
LARGEST_BOUND_GROUPS = 20
LARGEST_EVENT_GROUPS = 6
# A coefficient has a name and a blank.
_LEAST_COEFFICIENT_BYTES = 6


class SetProblem(StrEnum):
    """Problem of the instances of a set."""

    THREE_PARTITION = "three-partition"
    WEIGHT_OFFLOAD = "weight-offload"


class FileFormat(StrEnum):
    """Formats of an instance."""

    JSON = "json"
    MPS = "mps"
    LP = "lp"
    CERTIFICATE = "certificate"
    """For the answer no: its argument in the format of `jettison.certificates`."""


class ModelKind(StrEnum):
    """Integer program in MPS and LP files."""

    ANY_GROUP = "any-group"
    LED_BY_LARGEST = "led-by-largest"
    TRIPLES = "triples"
    OFFLOAD_BOUND = "offload-bound"
    OFFLOAD_EVENTS = "offload-events"
    OFFLOAD_EVENTS_STRENGTHENED = "offload-events-strengthened"

    @property
    def file_mark(self) -> str:
        """Ending of its file names, after that of the instance."""
        match self:
            case ModelKind.OFFLOAD_BOUND:
                return "-bound"
            case ModelKind.OFFLOAD_EVENTS | ModelKind.OFFLOAD_EVENTS_STRENGTHENED:
                return "-events"
            case _:
                return ""

    @property
    def largest_groups(self) -> int:
        """The largest number of groups for which it is written."""
        match self:
            case ModelKind.OFFLOAD_BOUND:
                return LARGEST_BOUND_GROUPS
            case ModelKind.OFFLOAD_EVENTS | ModelKind.OFFLOAD_EVENTS_STRENGTHENED:
                return LARGEST_EVENT_GROUPS
            case _:
                return LARGEST_MODEL_GROUPS

    def least_bytes(self, groups: int) -> int:
        """Return the least size of a model file for a number of groups."""
        if self is ModelKind.TRIPLES:
            return 1
        return _LEAST_COEFFICIENT_BYTES * 9 * groups**2


@dataclass(frozen=True, slots=True)
class SetLayout:
    """Layout of a set: its name, problem and formats.

    Attributes
    ----------
    name
        Name of the set.
    problem
        The problem of the instances.
    formats
        Formats of each instance, JSON among them.
    model
        The integer program of the other formats.
    """

    name: str
    problem: SetProblem
    formats: tuple[FileFormat, ...]
    model: ModelKind

    def files(self, instances: Sequence[ThreePartition]) -> dict[str, str]:
        """Return the text of every file but the index, by its name."""
        found: dict[str, str] = {}
        for instance in instances:
            found |= self.instance_files(instance)
        found[self.solutions_file] = self.solutions(instances)
        return found

    def names(self, instances: Sequence[ThreePartition]) -> list[str]:
        """Return the names of all files but the index."""
        found = [self.solutions_file]
        for instance in instances:
            found.append(self.certificate_file(instance.name))
            if self.problem is SetProblem.WEIGHT_OFFLOAD:
                found.append(f"{instance.name}.json")
            found += [self.model_file(instance.name, item) for item in self.models]
            if self._has_certificate(instance):
                found.append(_proof_file(instance))
        return found

    @property
    def models(self) -> list[FileFormat]:
        """The formats that hold an integer program."""
        return [item for item in self.formats if item in {FileFormat.MPS, FileFormat.LP}]

    def _has_certificate(self, instance: ThreePartition) -> bool:
        return FileFormat.CERTIFICATE in self.formats and instance.answer is Answer.NO

    @property
    def solutions_file(self) -> str:
        """The name of the file of answers."""
        return f"{self.name}.solu"

    def instance_files(self, instance: ThreePartition) -> dict[str, str]:
        """Return the text of the files of one instance, by their names.

        Raises
        ------
        InputError
            If the instance is too large for a format.
        """
        if self.problem is SetProblem.WEIGHT_OFFLOAD:
            chain = weight_offload_of(instance).instance
            found = {
                f"{instance.name}.json": json_text(chain.to_json()),
                f"{instance.name}.three-partition.json": json_text(instance.to_json()),
            }
        else:
            found = {f"{instance.name}.json": json_text(instance.to_json())}
        if self.models:
            from jettison.formulations.milp.model_text import TEXT_FORMATS

            model = _model(instance, self.model)
            found |= {
                self.model_file(instance.name, item): TEXT_FORMATS[item](model)
                for item in self.models
            }
        if self._has_certificate(instance):
            found[_proof_file(instance)] = _proof_text(instance)
        return found

    def model_name(self, name: str) -> str:
        """Return the name of the integer program of an instance."""
        return f"{name}{self.model.file_mark}"

    def model_file(self, name: str, suffix: FileFormat) -> str:
        """Return the name of the file of the integer program of an instance."""
        return f"{self.model_name(name)}.{suffix}"

    def certificate_file(self, name: str) -> str:
        """Return the name of the file that holds the certificate of an instance."""
        is_derived = self.problem is SetProblem.WEIGHT_OFFLOAD
        return f"{name}.three-partition.json" if is_derived else f"{name}.json"

    def entry(self, instance: ThreePartition) -> dict[str, object]:
        """Return the entry of one instance in the index."""
        entry: dict[str, object] = {"name": instance.name, "answer": str(instance.answer)}
        if self.problem is SetProblem.WEIGHT_OFFLOAD:
            entry |= {
                "memory_bytes": weight_offload_of(instance).memory_bytes,
                "bandwidth_bytes_per_s": LINK_BYTES_PER_S,
                "shortest_period_ns": shortest_period_ns(instance),
            }
        return entry

    def index(
        self, instances: Sequence[ThreePartition], files: Iterable[dict[str, object]]
    ) -> dict[str, object]:
        """Return the index: what was generated, every file with its hash, and its own hash."""
        first = instances[0].generated
        assert first is not None
        index: dict[str, object] = {
            "format": "jettison",
            "kind": "instance-set",
            "version": 1,
            "name": self.name,
            "problem": str(self.problem),
            "family": first.family,
            "answer": str(instances[0].answer),
            "parameters": dict(first.parameters),
            "seed": first.seed,
            "count": len(instances),
            "generator_version": first.version,
            "formats": [str(item) for item in self.formats],
            "model": str(self.model),
            "instances": [self.entry(instance) for instance in instances],
            "files": sorted(files, key=lambda entry: str(entry["name"])),
        }
        return index | {"sha256": content_sha256(index)}

    def solutions(self, instances: Sequence[ThreePartition]) -> str:
        """Return the answers as MIPLIB writes them, one line for each instance.

        Times are whole nanoseconds, so that a longer period exceeds the shortest by at least 1 ns.
        The objective of a bound is idle time: at least 0, and at most that of a schedule. A model
        over events has points where the shortest period is that of all operations.
        """
        lines = []
        for instance in instances:
            is_yes = instance.answer is Answer.YES
            if self.problem is SetProblem.THREE_PARTITION:
                lines.append(f"={'feas' if is_yes else 'inf'}= {instance.name}\n")
            else:
                shortest = shortest_period_ns(instance)
                word, value = ("opt", shortest) if is_yes else ("bestdual", shortest + 1)
                lines.append(f"={word}= {instance.name} {value}\n")
                if self.models:
                    lines.append(self._model_solution(instance.name, is_yes))
        return "".join(lines)

    def _model_solution(self, instance_name: str, is_yes: bool) -> str:
        name = self.model_name(instance_name)
        if self.model is ModelKind.OFFLOAD_BOUND:
            return f"=opt= {name} 0\n" if is_yes else f"=unkn= {name}\n"
        return f"={'feas' if is_yes else 'inf'}= {name}\n"


def _proof_file(instance: ThreePartition) -> str:
    return f"{instance.name}.certificate"


def _proof_text(instance: ThreePartition) -> str:
    from jettison.certificates.errors import CertificateError
    from jettison.solvers.three_partition.certifier import certificate_of_argument

    try:
        certificate = certificate_of_argument(instance)
    except CertificateError as error:
        raise InputError(
            f"{instance.name}: {error}", field="format", expected="leave out certificate"
        ) from None
    assert certificate is not None, "the answer no has an argument"
    return gzip.decompress(certificate.compressed).decode("ascii")


def file_entry(name: str, data: bytes) -> dict[str, object]:
    """Return the entry of one file in the index."""
    return {"name": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def layout_of(index: Mapping[str, Any]) -> SetLayout:
    """Return the layout that an index describes; the index has passed its schema."""
    return SetLayout(
        name=index["name"],
        problem=SetProblem(index["problem"]),
        formats=tuple(
            item for item in FileFormat if item is FileFormat.JSON or item in index["formats"]
        ),
        model=ModelKind(index["model"]),
    )


def check_new_folder(folder: Path) -> None:
    """Refuse a folder that cannot be made, or that is not empty.

    Raises
    ------
    InputError
        If the folder above does not exist, or the folder is there and not empty.
    """
    if not folder.absolute().parent.is_dir():
        raise InputError(
            f"the folder {folder.absolute().parent} does not exist",
            field="output",
            expected="create it, or choose another",
        )
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"{folder} is a file", field="output", expected="name a new folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError(
            f"{folder} is not empty", field="output", expected="name a new folder, or empty it"
        )


def write_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Write all files into a new folder, which appears complete or not at all.

    Raises
    ------
    InputError
        If the folder cannot be written, or is not empty.
    """
    check_new_folder(folder)
    temporary: Path | None = None
    try:
        temporary = Path(tempfile.mkdtemp(dir=folder.absolute().parent, prefix=f".{folder.name}."))
        for name, text in files.items():
            (temporary / name).write_bytes(text.encode("ascii"))
        # A temporary folder is private to its owner; the result gets the usual permissions.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o777 & ~mask)
        temporary.rename(folder)
    except OSError as error:
        reason = error.strerror or "unknown reason"
        raise InputError(
            f"cannot write {folder}: {reason}", field="output", expected="check the folder"
        ) from None
    finally:
        # After the renaming the temporary folder no longer exists.
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def _model(instance: ThreePartition, kind: ModelKind) -> Any:
    from jettison.formulations.milp.from_pulp import from_pulp
    from jettison.formulations.three_partition.assignment import (
        AnyGroup,
        LedByLargest,
        ThreePartitionAssignment,
    )
    from jettison.formulations.three_partition.triples import three_partition_triples
    from jettison.formulations.weight_offload.paper import WeightOffloadMilp
    from jettison.formulations.weight_offload.timed_events.least_period import (
        EventMilp,
        ValidRow,
        WithoutIdle,
    )

    if instance.groups > kind.largest_groups:
        raise InputError(
            f"the model of {instance.groups} groups",
            field="format",
            expected=f"mps and lp are written for up to {kind.largest_groups} groups: write "
            "--format json",
        )
    match kind:
        case ModelKind.ANY_GROUP:
            built = ThreePartitionAssignment(AnyGroup()).build(instance)
        case ModelKind.LED_BY_LARGEST:
            built = ThreePartitionAssignment(LedByLargest()).build(instance)
        case ModelKind.TRIPLES:
            return three_partition_triples(instance).model
        case ModelKind.OFFLOAD_BOUND:
            bound = WeightOffloadMilp().build(weight_offload_of(instance))
            return from_pulp(bound.problem).model
        case ModelKind.OFFLOAD_EVENTS | ModelKind.OFFLOAD_EVENTS_STRENGTHENED:
            is_strong = kind is ModelKind.OFFLOAD_EVENTS_STRENGTHENED
            milp = EventMilp(WithoutIdle(), strengthened=frozenset(ValidRow if is_strong else ()))
            return from_pulp(milp.build(weight_offload_of(instance)).problem).model
        case other:
            assert_never(other)
    return from_pulp(built.problem).model
