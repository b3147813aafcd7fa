"""Clocks of faster and slower machines, and what is told of a result but for its seconds."""

from __future__ import annotations

import json

from jettison.solvers.core.clock import Clock
from jettison.solvers.core.result import Result


class FastClock(Clock):
    """The clock of a machine that is five times as fast: as many seconds pass for one."""

    @property
    def seconds(self) -> float:
        return super().seconds / 5


class SlowClock(Clock):
    """The clock of a machine that does much besides."""

    @property
    def seconds(self) -> float:
        return 5 * super().seconds


MACHINES = (FastClock, SlowClock)


def without_seconds(result: Result) -> str:
    """Return all that is told of a result, and its schedule, but for the time that it took."""
    told = {**result.to_json(), "seconds": 0, "computations": str(result.schedule)}
    return json.dumps(told, sort_keys=True)
