"""HiGHS in a child process: the same answers, and limits that hold."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jettison.formulations.milp.array_model import Floats
from jettison.instances.core.errors import InputError
from jettison.solvers.core.status import Answer, SolverError, Termination
from jettison.solvers.milp import highs_child
from jettison.solvers.milp.highs import HighsOptions, solve_model
from jettison.solvers.milp.highs_child import solve_in_child
from tests.milp.highs_models import HARD_KNAPSACK, assert_nothing_is_known, knapsack, one_column
from tests.studies.driver import is_alive, wait_until


def test_ctrl_c_is_heard_even_if_the_child_has_ended_by_then() -> None:
    presses = iter([signal.SIGINT])

    def press_once(_: Floats) -> None:
        for press in presses:
            signal.raise_signal(press)

    small = knapsack(items=20, rows=2)
    solution = solve_in_child(small, wall_limit_s=60, on_incumbent=press_once)
    assert next(presses, None) is None
    assert solution.termination is Termination.INTERRUPTED


def test_a_child_gives_the_same_answer_as_a_run_in_this_process() -> None:
    model, options = knapsack(items=30), HighsOptions(gap=0, seed=3)
    here, there = solve_model(model, options), solve_in_child(model, options, wall_limit_s=60)
    assert there.answer is Answer.OPTIMAL
    assert (there.objective, there.dual_bound) == (here.objective, here.dual_bound)
    assert there.nodes == here.nodes
    assert there.by_name(model) == here.by_name(model)
    assert len(there.trace) > 1


def test_a_child_returns_duals_and_takes_a_start() -> None:
    linear = one_column(cost=2, row=(3, 1, math.inf))
    solution = solve_in_child(linear, wall_limit_s=60)
    assert solution.row_duals is not None
    assert solution.row_duals.tolist() == [2]
    model = knapsack(items=20)
    best = solve_model(model, HighsOptions(gap=0))
    options = HighsOptions(start=best.values, node_limit=0)
    assert solve_in_child(model, options, wall_limit_s=60).objective == best.objective


def test_a_child_is_killed_at_its_wall_limit_and_leaves_what_it_reported() -> None:
    points: list[Any] = []
    solution = solve_in_child(HARD_KNAPSACK, wall_limit_s=4, on_incumbent=points.append)
    assert solution.termination is Termination.TIME_LIMIT
    assert solution.answer is Answer.FEASIBLE
    assert solution.values is not None
    assert solution.dual_bound is not None
    assert solution.objective == HARD_KNAPSACK.objective_value(points[-1])
    assert solution.dual_bound < solution.objective
    assert HARD_KNAPSACK.violations(solution.values) == {}


def test_a_child_that_reports_nothing_is_killed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highs_child, "_CHILD_PROGRAM", "import time; time.sleep(600)")
    solution = solve_in_child(knapsack(), wall_limit_s=0.2)
    assert solution.termination is Termination.TIME_LIMIT
    assert_nothing_is_known(solution)


# A child that writes down its number and never looks up from its work, and what starts it.
_BUSY_CHILD = """
import pathlib, os, sys, time
from jettison.solvers.milp import highs_child

def work(*unused, **also_unused):
    pathlib.Path(os.environ["CHILD_NUMBER"]).write_text(str(os.getpid()))
    time.sleep(600)

highs_child.solve_model = work
highs_child.serve()
"""
_PARENT = f"""
from jettison.solvers.milp import highs_child
from tests.milp.highs_models import knapsack

highs_child._CHILD_PROGRAM = {_BUSY_CHILD!r}
highs_child.solve_in_child(knapsack(), wall_limit_s=600)
"""


def test_a_busy_child_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    number = tmp_path / "number"
    paths = {"CHILD_NUMBER": str(number), "PYTHONPATH": os.pathsep.join(map(str, sys.path))}
    with subprocess.Popen([sys.executable, "-c", _PARENT], env={**os.environ, **paths}) as parent:
        wait_until(lambda: number.exists() and bool(number.read_text()))
        parent.kill()
    wait_until(lambda: not is_alive(int(number.read_text())))


def test_ctrl_c_ends_a_child_with_its_best_point() -> None:
    presses = iter([signal.SIGINT])

    def press_once(_: Floats) -> None:
        for press in presses:
            signal.raise_signal(press)

    solution = solve_in_child(HARD_KNAPSACK, wall_limit_s=60, on_incumbent=press_once)
    assert solution.termination is Termination.INTERRUPTED
    assert solution.answer is Answer.FEASIBLE
    assert solution.values is not None
    assert HARD_KNAPSACK.violations(solution.values) == {}


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS holds on Linux")
def test_a_child_stops_at_its_memory_limit() -> None:
    # Python alone takes more than 1 MiB.
    tight = solve_in_child(knapsack(), wall_limit_s=60, memory_limit_bytes=2**20)
    assert tight.termination is Termination.MEMORY_LIMIT
    assert_nothing_is_known(tight)
    ample = solve_in_child(
        knapsack(items=20), HighsOptions(gap=0), wall_limit_s=60, memory_limit_bytes=2**31
    )
    assert ample.answer is Answer.OPTIMAL


@pytest.mark.skipif(sys.platform == "win32", reason="a child dies by a signal on POSIX only")
def test_a_child_that_crashes_is_an_error_and_not_an_exception(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crash = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    monkeypatch.setattr(highs_child, "_CHILD_PROGRAM", crash)
    solution = solve_in_child(knapsack(), wall_limit_s=60)
    assert solution.termination is Termination.ERROR
    assert_nothing_is_known(solution)


def test_a_child_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highs_child, "_CHILD_PROGRAM", "raise RuntimeError('broken install')")
    with pytest.raises(SolverError, match="status 1: RuntimeError: broken install"):
        solve_in_child(knapsack(), wall_limit_s=60)


def test_what_a_child_prints_does_not_disturb_its_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    chatty = (
        "import os\n"
        "from jettison.solvers.milp import highs_child as child\n"
        "read = child.read_message\n"
        "child.read_message = lambda stream: os.write(1, b'hello') and read(stream)\n"
        "child.serve()\n"
    )
    monkeypatch.setattr(highs_child, "_CHILD_PROGRAM", chatty)
    model = one_column(integer=True, row=(2, 1, math.inf))
    assert solve_in_child(model, wall_limit_s=60).objective == 2


@pytest.mark.parametrize(
    ("limits", "field"),
    [
        ({"wall_limit_s": 0}, "wall_limit_s"),
        ({"wall_limit_s": math.nan}, "wall_limit_s"),
        ({"wall_limit_s": 1, "memory_limit_bytes": 0}, "memory_limit_bytes"),
    ],
)
def test_a_limit_that_is_none_is_refused(limits: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError, match=f"^{field}: "):
        solve_in_child(one_column(), **limits)
