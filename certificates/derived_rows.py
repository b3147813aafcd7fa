r"""Derived rows: roundings and covers that follow from other rows at integer points.

**Rounding** (Chvátal and Gomory). A combination :math:`a^\top x \ge b` of rows, with weights that
are at least 0 on inequalities, divided by :math:`d > 0`. Continuous columns are dropped at what
they can add at most. With :math:`x = l + x'` and integer :math:`x' \ge 0`,

.. math:: \sum_j \lceil a_j / d \rceil x'_j \ge \Bigl\lceil \frac{b - a^\top l}{d} \Bigr\rceil .

**Cover** of a knapsack. An inequality :math:`\sum_j w_j x_j \le W` of the model, whose other
columns are dropped at the least that they can take, implies
:math:`\sum_j \alpha_j x_j \le \beta` for binary columns with positive weights if the least weight
of items with :math:`\sum_j \alpha_j > \beta` exceeds :math:`W`. A dynamic program over the profit
finds that weight; so covers, extended, lifted, and whatever else follows from the knapsack, pass
the same check.
"""

from __future__ import annotations

from collections.abc import Sequence

from .errors import CertificateError
from .integer_model import IntegerModel, Row

# Items times profits of the dynamic program.
_MOST_STEPS = 20_000_000

# Rows that are derived from derived rows could have any number of digits.
_LARGEST = 10**400


def rounded(model: IntegerModel, divisor: int, weights: Sequence[tuple[int, int]]) -> Row:
    """Return the rounding of a combination of rows.

    Raises
    ------
    CertificateError
        If the divisor is not positive, a row does not exist or is named twice, an inequality has a
        negative weight, or the row would have numbers too large for a proof.
    """
    if divisor < 1:
        raise CertificateError(f"a row cannot be divided by {divisor}")
    if len(dict(weights)) < len(weights):
        raise CertificateError("a rounding names each of its rows once")
    total: dict[int, int] = {}
    right = 0
    for number, weight in weights:
        row = _row(model, number)
        if weight < 0 and not row.is_equation:
            raise CertificateError(f"{row.name} is an inequality; the weight {weight} is negative")
        right += weight * row.right
        for column, coefficient in zip(row.columns, row.coefficients, strict=True):
            total[column] = total.get(column, 0) + weight * coefficient
    columns, coefficients, shift = [], [], 0
    for column, coefficient in total.items():
        lower, upper = model.lower[column], model.upper[column]
        if not model.is_integer[column]:
            right -= max(coefficient * lower, coefficient * upper)
            continue
        right -= coefficient * lower
        raised = -(-coefficient // divisor)
        if raised:
            columns.append(column)
            coefficients.append(raised)
            shift += raised * lower
    right = -(-right // divisor) + shift
    if max(map(abs, [right, *coefficients])) > _LARGEST:
        raise CertificateError("the derived row has numbers of more than 400 digits")
    name = f"rounding_{len(model.rows)}"
    return Row(name, tuple(columns), tuple(coefficients), right)


def cover(model: IntegerModel, number: int, most: int, profits: Sequence[tuple[int, int]]) -> Row:
    r"""Return :math:`\sum_j \alpha_j x_j \le \beta`, where the knapsack of a row implies it.

    `most` is :math:`\beta`, `profits` are pairs of a column and its :math:`\alpha`. The time is the
    number of items times :math:`\beta`.

    Raises
    ------
    CertificateError
        If it does not follow, or is none: a column twice, or not binary, or without weight.
    """
    row = _row(model, number)
    if row.is_equation:
        raise CertificateError(f"{row.name} is an equation, not a knapsack")
    weight_of = {
        column: -coefficient
        for column, coefficient in zip(row.columns, row.coefficients, strict=True)
    }
    alpha = dict(profits)
    if len(alpha) != len(profits) or not alpha:
        raise CertificateError("a cover names each of its columns once, and at least one")
    if most < 0 or (most + 2) * len(alpha) > _MOST_STEPS:
        raise CertificateError(f"a cover with the right-hand side {most} is not checked")
    room = -row.right
    for column, weight in weight_of.items():
        lower, upper = model.lower[column], model.upper[column]
        if column not in alpha:
            room -= min(weight * lower, weight * upper)
        elif (lower, upper) != (0, 1) or not model.is_integer[column] or weight <= 0:
            raise CertificateError(
                f"{model.column_names[column]} is not a binary column with a positive weight"
            )
    # The least weight of items whose profits add up to at least q; `never` where none do.
    never = max(room, sum(weight_of.get(column, 0) for column in alpha)) + 1
    lightest = [0, *([never] * (most + 1))]
    for column, profit in profits:
        if column not in weight_of or profit < 1:
            raise CertificateError(
                f"column {column} with the profit {profit} is no item of the knapsack {row.name}"
            )
        weight = weight_of[column]
        for goal in range(most + 1, 0, -1):
            with_it = lightest[max(0, goal - profit)] + weight
            lightest[goal] = min(lightest[goal], with_it)
    if lightest[most + 1] <= room:
        raise CertificateError(
            f"items of {row.name} that weigh {lightest[most + 1]} of {room} have a profit above "
            f"{most}"
        )
    name = f"cover_{len(model.rows)}"
    return Row(name, tuple(alpha), tuple(-profit for profit in alpha.values()), -most)


def _row(model: IntegerModel, number: int) -> Row:
    if not 0 <= number < len(model.rows):
        raise CertificateError(f"there is no row {number}")
    return model.rows[number]
