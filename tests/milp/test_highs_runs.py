"""A run of HiGHS from start to end: stopped by hand, watched, started, and refused."""

from __future__ import annotations

import itertools
import math
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import pytest

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.instances.core.errors import InputError
from jettison.solvers.core.status import Answer, SolverError, Termination
from jettison.solvers.milp import highs
from jettison.solvers.milp.highs import HighsOptions, Progress, solve_model
from jettison.solvers.milp.solution import with_integers_rounded
from tests.milp.highs_models import (
    HARD_KNAPSACK,
    assert_nothing_is_known,
    knapsack,
    market_split,
    one_column,
    solved_knapsack,
)

# Ending a run by hand.


def test_a_stop_that_is_set_ends_the_run_without_values() -> None:
    stop = threading.Event()
    stop.set()
    solution = solve_model(market_split(), stop=stop)
    assert solution.termination is Termination.INTERRUPTED
    assert_nothing_is_known(solution)


def test_ctrl_c_ends_the_run_with_the_best_point_so_far() -> None:
    presses = iter([signal.SIGINT])

    def press_once(_: Floats) -> None:
        for press in presses:
            signal.raise_signal(press)

    options = HighsOptions(time_limit_s=60)
    solution = solve_model(HARD_KNAPSACK, options, on_incumbent=press_once)
    assert solution.termination is Termination.INTERRUPTED
    assert solution.answer is Answer.FEASIBLE
    assert solution.values is not None
    assert HARD_KNAPSACK.violations(solution.values) == {}


def test_ctrl_c_after_the_last_step_of_highs_is_heard_too() -> None:
    presses = iter([signal.SIGINT])

    def press_at_the_end(_: Floats) -> None:
        for press in presses:
            for thread in threading.enumerate():
                if thread.name == "highs":
                    thread.join()
            signal.raise_signal(press)

    solution = solve_model(knapsack(), HighsOptions(gap=0), on_incumbent=press_at_the_end)
    assert solution.termination is Termination.INTERRUPTED
    assert solution.answer is Answer.OPTIMAL


def test_ctrl_c_is_heard_while_the_run_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    begins = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        begins(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    solution = solve_model(market_split(), HighsOptions(time_limit_s=60))
    assert solution.termination is Termination.INTERRUPTED
    assert "highs" not in {thread.name for thread in threading.enumerate() if thread.is_alive()}


def test_ctrl_c_before_the_run_begins_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: threading.Thread) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        solve_model(market_split(), HighsOptions(time_limit_s=60))


def test_ctrl_c_is_heard_while_highs_reports_nothing() -> None:
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        solution = solve_model(market_split(), HighsOptions(time_limit_s=60))
    finally:
        timer.join()
    assert solution.termination is Termination.INTERRUPTED
    assert_nothing_is_known(solution)


def test_an_exception_of_the_listener_ends_the_run_and_is_passed_on() -> None:
    def complain(_: Progress) -> None:
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        solve_model(HARD_KNAPSACK, HighsOptions(time_limit_s=60), complain)
    assert not any(thread.name == "highs" for thread in threading.enumerate())


# What a run shows on its way.


def test_the_trace_is_live_and_its_bound_never_falls() -> None:
    seen: list[Progress] = []
    solution = solve_model(knapsack(), on_progress=seen.append)
    assert tuple(seen) == solution.trace
    bounds = [progress.dual_bound for progress in seen if progress.dual_bound is not None]
    assert len(bounds) > 1
    assert bounds == sorted(bounds)
    objectives = [progress.objective for progress in seen if progress.objective is not None]
    # HiGHS's own sums carry rounding errors; the last objective is that of rounded values.
    assert all(later <= earlier + 1e-6 for earlier, later in itertools.pairwise(objectives))
    assert seen[0].gap is None
    assert seen[-1].gap == solution.gap


def test_every_better_point_is_reported_and_feasible() -> None:
    model = knapsack()
    points: list[Floats] = []
    solution = solve_model(model, HighsOptions(node_limit=1), on_incumbent=points.append)
    assert all(model.violations(point) == {} for point in points)
    assert solution.values is not None
    np.testing.assert_array_equal(points[-1], solution.values)


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    solve_model(knapsack(items=20))
    assert capfd.readouterr() == ("", "")


def test_integers_are_rounded_to_the_nearest_and_never_cut_off() -> None:
    values = np.array([0.9999999, 2.0000001, 0.5, -1e-9, 0.9999999])
    model = ArrayModelBuilder("mixed")
    model.add_columns("abcde", lower=-1, upper=3, integer=[True, True, True, True, False])
    rounded = with_integers_rounded(model.build(), values, 1e-6)
    # 0.5 is no integer, to any tolerance, and the last column is not integer.
    assert rounded.tolist() == [1, 2, 0.5, 0, 0.9999999]
    assert math.copysign(1, rounded[3]) == 1


