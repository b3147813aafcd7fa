r"""Reduced-cost fixing: tighter limits for integer columns, from a relaxation and a known value.

Let :math:`L` be the lower bound of multipliers :math:`y`, and :math:`d` their reduced costs
(`exact_dual_bound`). Where :math:`d_j > 0`, the bound has column :math:`j` at its lower limit
:math:`\underline x_j`, and a point with :math:`x_j \ge \underline x_j + k` costs at least
:math:`L + k d_j`. So points that cost at most :math:`U` have

.. math::
    x_j \le \underline x_j + \left\lfloor \frac{U - L}{d_j} \right\rfloor ,

and likewise :math:`x_j \ge \overline x_j - \lfloor (U - L) / |d_j| \rfloor` where :math:`d_j < 0`.
A binary is fixed if :math:`U - L < |d_j|`. If :math:`L > U` there is no such point at all.

All of this is done in fractions, with multipliers that need not be optimal or even right, and so no
tolerance of a solver can cut off a point that costs :math:`U` or less. With the cost of a known
point as :math:`U` every point as good or better stays; with the next smaller value that an
objective can have, every better one. Source: Dantzig, Fulkerson and Johnson (1954), who removed
edges of a travelling salesman's graph in this way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.solvers.milp.exact_dual_bound import dual_bound_with_reduced_costs


@dataclass(frozen=True, eq=False)
class Tightened:
    """Model with tighter limits of its integer columns.

    Attributes
    ----------
    model
        The same rows, columns and objective.
    num_fixed
        Number of integer columns that had several values and have one left.
    """

    model: ArrayModel
    num_fixed: int


def tightened_by_reduced_costs(
    model: ArrayModel, row_duals: Floats, at_most: Fraction
) -> Tightened | None:
    """Return the model with limits that every point of cost `at_most` or less satisfies.

    Parameters
    ----------
    model
        The model; non-integral limits of integer columns are not changed.
    row_duals
        Multipliers of the rows, shape (m,), as `ModelSolution.row_duals` of the relaxation.
    at_most
        The cost up to which points must stay feasible, offset included.

    Returns
    -------
    Tightened or None
        None if every point costs more.

    Notes
    -----
    Linear time in the number of coefficients, in integers of about a hundred bits.
    """
    proved = dual_bound_with_reduced_costs(model, row_duals)
    if proved is None:
        return Tightened(model, 0)
    room = at_most - proved.value
    if room < 0:
        return None
    lower, upper = model.column_lower.copy(), model.column_upper.copy()
    for column in np.flatnonzero(model.integer).tolist():
        cost = proved.reduced_costs[column]
        if not cost:
            continue
        least, most = float(lower[column]), float(upper[column])
        steps = math.floor(room / abs(cost))
        if cost > 0 and least.is_integer() and steps < most - least:
            upper[column] = least + steps
        elif cost < 0 and most.is_integer() and steps < most - least:
            lower[column] = most - steps
    was_open = model.column_lower < model.column_upper
    num_fixed = int((model.integer & was_open & (lower == upper)).sum())
    return Tightened(replace(model, column_lower=lower, column_upper=upper), num_fixed)
