"""The replay of units and the second judge agree, on schedules that are valid and on others."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jettison.instances.core.link import Link, SharedTotal
from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.schedules.multi_model.schedule import MultiModelSchedule, TrainingUnit
from jettison.solvers.multi_model.executor.executed_units import UnitExecutor
from tests.multi_model.oracles.clock import judge_unit
from tests.multi_model.random_units import changed_unit, random_decisions, random_problem


def expect_agreement(problem: MultiModelTraining, unit: TrainingUnit) -> bool:
    """Compare the verdicts; tell whether the unit is valid."""
    judged = judge_unit(problem, unit)
    replay = MultiModelSchedule((unit,)).replay(problem)
    assert replay.valid == (judged is not None), replay.violations
    if judged is not None:
        assert (replay.time_ns, replay.peak_bytes) == judged
    return replay.valid


@given(seed=st.integers(0, 2**32))
def test_the_two_judges_agree_on_what_the_executor_makes(seed: int) -> None:
    draw = random.Random(seed)
    problem, sizes = random_problem(draw)
    executor = UnitExecutor(problem, sizes)
    executed = executor.execute(random_decisions(draw, executor.arrays))
    if executed is not None:
        assert expect_agreement(problem, executed.unit)


def test_the_two_judges_agree_on_changed_schedules_valid_or_not() -> None:
    draw = random.Random(5)
    verdicts = []
    while len(verdicts) < 800:
        problem, sizes = random_problem(draw)
        executor = UnitExecutor(problem, sizes)
        executed = executor.execute(random_decisions(draw, executor.arrays))
        if executed is not None:
            verdicts.append(expect_agreement(problem, changed_unit(draw, executed.unit)))
    # Both verdicts are common.
    assert 80 < sum(verdicts) < 720


@pytest.mark.parametrize("less", [1, 2, 5])
def test_the_two_judges_agree_where_memory_is_short(less: int) -> None:
    draw = random.Random(less)
    verdicts = []
    while len(verdicts) < 200:
        problem, sizes = random_problem(draw)
        executor = UnitExecutor(problem, sizes)
        executed = executor.execute(random_decisions(draw, executor.arrays))
        if executed is None:
            continue
        peak = MultiModelSchedule((executed.unit,)).replay(problem).peak_bytes
        short = MultiModelTraining(problem.instance, max(peak - less, 0), models=problem.models)
        verdicts.append(expect_agreement(short, executed.unit))
    # Less memory than was used is enough where offloads can be waited for.
    assert 0 < sum(verdicts) < 200


def test_the_two_judges_agree_on_shared_links() -> None:
    draw = random.Random(8)
    verdicts = []
    while len(verdicts) < 400:
        problem, sizes = random_problem(draw)
        rate = draw.choice((2, 5, 10, 30)) * 10**8
        total = rate * draw.choice((4, 5, 6, 7)) // 4
        problem = replace(problem, bandwidth=Link(rate, SharedTotal(total)))
        executor = UnitExecutor(problem, sizes)
        executed = executor.execute(random_decisions(draw, executor.arrays))
        if executed is None:
            continue
        unit = executed.unit if draw.random() < 0.5 else changed_unit(draw, executed.unit)
        verdicts.append(expect_agreement(problem, unit))
    assert 200 < sum(verdicts) < 390
