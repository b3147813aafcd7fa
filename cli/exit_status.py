"""Exit statuses of the command line."""

from __future__ import annotations

from enum import IntEnum

from jettison.solvers.core.result import Result


class ExitStatus(IntEnum):
    """Exit status of the program; 1 is reserved for internal errors."""

    DONE = 0
    BAD_INPUT = 2
    INFEASIBLE = 3
    LIMIT_WITH_SCHEDULE = 4
    NO_SCHEDULE = 5


def status_of(result: Result, *, wants_schedule: bool) -> ExitStatus:
    """Return the status for one result; a method that only bounds needs no schedule."""
    if result.infeasibility is not None:
        return ExitStatus.INFEASIBLE
    if result.schedule is None:
        if not wants_schedule and result.termination.is_regular:
            return ExitStatus.DONE
        return ExitStatus.NO_SCHEDULE
    if result.termination.is_regular or result.gap == 0:
        return ExitStatus.DONE
    return ExitStatus.LIMIT_WITH_SCHEDULE
