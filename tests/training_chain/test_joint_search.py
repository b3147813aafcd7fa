"""Joint search: no worse than any baseline within its work, and at work until its limit."""

from __future__ import annotations

import random
from dataclasses import replace

import jettison as jt
from jettison.instances.training_chain.problem import TrainingChain
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.method import Promise
from jettison.solvers.core.outcome import SILENT, Outcome
from jettison.solvers.core.status import Termination
from jettison.solvers.training_chain.baselines import host_updates
from jettison.solvers.training_chain.local_search import TrainingSearchParams, solve_joint_search
from jettison.solvers.training_chain.methods import METHODS
from jettison.solvers.training_chain.plan_codes import PlanCodes, coded
from jettison.solvers.training_chain.plan_families import FamilyPlan, descend_families
from jettison.solvers.training_chain.plan_families import plan_of_family as of_family
from jettison.solvers.training_chain.plan_schedule import PlanTimer
from jettison.solvers.training_chain.stage_choices import JointPlan, UpdatePlace
from jettison.solvers.training_chain.steps_of_baselines import steps_of_baselines
from jettison.solvers.training_chain.sweep_plans import MOVES_OF_A_PLAN
from tests.drawing.training_steps import random_problem
from tests.training_chain.test_step_timing import random_plan

BASELINES = [method for method in METHODS if method.promise is Promise.HEURISTIC]
# No bound: it would have to end by the clock.
SEARCH_ONLY = TrainingSearchParams(share_of_bound=0.001, most_stages=1, rounds=1)


def searched(problem: TrainingChain, plans: int) -> Outcome:
    options = replace(SILENT, most_moves=plans * MOVES_OF_A_PLAN)
    return solve_joint_search(problem, options, SEARCH_ONLY)


def no_worse_than_baselines(problem: TrainingChain, plans: int) -> bool:
    """Compare with every baseline that has the same limit on its work."""
    found = searched(problem, plans)
    options = replace(SILENT, most_moves=plans * MOVES_OF_A_PLAN)
    times = [
        outcome.schedule.period_ns
        for outcome in (method.run(problem, options) for method in BASELINES)
        if outcome.schedule is not None
    ]
    if not times:
        return True
    return found.schedule is not None and found.schedule.period_ns <= min(times)


def test_with_any_limit_on_work_the_search_is_no_worse_than_a_baseline() -> None:
    chance = random.Random(7)
    for seed in range(12):
        problem = random_problem(chance, chance.randint(2, 6))
        for plans in (1, 4, 20):
            assert no_worse_than_baselines(problem, plans), (seed, plans)
    problem = TrainingChain(jt.load("opt-350m-b1-2080-adam"), "4GiB", "12GB/s")
    assert no_worse_than_baselines(problem, 9)


def test_a_limit_on_work_is_said_and_kept() -> None:
    problem = TrainingChain(jt.load("opt-350m-b1-2080-adam"), "4GiB", "12GB/s")
    found = searched(problem, 30)
    assert (found.termination, found.work["plans"]) == (Termination.WORK_LIMIT, 30)


def test_the_whole_limit_on_work_is_used_though_nothing_faster_is_found() -> None:
    chance = random.Random(12)
    used = 0
    for seed in range(4):
        problem = random_problem(chance, 4)
        options = replace(SILENT, most_moves=900 * MOVES_OF_A_PLAN)
        found = solve_joint_search(problem, options, SEARCH_ONLY)
        again = solve_joint_search(problem, options, SEARCH_ONLY)
        assert (found.schedule, found.work) == (again.schedule, again.work), seed
        # Else the best is proved, nothing fits, or no plan is left.
        if found.termination is Termination.WORK_LIMIT:
            assert found.work["plans"] == 900
            used += 1
    assert used > 0


def test_without_any_time_there_is_a_schedule_where_everything_offloaded_fits() -> None:
    options = replace(SILENT, time_limit_s=1e-9)
    problem = TrainingChain(jt.load("opt-350m-b1-2080-adam"), "4GiB", "12GB/s")
    found = solve_joint_search(problem, options)
    assert found.termination is Termination.TIME_LIMIT
    assert found.schedule is not None
    (all_away,) = (method for method in METHODS if method.name == "offload-all")
    other = all_away.run(problem, SILENT).schedule
    assert other is not None
    assert found.schedule.period_ns <= other.period_ns


def test_the_search_times_the_plans_of_all_baselines_of_its_table() -> None:
    default = METHODS[0]
    chance = random.Random(13)
    for seed in range(6):
        problem = random_problem(chance, chance.randint(2, 5))
        found = {
            name: min((step.period_ns for step in steps if step is not None), default=None)
            for name, steps in steps_of_baselines(problem, Clock(None))
        }
        if host_updates(problem):
            assert tuple(found) == default.baselines
        for method in BASELINES:
            schedule = method.run(problem, SILENT).schedule
            expected = None if schedule is None else schedule.period_ns
            assert found.get(method.name) == expected, (seed, method.name)


def test_choices_that_make_no_difference_do_not_change_a_step() -> None:
    chance = random.Random(8)
    timed = 0
    for seed in range(200):
        problem = random_problem(chance, chance.randint(1, 6))
        plan = random_plan(chance, len(problem.instance))
        timer = PlanTimer(problem)
        one, two = (
            timer.of_plan(plan),
            timer.of_codes(PlanCodes(problem.instance).essential(coded(plan))),
        )
        assert (one is None) == (two is None), seed
        if one is not None and two is not None:
            timed += 1
            assert one.period_ns == two.period_ns, seed
    assert timed > 50


def test_a_family_updates_no_more_than_its_share_on_the_device() -> None:
    chain = jt.load("opt-350m-b1-2080-adam")
    total = sum(stage.weight_bytes for stage in chain)
    largest = max(stage.weight_bytes for stage in chain)
    for parts in (0, 6, 12, 24):
        plan = of_family(chain, FamilyPlan(on_device=parts))
        on_device = sum(
            stage.weight_bytes
            for stage, choice in zip(chain, plan.stages, strict=True)
            if choice.update is not UpdatePlace.HOST and not choice.states_away
        )
        assert abs(on_device - total * parts / 24) <= largest


def test_the_descent_goes_on_from_what_is_faster() -> None:
    problem = TrainingChain(jt.load("opt-350m-b1-2080-adam"), "4GiB", "12GB/s")
    timer = PlanTimer(problem)
    times: list[int] = []

    def time_of(plan: JointPlan) -> int | None:
        step = timer.of_plan(plan)
        if step is not None:
            times.append(step.period_ns)
        return None if step is None else step.period_ns

    descend_families(problem.instance, time_of, sweeps=6)
    assert min(times) < 0.96 * times[0]
