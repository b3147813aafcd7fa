"""A limit on the time of what a command does, kept by the clock of the system."""

from __future__ import annotations

import math
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from jettison.instances.core.errors import InputError


class TimeLimitError(Exception):
    """The time is over before the work is done."""


def check_time_limit(seconds: float | None) -> None:
    """Refuse a limit that is none.

    Raises
    ------
    InputError
        If it is not a positive number of seconds.
    """
    if seconds is not None and not (0 < seconds < math.inf):
        raise InputError(
            f"{seconds:g}", field="time-limit", expected="write a positive number of seconds"
        )


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """End the block when so much wall-clock time has passed; None for no limit.

    For the main thread only, whose Python code is interrupted wherever it is.

    Raises
    ------
    TimeLimitError
        If the block took longer.
    """
    if seconds is None:
        yield
        return

    def end(_number: int, _frame: FrameType | None) -> None:
        raise TimeLimitError

    before = signal.signal(signal.SIGALRM, end)
    # The clock of the system counts in numbers of 32 bits in places.
    signal.setitimer(signal.ITIMER_REAL, min(seconds, 1e9))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
