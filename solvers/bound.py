"""A lower bound on the time of a step, with what it is valid for and what it rests on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from jettison.schedules.schedule_class import ScheduleClass


class Evidence(StrEnum):
    """What a bound rests on.

    ``exact arithmetic``
        Integers only; the argument stands in the docstring of the method.
    ``floating-point solver``
        The dual bound of a solver, rounded with care; believed, not proved.
    """

    EXACT = "exact arithmetic"
    SOLVER = "floating-point solver"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """No schedule of the class `valid_for` is faster than `time_ns`.

    Attributes
    ----------
    evidence, method
        What it rests on, and which method found it.
    formulation
        The model that it was found with, as the header of a certificate names it (see
        `jettison.certificates`); None where there is no such model. Says nothing about the bound.
    """

    time_ns: int
    valid_for: ScheduleClass
    evidence: Evidence
    method: str
    formulation: Mapping[str, object] | None = field(default=None, compare=False)


def best_bound(bounds: Iterable[Bound], schedule_class: ScheduleClass) -> Bound | None:
    """Return the largest bound that holds for every schedule of a class.

    Among equal ones, the one valid for more schedules, then the one in exact arithmetic.
    """
    valid = [bound for bound in bounds if bound.valid_for.covers(schedule_class)]
    return max(
        valid,
        key=lambda bound: (
            bound.time_ns,
            sum(map(bound.valid_for.covers, ScheduleClass)),
            bound.evidence is Evidence.EXACT,
        ),
        default=None,
    )
