"""Pyomo models, read completely; and one model in PuLP, Pyomo and arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pulp
import pyomo.environ as pyo
import pytest

from jettison.formulations.milp.array_model import ARRAY_TYPES, ArrayModel
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.milp.from_pyomo import from_pyomo
from jettison.formulations.milp.translated_model import Sense
from jettison.instances.core.errors import InputError
from jettison.solvers.core.status import Answer
from jettison.solvers.milp.highs import solve_model


def small_model() -> Any:
    model = pyo.ConcreteModel("small")
    model.R = pyo.Var([1, 2], [5], domain=pyo.Binary)
    model.U = pyo.Var(bounds=(None, 10))
    return model


def test_the_constant_of_the_objective_and_the_sense_are_kept() -> None:
    model = small_model()
    model.gain = pyo.Objective(expr=3 * model.U + 2 * model.R[1, 5] + 7, sense=pyo.maximize)
    translated = from_pyomo(model)
    assert translated.sense is Sense.MAXIMISE
    assert translated.model.offset == -7
    solution = solve_model(translated.model)
    assert solution.objective is not None
    assert translated.sense * solution.objective == 39  # 3 * 10 + 2 * 1 + 7


def test_names_become_lp_names_and_domains_become_bounds() -> None:
    model = small_model()
    model.cost = pyo.Objective(expr=model.R[1, 5] + model.R[2, 5] + model.U)
    model.link = pyo.Constraint([1, 2], rule=lambda m, i: m.R[i, 5] <= m.U)
    built = from_pyomo(model).model
    assert built.column_names == ("R_1_5", "R_2_5", "U")
    assert built.row_names == ("link_1", "link_2")
    assert built.integer.tolist() == [True, True, False]
    assert built.column_lower.tolist() == [0, 0, -math.inf]
    assert built.column_upper.tolist() == [1, 1, 10]


def test_a_constraint_with_two_limits_is_one_row_and_a_fixed_variable_a_constant() -> None:
    model = small_model()
    model.cost = pyo.Objective(expr=model.U + 5 * model.R[2, 5])
    model.band = pyo.Constraint(expr=(1, model.U + 3 * model.R[2, 5], 6))
    model.equal = pyo.Constraint(expr=model.U - model.R[1, 5] == 0)
    model.R[2, 5].fix(1)
    built = from_pyomo(model).model
    assert built.row_names == ("band", "equal")
    # 1 <= U + 3 <= 6 is -2 <= U <= 3; the objective is U + 5.
    assert built.row_lower.tolist() == [-2, 0]
    assert built.row_upper.tolist() == [3, 0]
    assert built.offset == 5
    assert built.column_names == ("U", "R_1_5")


def test_a_model_without_constraints_or_objective_is_translated() -> None:
    model = small_model()
    model.cost = pyo.Objective(expr=model.U)
    model.U.setlb(2)
    assert solve_model(from_pyomo(model).model).objective == 2
    model.cost.deactivate()
    model.floor = pyo.Constraint(expr=model.U >= 4)
    assert solve_model(from_pyomo(model).model).answer is Answer.OPTIMAL


def test_a_product_of_variables_is_refused() -> None:
    model = small_model()
    model.cost = pyo.Objective(expr=model.U)
    model.product = pyo.Constraint(expr=model.R[1, 5] * model.R[2, 5] >= 1)
    with pytest.raises(InputError, match=r"product.*nonlinear"):
        from_pyomo(model)
    model.product.deactivate()
    model.cost.set_value(model.U * model.R[1, 5])
    with pytest.raises(InputError, match=r"cost.*nonlinear"):
        from_pyomo(model)


def test_a_constraint_without_variables_that_cannot_hold_is_refused_by_name() -> None:
    model = small_model()
    model.cost = pyo.Objective(expr=model.U)
    model.U.fix(0)
    model.never = pyo.Constraint(expr=0 * model.R[1, 5] + 1 <= 0)
    with pytest.raises(InputError, match="never"):
        from_pyomo(model)


def test_two_active_objectives_are_refused() -> None:
    model = small_model()
    model.first = pyo.Objective(expr=model.U)
    model.second = pyo.Objective(expr=-model.U)
    with pytest.raises(InputError, match="2 active objectives"):
        from_pyomo(model)


def test_a_domain_with_steps_other_than_one_is_refused() -> None:
    model = pyo.ConcreteModel("steps")
    model.x = pyo.Var(domain=pyo.RangeSet(0, 10, 5))
    model.cost = pyo.Objective(expr=model.x)
    with pytest.raises(InputError, match="the domain of x"):
        from_pyomo(model)


# A knapsack with a precedence: items of weight 2, 3, 4 and value 3, 5, 6 into 7, where item 3 needs
# item 1. All 8 choices: {2, 3} has weight 7 and lacks item 1, {1, 3} gives 9, {1, 2} gives 8, the
# rest less. The empty knapsack costs 20.
WEIGHTS, VALUES, CAPACITY, EMPTY, BEST = (2, 3, 4), (3, 5, 6), 7, 20, 20 - 9


def knapsack_in_pulp() -> ArrayModel:
    problem = pulp.LpProblem("knapsack")
    take = {item: problem.add_variable(f"take_{item}", cat=pulp.LpBinary) for item in (1, 2, 3)}
    problem += EMPTY - pulp.lpSum(VALUES[item - 1] * take[item] for item in take)
    problem += pulp.lpSum(WEIGHTS[item - 1] * take[item] for item in take) <= CAPACITY, "weight"
    problem += take[3] <= take[1], "needs"
    return from_pulp(problem).model


def knapsack_in_pyomo() -> ArrayModel:
    model = pyo.ConcreteModel("knapsack")
    model.take = pyo.Var([1, 2, 3], domain=pyo.Binary)
    model.cost = pyo.Objective(
        expr=EMPTY - sum(VALUES[item - 1] * model.take[item] for item in (1, 2, 3))
    )
    model.weight = pyo.Constraint(
        expr=sum(WEIGHTS[item - 1] * model.take[item] for item in (1, 2, 3)) <= CAPACITY
    )
    model.needs = pyo.Constraint(expr=model.take[3] <= model.take[1])
    return from_pyomo(model).model


def knapsack_in_arrays() -> ArrayModel:
    model = ArrayModelBuilder("knapsack", EMPTY)
    take = model.add_columns(
        ["take_1", "take_2", "take_3"], upper=1, cost=np.negative(VALUES), integer=True
    )
    model.add_row("weight", take.tolist(), WEIGHTS, upper=CAPACITY)
    model.add_row("needs", [take[0], take[2]], [-1, 1], upper=0)
    return model.build()


@pytest.mark.parametrize("build", [knapsack_in_pulp, knapsack_in_pyomo, knapsack_in_arrays])
def test_a_model_has_the_same_matrix_and_optimum_whichever_way_it_is_written(build: Any) -> None:
    built, expected = build(), knapsack_in_arrays()
    assert built.column_names == expected.column_names
    assert built.row_names == expected.row_names
    assert built.offset == expected.offset
    for field in ARRAY_TYPES:
        np.testing.assert_array_equal(getattr(built, field), getattr(expected, field), field)
    solution = solve_model(built)
    assert solution.answer is Answer.OPTIMAL
    assert solution.objective == BEST
    assert solution.by_name(built) == {"take_1": 1, "take_2": 0, "take_3": 1}
