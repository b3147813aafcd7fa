"""The exact bound of a linear model: right where it is known, and valid for any multipliers."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.solvers.milp.exact_dual_bound import exact_dual_bound
from jettison.solvers.milp.highs import solve_model


def diet() -> ArrayModel:
    """Minimise 2 x + 3 y + 1 for x + y >= 4, x <= 3, y <= 10: x = 3, y = 1 costs 10."""
    model = ArrayModelBuilder("diet", offset=1)
    x = model.add_column("x", upper=3, cost=2)
    y = model.add_column("y", upper=10, cost=3)
    model.add_row("enough", [x, y], [1, 1], lower=4)
    return model.build()


def test_at_the_best_multipliers_it_is_the_optimum() -> None:
    # 3 for the row: 12 + (2 - 3) * 3 + 1.
    assert exact_dual_bound(diet(), np.array([3.0])) == 10


def test_at_other_multipliers_it_is_less() -> None:
    # 2: 8 + 1. 5: 20 + (2 - 5) * 3 + (3 - 5) * 10 + 1.
    assert exact_dual_bound(diet(), np.array([2.0])) == 9
    assert exact_dual_bound(diet(), np.array([5.0])) == -8


def test_a_multiplier_on_a_side_without_a_limit_is_dropped() -> None:
    assert exact_dual_bound(diet(), np.array([-7.0])) == 1


def test_what_is_no_number_is_dropped() -> None:
    assert exact_dual_bound(diet(), np.array([np.nan])) == 1


def unlimited() -> ArrayModel:
    """Minimise x for 3 x >= 1, without an upper limit: a third."""
    model = ArrayModelBuilder("third")
    x = model.add_column("x", cost=1)
    model.add_row("enough", [x], [3], lower=1)
    return model.build()


def test_multipliers_that_are_a_little_too_large_are_scaled_down() -> None:
    assert exact_dual_bound(unlimited(), np.array([0.5])) == Fraction(1, 3)


def test_a_column_without_limit_or_cost_can_leave_nothing_proved() -> None:
    model = ArrayModelBuilder("free")
    x = model.add_column("x")
    model.add_row("enough", [x], [1], lower=1)
    # The scale is zero, and the costs alone bound the objective by 0.
    assert exact_dual_bound(model.build(), np.array([1.0])) == 0
    model = ArrayModelBuilder("downhill")
    model.add_column("x", cost=-1)
    assert exact_dual_bound(model.build(), np.zeros(0)) is None


def random_model(generator: random.Random) -> ArrayModel:
    """Return a feasible model: the point of ones is in all its rows."""
    model = ArrayModelBuilder("random")
    columns = [
        model.add_column(
            f"x{j}",
            lower=generator.choice((0, -2)),
            upper=generator.choice((1, 5, np.inf)),
            cost=generator.uniform(0, 3),
        )
        for j in range(6)
    ]
    for i in range(5):
        values = [generator.uniform(-2, 2) for _ in columns]
        slack = generator.uniform(0, 1)
        if generator.random() < 0.5:
            model.add_row(f"r{i}", columns, values, lower=sum(values) - slack)
        else:
            model.add_row(f"r{i}", columns, values, upper=sum(values) + slack)
    return model.build()


def test_the_multipliers_of_the_solver_prove_what_the_solver_says() -> None:
    generator = random.Random(1)
    for _ in range(50):
        model = random_model(generator)
        solution = solve_model(model)
        assert solution.objective is not None
        assert solution.row_duals is not None
        bound = exact_dual_bound(model, solution.row_duals)
        assert bound is not None
        assert float(bound) == pytest.approx(solution.objective, abs=1e-6)


def test_no_multipliers_prove_more_than_the_optimum() -> None:
    generator = random.Random(2)
    for _ in range(50):
        model = random_model(generator)
        objective = solve_model(model).objective
        assert objective is not None
        for _ in range(5):
            duals = np.array([generator.uniform(-2, 2) for _ in range(model.num_rows)])
            bound = exact_dual_bound(model, duals)
            assert bound is None or float(bound) <= objective + 1e-6
