"""Annealing of strategies and recomputations together, against replay and brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jettison import RematSharding
from jettison.remat_sharding import ShardedSchedule
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers import _kernels
from jettison.solvers.core.clock import Clock
from jettison.solvers.remat_sharding.joint_annealing import JOINT, JointAnnealing, joint_arrays
from tests.remat_sharding.oracles.brute_force import Plan, best_staged_plan
from tests.remat_sharding.samples import any_order, training_steps

NO_LIMIT = Clock(None)
# What the first rounds of small problems need.
SHORT = replace(JOINT, joint_rounds=3)


def annealed(
    problem: RematSharding, start: ShardedSchedule, seed: int = 0
) -> tuple[JointAnnealing, ShardedSchedule | None]:
    search = JointAnnealing(problem, seed, NO_LIMIT, SHORT)
    assert search.start_from(start)
    search.anneal(0, SHORT.joint_rounds)
    return search, search.plan


def in_any_memory(problem: RematSharding) -> ShardedSchedule | None:
    """Return the fastest plan without a limit; None where forbidden pairs leave none."""
    sharded = problem.instance
    most_bytes = sum(
        max(strategy.memory_bytes for strategy in operator.strategies)
        for operator in sharded.operators
    )
    found = best_staged_plan(sharded, most_bytes)
    return None if found is None else plan_of(problem, found)


def plan_of(problem: RematSharding, found: Plan) -> ShardedSchedule:
    return ShardedSchedule.from_computations(problem.instance, found.strategies, found.computations)


def test_plans_are_valid_and_take_the_time_of_the_kernel() -> None:
    looked_at = best_found = 0
    for problem in (*training_steps(91, 60), *any_order(92, 60)):
        best = best_staged_plan(problem.instance, problem.memory_bytes)
        start = in_any_memory(problem)
        if best is None or start is None:
            continue
        search, plan = annealed(problem, start)
        if plan is None:
            continue
        replay = plan.replay(problem.instance, problem.memory_bytes)
        assert replay.valid, problem.instance.name
        assert replay.time_ns == search.time_ns
        assert ScheduleClass.STAGED.covers(replay.schedule_class)
        assert best.time_ns <= replay.time_ns
        looked_at += 1
        best_found += replay.time_ns == best.time_ns
    assert looked_at > 60
    assert best_found > 0.9 * looked_at


def test_a_start_that_fits_is_never_lost() -> None:
    for problem in training_steps(93, 30):
        best = best_staged_plan(problem.instance, problem.memory_bytes)
        if best is None:
            continue
        search, plan = annealed(problem, plan_of(problem, best))
        assert plan is not None
        assert search.time_ns == best.time_ns


def test_the_same_moves_find_the_same_plan() -> None:
    for problem in training_steps(94, 10):
        start = in_any_memory(problem)
        if start is None:
            continue
        runs = [annealed(problem, start, seed=7) for _ in range(2)]
        assert runs[0][1] == runs[1][1]
        assert runs[0][0].moves == runs[1][0].moves > 0


def test_operators_that_are_computed_once_are_not_computed_again() -> None:
    for problem in training_steps(95, 30):
        start = in_any_memory(problem)
        plan = None if start is None else annealed(problem, start)[1]
        if plan is None:
            continue
        computed = list(plan.computations)
        for i, operator in enumerate(problem.instance.operators):
            if operator.role.is_computed_once:
                assert computed.count(i) == 1


def test_the_kernel_refuses_arrays_that_do_not_fit_together() -> None:
    problem = next(iter(training_steps(96, 1)))
    arrays = joint_arrays(problem)
    plan = in_any_memory(problem)
    assert plan is not None
    leaders = [group[0] for group in problem.instance.groups]
    start = np.array([plan.strategies[leader] for leader in leaders], dtype=np.int32)
    rest = {"memory_bytes": problem.memory_bytes, "floor_ns": 0, "rounds": 2, "seed": 0}
    wrong = {
        "choice": arrays["choice"] + len(leaders),
        "places": arrays["places"][:-1],
        "cost_ns": arrays["cost_ns"][:-1],
        "size_bytes": -1 - arrays["size_bytes"],
        "keep": arrays["keep"][:-1],
        "input_start": arrays["input_start"][:-1],
        "start": start + 1000,
    }
    for name, value in wrong.items():
        with pytest.raises(ValueError, match=r"\w+"):
            _kernels.JointAnneal(**{**arrays, "start": start, name: value}, **rest)
    search = _kernels.JointAnneal(**arrays, start=start, **rest)
    with pytest.raises(ValueError, match="computations"):
        search.start_from(start, np.array([0], dtype=np.int32))
