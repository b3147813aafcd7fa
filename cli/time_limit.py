"""Time limit on the work of a command, enforced by a timer of the system."""

from __future__ import annotations

import math
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from jettison.instances.core.errors import InputError


class TimeLimitError(Exception):
    """The time limit was reached before the work was done."""


def check_time_limit(seconds: float | None) -> None:
    """Refuse an invalid time limit.

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
    """Interrupt the block after a wall-clock time; None for no limit.

    For the main thread only, whose Python code is interrupted at any point.

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
    # On some systems the timer counts in 32 bits.
    signal.setitimer(signal.ITIMER_REAL, min(seconds, 1e9))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
