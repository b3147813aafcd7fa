"""Proofs that no schedule fits, among the results of several methods on one problem.

A proof is about the schedules of one class: `saved-or-once` may rule out its own while `exact` has
a schedule, or is still looking for one among more.
"""

from __future__ import annotations

from collections.abc import Iterable

from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.outcome import Infeasibility
from jettison.solvers.core.result import Result


def refutation(results: Iterable[Result]) -> Result | None:
    """Return the result that answers the problem with a proof that no schedule fits, if one does.

    Of several proofs the one for most schedules, best with a formulation, which can be certified.
    A proof for a narrower class than all schedules does not answer the problem where a schedule is
    known, or where a method came to a limit before it had a schedule or a proof.
    """
    found = list(results)
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
