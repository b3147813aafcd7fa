from __future__ import annotations

from itertools import product

import pyomo.environ as pyo
import pytest

from jettison.formulations.milp.from_pyomo import from_pyomo
from jettison.formulations.remat_sharding.kiwi.columns import Term
from jettison.formulations.remat_sharding.kiwi.products import Linearised
from jettison.solvers.milp.highs import solve_model


@pytest.mark.parametrize(("sign", "x", "y"), [*product((1, -1), (0, 1), (0, 0.25, 1))])
def test_a_linearised_product_is_the_product_at_every_point(sign: int, x: int, y: float) -> None:
    concrete = pyo.ConcreteModel("products")
    concrete.x = pyo.Var(domain=pyo.Binary)
    concrete.y = pyo.Var(bounds=(0, 1))
    writer = Linearised().on(concrete)
    found = writer.times(concrete.x, [Term(concrete.y, 3)])
    # Neither larger nor smaller: both senses of the objective find x * y.
    concrete.objective = pyo.Objective(expr=sign * found)
    concrete.at_x = pyo.Constraint(expr=concrete.x == x)
    concrete.at_y = pyo.Constraint(expr=concrete.y == y)
    solution = solve_model(from_pyomo(concrete).model)
    assert solution.objective == pytest.approx(sign * 3 * x * y)


def test_the_same_product_is_one_column() -> None:
    concrete = pyo.ConcreteModel("products")
    concrete.x, concrete.y = pyo.Var(domain=pyo.Binary), pyo.Var(domain=pyo.Binary)
    writer = Linearised().on(concrete)
    writer.times(concrete.x, [Term(concrete.y, 1)])
    writer.times(concrete.x, [Term(concrete.y, 2)])
    assert len(concrete.product) == 1
    assert len(concrete.linear) == 3


def test_a_factor_that_is_fixed_needs_no_column() -> None:
    concrete = pyo.ConcreteModel("products")
    concrete.y = pyo.Var(domain=pyo.Binary)
    writer = Linearised().on(concrete)
    concrete.y.value = 1
    assert pyo.value(writer.times(0, [Term(concrete.y, 2)])) == 0
    assert pyo.value(writer.times(1, [Term(concrete.y, 2)])) == 2
    assert len(concrete.product) == 0
