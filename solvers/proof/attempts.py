"""Several models for one claim, tried one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jettison.certificates.integer_model import IntegerModel
from jettison.solvers.clock import Clock
from jettison.solvers.proof.certificate import Certificate
from jettison.solvers.proof.certify import certify
from jettison.solvers.proof.prove import Rounding
from jettison.solvers.proof.statement import Statement


def no_roundings(model: IntegerModel) -> list[Rounding]:
    """Return no rows beside those of the model."""
    del model
    return []


@dataclass(frozen=True)
class Attempted:
    """One model.

    Attributes
    ----------
    statement
        Which it is.
    roundings
        Returns rows that its rows imply, and that make trees small.
    """

    statement: Statement
    roundings: Callable[[IntegerModel], Sequence[Rounding]] = no_roundings


def best_certificate(
    forms: Sequence[Attempted], time_ns: int | None, clock: Clock
) -> Certificate | None:
    """Return a certificate of a claim, or of the largest smaller one that a model proves in time.

    Every model has an equal share of the time that is left.

    Parameters
    ----------
    forms
        The models, the most promising one first.
    time_ns
        What no schedule is to beat; None to prove that there is no schedule.
    clock
        When it ends, or on Ctrl-C, the best that has been proved so far is returned.
    """
    best: Certificate | None = None
    for place, form in enumerate(forms):
        share_s = clock.left_s / (len(forms) - place)
        share = Clock(None if math.isinf(share_s) else share_s)
        roundings = form.roundings(form.statement.model().model)
        found = certify(form.statement, time_ns, share, roundings)
        if found is not None and (best is None or (found.time_ns or 0) > (best.time_ns or 0)):
            best = found
        if best is not None and best.time_ns == time_ns:
            break
    return best
