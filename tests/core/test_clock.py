"""A clock counts up, and down to nothing."""

from __future__ import annotations

import math
import time

from jettison.solvers.core.clock import Clock


def test_a_clock_without_a_limit_never_runs_out() -> None:
    assert Clock(None).left_s == math.inf


def test_what_is_left_shrinks_as_the_clock_runs() -> None:
    clock = Clock(3600.0)
    before = clock.seconds
    left = clock.left_s
    assert clock.seconds >= before >= 0
    assert clock.left_s <= left <= 3600.0


def test_a_limit_that_is_over_leaves_nothing_rather_than_less() -> None:
    clock = Clock(1e-9)
    while clock.seconds <= 1e-9:
        pass
    assert clock.left_s == 0.0


def test_cpu_seconds_pass_while_something_is_computed_and_hardly_while_nothing_is() -> None:
    clock = Clock(None)
    time.sleep(0.2)
    idle_s = clock.cpu_seconds
    started = time.process_time()
    while time.process_time() - started < 0.2:
        pass
    assert 0 <= idle_s < 0.2
    assert clock.cpu_seconds - idle_s > 0.1
