"""Translation of Pyomo models to array models, through Pyomo's standard form compiler."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.milp.lp_names import as_lp_names
from jettison.formulations.milp.translated_model import Sense, TranslatedModel
from jettison.instances.core.errors import InputError

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel


def from_pyomo(concrete: ConcreteModel) -> TranslatedModel:
    """Translate a linear Pyomo model; a missing objective is 0.

    Columns are the variables with a coefficient somewhere, in order of declaration; fixed variables
    become constants. Rows are the active constraints; one with two limits is one row. Names change
    as `as_lp_names` says: ``R[3,7]`` is called ``R_3_7``.

    Raises
    ------
    InputError
        If an objective or constraint is not linear, a constraint without variables cannot hold,
        there are several active objectives, a variable is neither continuous nor integer, or there
        is a component, such as a disjunction, that has to be transformed first.

    Notes
    -----
    Time linear in the number of coefficients, some microseconds for each.
    """
    from pyomo.common.errors import PyomoException
    from pyomo.core import maximize
    from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

    source = f"Pyomo model {concrete.name}"
    try:
        form = LinearStandardFormCompiler().write(concrete, mixed_form=True)
    except (PyomoException, ValueError) as error:
        raise InputError(
            " ".join(str(error).split()),
            source=source,
            expected="write a linear model, with products and disjunctions reformulated",
        ) from error
    if len(form.objectives) > 1:
        raise InputError(
            f"{len(form.objectives)} active objectives",
            source=source,
            expected="deactivate all but one",
        )
    sense, costs, offset = Sense.MINIMISE, np.zeros(len(form.columns)), 0.0
    if form.objectives:
        # The compiler has already negated an objective that is to be maximised.
        if form.objectives[0].sense == maximize:
            sense = Sense.MAXIMISE
        costs, offset = form.c.toarray()[0], form.c_offset[0]

    model = ArrayModelBuilder(as_lp_names([concrete.name])[0], offset)
    names = as_lp_names(variable.name for variable in form.columns)
    for variable, name, cost in zip(form.columns, names, costs, strict=True):
        if not (variable.is_continuous() or variable.is_integer()):
            raise InputError(
                f"the domain of {variable.name} is {variable.domain.name}",
                source=source,
                expected="use reals, integers or binaries",
            )
        lower, upper = variable.bounds
        model.add_column(
            name,
            lower=-math.inf if lower is None else lower,
            upper=math.inf if upper is None else upper,
            cost=cost,
            integer=variable.is_integer(),
        )

    matrix = form.A.tocsr()
    limits: dict[str, tuple[float, float]] = {}
    rows: list[int] = []
    # A constraint with two limits comes as two rows, one behind the other, that differ in the
    # limit only; bound_type is 1 for an upper limit, -1 for a lower one, 0 for both at once.
    for row, (entry, limit) in enumerate(zip(form.rows, form.rhs, strict=True)):
        name = entry.constraint.name
        if name not in limits:
            rows.append(row)
        lower, upper = limits.get(name, (-math.inf, math.inf))
        limits[name] = (
            limit if entry.bound_type <= 0 else lower,
            limit if entry.bound_type >= 0 else upper,
        )
    block = matrix[rows].tocoo()
    model.add_rows(
        as_lp_names(limits),
        block.row,
        block.col,
        block.data,
        lower=[lower for lower, _ in limits.values()],
        upper=[upper for _, upper in limits.values()],
    )
    return TranslatedModel(model.build(), sense)
