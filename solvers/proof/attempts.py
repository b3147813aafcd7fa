"""Proof of one claim by the best of several models, tried one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jettison.certificates.integer_model import IntegerModel
from jettison.certificates.stated_model import StatedModel
from jettison.solvers.core.clock import Clock
from jettison.solvers.proof.certificate import Certificate
from jettison.solvers.proof.certify import certificate_of
from jettison.solvers.proof.params import PROOF, ProofParams
from jettison.solvers.proof.proof_lines import Ending, Proof
from jettison.solvers.proof.prove import Rounding, best_proof
from jettison.solvers.proof.statement import Statement


def no_roundings(model: IntegerModel) -> list[Rounding]:
    """Return no roundings: the model's own rows are enough."""
    del model
    return []


@dataclass(frozen=True)
class Attempted:
    """Model that may prove a claim.

    Attributes
    ----------
    statement
        The problem and the formulation.
    roundings
        Returns rows that the model's rows imply, which make trees small.
    """

    statement: Statement
    roundings: Callable[[IntegerModel], Sequence[Rounding]] = no_roundings


def best_certificate(
    forms: Sequence[Attempted],
    time_ns: int | None,
    clock: Clock,
    params: ProofParams = PROOF,
) -> Certificate | None:
    """Return a certificate of a claim, or of the largest smaller one that a model proves in time.

    Each of several models gets a short time first, before any of them gets its full share: often
    one proves at its root what another one needs a tree for.

    Parameters
    ----------
    forms
        The models, the most promising one first.
    time_ns
        The time that no schedule beats, as claimed; None to prove that there is no schedule.
    clock
        At its end, or on Ctrl-C, the best claim that has been proved so far is certified.
    params
        The short time of each model, and the effort of the searches.

    Raises
    ------
    CertificateError
        If a statement has no model, or the checker rejects what was proved: a defect here.
    """
    built: dict[int, StatedModel] = {}
    best: tuple[Attempted, str, Proof] | None = None
    settled: set[int] = set()
    tries = [(place, True) for place in range(len(forms))] if len(forms) > 1 else []
    tries += [(place, False) for place in range(len(forms))]
    for number, (place, is_first) in enumerate(tries):
        if place in settled:
            continue
        form = forms[place]
        if place not in built:
            built[place] = form.statement.model()
        stated = built[place]
        share_s = clock.left_s / (len(tries) - number)
        if is_first:
            share_s = min(params.first_share * share_s, params.longest_first_s)
        share = Clock(None if math.isinf(share_s) else share_s)
        roundings = form.roundings(stated.model)
        attempt = best_proof(stated.model, time_ns, share, roundings, params)
        found = attempt.proof
        if found is not None and (best is None or _proves_more(found, best[2])):
            best = (form, stated.valid_for, found)
        if attempt.ending in {Ending.PROVED, Ending.INTERRUPTED}:
            break
        if attempt.ending is not Ending.TIME_LIMIT:
            settled.add(place)
    if best is None:
        return None
    form, valid_for, proof = best
    return certificate_of(form.statement, valid_for, proof)


def _proves_more(one: Proof, other: Proof) -> bool:
    """Tell whether a proof is of a larger claim, or shorter; "nothing fits" exceeds any time."""
    if one.time_ns == other.time_ns:
        return one.num_bytes < other.num_bytes
    return other.time_ns is not None and (one.time_ns is None or one.time_ns > other.time_ns)
