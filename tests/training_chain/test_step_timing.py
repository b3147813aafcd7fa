"""Timing of joint plans: the replay confirms every schedule, with the period that was promised."""

from __future__ import annotations

import random

from jettison.instances.training_chain.problem import TrainingChain
from jettison.solvers.training_chain.all_on_host import everything_offloaded
from jettison.solvers.training_chain.least_memory import training_infeasibility
from jettison.solvers.training_chain.plan_codes import PlanCodes, coded, decoded
from jettison.solvers.training_chain.plan_schedule import PlanTimer
from jettison.solvers.training_chain.stage_choices import (
    JointPlan,
    StageChoice,
    UpdatePlace,
    Way,
    possible,
)
from jettison.solvers.training_chain.step_order import order_of_plan
from jettison.solvers.training_chain.step_timing import StepTimer, TimedStep
from tests.drawing.training_steps import random_problem
from tests.training_chain.oracles.step_timing import slowly_timed_step


def random_plan(chance: random.Random, stages: int) -> JointPlan:
    choices = tuple(
        StageChoice(
            chance.choice(list(Way)),
            chance.choice(list(Way)),
            away_between=chance.random() < 0.5,
            away_after=chance.random() < 0.5,
            update=chance.choice(list(UpdatePlace)),
            states_away=chance.random() < 0.5,
        )
        for _ in range(stages)
    )
    return JointPlan(
        choices,
        chance.randint(0, 6),
        chance.randint(0, 6),
        sends_by_need=chance.random() < 0.5,
        updates_by_need=chance.random() < 0.5,
        fetches_what_is_there=chance.random() < 0.5,
    )


def test_the_kernel_finds_the_same_step_as_the_slow_timing() -> None:
    chance = random.Random(20)
    timed = 0
    for seed in range(400):
        problem = random_problem(chance, chance.randint(1, 6))
        plan = possible(problem.instance, random_plan(chance, len(problem.instance)))
        order = order_of_plan(problem.instance, plan)
        found = StepTimer(problem).timed(order, plan)
        expected = slowly_timed_step(problem, order, plan)
        assert (found is None) == (expected is None), seed
        if found is not None and expected is not None:
            timed += 1
            assert found.schedule == expected.schedule, seed
        # The kernel's own order of a plan is that of the plan.
        of_codes = PlanTimer(problem).of_plan(plan)
        assert (of_codes is None) == (expected is None), seed
        if of_codes is not None and expected is not None:
            assert of_codes.schedule == expected.schedule, seed
    assert timed > 100


def is_confirmed(problem: TrainingChain, step: TimedStep) -> bool:
    """Replay a step within the memory of its problem."""
    verdict = step.schedule.replay(problem.instance, problem.link, problem.memory_bytes)
    return verdict.valid and verdict.time_ns == step.period_ns


def test_the_replay_confirms_every_plan_that_is_timed() -> None:
    chance = random.Random(1)
    timed = 0
    for seed in range(600):
        problem = random_problem(chance, chance.randint(1, 6))
        step = PlanTimer(problem).of_plan(random_plan(chance, len(problem.instance)))
        if step is not None:
            timed += 1
            assert is_confirmed(problem, step), seed
            assert step.period_ns >= problem.base_time_ns
    assert timed > 150


def test_only_plans_that_are_slower_than_the_most_are_not_timed() -> None:
    chance = random.Random(4)
    timed = refused = 0
    for seed in range(120):
        problem = random_problem(chance, chance.randint(1, 6))
        timer, codes = PlanTimer(problem), PlanCodes(problem.instance)
        plan = codes.possible(coded(random_plan(chance, len(problem.instance))))
        step = timer.of_codes(plan)
        if step is None:
            continue
        timed += 1
        again = timer.of_codes(plan, step.period_ns)
        assert again is not None, seed
        assert again.period_ns == step.period_ns, seed
        refused += timer.of_codes(plan, step.period_ns - 1) is None
    assert timed > 30
    assert refused > 2


def test_codes_are_those_of_the_choices() -> None:
    chance = random.Random(5)
    for _ in range(50):
        plan = random_plan(chance, 7)
        assert decoded(coded(plan)) == plan


def test_with_updates_on_the_host_everything_offloaded_fits_where_single_operations_do() -> None:
    chance = random.Random(2)
    fitted = 0
    for seed in range(300):
        problem = random_problem(chance, chance.randint(1, 5))
        trained = [stage for stage in problem.instance if stage.is_trained]
        if any(not stage.host_can_update for stage in trained):
            continue
        if training_infeasibility(problem) is not None:
            continue
        step = everything_offloaded(problem)
        assert step is not None, seed
        assert is_confirmed(problem, step), seed
        fitted += 1
    assert fitted > 20


def test_a_plan_that_keeps_everything_takes_no_time_beside_the_operations() -> None:
    chance = random.Random(3)
    for seed in range(100):
        problem = random_problem(chance, chance.randint(1, 5))
        chain = problem.instance
        problem = TrainingChain(chain, "100%", problem.link)
        step = PlanTimer(problem).of_plan(JointPlan((StageChoice(),) * len(chain)))
        assert step is not None, seed
        updates_ns = sum(stage.update_ns for stage in chain)
        assert step.period_ns == chain.base_time_ns + updates_ns, seed
        assert is_confirmed(problem, step), seed
