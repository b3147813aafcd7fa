"""Certificates of the bounds that methods found, and results judged against them.

What is certified is read from the bytes of the certificate by the checker, never from what made it:
no number is called certified here that the checker has not accepted for this very problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from jettison.certificates.errors import CertificateError
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.method import Promise
from jettison.solvers.core.outcome import Infeasibility, SolveOptions
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.registry import find_kind, find_method, kind_of
from jettison.solvers.core.resources import Resources
from jettison.solvers.core.result import Result
from jettison.solvers.core.status import Termination

if TYPE_CHECKING:
    from jettison.solvers.proof.certificate import Certificate


def can_be_certified(problem: str) -> bool:
    """Tell whether there are certificates for a problem, by its name."""
    return find_kind(problem).certify is not None


def certificate_for(
    problem: Problem,
    bounds: Sequence[Bound],
    infeasibility: Infeasibility | None,
    options: SolveOptions,
) -> Certificate | None:
    """Return a certificate of the largest bound, or of the best claim below that could be proved.

    Parameters
    ----------
    problem, options
        As for methods; the time limit is for the certificate alone.
    bounds
        Those that count.
    infeasibility
        The proof of a method that nothing fits; then this is what is certified.

    Returns
    -------
    Certificate or None
        None where there is none for the problem, or nothing was proved in the time.
    """
    certify = kind_of(problem).certify
    return None if certify is None else certify(problem, bounds, infeasibility, options)


def certified_bound(problem: Problem, certificate: Certificate) -> Bound | None:
    """Check a certificate, and return the bound that it proves.

    Returns
    -------
    Bound or None
        None if it proves that nothing fits.

    Raises
    ------
    CertificateError
        If it proves nothing, or is about another problem: a defect of whoever made it.
    """
    claim = certificate.checked().claim
    link = problem.link
    resources = {
        "memory_bytes": problem.memory_bytes,
        "models": kind_of(problem).in_full(Resources(None), problem).models,
        "bytes_per_s": None if link is None else link.bytes_per_s,
        "total_bytes_per_s": None if link is None else link.shared_bytes_per_s,
    }
    same_resources = all(resources.get(name) == given for name, given in claim.resources.items())
    if not same_resources or (claim.problem, claim.instance_sha256) != (
        problem.problem,
        problem.instance.sha256,
    ):
        raise CertificateError("the certificate is about another problem")
    if claim.time_ns is None:
        return None
    return Bound(
        time_ns=claim.time_ns,
        valid_for=ScheduleClass(claim.valid_for),
        evidence=Evidence.CERTIFICATE,
        method=str(claim.formulation["name"]),
        formulation=claim.formulation,
    )


def proof_to_certify(results: Iterable[Result]) -> Infeasibility | None:
    """Return the proof that nothing fits which should be certified, or None.

    None as well where the proof is about a narrower class, and a schedule is known or a wider
    search is open (`refutation`): then bounds of wider classes say more.
    """
    refuting = refutation(results)
    return None if refuting is None else refuting.infeasibility


def with_certified_bounds(results: Sequence[Result], options: SolveOptions) -> list[Result]:
    """Certify the best bound of each problem, and add it to the results of its methods.

    Parameters
    ----------
    results
        Those of one problem follow each other.
    options
        The time limit is that of each certificate. After a Ctrl-C nothing more is begun.
    """
    if any(result.termination is Termination.INTERRUPTED for result in results):
        return list(results)
    by_problem: dict[Problem, list[Result]] = {}
    for result in results:
        by_problem.setdefault(result.problem, []).append(result)
    return [
        judged
        for problem, column in by_problem.items()
        for judged in _certified(problem, column, options)
    ]


def _certified(problem: Problem, column: list[Result], options: SolveOptions) -> list[Result]:
    bounds = list(dict.fromkeys(bound for result in column for bound in result.bounds))
    certificate = certificate_for(problem, bounds, proof_to_certify(column), options)
    bound = None if certificate is None else certified_bound(problem, certificate)
    if certificate is None:
        return column
    if bound is None:
        return [_with_proof(result, certificate.valid_for) for result in column]
    return [
        result
        if find_method(problem.problem, result.method).promise is Promise.BOUND
        else result.with_bounds((bound,))
        for result in column
    ]


def _with_proof(result: Result, valid_for: ScheduleClass) -> Result:
    """Return a result whose claim that nothing fits is that of the certificate, if it covers it."""
    claim = result.infeasibility
    if claim is None or not valid_for.covers(claim.valid_for):
        return result
    return replace(result, infeasibility=replace(claim, evidence=Evidence.CERTIFICATE))


def refutation(results: Iterable[Result]) -> Result | None:
    """Return the result that answers the problem with a proof that no schedule fits, if one does.

    Of several proofs the one for most schedules, best with a formulation, which can be certified.
    A proof for a narrower class than all schedules does not answer the problem where a schedule is
    known, or where a method came to a limit before it had a schedule or a proof. Methods that do
    not apply say nothing.
    """
    found = [result for result in results if result.termination is not Termination.NOT_APPLICABLE]
    proofs = [result for result in found if result.infeasibility is not None]
    if any(result.schedule is not None for result in found):
        return None
    is_open = any(
        result.infeasibility is None and not result.termination.is_regular for result in found
    )
    widest = max(proofs, key=_extent, default=None)
    if widest is None or (is_open and _proof(widest).valid_for is not ScheduleClass.ALL):
        return None
    return widest


def empty_classes(results: Iterable[Result]) -> list[Infeasibility]:
    """Return a proof for each class without a schedule, but for those that a wider one covers."""
    kept: list[Infeasibility] = []
    proofs = [result for result in results if result.infeasibility is not None]
    for result in sorted(proofs, key=_extent, reverse=True):
        proof = _proof(result)
        if not any(other.valid_for.covers(proof.valid_for) for other in kept):
            kept.append(proof)
    return kept


def class_suffix(proof: Infeasibility) -> str:
    """Return words for the class of a proof, for the end of a sentence; none for all schedules."""
    everything = proof.valid_for is ScheduleClass.ALL
    return "" if everything else f" for schedules of the class {proof.valid_for}"


def _proof(result: Result) -> Infeasibility:
    assert result.infeasibility is not None
    return result.infeasibility


def _extent(result: Result) -> tuple[int, bool]:
    proof = _proof(result)
    return sum(map(proof.valid_for.covers, ScheduleClass)), proof.formulation is not None
