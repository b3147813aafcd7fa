"""The method event-milp: hard instances, its start, its bounds, its limits, and its files."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import highspy
import pytest

from jettison.formulations.milp.export import write_model
from jettison.instances.three_partition.instance import ThreePartition
from jettison.instances.three_partition.offload_chain import shortest_period_ns, weight_offload_of
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.model_files import ModelChoice
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.status import SolverError, Termination
from jettison.solvers.weight_offload.events import method as event_method
from jettison.solvers.weight_offload.events.method import solve_event_milp
from jettison.solvers.weight_offload.layer_to_layer import layer_to_layer
from jettison.solvers.weight_offload.model_files import MODEL_FILES
from tests.weight_offload.oracles.brute_force import least_period_ns
from tests.weight_offload.oracles.samples import sample

EXACT = SolveOptions(time_limit_s=60, gap=0)
YES = ThreePartition("yes", (26, 33, 41, 30, 34, 36), 100)
NO = ThreePartition("no", (8, 8, 8, 13, 12, 11), 30)


def test_tiny_steps_are_solved_with_a_bound_that_rests_on_the_solver_where_it_must() -> None:
    chance = random.Random(2)
    by_solver = 0
    for number in range(10):
        problem = sample(chance, 3)
        result = solve_with(problem, "event-milp", EXACT)
        assert result.status == "optimal", number
        assert result.time_ns == least_period_ns(problem), number
        exact_ns = max(b.time_ns for b in result.bounds if b.evidence is Evidence.EXACT)
        by_solver += exact_ns < result.time_ns
        assert all(
            bound.evidence is Evidence.EXACT or bound.method == "event-milp"
            for bound in result.bounds
        )
    assert by_solver


@pytest.mark.parametrize("instance", [YES, NO], ids=["yes", "no"])
def test_derived_instances_of_two_groups_are_proved(instance: ThreePartition) -> None:
    result = solve_with(weight_offload_of(instance), "event-milp", EXACT)
    assert result.status == "optimal"
    # 26 + 33 + 41 = 100; no three of 8, 8, 8, 11, 12, 13 sum to 30.
    longer_ns = 0 if instance is YES else 1
    assert result.time_ns == shortest_period_ns(instance) + longer_ns


def test_at_the_time_limit_the_best_schedule_and_a_bound_are_left() -> None:
    problem = weight_offload_of(NO)
    outcome = solve_event_milp(problem, SolveOptions(time_limit_s=1e-6, gap=0))
    assert outcome.termination is Termination.TIME_LIMIT
    assert isinstance(outcome.schedule, CyclicSchedule)
    assert outcome.bounds[0].time_ns >= problem.base_time_ns


def test_a_model_that_is_too_large_is_declined_with_what_local_search_found() -> None:
    problem = weight_offload_of(NO)
    result = solve_with(problem, "event-milp", EXACT, {"most_coefficients": 1000})
    assert result.termination is Termination.MEMORY_LIMIT
    assert result.note is not None
    assert "more than the 1,000 that are tried; use local-search" in result.note
    assert result.time_ns is not None
    assert result.time_ns < layer_to_layer(problem).period_ns


def test_a_start_that_meets_the_bound_needs_no_search() -> None:
    problem = weight_offload_of(YES)
    best = solve_with(problem, "event-milp", EXACT).schedule
    outcome = solve_event_milp(problem, replace(EXACT, start=best))
    assert outcome.schedule == best
    assert outcome.work["nodes"] == 0


def test_ctrl_c_in_a_model_leaves_the_best_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(event_method, "seek_without_idle", interrupt)
    outcome = solve_event_milp(weight_offload_of(NO), EXACT)
    assert outcome.termination is Termination.INTERRUPTED
    assert outcome.schedule is not None


def test_where_the_solver_fails_the_best_schedule_is_left_with_what_it_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise SolverError("HiGHS refuses the model")

    monkeypatch.setattr(event_method, "seek_without_idle", fail)
    outcome = solve_event_milp(weight_offload_of(NO), EXACT)
    assert outcome.termination is Termination.ERROR
    assert outcome.note == "HiGHS refuses the model"
    assert outcome.schedule is not None


def test_too_little_memory_is_refused_with_what_would_do() -> None:
    problem = weight_offload_of(NO)
    least_bytes = problem.cycle.least_memory_bytes
    outcome = solve_event_milp(replace(problem, memory=least_bytes - 1), EXACT)
    assert outcome.infeasibility is not None
    assert outcome.infeasibility.least_memory_bytes == least_bytes


@pytest.mark.parametrize("ending", ["mps", "lp"])
@pytest.mark.parametrize("variant", ["", "-strengthened"])
def test_files_of_the_question_without_idle_time_have_the_known_answers(
    ending: str, variant: str, tmp_path: Path
) -> None:
    for instance, answer in ((YES, "Optimal"), (NO, "Infeasible")):
        choice = ModelChoice(formulation=f"events-without-idle{variant}")
        path = tmp_path / f"{instance.name}.{ending}"
        write_model(MODEL_FILES.build(weight_offload_of(instance), choice), path)
        highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        highs.readModel(str(path))
        highs.run()
        assert highs.modelStatusToString(highs.getModelStatus()) == answer


def test_files_of_the_least_period_have_the_optimum() -> None:
    problem = sample(random.Random(3), 2)
    for variant in ("", "-strengthened"):
        model = MODEL_FILES.build(problem, ModelChoice(formulation=f"events{variant}"))
        highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        highs.passModel(model.to_highs_lp())
        highs.run()
        # Its times share no divisor, so that the model counts nanoseconds.
        found = highs.getInfo().objective_function_value
        assert found == pytest.approx(least_period_ns(problem), abs=1e-6)
