"""Array model: a mixed-integer linear model held as arrays, the form that solvers take."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import lazy_loader as lazy
import numpy as np
from numpy.typing import ArrayLike, NDArray

from jettison.formulations.milp.lp_names import checked_distinct, is_lp_name
from jettison.instances.core.errors import InputError

if TYPE_CHECKING:
    import highspy
else:
    highspy = lazy.load("highspy")

Floats = NDArray[np.float64]
Integers = NDArray[np.int32]
Booleans = NDArray[np.bool_]

# HiGHS drops smaller coefficients without an error, refuses larger ones, and reads larger bounds
# and costs as infinite. A model within these limits is solved as it is written.
SMALLEST_COEFFICIENT = 1e-9
LARGEST_COEFFICIENT = 1e15
LARGEST_BOUND = 1e20

# The fields that are arrays, and what they hold.
ARRAY_TYPES: Mapping[str, type[np.generic]] = MappingProxyType(
    {
        "objective": np.float64,
        "indptr": np.int32,
        "indices": np.int32,
        "data": np.float64,
        "row_lower": np.float64,
        "row_upper": np.float64,
        "column_lower": np.float64,
        "column_upper": np.float64,
        "integer": np.bool_,
    }
)


@dataclass(frozen=True, eq=False, kw_only=True)
class ArrayModel:
    r"""Array model: :math:`\min c^\top x + c_0`, :math:`l \le A x \le u`, bounds, integrality.

    With m rows, n columns and k non-zeros. Arrays are copied when the model is made, and read-only.

    Attributes
    ----------
    name
        One word; it names the model in files.
    objective
        The costs :math:`c`, shape (n,).
    offset
        The constant :math:`c_0`. It is part of every objective and bound that a solver reports.
    indptr, indices, data
        The matrix :math:`A` by rows: row i holds ``data[indptr[i]:indptr[i + 1]]`` in the columns
        ``indices[indptr[i]:indptr[i + 1]]``, which ascend. Shapes (m + 1,), (k,), (k,).
    row_lower, row_upper
        The limits :math:`l, u`, shape (m,); infinite where there is none. A lower limit above the
        upper one is allowed: it says that the model is infeasible.
    column_lower, column_upper
        The bounds of :math:`x`, shape (n,).
    integer
        Which columns take integer values only, shape (n,).
    row_names, column_names
        Distinct within each, and valid in LP files (see `is_lp_name`).

    Raises
    ------
    InputError
        If shapes disagree, a number is not finite or not within what the solver keeps, or a name
        is missing, repeated or not valid.
    """

    name: str
    objective: Floats
    offset: float = 0.0
    indptr: Integers
    indices: Integers
    data: Floats
    row_lower: Floats
    row_upper: Floats
    column_lower: Floats
    column_upper: Floats
    integer: Booleans
    row_names: tuple[str, ...]
    column_names: tuple[str, ...]

    def __post_init__(self) -> None:
        for field, kind in ARRAY_TYPES.items():
            fixed: NDArray[Any] = np.array(getattr(self, field), dtype=kind)
            fixed.flags.writeable = False
            object.__setattr__(self, field, fixed)
        object.__setattr__(self, "offset", float(self.offset))
        object.__setattr__(self, "row_names", tuple(self.row_names))
        object.__setattr__(self, "column_names", tuple(self.column_names))
        self._check_shapes()
        self._check_names()
        self._check_numbers()

    @property
    def num_rows(self) -> int:
        """Number of rows, m."""
        return len(self.row_names)

    @property
    def num_columns(self) -> int:
        """Number of columns, n."""
        return len(self.column_names)

    @property
    def num_nonzeros(self) -> int:
        """Number of stored coefficients, k."""
        return len(self.data)

    def relaxed(self) -> ArrayModel:
        """Return the linear relaxation: the same model without integrality."""
        return replace(self, integer=np.zeros(self.num_columns, dtype=bool))

    def objective_value(self, point: ArrayLike) -> float:
        """Return the objective at `point`, shape (n,), offset included."""
        return float(self.objective @ self._checked_point(point)) + self.offset

    def violations(self, point: ArrayLike, tolerance: float = 1e-6) -> dict[str, float]:
        """Report by how much `point`, shape (n,), violates each row and column that it violates.

        Returns
        -------
        dict
            Name of the row or column to its violation, above `tolerance`: the distance outside its
            limits, or to the nearest integer, whichever is more. A row and a column of one name
            share an entry, the larger. Empty: the point is feasible.

        Raises
        ------
        InputError
            If the point has another number of values, or one that is not finite.

        Notes
        -----
        In floating point, in time linear in the size of the model.
        """
        values = self._checked_point(point)
        row_of = np.repeat(np.arange(self.num_rows), np.diff(self.indptr))
        activity = np.bincount(
            row_of, weights=self.data * values[self.indices], minlength=self.num_rows
        )
        off_rows = np.maximum(self.row_lower - activity, activity - self.row_upper)
        off_columns = np.maximum(self.column_lower - values, values - self.column_upper)
        fraction = np.where(self.integer, np.abs(values - np.rint(values)), 0.0)
        found: dict[str, float] = {}
        for names, distances in (
            (self.row_names, off_rows),
            (self.column_names, np.maximum(off_columns, fraction)),
        ):
            for position in np.flatnonzero(distances > tolerance):
                name, distance = names[position], float(distances[position])
                found[name] = max(distance, found.get(name, 0.0))
        return found

    def to_highs_lp(self) -> highspy.HighsLp:
        """Return the model as HiGHS holds it, names included; linear time."""
        lp = highspy.HighsLp()
        lp.model_name_ = self.name
        lp.num_col_, lp.num_row_ = self.num_columns, self.num_rows
        lp.col_cost_, lp.offset_ = self.objective, self.offset
        lp.col_lower_, lp.col_upper_ = self.column_lower, self.column_upper
        lp.row_lower_, lp.row_upper_ = self.row_lower, self.row_upper
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_, lp.a_matrix_.index_ = self.indptr, self.indices
        lp.a_matrix_.value_ = self.data
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        if self.integer.any():
            lp.integrality_ = [kinds[integer] for integer in self.integer.tolist()]
        lp.col_names_, lp.row_names_ = list(self.column_names), list(self.row_names)
        return lp

    def _checked_point(self, point: ArrayLike) -> Floats:
        values = np.asarray(point, dtype=float)
        if values.shape != (self.num_columns,) or not np.isfinite(values).all():
            raise InputError(
                f"values of shape {values.shape} that are not all finite numbers"
                if values.shape == (self.num_columns,)
                else f"values of shape {values.shape}",
                field="point",
                expected=f"give {self.num_columns} finite numbers, one per column",
            )
        return values

    def _check_shapes(self) -> None:
        lengths = {
            "objective": self.num_columns,
            "column_lower": self.num_columns,
            "column_upper": self.num_columns,
            "integer": self.num_columns,
            "row_lower": self.num_rows,
            "row_upper": self.num_rows,
            "indptr": self.num_rows + 1,
            "data": len(self.indices),
        }
        for field, length in lengths.items():
            shape = getattr(self, field).shape
            if shape != (length,):
                raise InputError(
                    f"the shape is {shape}", field=field, expected=f"give {length} values"
                )
        steps = np.diff(self.indptr)
        if self.indptr[0] != 0 or self.indptr[-1] != len(self.indices) or (steps < 0).any():
            raise InputError(
                "the row starts are not in order",
                field="indptr",
                expected=f"ascend from 0 to the number of coefficients, {len(self.indices)}",
            )
        outside = (self.indices < 0) | (self.indices >= self.num_columns)
        ascends = np.diff(self.indices) > 0
        starts = self.indptr[1:-1]
        # A drop in the column number is right where a new row begins.
        ascends[starts[(starts > 0) & (starts < len(self.indices))] - 1] = True
        if outside.any() or not ascends.all():
            raise InputError(
                "the columns of a row repeat, descend or do not exist",
                field="indices",
                expected=f"write each column, 0 to {self.num_columns - 1}, once and in order",
            )

    def _check_names(self) -> None:
        if self.name.split() != [self.name]:
            raise InputError(f"{self.name!r} is not one word", field="name", expected="write one")
        for field in ("row_names", "column_names"):
            names = getattr(self, field)
            for name in names:
                if not is_lp_name(name):
                    raise InputError(
                        f"an LP file cannot hold the name {name!r}",
                        field=field,
                        expected="write a name such as R_3_7, or use as_lp_names",
                    )
            checked_distinct(names, field)

    def _check_numbers(self) -> None:
        if not math.isfinite(self.offset):
            raise InputError(f"{self.offset}", field="offset", expected="write a finite number")
        size = np.abs(self.data)
        kept = (size > SMALLEST_COEFFICIENT) & (size < LARGEST_COEFFICIENT)
        if not kept.all():
            position = int(np.flatnonzero(~kept)[0])
            row = int(np.searchsorted(self.indptr, position, side="right")) - 1
            column = self.column_names[self.indices[position]]
            raise InputError(
                f"the coefficient {self.data[position]} of {column}",
                field=f"row {self.row_names[row]}",
                expected=f"leave out zeros, and scale the row to stay between "
                f"{SMALLEST_COEFFICIENT:g} and {LARGEST_COEFFICIENT:g}",
            )
        for kind, names, lower, upper in (
            ("column", self.column_names, self.column_lower, self.column_upper),
            ("row", self.row_names, self.row_lower, self.row_upper),
        ):
            unfit = _unfit_limits(lower, -np.inf) | _unfit_limits(upper, np.inf)
            for position in np.flatnonzero(unfit)[:1]:
                raise InputError(
                    f"the limits {lower[position]} and {upper[position]}",
                    field=f"{kind} {names[position]}",
                    expected=f"write numbers below {LARGEST_BOUND:g} in size, or -inf and inf "
                    "where there is no limit",
                )
        for position in np.flatnonzero(~(np.abs(self.objective) < LARGEST_BOUND))[:1]:
            raise InputError(
                f"the cost {self.objective[position]}",
                field=f"column {self.column_names[position]}",
                expected=f"write a number below {LARGEST_BOUND:g} in size",
            )


def _unfit_limits(limits: Floats, absent: float) -> Booleans:
    """Mark the limits that are neither `absent` nor small enough for the solver to keep."""
    unfit: Booleans = ~(np.abs(limits) < LARGEST_BOUND) & (limits != absent)
    return unfit
