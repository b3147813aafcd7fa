"""All forms of KIWI's two models against brute force, and their memory against replays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from jettison import RematSharding, ScheduleClass
from jettison.formulations.milp.from_pyomo import from_pyomo
from jettison.formulations.remat_sharding.kiwi.compact import KiwiReducedCompact
from jettison.formulations.remat_sharding.kiwi.full import KiwiFull, KiwiFullModel
from jettison.formulations.remat_sharding.kiwi.products import Linearised
from jettison.formulations.remat_sharding.kiwi.reduced import KiwiReduced
from jettison.remat_sharding import Role
from jettison.solvers.milp.highs import solve_model
from tests.milp.scip import solve_quadratic
from tests.remat_sharding.oracles.brute_force import (
    Plan,
    best_reduced_plan,
    best_staged_plan,
    staged_memory,
)
from tests.remat_sharding.samples import any_order, training_steps


def _time_of(plan: Plan | None) -> int | None:
    return None if plan is None else plan.time_ns


def _reduced(problem: RematSharding) -> int | None:
    return _time_of(best_reduced_plan(problem.instance, problem.memory_bytes))


def _full(problem: RematSharding) -> int | None:
    return _time_of(best_staged_plan(problem.instance, problem.memory_bytes))


def _in_ns(built: Any, objective: float | None) -> int | None:
    return None if objective is None else built.time_scale.from_model(objective)


def test_the_compact_model_has_the_optimum_of_the_brute_force() -> None:
    again = found = 0
    for problem in training_steps(seed=101, count=125):
        built = KiwiReducedCompact().build(problem)
        solution = solve_model(built.model)
        assert _in_ns(built, solution.objective) == _reduced(problem)
        if solution.objective is None:
            continue
        schedule = built.schedule(solution.by_name(built.model))
        replay = schedule.replay(problem.instance, problem.memory_bytes)
        assert replay.valid
        assert replay.time_ns == _reduced(problem)
        assert replay.schedule_class is ScheduleClass.KIWI_REDUCED
        found += 1
        again += len(schedule.computations) > len(problem.instance)
    assert found >= 75
    assert again >= 10


def test_the_printed_reduced_model_linearised_has_the_optimum_and_the_memory_of_the_replay() -> (
    None
):
    for problem in training_steps(seed=102, count=70, most_operators=6):
        built = KiwiReduced(Linearised()).build(problem)
        model = from_pyomo(built.concrete).model
        solution = solve_model(model)
        assert _in_ns(built, solution.objective) == _reduced(problem)
        if solution.objective is None:
            continue
        values = solution.by_name(model)
        replay = built.schedule(values).replay(problem.instance, problem.memory_bytes)
        assert replay.valid
        assert replay.time_ns == _reduced(problem)
        # U of a moment is what the replay has while that operator runs for the first time.
        firsts = [
            step
            for step in replay.steps
            if step.operation.startswith("compute") and not step.repeated
        ]
        assert [step.during_bytes for step in firsts] == [
            built.memory_scale.from_model(values[f"U_{t}"]) for t in range(len(problem.instance))
        ]


def test_the_quadratic_reduced_model_has_the_optimum_of_the_brute_force() -> None:
    for problem in training_steps(seed=103, count=40):
        built = KiwiReduced().build(problem)
        found = solve_quadratic(built.concrete)
        assert _in_ns(built, found and found.objective) == _reduced(problem)


@pytest.mark.parametrize("samples", [training_steps, any_order])
def test_the_full_model_linearised_has_the_optimum_and_the_memory_of_the_replay(
    samples: Any,
) -> None:
    again = 0
    for problem in samples(seed=104, count=25, most_operators=6):
        built = KiwiFull(Linearised()).build(problem)
        model = from_pyomo(built.concrete).model
        solution = solve_model(model)
        assert _in_ns(built, solution.objective) == _full(problem)
        if solution.objective is None:
            continue
        values = solution.by_name(model)
        schedule = built.schedule(values)
        replay = schedule.replay(problem.instance, problem.memory_bytes)
        assert replay.valid
        assert replay.time_ns == _full(problem)
        memory = {
            moment: built.memory_scale.from_model(values["U_{}_{}".format(*moment)])
            for moment in _memory_by_oracle(built, values, schedule.strategies)
        }
        assert memory == _memory_by_oracle(built, values, schedule.strategies)
        again += len(schedule.computations) > len(problem.instance)
    assert again >= 1


def _memory_by_oracle(
    built: KiwiFullModel, values: Mapping[str, float], strategies: tuple[int, ...]
) -> Mapping[tuple[int, int], int]:
    """Return the memory of the computations and stored values that a point names."""
    operators = built.sharded.operators
    count = len(operators)
    computed = [
        [i for i in range(t + 1) if i == t or values.get(f"A_{t}_{i}", 0) > 0.5]
        for t in range(count)
    ]
    stored = [
        [
            i
            for i in range(t)
            if operators[i].role is Role.PARAMETER or values.get(f"B_{t}_{i}", 0) > 0.5
        ]
        for t in range(count)
    ]
    stored.append([i for i in range(count) if operators[i].keep])
    stored[-1] += [i for i in range(count) if operators[i].role is Role.PARAMETER]
    return staged_memory(built.sharded, strategies, computed, stored)


@pytest.mark.parametrize("samples", [training_steps, any_order])
def test_the_quadratic_full_model_has_the_optimum_of_the_brute_force(samples: Any) -> None:
    for problem in samples(seed=105, count=30, most_operators=5):
        built = KiwiFull().build(problem)
        found = solve_quadratic(built.concrete)
        assert _in_ns(built, found and found.objective) == _full(problem)


def test_the_reduced_optimum_is_never_below_the_full_one_and_not_always_equal() -> None:
    slower = impossible = 0
    for problem in training_steps(seed=106, count=250):
        reduced, full = _reduced(problem), _full(problem)
        if full is None:
            assert reduced is None
        elif reduced is None:
            impossible += 1
        else:
            assert reduced >= full
            slower += reduced > full
    assert slower >= 1
    assert impossible >= 1
