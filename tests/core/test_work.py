"""Shares of work in place of shares of seconds."""

from __future__ import annotations

import math

import pytest

from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.work import WorkClock, clock_of


def test_a_share_is_over_when_its_work_is_done_whatever_the_time() -> None:
    whole = WorkClock(Clock(None), 1000)
    share = whole.share(0.4)
    share.spend(399)
    assert share.left_s == math.inf
    share.require_time()
    share.spend(1)
    assert share.left_s == 0
    with pytest.raises(TimeoutError):
        share.require_time()
    # 600 are left of the whole, which itself has no other end than the time.
    assert whole.left_moves == 600
    assert whole.share(0.5).left_moves == 300
    assert whole.left_s == math.inf


def test_where_all_work_is_done_and_there_is_time_as_much_is_shared_out_again() -> None:
    whole = WorkClock(Clock(None), 1000)
    whole.spend(1500)
    assert whole.share(0.5).left_moves == 500


def test_every_share_is_over_with_the_time() -> None:
    share = WorkClock(Clock(0), 1000).share(1.0)
    assert share.left_s == 0
    with pytest.raises(TimeoutError):
        share.require_time()


def test_a_share_of_a_share_spends_the_work_of_both() -> None:
    half = WorkClock(Clock(None), 1000).share(0.5)
    quarter = half.share(0.5)
    quarter.spend(200)
    assert (quarter.left_moves, half.left_moves) == (50, 300)


def test_a_run_of_highs_has_what_is_left_of_a_share_and_no_end_without_one() -> None:
    whole = WorkClock(Clock(None), 1000)
    # 16 columns make a simplex iteration a move.
    assert whole.share(0.5).work_limit(16) == 500
    assert whole.work_limit(16) is None
    assert WorkClock(Clock(None), math.inf).share(0.5).work_limit(16) is None
    assert Clock(1).work_limit(16) is None


def test_a_method_with_a_limit_on_work_ends_there() -> None:
    clock = clock_of(SolveOptions(time_limit_s=None, most_moves=10))
    clock.spend(10)
    assert clock.left_s == 0
    without = clock_of(SolveOptions(time_limit_s=None))
    without.spend(10)
    assert without.left_s == math.inf
