"""Search for the certificate of a claim about one model, checked when it is found."""

from __future__ import annotations

from collections.abc import Sequence

from jettison.solvers.core.clock import Clock
from jettison.solvers.proof.certificate import Certificate
from jettison.solvers.proof.proof_lines import Proof
from jettison.solvers.proof.prove import Rounding, best_proof
from jettison.solvers.proof.statement import Statement


def certify(
    statement: Statement,
    time_ns: int | None,
    clock: Clock,
    roundings: Sequence[Rounding] = (),
) -> Certificate | None:
    """Return a checked certificate of a claim, or of the best smaller one that could be proved.

    Parameters
    ----------
    statement
        The model that the claim is about.
    time_ns
        The time that no schedule beats, as claimed; None to prove that there is no schedule.
    clock
        At its end, or on Ctrl-C, the best claim that has been proved so far is certified.
    roundings
        Rows that the model's own rows imply, which make trees small.

    Returns
    -------
    Certificate or None
        None where no claim has been proved, not even of a smaller time.

    Raises
    ------
    CertificateError
        If the statement has no model, or the checker rejects what was proved: a defect here.
    """
    stated = statement.model()
    proof = best_proof(stated.model, time_ns, clock, roundings).proof
    return None if proof is None else certificate_of(statement, stated.valid_for, proof)


def certificate_of(statement: Statement, valid_for: str, proof: Proof) -> Certificate:
    """Return the certificate of a proof, after the checker has followed it.

    Raises
    ------
    CertificateError
        If the checker rejects the proof.
    """
    header = statement.header(proof.time_ns, valid_for, proof.scale_bits)
    certificate = Certificate(header, proof.lines)
    certificate.checked()
    return certificate
