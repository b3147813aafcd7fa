"""SCIP on quadratic Pyomo models: an oracle for what HiGHS cannot read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest
from pyomo.core import Constraint, Objective, Var
from pyomo.repn import generate_standard_repn


class Optimum(NamedTuple):
    objective: float
    values: Mapping[str, float]


def solve_quadratic(concrete: Any) -> Optimum | None:
    """Return the optimum of a Pyomo model with quadratic expressions; None if there is no point."""
    pyscipopt = pytest.importorskip("pyscipopt", reason="SCIP solves the quadratic models")
    model = pyscipopt.Model()
    model.hideOutput()
    model.setParam("limits/gap", 0)
    columns = {}
    for variable in concrete.component_data_objects(Var):
        lower, upper = variable.bounds
        columns[id(variable)] = model.addVar(
            vtype="I" if variable.is_integer() or variable.is_binary() else "C",
            lb=-math.inf if lower is None else lower,
            ub=math.inf if upper is None else upper,
        )

    def translated(expression: Any) -> Any:
        form = generate_standard_repn(expression)
        assert form.nonlinear_expr is None
        total = pyscipopt.Expr() + form.constant
        for amount, column in zip(form.linear_coefs, form.linear_vars, strict=True):
            total += amount * columns[id(column)]
        for amount, (x, y) in zip(form.quadratic_coefs, form.quadratic_vars, strict=True):
            total += amount * columns[id(x)] * columns[id(y)]
        return total

    for row in concrete.component_data_objects(Constraint, active=True):
        body = translated(row.body)
        if row.has_lb():
            model.addCons(body >= row.lb)
        if row.has_ub():
            model.addCons(body <= row.ub)
    (objective,) = concrete.component_data_objects(Objective, active=True)
    goal = model.addVar(lb=-math.inf)
    model.addCons(goal >= translated(objective.expr))
    model.setObjective(goal)
    model.optimize()
    if model.getStatus() == "infeasible":
        return None
    assert model.getStatus() == "optimal"
    values = {
        variable.name.replace("[", "_").replace(",", "_").replace("]", ""): model.getVal(
            columns[id(variable)]
        )
        for variable in concrete.component_data_objects(Var)
    }
    return Optimum(model.getObjVal(), values)
