"""Local search for µ-TWO's problem: never worse than where it starts, and often better."""

from __future__ import annotations

import random

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.schedules.multi_model.schedule import MultiModelSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.multi_model.least_division import units_that_fit
from jettison.solvers.multi_model.local_search import UnitSearch
from jettison.solvers.multi_model.mu_two.unit import scheduled_unit
from tests.tiny_models import random_models


def test_it_is_never_worse_than_mu_two_and_finds_a_schedule_wherever_there_is_one() -> None:
    draw = random.Random(7)
    better = 0
    for _ in range(60):
        problem = MultiModelTraining(random_models(draw), draw.randint(5, 60))
        found = solve_with(problem, "local-search", SolveOptions(time_limit_s=10))
        greedy = solve_with(problem, "mu-two", SolveOptions())
        assert (found.time_ns is None) == (found.infeasibility is not None)
        if found.time_ns is not None and greedy.time_ns is not None:
            assert found.time_ns <= greedy.time_ns
            better += found.time_ns < greedy.time_ns
    assert better > 5


def test_rounds_better_the_time_of_a_unit_that_the_replay_confirms() -> None:
    draw = random.Random(3)
    bettered = 0
    for _ in range(30):
        problem = MultiModelTraining(random_models(draw, models=6), draw.randint(10, 50))
        for sizes in units_that_fit(problem):
            search = UnitSearch(problem, sizes, seed=1)
            policy = scheduled_unit(problem, sizes)
            assert policy is None or search.time_ns <= policy.executed.time_ns
            before_ns = search.time_ns
            search.run_round(Clock(None))
            bettered += search.time_ns < before_ns
            replay = MultiModelSchedule((search.best.executed.unit,)).replay(problem)
            # The other models are missing, and nothing else is wrong.
            assert {item.operation for item in replay.violations} <= {"end"}
            assert replay.time_ns == search.time_ns
    assert bettered > 2


def test_the_same_seed_gives_the_same_schedule() -> None:
    problem = MultiModelTraining(random_models(random.Random(11), models=4), 30)
    options = SolveOptions(time_limit_s=None, seed=5)
    first, second = (solve_with(problem, "local-search", options) for _ in range(2))
    assert first.schedule is not None
    assert first.schedule == second.schedule
