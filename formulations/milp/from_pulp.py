"""Translation of PuLP problems to array models: PuLP states a model and does not solve it.

PuLP's own way to a solver calls a time limit optimal, reads zeros where there is no solution, drops
the constant of the objective and options that it does not know. None of that is used here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import lazy_loader as lazy

from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.milp.lp_names import as_lp_names
from jettison.formulations.milp.translated_model import Sense, TranslatedModel
from jettison.formulations.milp.watched_writing import Watch, unwatched
from jettison.instances.core.errors import InputError

if TYPE_CHECKING:
    import pulp
else:
    pulp = lazy.load("pulp")


def from_pulp(problem: pulp.LpProblem, watch: Watch = unwatched) -> TranslatedModel:
    """Translate a PuLP problem; a missing objective is 0.

    Columns are PuLP's variables in PuLP's order, which is by name, and rows its constraints as they
    were added. Names that an LP file can hold stay as they are, others change as `as_lp_names`
    says; constraints without a name are called ``_C1``, ``_C2`` and so on, as PuLP does.

    Parameters
    ----------
    problem
        The problem.
    watch
        Called at every column and row; it may raise, which ends the translation.

    Raises
    ------
    InputError
        If two variables share a name, the problem has special ordered sets, or a number is not one
        that `ArrayModel` takes.

    Notes
    -----
    Time linear in the number of coefficients, some microseconds for each.
    """
    if problem.sos1 or problem.sos2:
        raise InputError(
            "special ordered sets",
            source=f"PuLP problem {problem.name}",
            expected="write them with binary variables",
        )
    sense = Sense.MAXIMISE if problem.sense == pulp.LpMaximize else Sense.MINIMISE
    objective = problem.objective if problem.objective is not None else pulp.LpAffineExpression()
    model = ArrayModelBuilder(problem.name, sense * objective.constant)

    variables = problem.variables()
    names = as_lp_names(variable.name for variable in variables)
    column_of: dict[pulp.LpVariable, int] = {}
    for variable, name in zip(variables, names, strict=True):
        watch()
        column_of[variable] = model.add_column(
            name,
            lower=-math.inf if variable.lowBound is None else variable.lowBound,
            upper=math.inf if variable.upBound is None else variable.upBound,
            cost=sense * objective.get(variable, 0),
            integer=variable.cat == pulp.LpInteger,
        )

    # Some releases of PuLP 3.3 hold the constraints in a dictionary, later ones return a list.
    held = problem.constraints
    constraints = list(held() if callable(held) else held.values())
    for name, constraint in zip(_row_names(constraints), constraints, strict=True):
        watch()
        lower, upper = constraint.getLb(), constraint.getUb()
        model.add_row(
            name,
            [column_of[variable] for variable in constraint],
            list(constraint.values()),
            lower=-math.inf if lower is None else lower,
            upper=math.inf if upper is None else upper,
        )
    return TranslatedModel(model.build(), sense)


def _row_names(constraints: Iterable[pulp.LpConstraint]) -> tuple[str, ...]:
    numbers = itertools.count(1)
    return as_lp_names(constraint.name or f"_C{next(numbers)}" for constraint in constraints)
