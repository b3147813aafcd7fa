"""Checker of a whole certificate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from .certificate_file import CertificateFile, Record, open_certificate
from .claim import Claim
from .errors import CertificateError, on_one_line
from .formulations import formulation_key, stated_model
from .multi_model.training_units import TrainingUnits, UnitCount
from .proof_tree import ProofTree, TreeSize
from .remat_chain.bellman import ProgramSize
from .remat_chain.drops_bellman import DropsBellman
from .remat_chain.persistent_bellman import PersistentBellman
from .remat_offload.pofo_bellman import PofoBellman, PointCount


class ProgramChecker(Protocol):
    """Checker of what is listed below a dynamic program."""

    def check(self, records: Iterable[Record]) -> ProgramSize | PointCount | UnitCount:
        """Check all records.

        Raises
        ------
        CertificateError
            At the first record that is wrong, or if the claim does not follow from all.
        """


# Formulations that are no integer programs, each with a proof of its own.
PROGRAMS: Mapping[tuple[str, str, int], Callable[[Claim], ProgramChecker]] = MappingProxyType(
    {
        ("multi-model", "training-units", 1): TrainingUnits,
        ("remat-chain", "drops-bellman", 1): DropsBellman,
        ("remat-chain", "persistent-bellman", 1): PersistentBellman,
        ("remat-offload-chain", "pofo-bellman", 1): PofoBellman,
    }
)


@dataclass(frozen=True, slots=True)
class Proved:
    """Claim whose proof has been checked.

    Attributes
    ----------
    claim
        The claim.
    size
        Size of the proof.
    """

    claim: Claim
    size: TreeSize | ProgramSize | PointCount | UnitCount

    def __str__(self) -> str:
        return self.statement

    @property
    def statement(self) -> str:
        """The proved claim on one line, with the instance as the file names it."""
        return self.stated("named so by the file")

    def stated(self, identity: str) -> str:
        """Return the proved claim on one line.

        Parameters
        ----------
        identity
            Remark on the identity of the instance, after its name and hash.
        """
        claim = self.claim
        given = "".join(f", {key} {value}" for key, value in sorted(claim.resources.items()))
        name = on_one_line(str(claim.instance.get("name", "an instance without a name")))
        proof = f"{claim.formulation['name']}, {self.size}"
        return (
            f"proved: {claim.statement}, of {claim.problem} {name}{given} "
            f"(instance {claim.instance_sha256[:12]}, {identity}, {proof})"
        )


def check_certificate(path: str | Path) -> Proved:
    """Check the proof of a certificate in exact integers.

    Time is linear in the file and the rows that it changes; memory is that of the model.

    Raises
    ------
    CertificateError
        If the file proves nothing; the line is named where it is one line.
    OSError
        If the file cannot be read.
    """
    with open_certificate(Path(path)) as file:
        return check_opened(file)


def check_opened(file: CertificateFile) -> Proved:
    """Follow the proof of a certificate whose header has been read.

    Raises
    ------
    CertificateError
        If the file proves nothing; the line is named where it is one line.
    """
    claim = Claim.from_header(file.header)
    program = PROGRAMS.get(formulation_key(claim))
    if program is not None:
        return Proved(claim, program(claim).check(file.records()))
    stated = stated_model(claim)
    if claim.valid_for != stated.valid_for:
        raise CertificateError(
            f"the formulation holds for {stated.valid_for}, not for {claim.valid_for[:60]}"
        )
    to_beat = None if claim.time_ns is None else stated.model.to_beat(claim.time_ns)
    size = ProofTree(stated.model, claim.scale_bits, to_beat).check(file.records())
    return Proved(claim, size)
