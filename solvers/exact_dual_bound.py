r"""A lower bound on a linear model in exact arithmetic, from multipliers in floating point.

For any :math:`y` the minimum of :math:`c^\top x + c_0` over :math:`l \le A x \le u`,
:math:`\underline x \le x \le \overline x` is at least

.. math::
    c_0 + \sum_i \min_{l_i \le v \le u_i} y_i v
        + \sum_j \min_{\underline x_j \le v \le \overline x_j} (c - A^\top y)_j\, v

with the sign of the first term turned: the rows give :math:`\sum_i y_i (A x)_i \ge \sum_{y_i > 0}
y_i l_i + \sum_{y_i < 0} y_i u_i`. It is the dual objective at :math:`y` (weak duality), and holds
whether or not :math:`y` is optimal or even right. So the multipliers of a solver are rounded to
multiples of :math:`2^{-40}`, and the rest is done in integers. A multiplier whose side of its row
is infinite is dropped.

The terms :math:`(c - A^\top y)_j` are the *reduced costs* at :math:`y`: a point at which column j
is k away from the limit that the bound takes costs at least k times as much more
(`reduced_cost_fixing`).

A column without an upper limit bounds nothing if its reduced cost is below zero, be it by
rounding. Where such a column has a cost above zero, all multipliers are scaled down until its
reduced cost is not below zero: that costs as little as the rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from jettison.formulations.array_model import ArrayModel, Floats

_MULTIPLIER_BITS = 40


@dataclass(frozen=True, slots=True)
class DualBound:
    """A lower bound, and what each column adds to it.

    Attributes
    ----------
    value
        The bound.
    reduced_costs
        By how much the bound rises for each unit that a column leaves its better limit, negative
        where that is the upper one; one for each column.
    """

    value: Fraction
    reduced_costs: tuple[Fraction, ...]


def exact_dual_bound(model: ArrayModel, row_duals: Floats) -> Fraction | None:
    """Return a lower bound on the objective of a model and of its linear relaxation.

    Parameters
    ----------
    model
        Its numbers are taken as they are, exactly. Integrality is ignored.
    row_duals
        Multipliers of the rows, shape (m,), positive where a lower limit holds the objective up.

    Returns
    -------
    Fraction or None
        None if these multipliers bound nothing.

    Notes
    -----
    Linear time in the number of coefficients, in integers of about a hundred bits.
    """
    proved = dual_bound_with_reduced_costs(model, row_duals)
    return None if proved is None else proved.value


def dual_bound_with_reduced_costs(model: ArrayModel, row_duals: Floats) -> DualBound | None:
    """Return the bound of `exact_dual_bound` and the reduced costs that it is made of."""
    multipliers = _usable(model, row_duals)
    coefficients, bits = _scaled(model.data.tolist())
    # A^T y, in units of 2^-(bits + _MULTIPLIER_BITS).
    products = [0] * model.num_columns
    indices, starts = model.indices.tolist(), model.indptr.tolist()
    for row, multiplier in enumerate(multipliers):
        if multiplier:
            for place in range(starts[row], starts[row + 1]):
                products[indices[place]] += multiplier * coefficients[place]
    unit = Fraction(1, 1 << (bits + _MULTIPLIER_BITS))
    scale = Fraction(1)
    free = (model.column_upper == math.inf).nonzero()[0].tolist()
    for column in free:
        product, cost = products[column] * unit, Fraction(model.objective[column])
        if product > 0 and scale * product > cost:
            scale = cost / product
    if scale < 0:
        return None
    bound = Fraction(model.offset)
    row_unit = scale / (1 << _MULTIPLIER_BITS)
    for row, multiplier in enumerate(multipliers):
        if multiplier:
            limit = model.row_lower[row] if multiplier > 0 else model.row_upper[row]
            bound += row_unit * multiplier * Fraction(limit)
    reduced_costs = tuple(
        Fraction(cost) - scale * unit * product
        for cost, product in zip(model.objective.tolist(), products, strict=True)
    )
    for column, reduced in enumerate(reduced_costs):
        if reduced:
            limit = model.column_lower[column] if reduced > 0 else model.column_upper[column]
            if not math.isfinite(limit):
                return None
            if limit:
                bound += reduced * Fraction(limit)
    return DualBound(bound, reduced_costs)


def _usable(model: ArrayModel, row_duals: Floats) -> list[int]:
    """Return the multipliers as integers, zero where the limit that they rest on is infinite."""
    usable = []
    rows = zip(row_duals.tolist(), model.row_lower.tolist(), model.row_upper.tolist(), strict=True)
    for dual, lower, upper in rows:
        multiplier = round(math.ldexp(dual, _MULTIPLIER_BITS)) if math.isfinite(dual) else 0
        limit = lower if multiplier > 0 else upper
        usable.append(multiplier if math.isfinite(limit) else 0)
    return usable


def _scaled(values: list[float]) -> tuple[list[int], int]:
    """Return integers, and the number of bits by which all of them have been shifted."""
    ratios = [value.as_integer_ratio() for value in values]
    bits = max((ratio[1].bit_length() - 1 for ratio in ratios), default=0)
    return [top << (bits - (bottom.bit_length() - 1)) for top, bottom in ratios], bits
