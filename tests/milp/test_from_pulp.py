"""PuLP problems, read completely: constant, sense, names, limits."""

from __future__ import annotations

import math

import pulp
import pytest

from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.milp.translated_model import Sense
from jettison.instances.core.errors import InputError
from jettison.solvers.core.status import Answer
from jettison.solvers.milp.highs import solve_model


def test_the_constant_of_the_objective_is_kept() -> None:
    problem = pulp.LpProblem("constant")
    x = problem.add_variable("x", lowBound=2)
    problem += 3 * x + 100
    translated = from_pulp(problem)
    assert translated.model.offset == 100
    solution = solve_model(translated.model)
    assert solution.objective == 106  # 3 * 2 + 100
    assert solution.dual_bound == 106


def test_a_maximisation_is_negated_with_its_constant_and_remembered() -> None:
    problem = pulp.LpProblem("largest", pulp.LpMaximize)
    x = problem.add_variable("x", lowBound=0, upBound=4)
    problem += 5 * x + 1
    translated = from_pulp(problem)
    assert translated.sense is Sense.MAXIMISE
    assert translated.model.objective.tolist() == [-5]
    solution = solve_model(translated.model)
    assert solution.objective == -21
    assert translated.sense * solution.objective == 21  # 5 * 4 + 1


def test_limits_and_kinds_of_rows_and_columns_are_kept() -> None:
    problem = pulp.LpProblem("limits")
    a = problem.add_variable("a")
    b = problem.add_variable("b", lowBound=-1, upBound=7, cat=pulp.LpInteger)
    c = problem.add_variable("c", cat=pulp.LpBinary)
    problem += a + 2 <= b, "at_most"
    problem += 2 * a - c >= 1, "at_least"
    problem += a + b + c == 3, "equal"
    model = from_pulp(problem).model
    assert model.column_names == ("a", "b", "c")
    assert model.column_lower.tolist() == [-math.inf, -1, 0]
    assert model.column_upper.tolist() == [math.inf, 7, 1]
    assert model.integer.tolist() == [False, True, True]
    assert model.row_names == ("at_most", "at_least", "equal")
    # a - b <= -2, 2a - c >= 1, a + b + c = 3.
    assert model.row_lower.tolist() == [-math.inf, 1, 3]
    assert model.row_upper.tolist() == [-2, math.inf, 3]
    assert model.data.tolist() == [1, -1, 2, -1, 1, 1, 1]
    assert model.indices.tolist() == [0, 1, 0, 2, 0, 1, 2]


def test_values_are_read_back_by_the_name_of_the_variable() -> None:
    problem = pulp.LpProblem("names")
    stage = problem.add_variable("R_3_7", cat=pulp.LpBinary)
    other = problem.add_variable("R_10_2", cat=pulp.LpBinary)
    problem += stage + other
    problem += stage >= 1
    model = from_pulp(problem).model
    values = solve_model(model).by_name(model)
    assert values == {stage.name: 1.0, other.name: 0.0}


def test_constraints_without_a_name_are_numbered_as_pulp_does() -> None:
    problem = pulp.LpProblem("unnamed")
    x = problem.add_variable("x")
    problem += x >= 1
    problem += x <= 5, "cap"
    problem += x <= 9
    assert from_pulp(problem).model.row_names == ("_C1", "cap", "_C2")


def test_a_problem_without_objective_asks_for_any_point() -> None:
    problem = pulp.LpProblem("any")
    x = problem.add_variable("x", upBound=1)
    problem += x >= 1
    solution = solve_model(from_pulp(problem).model)
    assert solution.answer is Answer.OPTIMAL
    assert solution.objective == 0


def test_a_constraint_without_variables_is_kept() -> None:
    problem = pulp.LpProblem("false")
    x = problem.add_variable("x")
    problem += x
    problem += pulp.LpConstraint(pulp.LpAffineExpression(5), pulp.LpConstraintLE, "five", 4)
    assert solve_model(from_pulp(problem).model).answer is Answer.INFEASIBLE


def test_two_variables_of_one_name_are_refused() -> None:
    problem = pulp.LpProblem("twins")
    problem += problem.add_variable("x") + problem.add_variable("x")
    with pytest.raises(InputError, match="'x' occurs twice"):
        from_pulp(problem)


def test_special_ordered_sets_are_refused() -> None:
    problem = pulp.LpProblem("sets")
    problem += problem.add_variable("x")
    problem.sos1["only"] = {}
    with pytest.raises(InputError, match="special ordered sets"):
        from_pulp(problem)
