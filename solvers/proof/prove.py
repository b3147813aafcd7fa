"""The search for a proof that no point of a model beats a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jettison.certificates.integer_model import IntegerModel
from jettison.solvers.clock import Clock
from jettison.solvers.proof.proof import Attempt, Ending, Proof


@dataclass(frozen=True, slots=True)
class Rounding:
    """A row that rows of the model imply (`certificates.derived_rows`): the record ``G``.

    Attributes
    ----------
    divisor
        Positive.
    weights
        Pairs of a row's number and its weight, at least 0 on inequalities.
    """

    divisor: int
    weights: tuple[tuple[int, int], ...]


def prove(
    model: IntegerModel, time_ns: int | None, clock: Clock, roundings: Sequence[Rounding] = ()
) -> Proof | None:
    """Return a proof that no schedule beats `time_ns`, or None where none was found in time.

    With `time_ns` None, a proof that the model has no point. Derived rows are not added to `model`.
    """
    attempt = best_proof(model, time_ns, clock, roundings)
    return attempt.proof if attempt.ending is Ending.PROVED else None


def best_proof(
    model: IntegerModel, time_ns: int | None, clock: Clock, roundings: Sequence[Rounding] = ()
) -> Attempt:
    """Return a proof of the claim, or of the best smaller one that is proved when the time ends."""
    raise NotImplementedError
