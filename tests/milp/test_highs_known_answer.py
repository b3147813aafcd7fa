"""A HiGHS that gives wrong answers is not believed, and results name the solvers that ran."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from typing import Any

import highspy
import pytest

import jettison as jt
from jettison.cli.main import main
from jettison.instances.core.errors import UnsoundSolverError
from jettison.solvers.core.solver_versions import note_solver, solver_versions
from jettison.solvers.milp import highs_known_answer
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_known_answer import (
    FEASIBLE_POINT,
    KNOWN_OPTIMUM,
    feasible_model,
    known_answer_model,
    require_sound_highs,
)
from tests.tiny import LADDER


@pytest.fixture(autouse=True)
def _asked_anew() -> Iterator[None]:
    require_sound_highs.cache_clear()
    yield
    require_sound_highs.cache_clear()


def test_the_known_optimum_is_that_of_an_enumeration() -> None:
    # With the integers fixed, each continuous column stands in one row, and takes the least value
    # that its row allows.
    model = known_answer_model()
    best = math.inf
    for z1, z2, *binaries in itertools.product(range(11), range(21), *[(0, 1)] * 3):
        x1, x2 = max(0.0, 4.5 - z1), max(8.0, 20.25 - z2)
        point = [x1, z1, x2, z2, *binaries]
        if not model.violations(point):
            best = min(best, model.objective_value(point))
    assert best == KNOWN_OPTIMUM


def test_the_installed_highs_passes() -> None:
    require_sound_highs()


def test_the_feasible_model_has_its_point() -> None:
    model = feasible_model()
    point = [float(FEASIBLE_POINT.get(name, 0)) for name in model.column_names]
    assert sum(point) == sum(FEASIBLE_POINT.values())
    assert not model.violations(point)


@pytest.mark.parametrize("version", ["1.14.0", "1.16.0"])
def test_a_version_that_is_known_for_wrong_answers_is_refused(
    monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(metadata, "version", lambda _: version)
    with pytest.raises(
        UnsoundSolverError, match=rf"^highspy {re.escape(version)} is not used: .*pip install"
    ):
        solve_model(known_answer_model())


# What HiGHS 1.14.0 answers to the model; its bound meets the wrong point.
@pytest.mark.parametrize(
    "answer", [("Optimal", 35.0, 35.0), ("Optimal", 28.5, 35.0), ("Infeasible", math.inf, math.inf)]
)
def test_another_version_is_refused_for_what_it_answers(
    monkeypatch: pytest.MonkeyPatch, answer: tuple[str, float, float]
) -> None:
    monkeypatch.setattr(highs_known_answer, "_answer", lambda _: answer)
    for _ in range(2):
        with pytest.raises(UnsoundSolverError, match=r"whose optimum is 28\.5"):
            solve_model(known_answer_model())


def test_a_version_that_calls_a_feasible_model_infeasible_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What HiGHS 1.16.0 answers.
    answers = {
        "known_answer": ("Optimal", KNOWN_OPTIMUM, KNOWN_OPTIMUM),
        "known_feasible": ("Infeasible", math.inf, math.inf),
    }
    monkeypatch.setattr(highs_known_answer, "_answer", lambda model: answers[model.name])
    with pytest.raises(UnsoundSolverError, match="answers Infeasible to a model with points"):
        solve_model(known_answer_model())


def test_the_command_line_refuses_it_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(highs_known_answer, "_answer", lambda _: ("Optimal", 35.0, 35.0))
    with pytest.raises(SystemExit) as stop:
        main(
            [
                "solve",
                "remat-graph",
                "resnet18-graph-b8-64-cpu",
                "--memory",
                "95%",
                "--method",
                "cut-bound",
            ]
        )
    assert stop.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: highspy ")
    assert printed.err.count("\n") == 1


def test_results_name_the_solver_that_ran_and_no_other() -> None:
    graph = jt.RematGraph(LADDER, memory="95%")
    with_solver = jt.solve(graph, method="checkmate")
    without = jt.solve(graph, method="recompute-all")
    assert with_solver.solver_versions == {"highspy": metadata.version("highspy")}
    assert without.solver_versions == {}
    assert with_solver.to_json()["versions"] == {
        "jettison": metadata.version("jettison"),
        "highspy": metadata.version("highspy"),
    }
    assert jt.bound(graph).to_json()["versions"] == with_solver.to_json()["versions"]


def test_a_block_collects_what_runs_while_it_is_open() -> None:
    note_solver("numpy")
    with solver_versions() as outer:
        with solver_versions() as inner:
            note_solver("highspy")
        note_solver("numpy")
    note_solver("pulp")
    assert set(inner) == {"highspy"}
    assert set(outer) == {"highspy", "numpy"}


def test_the_threads_of_a_later_run_are_its_own() -> None:
    def run_with_two_threads() -> Any:
        # A pool of another size in the same thread would fail.
        require_sound_highs()
        highs: Any = highspy.Highs()
        highs.setOptionValue("log_to_console", False)
        highs.setOptionValue("threads", 2)
        highs.passModel(known_answer_model().to_highs_lp())
        status = highs.run()
        highspy.Highs.resetGlobalScheduler(True)
        return status

    # Not in the thread of the tests, in which others have run HiGHS.
    with ThreadPoolExecutor(max_workers=1) as pool:
        assert pool.submit(run_with_two_threads).result() == highspy.HighsStatus.kOk
