"""Clock of a method: the time used, and the time left of its limit."""

from __future__ import annotations

import math
import os
import time


class Clock:
    """Wall-clock seconds since it was made.

    Parameters
    ----------
    time_limit_s
        What the method may use; None for no limit.
    """

    def __init__(self, time_limit_s: float | None) -> None:
        self._started = time.perf_counter()
        self._cpu_started = _cpu_seconds()
        self._limit_s = math.inf if time_limit_s is None else time_limit_s

    @property
    def seconds(self) -> float:
        """Seconds since the clock was made."""
        return time.perf_counter() - self._started

    @property
    def cpu_seconds(self) -> float:
        """CPU seconds since it was made, of this process and of its children that have ended.

        They say how much was done, however busy the machine was.
        """
        return _cpu_seconds() - self._cpu_started

    @property
    def left_s(self) -> float:
        """Seconds until the limit, not below 0; infinite without one."""
        return max(0.0, self._limit_s - self.seconds)

    def share(self, part: float) -> Clock:
        """Return a clock for a share of the time that is left."""
        return Clock(part * self.left_s)

    def spend(self, moves: float) -> None:
        """Count work, where the clock shares that out (`WorkClock`); here nothing is counted."""

    @property
    def left_moves(self) -> int | None:
        """The work that is left, where the clock shares that out; None for no limit."""
        return None

    def work_limit(self, columns: int) -> int | None:
        """Return the work that is left as a limit of HiGHS on a model; None for no limit."""
        return None

    def require_time(self) -> None:
        """Raise an exception if no time is left.

        Raises
        ------
        TimeoutError
            If there is none.
        """
        if self.seconds >= self._limit_s:
            raise TimeoutError


def _cpu_seconds() -> float:
    return sum(os.times()[:4])
