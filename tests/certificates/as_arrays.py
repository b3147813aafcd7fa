"""Models of certificates as arrays, so that HiGHS can solve them."""

from __future__ import annotations

import math

from jettison.certificates.integer_model import IntegerModel
from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.solvers.core.status import Answer
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions

EXACT = HighsOptions(gap=0, feasibility_tolerance=1e-9)


def as_arrays(model: IntegerModel) -> ArrayModel:
    """Return the same model in floating point; its numbers are to be small."""
    builder = ArrayModelBuilder("certificate")
    for name, lower, upper, cost, is_integer in zip(
        model.column_names, model.lower, model.upper, model.costs, model.is_integer, strict=True
    ):
        builder.add_column(name, lower=lower, upper=upper, cost=cost, integer=is_integer)
    for row in model.rows:
        upper = row.right if row.is_equation else math.inf
        builder.add_row(row.name, row.columns, row.coefficients, lower=row.right, upper=upper)
    return builder.build()


def optimum(model: ArrayModel) -> float | None:
    """Return the optimum as HiGHS finds it, None where it says that there is no point."""
    solution = solve_model(model, EXACT)
    if solution.answer is Answer.INFEASIBLE:
        return None
    assert solution.answer is Answer.OPTIMAL
    assert solution.objective is not None
    return solution.objective
