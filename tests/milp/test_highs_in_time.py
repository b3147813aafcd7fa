"""Large models with a time limit go to a process of their own, which is ended when it is over."""

from __future__ import annotations

from typing import Any

import pytest

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.solvers.core.status import Answer
from jettison.solvers.milp import highs_in_time
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.milp.solution import ModelSolution


def covers(count: int) -> ArrayModel:
    """Minimise the sum of columns of which any two neighbours add up to 1: half of them."""
    model = ArrayModelBuilder("covers")
    columns = [model.add_column(f"x{j}", upper=1, cost=1) for j in range(count)]
    for j in range(0, count - 1, 2):
        model.add_row(f"r{j}", columns[j : j + 2], [1, 1], lower=1)
    return model.build()


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the wall limits of the children that are started."""
    seen: list[float] = []
    solve_in_child = highs_in_time.solve_in_child

    def record(model: ArrayModel, options: HighsOptions, **more: Any) -> ModelSolution:
        seen.append(more["wall_limit_s"])
        return solve_in_child(model, options, **more)

    monkeypatch.setattr(highs_in_time, "solve_in_child", record)
    return seen


def test_a_large_model_is_solved_in_a_child_that_ends_a_second_after_the_limit(
    limits: list[float],
) -> None:
    solution = solve_in_time(covers(2_002), HighsOptions(time_limit_s=50))
    assert solution.answer is Answer.OPTIMAL
    assert solution.objective == pytest.approx(1_001)
    assert limits == [51]


@pytest.mark.parametrize(("count", "limit_s"), [(10, 50), (2_002, None), (2_002, float("inf"))])
def test_a_small_model_or_one_without_a_limit_is_solved_here(
    limits: list[float], count: int, limit_s: float | None
) -> None:
    solution = solve_in_time(covers(count), HighsOptions(time_limit_s=limit_s))
    assert solution.objective == pytest.approx(count / 2)
    assert limits == []
