"""Answers of HiGHS about a model: each told apart; every trap of the solver, closed."""

from __future__ import annotations

import itertools
import math

import highspy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.solvers.core.status import Answer, SolverError, Termination
from jettison.solvers.milp.highs import HighsOptions, solve_model
from jettison.solvers.milp.solution import relative_gap
from tests.milp.highs_models import (
    assert_nothing_is_known,
    knapsack,
    market_split,
    one_column,
    solved_knapsack,
)

# What is known.


def test_an_integer_optimum_comes_with_a_bound_that_meets_it() -> None:
    # x >= 2.5, so 3; 2 * 3 + 10.
    solution = solve_model(one_column(cost=2, integer=True, row=(2.5, 1, math.inf), offset=10))
    assert solution.termination is Termination.COMPLETED
    assert solution.answer is Answer.OPTIMAL
    assert (solution.objective, solution.dual_bound, solution.gap) == (16, 16, 0)
    assert solution.values is not None
    assert solution.values.tolist() == [3]


def test_a_linear_program_comes_with_duals_and_reduced_costs() -> None:
    # Minimise 2x + 3y + z with x + y >= 4, z <= 5: x = 4, and the row's price is 2. Then y costs
    # 3 - 2 = 1 to enter, x costs 0, z costs 1.
    model = ArrayModelBuilder("prices", 1)
    x, y = model.add_column("x", cost=2), model.add_column("y", cost=3)
    model.add_column("z", upper=5, cost=1)
    model.add_row("demand", [x, y], [1, 1], lower=4)
    solution = solve_model(model.build())
    assert solution.answer is Answer.OPTIMAL
    assert solution.objective == solution.dual_bound == 9
    assert solution.row_duals is not None
    assert solution.reduced_costs is not None
    assert solution.row_duals.tolist() == [2]
    assert solution.reduced_costs.tolist() == [0, 1, 1]


def test_an_integer_model_has_no_duals() -> None:
    solution = solve_model(one_column(integer=True, row=(1, 1, 2)))
    assert solution.row_duals is None
    assert solution.reduced_costs is None


@pytest.mark.parametrize(
    "model",
    [
        one_column(upper=1, row=(2, 1, math.inf)),
        one_column(upper=1, integer=True, row=(0.3, 1, 0.6)),
        one_column(lower=2, upper=1),
        one_column(upper=1, row=(2, 1, 1)),
    ],
    ids=["linear", "integer", "crossed bounds", "crossed row"],
)
def test_an_infeasible_model_is_told_as_one_and_has_no_values(model: ArrayModel) -> None:
    solution = solve_model(model)
    assert solution.termination is Termination.COMPLETED
    assert solution.answer is Answer.INFEASIBLE
    assert solution.values is None
    assert solution.objective is None
    assert solution.dual_bound is None


def diagonal(*, integer: bool, even: bool) -> ArrayModel:
    """Minimise -x with 2x - 2y <= 2, or with 2x - 2y == 1, which no integers satisfy."""
    model = ArrayModelBuilder("diagonal")
    x = model.add_column("x", cost=-1, integer=integer)
    y = model.add_column("y", integer=integer)
    model.add_row("r", [x, y], [2, -2], lower=-math.inf if even else 1, upper=2 if even else 1)
    return model.build()


@pytest.mark.parametrize("integer", [False, True], ids=["linear", "integer"])
def test_an_unbounded_model_is_told_from_an_infeasible_one(integer: bool) -> None:
    # HiGHS's presolve ends at "unbounded or infeasible" for the integer model.
    solution = solve_model(diagonal(integer=integer, even=True))
    assert solution.termination is Termination.COMPLETED
    assert solution.answer is Answer.UNBOUNDED
    assert solution.values is None
    assert solution.objective is None


def test_an_infeasible_model_with_an_unbounded_relaxation_is_infeasible() -> None:
    assert solve_model(diagonal(integer=True, even=False)).answer is Answer.INFEASIBLE
    assert solve_model(diagonal(integer=False, even=False)).answer is Answer.UNBOUNDED


def test_a_model_without_columns_keeps_its_offset_and_its_rows() -> None:
    # HiGHS calls it empty, reports the objective 0, and does not look at the rows.
    model = ArrayModelBuilder("empty", 7)
    model.add_row("loose", [], [], lower=-1, upper=1)
    solution = solve_model(model.build())
    assert (solution.answer, solution.objective) == (Answer.OPTIMAL, 7)
    model.add_row("false", [], [], lower=1)
    assert solve_model(model.build()).answer is Answer.INFEASIBLE


def test_a_model_without_rows_sits_at_its_bounds() -> None:
    solution = solve_model(one_column(cost=-2, upper=3, offset=1))
    assert (solution.answer, solution.objective) == (Answer.OPTIMAL, -5)


# Where a run stops early.


def test_a_time_limit_without_incumbent_is_not_called_optimal() -> None:
    solution = solve_model(knapsack(), HighsOptions(time_limit_s=0))
    assert solution.termination is Termination.TIME_LIMIT
    assert_nothing_is_known(solution)


def test_a_linear_program_stopped_early_has_no_values() -> None:
    # HiGHS hands out the point (0, 0), which is infeasible, and the objective 10 here.
    model = ArrayModelBuilder("sum", 10)
    x, y = model.add_column("x", upper=9, cost=1), model.add_column("y", upper=9, cost=2)
    model.add_row("r", [x, y], [1, 1], lower=1.5)
    solution = solve_model(model.build(), HighsOptions(time_limit_s=0))
    assert solution.termination is Termination.TIME_LIMIT
    assert solution.dual_bound is None
    assert solution.row_duals is None
    assert_nothing_is_known(solution)


