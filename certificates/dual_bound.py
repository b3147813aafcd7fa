r"""Dual bound of a model with bounded columns, updated incrementally in exact integers.

For any multipliers :math:`y` that are at least 0 on inequalities, every point of the model has

.. math:: c^\top x \ge b^\top y + \sum_j \min(r_j l_j, r_j u_j), \qquad r = c - A^\top y,

whatever :math:`y` is: a poor one gives a weak bound, never a wrong one. With :math:`c = 0` a
positive value says that there is no point at all (Farkas). Multipliers are integers :math:`Y` that
mean :math:`Y / 2^k`; all is multiplied by :math:`2^k`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .errors import CertificateError
from .integer_model import IntegerModel


class DualBound:
    r"""Dual bound for the current multipliers and the current bounds of the columns.

    A change of a multiplier costs the length of its row, one of a column's bounds is constant.

    Parameters
    ----------
    model
        The model, with all of its derived rows.
    costs
        Costs of the columns, already multiplied by :math:`2^k`.
    lower, upper
        The present bounds of the columns; the caller changes them and calls `column_changed`.

    Attributes
    ----------
    value
        The bound, multiplied by :math:`2^k`.
    """

    def __init__(
        self,
        model: IntegerModel,
        costs: Sequence[int],
        lower: Sequence[int],
        upper: Sequence[int],
    ) -> None:
        self._rows = model.rows
        self._lower, self._upper = lower, upper
        self._multipliers: dict[int, int] = {}
        self.reduced_costs = list(costs)
        self._least = [min(r * lower[j], r * upper[j]) for j, r in enumerate(costs)]
        self.value = sum(self._least)

    def change(self, multipliers: Iterable[tuple[int, int]]) -> int:
        """Set the multipliers of some rows, and return how many coefficients that took.

        Raises
        ------
        CertificateError
            If a row does not exist or is named twice, or the multiplier of an inequality is
            negative.
        """
        touched: set[int] = set()
        named: set[int] = set()
        work = 0
        for number, multiplier in multipliers:
            # Otherwise one line could change a long row a million times before its work is counted.
            if number in named:
                raise CertificateError(f"row {number} is named twice")
            named.add(number)
            if not 0 <= number < len(self._rows):
                raise CertificateError(f"there is no row {number}")
            row = self._rows[number]
            if multiplier < 0 and not row.is_equation:
                raise CertificateError(f"{row.name} is an inequality; {multiplier} is negative")
            step = multiplier - self._multipliers.get(number, 0)
            if multiplier:
                self._multipliers[number] = multiplier
            else:
                self._multipliers.pop(number, None)
            if step:
                self.value += step * row.right
                for column, coefficient in zip(row.columns, row.coefficients, strict=True):
                    self.reduced_costs[column] -= step * coefficient
                touched.update(row.columns)
                work += len(row.columns)
        for column in touched:
            self.column_changed(column)
        return work

    def column_changed(self, column: int) -> None:
        """Update the bound after a change of a column's bounds or reduced cost."""
        cost = self.reduced_costs[column]
        least = min(cost * self._lower[column], cost * self._upper[column])
        self.value += least - self._least[column]
        self._least[column] = least

    def value_without(self, column: int, value: int) -> int:
        """Return the bound over all points where an integer column is not at `value`.

        `value` is its lower or its upper bound, and they differ.
        """
        cost = self.reduced_costs[column]
        lower, upper = self._lower[column], self._upper[column]
        if value == lower:
            lower += 1
        else:
            upper -= 1
        return self.value - self._least[column] + min(cost * lower, cost * upper)
