"""Board: the best schedule and the best proven bound of each case, over all records of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.results.record import CERTIFIED, Record
from jettison.schedules.core.schedule_class import ScheduleClass


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Standing of one case.

    Attributes
    ----------
    record
        A record of the case, for what all of them share.
    fastest
        The record with the fastest schedule; None where none has one. Of equal ones, that with the
        fewest CPU seconds.
    tightest
        The record with the largest bound that holds for that schedule; one with a certificate
        stands before all without. None where there is none.
    """

    record: Record
    fastest: Record | None
    tightest: Record | None

    @property
    def gap(self) -> float | None:
        """By how much the schedule may be above the best, as a share of the bound."""
        if (
            self.fastest is None
            or self.fastest.schedule is None
            or self.tightest is None
            or self.tightest.bound is None
            or not self.tightest.bound.time_ns
        ):
            return None
        return self.fastest.schedule.time_ns / self.tightest.bound.time_ns - 1


def standings(records: Iterable[Record]) -> list[Standing]:
    """Return the standing of each case, in the order in which cases come first."""
    cases: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        cases.setdefault(record.case, []).append(record)
    return [_standing(members) for members in cases.values()]


def _standing(members: list[Record]) -> Standing:
    fastest = min(
        (record for record in members if record.schedule is not None),
        key=_by_time,
        default=None,
    )
    own = ScheduleClass.ALL
    if fastest is not None and fastest.schedule is not None:
        own = ScheduleClass(fastest.schedule.schedule_class)
    tightest = max(
        (
            record
            for record in members
            if record.bound is not None and ScheduleClass(record.bound.valid_for).covers(own)
        ),
        key=_by_bound,
        default=None,
    )
    return Standing(record=members[0], fastest=fastest, tightest=tightest)


def _by_time(record: Record) -> tuple[int, float]:
    assert record.schedule is not None
    cpu_s = float("inf") if record.cpu_seconds is None else record.cpu_seconds
    return record.schedule.time_ns, cpu_s


def _by_bound(record: Record) -> tuple[bool, int, bool]:
    assert record.bound is not None
    bound = record.bound
    return bound.evidence == CERTIFIED, bound.time_ns, bound.valid_for == ScheduleClass.ALL
