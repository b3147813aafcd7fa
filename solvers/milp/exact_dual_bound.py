r"""Lower bound on a linear model in exact arithmetic, from a solver's floating-point multipliers.

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
import operator
from dataclasses import dataclass
from fractions import Fraction

from jettison.formulations.milp.array_model import ArrayModel, Floats

_MULTIPLIER_BITS = 40


@dataclass(frozen=True, slots=True)
class DualBound:
    """Lower bound with the reduced costs of the columns.

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
    """Return the bound of `exact_dual_bound` together with its reduced costs."""
    multipliers = _usable(model, row_duals)
    coefficients, bits = _scaled(model.data.tolist())
    # A^T y, in units of 2^-(bits + _MULTIPLIER_BITS).
    products = [0] * model.num_columns
    indices, starts = model.indices.tolist(), model.indptr.tolist()
    for row, multiplier in enumerate(multipliers):
        if multiplier:
            for place in range(starts[row], starts[row + 1]):
                products[indices[place]] += multiplier * coefficients[place]
    costs, cost_bits = _scaled(model.objective.tolist())
    # Costs and products become integers of one unit, 2^-all_bits.
    all_bits = max(cost_bits, bits + _MULTIPLIER_BITS)
    costs = [cost << (all_bits - cost_bits) for cost in costs]
    products = [product << (all_bits - bits - _MULTIPLIER_BITS) for product in products]
    scale = Fraction(1)
    free = (model.column_upper == math.inf).nonzero()[0].tolist()
    for column in free:
        if products[column] > 0 and scale * products[column] > costs[column]:
            scale = Fraction(costs[column], products[column])
    if scale < 0:
        return None
    up, down = scale.numerator, scale.denominator
    # In units of 1 / (down 2^all_bits).
    reduced = [down * cost - up * product for cost, product in zip(costs, products, strict=True)]
    limits = _limits(reduced, model.column_lower, model.column_upper)
    if limits is None:
        return None
    bound = Fraction(model.offset)
    bound += Fraction(*_product(reduced, limits)) / (down << all_bits)
    rows = _limits(multipliers, model.row_lower, model.row_upper)
    assert rows is not None, "usable multipliers rest on finite limits"
    bound += scale * Fraction(*_product(multipliers, rows)) / (1 << _MULTIPLIER_BITS)
    return DualBound(bound, tuple(Fraction(cost, down << all_bits) for cost in reduced))


def _limits(signs: list[int], lower: Floats, upper: Floats) -> list[float] | None:
    """Return the lower limit where a sign is positive, the upper one where it is negative, else 0.

    None if one of them is infinite.
    """
    limits = [
        (low if sign > 0 else high) if sign else 0.0
        for sign, low, high in zip(signs, lower.tolist(), upper.tolist(), strict=True)
    ]
    return limits if all(map(math.isfinite, limits)) else None


def _product(factors: list[int], limits: list[float]) -> tuple[int, int]:
    """Return the exact sum of the products, as a numerator and a denominator."""
    scaled, bits = _scaled(limits)
    return sum(map(operator.mul, factors, scaled)), 1 << bits


def _usable(model: ArrayModel, row_duals: Floats) -> list[int]:
    """Return the multipliers as integers, zero where they would need an infinite limit."""
    usable = []
    rows = zip(row_duals.tolist(), model.row_lower.tolist(), model.row_upper.tolist(), strict=True)
    for dual, lower, upper in rows:
        multiplier = round(math.ldexp(dual, _MULTIPLIER_BITS)) if math.isfinite(dual) else 0
        limit = lower if multiplier > 0 else upper
        usable.append(multiplier if math.isfinite(limit) else 0)
    return usable


def _scaled(values: list[float]) -> tuple[list[int], int]:
    """Return the values as integers, and the number of bits by which all were shifted."""
    ratios = [value.as_integer_ratio() for value in values]
    bits = max((ratio[1].bit_length() - 1 for ratio in ratios), default=0)
    return [top << (bits - (bottom.bit_length() - 1)) for top, bottom in ratios], bits
