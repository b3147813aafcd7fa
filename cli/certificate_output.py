"""Certificates on the command line: the file that is written, and its rows of the answer."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jettison.certificates.checker import Proved, check_certificate
from jettison.cli.arguments import checked_output
from jettison.instances.core.errors import InputError
from jettison.instances.core.units import percent
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.answers.rows import Rows, span
from jettison.solvers.core.certified import can_be_certified
from jettison.solvers.core.registry import PROBLEM_KINDS
from jettison.solvers.core.verdict import Verdict

if TYPE_CHECKING:
    from jettison.solvers.proof.certificate import Certificate


@dataclass(frozen=True, slots=True)
class WrittenCertificate:
    """Certificate file that has been written, read again and checked.

    Attributes
    ----------
    path, size_bytes
        The file.
    proved
        The checker's verdict.
    seconds
        Wall-clock time of the check.
    """

    path: Path
    size_bytes: int
    proved: Proved
    seconds: float


def check_certificate_option(problem: str, path: Path) -> None:
    """Refuse a certificate that cannot be made or written before the work starts.

    Raises
    ------
    InputError
        If the problem has no certificates, or as `checked_output` says.
    """
    if not can_be_certified(problem):
        having = ", ".join(kind.name for kind in PROBLEM_KINDS if kind.certify is not None)
        raise InputError(
            f"bounds of {problem} have no certificates",
            field="certificate",
            expected=f"leave it out; there are certificates for {having}",
        )
    checked_output(path)


def write_certificate(certificate: Certificate, path: Path) -> WrittenCertificate:
    """Write a certificate, then check the file.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    certificate.save(path)
    started = time.perf_counter()
    proved = check_certificate(path)
    return WrittenCertificate(path, path.stat().st_size, proved, time.perf_counter() - started)


def certificate_rows(verdict: Verdict, written: WrittenCertificate | None) -> Rows:
    """Return the rows on what is certified, beside the bound of a method without certificate."""
    if written is None:
        return [
            ("certified bound", "none: nothing could be proved in the time; no file is written")
        ]
    claim = written.proved.claim
    where = (
        f"{written.path}: {written.proved.size}, {written.size_bytes} bytes, "
        f"verified in {written.seconds:.2f} s"
    )
    if claim.time_ns is None:
        return [("certified", f"nothing fits ({claim.valid_for})"), ("certificate", where)]
    value = f"{span(claim.time_ns)}, valid for {claim.valid_for}"
    rows = [("certified bound", value)]
    largest = verdict.found_bound
    if largest is not None and largest.time_ns > claim.time_ns:
        short = percent(1 - claim.time_ns / largest.time_ns)
        rows.append(
            ("not certified", f"the {short} from there to the lower bound of {largest.method}")
        )
    elif largest is not None and not ScheduleClass(claim.valid_for).covers(largest.valid_for):
        rows.append(("not certified", f"that the lower bound is valid for {largest.valid_for}"))
    return [*rows, ("certificate", where)]


def certificate_keys(written: WrittenCertificate | None) -> dict[str, object]:
    """Return the JSON keys of the file; None where there is none."""
    return {
        "certificate": None if written is None else str(written.path),
        "certificate_bytes": None if written is None else written.size_bytes,
        "verified_s": None if written is None else round(written.seconds, 6),
    }
