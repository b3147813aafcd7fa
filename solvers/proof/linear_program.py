"""Linear relaxation of a model, solved by HiGHS again and again as bounds of columns change.

Answers of HiGHS are suggestions: multipliers, a point to branch at, a basis to start from. Rows and
costs are scaled by powers of two to moderate numbers, and the multipliers are scaled back. Fixed
columns, and rows that bounds of the columns imply, are left out. Most of the other rows hold at
every point that matters. HiGHS gets only those that a point broke, since the time of a run, even of
one without iterations, grows with their number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import lazy_loader as lazy
import numpy as np
from numpy.typing import NDArray

from jettison.formulations.milp.quiet_highs import quiet_highs
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.status import SolverError
from jettison.solvers.milp.highs_known_answer import require_sound_highs
from jettison.solvers.proof.exact_rows import ExactRows, Floats, Integers

highspy = lazy.load("highspy")

# Tolerances of HiGHS are absolute.
_LARGEST_BITS = 10
_TOLERANCE = 1e-6


class LpStatus(StrEnum):
    """Answer of HiGHS about a relaxation."""

    SOLVED = "solved"
    BEYOND = "beyond"
    """Its value is beyond the cutoff."""

    EMPTY = "empty"
    """It has no point."""

    STOPPED = "stopped"
    """A limit was hit, or HiGHS failed."""


@dataclass(frozen=True, eq=False, slots=True)
class LpAnswer:
    """Status and value of a relaxation, from one run of HiGHS.

    Attributes
    ----------
    status
        How the run ended.
    value
        The value of the objective in the model's units; a lower bound unless it was solved.
    """

    status: LpStatus
    value: float


class LinearProgram:
    """Linear relaxation kept in HiGHS, with the basis of the last run.

    Parameters
    ----------
    rows
        The model. Rows that are appended to it later are added with `add_rows`.
    lower, upper
        Bounds of the columns; all later bounds must lie between them.
    with_costs
        Whether the objective is the model's, or 0.
    first
        The numbers of the rows to begin with; None for all.

    Attributes
    ----------
    columns, row_numbers
        The columns and rows of the model that HiGHS has.
    """

    def __init__(
        self,
        rows: ExactRows,
        lower: Integers,
        upper: Integers,
        *,
        with_costs: bool,
        first: NDArray[np.int32] | None = None,
    ) -> None:
        self._rows = rows
        self._base = lower.copy()
        self.columns = np.flatnonzero(lower < upper)
        self._place_of = np.full(rows.num_columns, -1)
        self._place_of[self.columns] = np.arange(len(self.columns))
        needed = _needed_rows(rows, lower, upper)
        begun = needed if first is None else np.intersect1d(needed, first)
        self._others = np.setdiff1d(needed, begun)
        self.row_numbers = np.zeros(0, np.int64)
        costs = rows.costs[self.columns] if with_costs else np.zeros(len(self.columns), np.int64)
        divisor = math.gcd(*costs.tolist()) or 1
        largest = max((abs(cost) // divisor for cost in costs.tolist()), default=0)
        self._cost_unit = divisor * 2.0 ** max(0, largest.bit_length() - _LARGEST_BITS)
        self._fixed_cost = float((rows.costs * lower)[lower == upper].sum()) if with_costs else 0.0
        self._row_units = np.zeros(0)
        require_sound_highs()
        self._highs = quiet_highs()
        for option, setting in (
            ("output_flag", False),
            ("threads", 1),
            ("presolve", "off"),
            ("solver", "simplex"),
            ("simplex_dual_edge_weight_strategy", 1),
        ):
            self._set_option(option, setting)
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(self.columns), 0
        lp.col_cost_ = costs.astype(float) / self._cost_unit
        self._low, self._high = (bound[self.columns].astype(float) for bound in (lower, upper))
        lp.col_lower_, lp.col_upper_ = self._low, self._high
        lp.row_lower_ = lp.row_upper_ = np.zeros(0)
        lp.a_matrix_.start_ = np.zeros(len(self.columns) + 1, np.int32)
        if self._highs.passModel(lp) == highspy.HighsStatus.kError:
            raise SolverError("HiGHS refuses the model")
        self.add_rows(begun)

    def add_rows(self, numbers: NDArray[np.int64]) -> None:
        """Add rows of the model, by their numbers."""
        if not len(numbers):
            return
        lengths = np.diff(self._rows.starts)[numbers]
        row_of = np.repeat(np.arange(len(numbers)), lengths)
        before = np.repeat(np.cumsum(lengths) - lengths, lengths)
        entries = np.arange(len(row_of)) - before + self._rows.starts[numbers][row_of]
        columns = self._rows.columns[entries]
        coefficients = self._rows.coefficients[entries].astype(float)
        places = self._place_of[columns]
        free = places >= 0
        units = np.ones(len(numbers))
        np.maximum.at(units, row_of[free], np.abs(coefficients[free]))
        units = np.exp2(np.maximum(0, np.ceil(np.log2(units)) - _LARGEST_BITS))
        fixed = np.bincount(
            row_of[~free],
            coefficients[~free] * self._base[columns[~free]].astype(float),
            len(numbers),
        )
        limits = (self._rows.right[numbers].astype(float) - fixed) / units
        upper = np.where(self._rows.is_equation[numbers], limits, np.inf)
        counts = np.bincount(row_of[free], minlength=len(numbers))
        status = self._highs.addRows(
            len(numbers),
            limits,
            upper,
            int(free.sum()),
            (np.cumsum(counts) - counts).astype(np.int32),
            places[free].astype(np.int32),
            coefficients[free] / units[row_of[free]],
        )
        # A warning is about coefficients that are too small to be kept.
        if status == highspy.HighsStatus.kError:
            raise SolverError("HiGHS refuses rows")
        self.row_numbers = np.concatenate([self.row_numbers, numbers])
        self._row_units = np.concatenate([self._row_units, units])

    def set_cutoff(self, value: float | None) -> None:
        """Set a value beyond which runs end early; None for runs to the end."""
        bound = math.inf if value is None else (value - self._fixed_cost) / self._cost_unit
        self._set_option("objective_bound", bound)

    def set_bounds(self, lower: Integers, upper: Integers) -> None:
        """Set the bounds of the columns; arrays over all columns of the model."""
        low, high = lower[self.columns].astype(float), upper[self.columns].astype(float)
        changed = np.flatnonzero((low != self._low) | (high != self._high))
        if len(changed):
            self._change(changed, low[changed], high[changed])

    def set_column(self, column: int, lower: int, upper: int) -> None:
        """Set the bounds of one column."""
        place = np.array([self._place_of[column]])
        self._change(place, np.array([float(lower)]), np.array([float(upper)]))

    def solve_fully(self, clock: Clock) -> LpAnswer:
        """Solve the relaxation with all rows, adding those that its point breaks."""
        while True:
            answer = self.solve(clock)
            if answer.status is not LpStatus.SOLVED or not len(self._others):
                return answer
            activity = self._rows.activity(self.point())[self._others]
            right = self._rows.right[self._others].astype(float)
            broken = activity < right - _TOLERANCE * np.maximum(1.0, np.abs(right))
            if not broken.any():
                return answer
            self.add_rows(self._others[broken])
            self._others = self._others[~broken]

    def solve(self, clock: Clock, most_iterations: int | None = None) -> LpAnswer:
        """Solve with the present rows from the present basis, within limits."""
        self._set_option("simplex_iteration_limit", most_iterations or 2**31 - 1)
        if math.isfinite(clock.left_s):
            self._set_option("time_limit", self._highs.getRunTime() + clock.left_s)
        # A failed run gives no value; the multipliers that it leaves are judged like any others.
        self._highs.run()
        status = highspy.HighsModelStatus
        found = {
            status.kOptimal: LpStatus.SOLVED,
            status.kModelEmpty: LpStatus.SOLVED,
            status.kObjectiveBound: LpStatus.BEYOND,
            status.kInfeasible: LpStatus.EMPTY,
        }.get(self._highs.getModelStatus(), LpStatus.STOPPED)
        value = self._highs.getInfo().objective_function_value
        return LpAnswer(found, value * self._cost_unit + self._fixed_cost)

    def multipliers(self) -> Floats:
        """Return the multipliers of all rows of the model, in its units."""
        duals = np.array(self._highs.getSolution().row_dual, dtype=float)
        return self._of_model(duals) * self._cost_unit

    def ray(self) -> Floats | None:
        """Return a ray of multipliers, of either sign, that may prove that there is no point."""
        _, is_there, ray = self._highs.getDualRay()
        if not is_there:
            return None
        return self._of_model(np.array(ray, dtype=float))

    def point(self) -> Floats:
        """Return the values of all columns of the model, within their bounds."""
        values = self._base.astype(float)
        found = np.nan_to_num(self.suggested_values())
        if len(found) == len(self.columns):
            values[self.columns] = np.clip(found, self._low, self._high)
        return values

    def suggested_values(self) -> Floats:
        """Return HiGHS's values of the columns that it has."""
        return np.array(self._highs.getSolution().col_value, dtype=float)

    @property
    def basis(self) -> Any:
        """A copy of the present basis of this relaxation."""
        return self._highs.getBasis(), len(self.row_numbers)

    @basis.setter
    def basis(self, basis: Any) -> None:
        found, num_rows = basis
        if num_rows < len(self.row_numbers):
            # Rows that were added after the basis was copied are basic in it.
            rows = list(found.row_status)
            missing = len(self.row_numbers) - len(rows)
            found.row_status = rows + [highspy.HighsBasisStatus.kBasic] * missing
        # If HiGHS refuses the basis, the next run starts without one and takes longer.
        self._highs.setBasis(found)

    def _of_model(self, duals: Floats) -> Floats:
        found = np.zeros(self._rows.num_rows)
        if len(duals) == len(self.row_numbers):
            found[self.row_numbers] = duals / self._row_units
        return found

    def _change(self, places: NDArray[np.int64], lower: Floats, upper: Floats) -> None:
        self._low[places], self._high[places] = lower, upper
        status = self._highs.changeColsBounds(len(places), places.astype(np.int32), lower, upper)
        if status != highspy.HighsStatus.kOk:
            raise SolverError("HiGHS refuses bounds of columns")

    def _set_option(self, name: str, value: bool | int | float | str) -> None:
        if self._highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise SolverError(f"HiGHS refuses the option {name} = {value!r}")


def _needed_rows(rows: ExactRows, lower: Integers, upper: Integers) -> NDArray[np.int64]:
    """Return the rows that bounds of the columns do not imply."""
    filled = np.flatnonzero(np.diff(rows.starts))
    least = np.where(rows.coefficients > 0, lower[rows.columns], upper[rows.columns])
    products = rows.coefficients.astype(float) * least.astype(float)
    sizes = np.abs(products)
    activity, size = np.zeros(rows.num_rows), np.zeros(rows.num_rows)
    if len(filled):
        activity[filled] = np.add.reduceat(products, rows.starts[:-1][filled])
        size[filled] = np.add.reduceat(sizes, rows.starts[:-1][filled])
    # Sums are rounded, so that a few more rows than needed are returned, which does no harm.
    implied = activity - 1e-9 * size >= rows.right.astype(float)
    return np.flatnonzero(rows.is_equation | ~implied)