def test_a_node_limit_without_incumbent_yields_no_values() -> None:
    solution = solve_model(knapsack(), HighsOptions(node_limit=0))
    assert solution.termination is Termination.NODE_LIMIT
    assert_nothing_is_known(solution)


def test_values_that_are_not_there_cannot_be_read_by_name() -> None:
    model = knapsack()
    solution = solve_model(model, HighsOptions(node_limit=0))
    with pytest.raises(SolverError, match=r"node_limit .* unknown"):
        solution.by_name(model)


def test_a_node_limit_with_incumbent_is_feasible_and_keeps_point_and_bound() -> None:
    model = knapsack()
    solution = solve_model(model, HighsOptions(node_limit=1))
    assert solution.termination is Termination.NODE_LIMIT
    assert solution.answer is Answer.FEASIBLE
    assert solution.values is not None
    assert solution.objective is not None
    assert solution.dual_bound is not None
    assert model.violations(solution.values) == {}
    # The optimum, -25830, lies between the two.
    assert solution.dual_bound <= -25830 <= solution.objective


def test_a_gap_that_is_left_open_is_not_called_optimal() -> None:
    # Even HiGHS's default of 1e-4 ends at -25828 here, and HiGHS calls it optimal.
    loose = solve_model(knapsack(), HighsOptions(gap=0.05))
    assert loose.termination is Termination.GAP_REACHED
    assert loose.termination.is_regular
    assert loose.answer is Answer.FEASIBLE
    assert loose.gap is not None
    assert 0 < loose.gap <= 0.05
    exact = solved_knapsack()
    assert (exact.termination, exact.answer) == (Termination.COMPLETED, Answer.OPTIMAL)
    assert exact.objective == -25830


def test_one_run_uses_up_no_time_of_the_next() -> None:
    options = HighsOptions(time_limit_s=0.5)
    assert solve_model(market_split(), options).termination is Termination.TIME_LIMIT
    assert solve_model(one_column(integer=True, row=(1, 1, 2)), options).answer is Answer.OPTIMAL


def test_the_gap_is_the_one_that_highs_reports() -> None:
    model = knapsack(items=30)
    solver = highspy.Highs()
    solver.setOptionValue("log_to_console", False)
    solver.setOptionValue("mip_rel_gap", 0.2)
    solver.passModel(model.to_highs_lp())
    solver.run()
    info = solver.getInfo()
    assert info.mip_gap > 0
    assert relative_gap(info.objective_function_value, info.mip_dual_bound) == pytest.approx(
        info.mip_gap, rel=1e-12
    )


def test_a_gap_at_zero_is_closed_or_infinite() -> None:
    assert relative_gap(0, 0) == 0
    assert relative_gap(0, -1) == math.inf
    assert relative_gap(None, 1) is None
    assert relative_gap(1, None) is None


# All points of small models.


@st.composite
def small_models(draw: st.DrawFn) -> ArrayModel:
    """Up to 5 binary columns and 3 rows, all numbers small integers."""
    columns = draw(st.integers(1, 5))
    numbers = st.lists(st.integers(-5, 5), min_size=columns, max_size=columns)
    model = ArrayModelBuilder("small", draw(st.integers(-10, 10)))
    model.add_columns([f"x_{i}" for i in range(columns)], upper=1, cost=draw(numbers), integer=True)
    for row in range(draw(st.integers(0, 3))):
        lower = draw(st.integers(-6, 6))
        upper = draw(st.one_of(st.just(math.inf), st.integers(lower - 1, lower + 6)))
        model.add_row(f"r_{row}", list(range(columns)), draw(numbers), lower=lower, upper=upper)
    return model.build()


@given(small_models(), st.sampled_from([0.0, 0.3]))
@settings(max_examples=60)
def test_answer_and_bound_agree_with_a_look_at_every_point(model: ArrayModel, gap: float) -> None:
    points = itertools.product([0.0, 1.0], repeat=model.num_columns)
    values = [model.objective_value(point) for point in points if not model.violations(point)]
    solution = solve_model(model, HighsOptions(gap=gap))
    if not values:
        assert solution.answer is Answer.INFEASIBLE
        return
    best = min(values)
    assert solution.values is not None
    assert solution.objective is not None
    assert solution.dual_bound is not None
    assert model.violations(solution.values) == {}
    assert solution.dual_bound - 1e-6 <= best <= solution.objective
    if solution.answer is Answer.OPTIMAL:
        assert solution.objective == best
    else:
        assert gap > 0


@given(small_models())
@settings(max_examples=40)
def test_duals_of_the_relaxation_prove_its_optimum(model: ArrayModel) -> None:
    relaxed = model.relaxed()
    solution = solve_model(relaxed)
    if solution.answer is Answer.INFEASIBLE:
        return
    assert solution.row_duals is not None
    assert solution.reduced_costs is not None
    assert solution.objective is not None
    # Weak duality: each price takes the limit that it presses against, a lower one if positive.
    bound = relaxed.offset
    for prices, lower, upper in (
        (solution.row_duals, relaxed.row_lower, relaxed.row_upper),
        (solution.reduced_costs, relaxed.column_lower, relaxed.column_upper),
    ):
        for price, least, most in zip(prices, lower, upper, strict=True):
            if abs(price) > 1e-9:
                bound += price * (least if price > 0 else most)
    assert bound == pytest.approx(solution.objective, abs=1e-6)
