r"""Integer program in exact integers, with the time that a bound on its objective stands for.

.. math::
    \min c^\top x \quad \text{s.t.} \quad a_i^\top x \ge b_i \;\text{or}\; a_i^\top x = b_i,
    \quad l \le x \le u, \quad x_j \in \mathbb{Z} \text{ for integer columns.}

Every number is a Python integer and every column has finite bounds, so that any multipliers give a
bound (`dual_bound`). The time of a schedule is at least :math:`t_0 + c^\top x / s` ns, of whole
nanoseconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .errors import CertificateError

# A model beyond this is not built: a certificate of a few lines must not fill the memory. Columns
# and rows take some hundred bytes beside their coefficients.
MOST_COEFFICIENTS = 20_000_000
_COLUMN, _ROW = 32, 16


@dataclass(frozen=True, slots=True)
class Row:
    """Row of an integer program: coefficients of distinct columns, and the right-hand side.

    An equation, or else an inequality that asks for at least `right`.
    """

    name: str
    columns: tuple[int, ...]
    coefficients: tuple[int, ...]
    right: int
    is_equation: bool = False


class IntegerModel:
    """An integer program that grows column by column and row by row.

    Parameters
    ----------
    time_offset_ns
        The part :math:`t_0` of the time that is no part of the objective.
    cost_per_ns
        How much of the objective is one nanosecond, :math:`s`; positive.

    Attributes
    ----------
    column_names, lower, upper, is_integer, costs
        The columns.
    rows
        The rows.
    """

    def __init__(self, *, time_offset_ns: int = 0, cost_per_ns: int = 1) -> None:
        self.time_offset_ns = time_offset_ns
        self.cost_per_ns = cost_per_ns
        self.column_names: list[str] = []
        self.lower: list[int] = []
        self.upper: list[int] = []
        self.is_integer: list[bool] = []
        self.costs: list[int] = []
        self.rows: list[Row] = []
        self._size = 0

    def add_column(
        self, name: str, lower: int, upper: int, *, cost: int = 0, is_integer: bool = True
    ) -> int:
        """Add a column and return its number, counted from 0."""
        if lower > upper:
            raise CertificateError(f"the column {name} has no value: from {lower} to {upper}")
        self._grow(_COLUMN)
        self.column_names.append(name)
        self.lower.append(lower)
        self.upper.append(upper)
        self.costs.append(cost)
        self.is_integer.append(is_integer)
        return len(self.column_names) - 1

    def at_least(
        self, name: str, columns: Sequence[int], coefficients: Sequence[int], right: int
    ) -> int:
        """Add an inequality and return its number, counted from 0.

        Columns may repeat; their coefficients add up. Where all columns are integer the row is
        divided by the greatest common divisor and its right-hand side rounded up.
        """
        total = self._added_up(columns, coefficients)
        divisor = math.gcd(*total.values())
        if divisor > 1 and all(self.is_integer[column] for column in total):
            total = {column: value // divisor for column, value in total.items()}
            right = -(-right // divisor)
        return self._append(Row(name, tuple(total), tuple(total.values()), right))

    def at_most(
        self, name: str, columns: Sequence[int], coefficients: Sequence[int], right: int
    ) -> int:
        """Add an inequality of the other sense: the row ``at_least`` of the negated numbers."""
        return self.at_least(name, columns, [-value for value in coefficients], -right)

    def equal(
        self, name: str, columns: Sequence[int], coefficients: Sequence[int], right: int
    ) -> int:
        """Add an equation and return its number."""
        total = self._added_up(columns, coefficients)
        return self._append(Row(name, tuple(total), tuple(total.values()), right, True))

    def derive(self, row: Row) -> None:
        """Append a row that follows from the others (`derived_rows`)."""
        self._append(row)

    def to_beat(self, time_ns: int) -> int:
        """Return the objective that every point must exceed for no schedule to beat `time_ns`.

        A schedule faster than `time_ns` takes at most one nanosecond less, since times are whole.
        Where all columns with costs are integer, the objective is a multiple of the greatest
        common divisor of the costs, and the next smaller multiple is to be exceeded.
        """
        most = self.cost_per_ns * (time_ns - 1 - self.time_offset_ns)
        whole = all(
            integer for integer, cost in zip(self.is_integer, self.costs, strict=True) if cost
        )
        divisor = math.gcd(*self.costs)
        return divisor * (most // divisor) if whole and divisor else most

    def _added_up(self, columns: Sequence[int], coefficients: Sequence[int]) -> dict[int, int]:
        total: dict[int, int] = {}
        for column, value in zip(columns, coefficients, strict=True):
            total[column] = total.get(column, 0) + value
        return {column: value for column, value in total.items() if value}

    def _append(self, row: Row) -> int:
        self._grow(_ROW + len(row.columns))
        self.rows.append(row)
        return len(self.rows) - 1

    def _grow(self, amount: int) -> None:
        self._size += amount
        if self._size > MOST_COEFFICIENTS:
            raise CertificateError(f"the model is larger than {MOST_COEFFICIENTS} coefficients")
