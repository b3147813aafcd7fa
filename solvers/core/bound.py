"""Lower bound on the time of a step, with the class of schedules and the evidence for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from jettison.schedules.core.schedule_class import ScheduleClass


class Evidence(StrEnum):
    """Evidence for a bound: exact arithmetic, a solver, or a checked certificate.

    ``checked certificate``
        A proof in a file that anybody can check, in exact integers and without our code for
        solving; it has been checked.
    ``exact arithmetic``
        Integers only; the argument stands in the docstring of the method.
    ``floating-point solver``
        The dual bound of a solver, rounded with care; believed, not proved.
    """

    CERTIFICATE = "checked certificate"
    EXACT = "exact arithmetic"
    SOLVER = "floating-point solver"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Lower bound: no schedule of the class `valid_for` is faster than `time_ns`.

    Attributes
    ----------
    evidence, method
        What its proof relies on, and the method that found it.
    formulation
        The model that it was found with, as the header of a certificate names it (see
        `jettison.certificates`); None where there is no such model. Says nothing about the bound.
    """

    time_ns: int
    valid_for: ScheduleClass
    evidence: Evidence
    method: str
    formulation: Mapping[str, object] | None = field(default=None, compare=False)


def exact_bound(time_ns: int, valid_for: ScheduleClass, method: str) -> Bound:
    """Return a bound in exact arithmetic that was found with no model."""
    return Bound(time_ns=time_ns, valid_for=valid_for, evidence=Evidence.EXACT, method=method)


# The less there is to believe, the better.
_RANK = {Evidence.SOLVER: 0, Evidence.EXACT: 1, Evidence.CERTIFICATE: 2}


def best_bound(bounds: Iterable[Bound], schedule_class: ScheduleClass) -> Bound | None:
    """Return the largest bound that holds for every schedule of a class; see `largest_bound`."""
    return largest_bound(bound for bound in bounds if bound.valid_for.covers(schedule_class))


def largest_bound(bounds: Iterable[Bound]) -> Bound | None:
    """Return the largest bound, or None if there is none.

    Among equal ones, the one valid for more schedules, then the one with a checked certificate,
    then the one in exact arithmetic.
    """
    return max(
        bounds,
        key=lambda bound: (
            bound.time_ns,
            sum(map(bound.valid_for.covers, ScheduleClass)),
            _RANK[bound.evidence],
        ),
        default=None,
    )
