"""Timing of joint plans: the replay confirms every schedule, with the period that was promised."""

from __future__ import annotations

import random

from jettison.instances.training_chain.problem import TrainingChain
from jettison.solvers.training_chain.all_on_host import everything_offloaded
from jettison.solvers.training_chain.least_memory import training_infeasibility
from jettison.solvers.training_chain.plan_schedule import step_of_plan
from jettison.solvers.training_chain.stage_choices import (
    JointPlan,
    StageChoice,
    UpdatePlace,
    Way,
)
from jettison.solvers.training_chain.step_timing import TimedStep
from tests.drawing.training_steps import random_problem


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
    return JointPlan(choices, chance.randint(0, 6), chance.randint(0, 6))


def is_confirmed(problem: TrainingChain, step: TimedStep) -> bool:
    """Replay a step within the memory of its problem."""
    verdict = step.schedule.replay(problem.instance, problem.link, problem.memory_bytes)
    return verdict.valid and verdict.time_ns == step.period_ns


def test_the_replay_confirms_every_plan_that_is_timed() -> None:
    chance = random.Random(1)
    timed = 0
    for seed in range(600):
        problem = random_problem(chance, chance.randint(1, 6))
        step = step_of_plan(problem, random_plan(chance, len(problem.instance)))
        if step is not None:
            timed += 1
            assert is_confirmed(problem, step), seed
            assert step.period_ns >= problem.base_time_ns
    assert timed > 150


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
        step = step_of_plan(problem, JointPlan((StageChoice(),) * len(chain)))
        assert step is not None, seed
        updates_ns = sum(stage.update_ns for stage in chain)
        assert step.period_ns == chain.base_time_ns + updates_ns, seed
        assert is_confirmed(problem, step), seed
