r"""Weak duality in exact integers: the bound that multipliers of a model's rows prove.

The same as in `certificates.dual_bound`, written independently and for whole vectors. Numbers
are 64-bit integers wherever it is certain that nothing overflows, and Python integers elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jettison.certificates.integer_model import IntegerModel
from jettison.solvers.proof.new_rows import NewRow

# 64-bit integers, or Python integers in an array of objects.
Integers = NDArray[Any]
Floats = NDArray[np.float64]

_SAFE = 2.0**62


@dataclass(frozen=True, eq=False, slots=True)
class Multipliers:
    """Integer multipliers of rows; all others have the multiplier 0."""

    rows: NDArray[np.int32]
    values: Integers

    @classmethod
    def none(cls) -> Multipliers:
        """Return multipliers of 0 for all rows."""
        return cls(np.zeros(0, np.int32), np.zeros(0, np.int64))


@dataclass(frozen=True, eq=False, slots=True)
class Evaluation:
    """Bound that multipliers prove.

    Attributes
    ----------
    value
        The bound, multiplied by :math:`2^k`.
    reduced_costs
        The reduced costs of the columns, multiplied by :math:`2^k`.
    """

    value: int
    reduced_costs: Integers


class ExactRows:
    """Rows and columns of a model in exact integers; rows can be appended.

    Attributes
    ----------
    lower, upper, costs, is_integer
        Of the columns.
    right, is_equation
        Of the rows.
    starts, columns, coefficients
        The matrix by rows: row i has the entries from `starts[i]` to before `starts[i + 1]`.
    """

    def __init__(self, model: IntegerModel) -> None:
        self.lower = integers(model.lower)
        self.upper = integers(model.upper)
        self.costs = integers(model.costs)
        self.is_integer = np.array(model.is_integer, dtype=bool)
        rows = model.rows
        lengths = [len(row.columns) for row in rows]
        self.starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
        self.columns = np.fromiter(
            chain.from_iterable(row.columns for row in rows), np.int32, int(self.starts[-1])
        )
        self.coefficients = integers(list(chain.from_iterable(row.coefficients for row in rows)))
        self.right = integers([row.right for row in rows])
        self.is_equation = np.array([row.is_equation for row in rows], dtype=bool)
        self._index()

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return len(self.right)

    @property
    def num_columns(self) -> int:
        """Number of columns."""
        return len(self.lower)

    def row(self, number: int) -> tuple[NDArray[np.int32], Integers]:
        """Return the columns and the coefficients of a row."""
        place = slice(self.starts[number], self.starts[number + 1])
        return self.columns[place], self.coefficients[place]

    def append(self, rows: Iterable[NewRow]) -> None:
        """Append derived inequalities."""
        found = list(rows)
        if not found:
            return
        lengths = np.cumsum([len(row.columns) for row in found], dtype=np.int64)
        self.starts = np.concatenate([self.starts, self.starts[-1] + lengths])
        self.columns = np.concatenate(
            [self.columns, np.array(list(chain.from_iterable(r.columns for r in found)), np.int32)]
        )
        self.coefficients = _joined(
            self.coefficients, integers(list(chain.from_iterable(r.coefficients for r in found)))
        )
        self.right = _joined(self.right, integers([row.right for row in found]))
        self.is_equation = np.concatenate([self.is_equation, np.zeros(len(found), bool)])
        self._index()

    def evaluate(
        self, multipliers: Multipliers, lower: Integers, upper: Integers, bits: int | None
    ) -> Evaluation:
        """Return the bound that multipliers prove within bounds of the columns.

        Parameters
        ----------
        multipliers
            Multipliers, at least 0 on inequalities.
        lower, upper
            Bounds of every column.
        bits
            The :math:`k` of the multipliers; None takes all costs as 0, to prove that the model has
            no point.
        """
        rows, values = multipliers.rows, multipliers.values
        dense = np.zeros(self.num_rows, values.dtype)
        dense[rows] = values
        coefficients, costs = self.coefficients, self.costs
        if not self._fits(multipliers, bits):
            dense, coefficients = dense.astype(object), coefficients.astype(object)
            costs = costs.astype(object)
        reduced = np.zeros_like(costs) if bits is None else costs << bits
        if len(self._by_column):
            products = coefficients[self._by_column] * dense[self._row_of_entry]
            reduced[self._used] -= np.add.reduceat(products, self._column_starts)
        return Evaluation(_dot(values, self.right[rows]) + _least(reduced, lower, upper), reduced)

    def broken_by(self, point: Integers) -> tuple[int, int] | None:
        """Return a row that an integer point breaks, and the sign of a multiplier that shows it.

        None if it breaks none.
        """
        products = self.coefficients.astype(object) * point.astype(object)[self.columns]
        filled = np.flatnonzero(np.diff(self.starts))
        activity = np.zeros(self.num_rows, object)
        if len(filled):
            activity[filled] = np.add.reduceat(products, self.starts[:-1][filled])
        below = activity < self.right
        broken = np.flatnonzero(below | (self.is_equation & (activity > self.right)))
        return (int(broken[0]), 1 if below[broken[0]] else -1) if len(broken) else None

    def activity(self, point: Floats) -> Floats:
        """Return the left-hand sides at a point, in floating point."""
        filled = np.flatnonzero(np.diff(self.starts))
        found = np.zeros(self.num_rows)
        if len(filled):
            products = self._as_floats * point[self.columns]
            found[filled] = np.add.reduceat(products, self.starts[:-1][filled])
        return found

    def cost_of(self, point: Integers) -> int:
        """Return the objective at a point."""
        return _dot(self.costs, point)

    def _index(self) -> None:
        """Sort the entries by columns."""
        self._by_column = np.argsort(self.columns, kind="stable")
        row_of = np.repeat(np.arange(self.num_rows, dtype=np.int32), np.diff(self.starts))
        self._row_of_entry = row_of[self._by_column]
        ordered = self.columns[self._by_column]
        is_first = np.ones(len(ordered), bool)
        is_first[1:] = ordered[1:] != ordered[:-1]
        self._column_starts = np.flatnonzero(is_first)
        self._used = ordered[self._column_starts]
        self._as_floats = self.coefficients.astype(float)
        self._sizes = np.abs(self._as_floats)[self._by_column]

    def _fits(self, multipliers: Multipliers, bits: int | None) -> bool:
        """Tell whether reduced costs and their partial sums are certain to fit in 64 bits."""
        if object in (self.coefficients.dtype, self.costs.dtype, multipliers.values.dtype):
            return False
        sizes = np.zeros(self.num_rows)
        sizes[multipliers.rows] = np.abs(multipliers.values).astype(float)
        total = 0.0
        if len(self._by_column):
            weights = self._sizes * sizes[self._row_of_entry]
            total = float(np.add.reduceat(weights, self._column_starts).max())
        if bits is not None and len(self.costs):
            total += float(np.abs(self.costs).astype(float).max()) * 2.0**bits
        return total < _SAFE


def integers(values: Sequence[int]) -> Integers:
    """Return an array of 64-bit integers if all fit, else of Python integers."""
    try:
        found = np.array(values, dtype=np.int64)
    except OverflowError:
        return np.array(values, dtype=object)
    # A limit of 2^62 lets the difference of any two fit as well.
    if len(found) and max(int(found.max()), -int(found.min())) >= _SAFE:
        return np.array(values, dtype=object)
    return found


def _joined(first: Integers, second: Integers) -> Integers:
    if first.dtype == second.dtype:
        return np.concatenate([first, second])
    return np.concatenate([first.astype(object), second.astype(object)])


def _dot(first: Integers, second: Integers) -> int:
    """Return the exact sum of products."""
    if not len(first):
        return 0
    size = np.abs(first).astype(float) @ np.abs(second).astype(float)
    if object in (first.dtype, second.dtype) or size >= _SAFE:
        return int((first.astype(object) * second.astype(object)).sum())
    return int((first * second).sum())


def _least(reduced: Integers, lower: Integers, upper: Integers) -> int:
    """Return the least value of a linear function within bounds."""
    return _dot(reduced, np.where(reduced > 0, lower, upper))
