"""Builder of array models, column by column and row by row."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jettison.formulations.milp.array_model import ArrayModel
from jettison.instances.core.errors import InputError


class ArrayModelBuilder:
    """Builder of an array model: collects columns and rows, one by one or in blocks.

    Columns and rows are numbered from 0 in the order in which they are added. Coefficients may come
    in any order; those of one column in one row add up.

    Examples
    --------
    >>> model = ArrayModelBuilder("knapsack")
    >>> apple = model.add_column("apple", upper=1, cost=-3, integer=True)
    >>> pear = model.add_column("pear", upper=1, cost=-2, integer=True)
    >>> model.add_row("weight", [apple, pear], [5, 4], upper=8)
    0
    >>> model.build().num_nonzeros
    2
    """

    def __init__(self, name: str, offset: float = 0.0) -> None:
        self.name = name
        self.offset = offset
        self._column_names: list[str] = []
        self._costs, self._integer = array("d"), array("b")
        self._column_lower, self._column_upper = array("d"), array("d")
        self._row_names: list[str] = []
        self._row_lower, self._row_upper = array("d"), array("d")
        self._rows, self._columns, self._data = array("q"), array("q"), array("d")

    def add_column(
        self,
        name: str,
        *,
        lower: float = 0.0,
        upper: float = math.inf,
        cost: float = 0.0,
        integer: bool = False,
    ) -> int:
        """Add a column and return its number."""
        self._column_names.append(name)
        self._column_lower.append(lower)
        self._column_upper.append(upper)
        self._costs.append(cost)
        self._integer.append(integer)
        return len(self._column_names) - 1

    def add_columns(
        self,
        names: Iterable[str],
        *,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = math.inf,
        cost: ArrayLike = 0.0,
        integer: ArrayLike = False,
    ) -> NDArray[np.int64]:
        """Add a block of columns and return their numbers; a single value holds for all."""
        first = len(self._column_names)
        self._column_names.extend(names)
        count = len(self._column_names) - first
        _extend(self._column_lower, lower, count)
        _extend(self._column_upper, upper, count)
        _extend(self._costs, cost, count)
        _extend(self._integer, integer, count)
        return np.arange(first, first + count)

    def add_row(
        self,
        name: str,
        columns: Sequence[int],
        coefficients: Sequence[float],
        *,
        lower: float = -math.inf,
        upper: float = math.inf,
    ) -> int:
        """Add a row and return its number."""
        if len(columns) != len(coefficients):
            raise InputError(
                f"{len(columns)} columns and {len(coefficients)} coefficients",
                field=f"row {name}",
                expected="give as many coefficients as columns",
            )
        row = len(self._row_names)
        self._row_names.append(name)
        self._row_lower.append(lower)
        self._row_upper.append(upper)
        self._rows.extend([row] * len(columns))
        self._columns.extend(columns)
        self._data.extend(coefficients)
        return row

    def add_rows(
        self,
        names: Iterable[str],
        row: ArrayLike,
        columns: ArrayLike,
        coefficients: ArrayLike,
        *,
        lower: ArrayLike = -math.inf,
        upper: ArrayLike = math.inf,
    ) -> NDArray[np.int64]:
        """Add a block of rows and return their numbers.

        Coefficient j of the block, ``coefficients[j]``, stands in column ``columns[j]`` and in row
        ``row[j]`` of the block, counted from 0; a single value of `coefficients`, `lower` or
        `upper` holds for all.
        """
        first = len(self._row_names)
        self._row_names.extend(names)
        count = len(self._row_names) - first
        _extend(self._row_lower, lower, count)
        _extend(self._row_upper, upper, count)
        of_block = np.asarray(row, dtype=np.int64)
        if of_block.size and not 0 <= of_block.min() <= of_block.max() < count:
            raise InputError(
                f"rows {of_block.min()} to {of_block.max()} of a block of {count}",
                field="row",
                expected="number the rows of the block from 0",
            )
        _extend(self._rows, of_block + first, of_block.size)
        _extend(self._columns, columns, of_block.size)
        _extend(self._data, coefficients, of_block.size)
        return np.arange(first, first + count)

    def build(self) -> ArrayModel:
        """Return the model.

        Raises
        ------
        InputError
            As `ArrayModel` does, and if a coefficient stands in a column that does not exist.

        Notes
        -----
        Linear time when coefficients were added in order, O(k log k) otherwise.
        """
        num_rows, num_columns = len(self._row_names), len(self._column_names)
        rows, columns = np.array(self._rows), np.array(self._columns)
        data = np.array(self._data)
        if columns.size and not 0 <= columns.min() <= columns.max() < num_columns:
            raise InputError(
                f"columns {columns.min()} to {columns.max()} of {num_columns}",
                field="columns",
                expected="use the numbers that add_column returned",
            )
        places = rows * num_columns + columns
        if (np.diff(places) <= 0).any():
            places, group = np.unique(places, return_inverse=True)
            data = np.bincount(group, weights=data)
            rows, columns = np.divmod(places, num_columns)
        kept = data != 0
        return ArrayModel(
            name=self.name,
            objective=np.array(self._costs),
            offset=self.offset,
            indptr=np.searchsorted(rows[kept], np.arange(num_rows + 1)).astype(np.int32),
            indices=columns[kept].astype(np.int32),
            data=data[kept],
            row_lower=np.array(self._row_lower),
            row_upper=np.array(self._row_upper),
            column_lower=np.array(self._column_lower),
            column_upper=np.array(self._column_upper),
            integer=np.array(self._integer, dtype=bool),
            row_names=tuple(self._row_names),
            column_names=tuple(self._column_names),
        )


def _extend(store: array[float] | array[int], values: ArrayLike, count: int) -> None:
    """Append `count` values to `store`, without a Python object for each."""
    given = np.asarray(values, dtype=np.dtype(store.typecode))
    store.frombytes(np.broadcast_to(given, (count,)).tobytes())