# Options.


def test_a_start_is_used() -> None:
    model = knapsack()
    best = solved_knapsack().values
    solution = solve_model(model, HighsOptions(start=best, node_limit=0))
    assert solution.termination is Termination.NODE_LIMIT
    assert solution.objective == -25830


def test_a_start_may_leave_values_open_and_a_useless_one_is_ignored() -> None:
    model = one_column(cost=1, upper=9, integer=True, row=(2, 1, math.inf))
    for start in ([math.nan], [0.0]):
        assert solve_model(model, HighsOptions(start=start)).objective == 2


def test_a_start_that_leaves_integers_open_proves_nothing() -> None:
    # HiGHS completes it in a model without items 0 to 39, and would report the bound of that one.
    model = knapsack()
    start = [0.0] * 40 + [math.nan] * 20
    seen: list[Progress] = []
    solution = solve_model(model, HighsOptions(start=start, node_limit=0), seen.append)
    assert solution.objective is not None
    assert solution.objective < -10_000
    # The optimum is above every bound.
    assert all(item.dual_bound is None or item.dual_bound <= -25830 for item in seen)


def test_a_start_that_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match="start: a start of shape"):
        solve_model(knapsack(), HighsOptions(start=[1.0]))
    with pytest.raises(InputError, match="start: a start for a linear program"):
        solve_model(one_column(), HighsOptions(start=[1.0]))


@pytest.mark.parametrize(
    "changes",
    [
        {"time_limit_s": -1},
        {"time_limit_s": math.nan},
        {"gap": -0.1},
        {"gap": None},
        {"gap": "1%"},
        {"threads": 0},
        {"threads": 1.5},
        {"seed": -1},
        {"seed": 2**31},
        {"node_limit": -1},
        {"feasibility_tolerance": 1},
    ],
)
def test_an_option_out_of_range_is_refused_by_name(changes: dict[str, Any]) -> None:
    (field,) = changes
    with pytest.raises(InputError, match=f"^{field}: "):
        HighsOptions(**changes)


def test_the_number_of_threads_can_change_between_runs() -> None:
    # In one thread HiGHS fails as soon as the number differs from that of the first run.
    for threads in (1, 2, 1):
        solution = solve_model(knapsack(items=20), HighsOptions(threads=threads, gap=0))
        assert solution.answer is Answer.OPTIMAL


@pytest.mark.skipif(sys.platform != "linux", reason="counts the threads under /proc")
def test_no_thread_of_highs_outlives_its_run() -> None:
    # A process that forks while HiGHS's threads are there hangs in its next run.
    def threads() -> set[str]:
        return {task.name for task in Path("/proc/self/task").iterdir()}

    before = threads()
    solve_model(knapsack(items=20), HighsOptions(threads=2))
    for thread in threading.enumerate():
        if thread.name == "highs":
            thread.join()
    # A joined thread has left Python, but the system may still be taking it down.
    deadline = time.monotonic() + 10
    while threads() - before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threads() - before == set()


def test_the_seed_reaches_highs_and_equal_seeds_give_equal_runs() -> None:
    def nodes(seed: int) -> int:
        return solve_model(knapsack(items=30), HighsOptions(seed=seed)).nodes

    assert nodes(1) == nodes(1)
    assert len({nodes(seed) for seed in range(6)}) > 1


def test_a_refused_option_is_an_error() -> None:
    with pytest.raises(SolverError, match="refuses the option no_such_option = 1"):
        highs._set_option(highspy.Highs(), "no_such_option", 1)


def test_a_refused_model_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_costs(_: ArrayModel) -> Any:
        lp = highspy.HighsLp()
        lp.num_col_ = 1
        return lp

    monkeypatch.setattr(ArrayModel, "to_highs_lp", without_costs)
    with pytest.raises(SolverError, match="refuses the model"):
        solve_model(one_column())


def test_a_failed_run_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highspy.Highs, "run", lambda _: highspy.HighsStatus.kError)
    with pytest.raises(SolverError, match="HiGHS fails"):
        solve_model(one_column())


def test_running_out_of_memory_keeps_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_out(_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(highspy.Highs, "run", run_out)
    solution = solve_model(knapsack())
    assert solution.termination is Termination.MEMORY_LIMIT
    assert_nothing_is_known(solution)
