"""A test that hangs is ended, whatever it catches; and how many examples are tried."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from hypothesis import HealthCheck, settings

_SECONDS = 30

# JETTISON_FUZZ_EXAMPLES=10000 looks longer, and elsewhere each time.
_ASKED = os.environ.get("JETTISON_FUZZ_EXAMPLES")


class Hang(BaseException):
    """It takes far longer than anything so small may."""


@contextmanager
def ended_in_time() -> Iterator[None]:
    """Raise in a block that takes half a minute."""

    def end(number: int, frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def examples(count: int) -> settings:
    """Return settings for so many examples, the same ones each time unless more are asked for."""
    return settings(
        max_examples=int(_ASKED or count),
        derandomize=_ASKED is None,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
