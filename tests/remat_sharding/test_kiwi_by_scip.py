"""KIWI's quadratic programs solved by SCIP as they are printed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from jettison import InputError, RematSharding, ScheduleClass
from jettison.instances.core.errors import MissingExtraError
from jettison.remat_sharding import ShardedSchedule
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.registry import find_method, methods_of
from jettison.solvers.core.solve import compare_with, solve_with
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_sharding.fastest_plan import with_fastest
from tests.remat_sharding.oracles.brute_force import (
    best_reduced_plan,
    best_staged_plan,
    priced_choices,
)
from tests.remat_sharding.samples import any_order, training_steps
from tests.remat_sharding.steps import encoder, small_perceptron

EXACT = SolveOptions(time_limit_s=30, gap=0)
NAMES = ("kiwi-reduced-scip", "kiwi-full-scip")


@pytest.fixture(autouse=True)
def _scip(request: pytest.FixtureRequest) -> None:
    if "without" not in request.node.name:
        pytest.importorskip("pyscipopt", reason="these methods need jettison[scip]")


def test_the_reduced_program_has_the_optimum_of_the_brute_force_and_of_highs() -> None:
    again = proofs = 0
    for problem in training_steps(seed=61, count=40):
        sharded = problem.instance
        if not priced_choices(sharded):
            continue
        plan = best_reduced_plan(sharded, problem.memory_bytes)
        # A contradiction between a plan and a bound of the two raises.
        scip, highs = compare_with(problem, ["kiwi-reduced-scip", "kiwi-reduced"], EXACT)
        assert scip.time_ns == highs.time_ns == (plan and plan.time_ns)
        assert scip.status == highs.status
        if plan is None:
            assert scip.infeasibility == highs.infeasibility is not None
            proofs += 1
            continue
        assert scip.replay is not None
        assert scip.replay.valid
        assert scip.lower_bound_ns is not None
        assert scip.lower_bound_ns <= plan.time_ns
        again += len(plan.computations) > len(sharded)
    assert again >= 3
    assert proofs >= 3


@pytest.mark.parametrize("samples", [training_steps, any_order])
def test_the_full_program_has_the_optimum_of_the_brute_force_and_of_highs(samples: Any) -> None:
    for problem in samples(seed=62, count=7, most_operators=5):
        if not priced_choices(problem.instance):
            continue
        plan = best_staged_plan(problem.instance, problem.memory_bytes)
        scip, highs = compare_with(problem, ["kiwi-full-scip", "kiwi-full"], EXACT)
        assert scip.time_ns == highs.time_ns == (plan and plan.time_ns)
        assert scip.status == highs.status


def test_the_perceptron_of_the_paper_has_the_optimum_of_the_compact_model() -> None:
    problem = RematSharding(with_fastest(small_perceptron()), "80%")
    scip, highs = compare_with(problem, ["kiwi-reduced-scip", "kiwi-reduced"], EXACT)
    assert scip.time_ns == highs.time_ns
    assert scip.status == highs.status == "optimal-kiwi-reduced"
    assert {bound.valid_for for bound in scip.bounds} >= {ScheduleClass.KIWI_REDUCED}


@pytest.mark.parametrize("method", NAMES)
def test_a_time_limit_ends_with_what_is_known(method: str) -> None:
    graph = with_fastest(small_perceptron())
    found = solve_with(RematSharding(graph, "40%"), method, SolveOptions(time_limit_s=1e-6, gap=0))
    assert found.schedule is None
    assert not found.termination.is_regular
    assert found.note is not None


def test_a_cut_off_run_keeps_its_plan_and_a_bound_below_it() -> None:
    # SCIP does not prove the full problem of the perceptron in minutes.
    problem = RematSharding(with_fastest(small_perceptron()), "80%")
    known = solve_with(problem, "kiwi-reduced", EXACT)
    assert isinstance(known.schedule, ShardedSchedule)
    found = solve_with(
        problem, "kiwi-full-scip", SolveOptions(time_limit_s=6, gap=0, start=known.schedule)
    )
    assert found.time_ns is not None
    assert known.time_ns is not None
    assert found.time_ns <= known.time_ns
    assert found.lower_bound_ns is not None
    assert found.lower_bound_ns <= found.time_ns


@pytest.mark.parametrize("method", NAMES)
def test_a_graph_that_is_too_large_is_declined(method: str) -> None:
    graph = with_fastest(encoder())
    params = {} if method == "kiwi-full-scip" else {"most_columns": 10_000}
    found = find_method("remat-sharding", method).with_params(params)
    outcome = found.run(RematSharding(graph, "80%"), SolveOptions(time_limit_s=60))
    assert outcome.schedule is None
    assert outcome.termination is Termination.MEMORY_LIMIT
    assert "use another method" in (outcome.note or "")


_SOLVES = """
import jettison as jt
from jettison.solvers.milp import scip
solve = scip._Run.solve
def told(run):
    print("begun", flush=True)
    return solve(run)
scip._Run.solve = told
found = jt.solve(
    jt.RematSharding(jt.load("mlp-26"), "40%"), method="kiwi-full-scip", time_limit=300
)
print(found.termination, found.lower_bound_ns is not None)
"""


def test_an_interrupt_ends_scip_cleanly() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _SOLVES], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        while process.stdout.readline() != "begun\n":
            assert process.poll() is None
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        told, errors = process.communicate(timeout=120)
    assert told.splitlines()[-1] == "interrupted True", errors


@pytest.mark.parametrize("method", NAMES)
def test_without_pyscipopt_one_error_names_the_extra(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyscipopt", None)
    (problem,) = training_steps(seed=63, count=1)
    with pytest.raises(MissingExtraError, match=r"pip install 'jettison\[scip\]'"):
        solve_with(problem, method, EXACT)
    with pytest.raises(InputError, match="is not a method"):
        find_method("remat-sharding", "kiwi-scip")


def test_without_pyscipopt_comparisons_leave_the_methods_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert not {*NAMES}.intersection(method.name for method in methods_of("remat-sharding"))
