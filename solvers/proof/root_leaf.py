"""Proof by one leaf: the multipliers of the relaxation, from one run of HiGHS on scaled numbers.

Columns are scaled to ranges of about 1024, rows to coefficients of about 1024, both by powers of
two. So models whose columns count bytes and nanoseconds are solved as well as `LinearProgram`, in
which columns keep their units, solves those of binary columns. Whatever HiGHS answers, the bound is
evaluated in exact integers, as the checker does it.
"""

from __future__ import annotations

import gzip
import math

from jettison.certificates.dual_bound import DualBound
from jettison.certificates.integer_model import IntegerModel, Row
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.solvers.core.clock import Clock
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.proof.proof_lines import Proof

_RANGE_BITS = 10
# Bits after the point of multipliers: the smallest are those of rows of bytes.
_SCALE_BITS = 60


def root_leaf(model: IntegerModel, clock: Clock) -> Proof | None:
    """Return what the relaxation of a model proves about the time; None without multipliers."""
    columns = [_power(max(abs(low), abs(high))) for low, high in _bounds(model)]
    rows = [
        _power(
            max(
                (
                    abs(value) * columns[column]
                    for column, value in zip(row.columns, row.coefficients, strict=True)
                ),
                default=1.0,
            )
        )
        for row in model.rows
    ]
    costs = [cost * unit for cost, unit in zip(model.costs, columns, strict=True)]
    cost_unit = _power(max(map(abs, costs), default=1.0))
    builder = ArrayModelBuilder("root")
    for place, (low, high) in enumerate(_bounds(model)):
        builder.add_column(
            model.column_names[place],
            lower=low / columns[place],
            upper=high / columns[place],
            cost=costs[place] / cost_unit,
        )
    for row, unit in zip(model.rows, rows, strict=True):
        coefficients = [
            value * columns[column] / unit
            for column, value in zip(row.columns, row.coefficients, strict=True)
        ]
        least = row.right / unit
        most = least if row.is_equation else math.inf
        builder.add_row(row.name, row.columns, coefficients, lower=least, upper=most)
    time_limit_s = None if math.isinf(clock.left_s) else clock.left_s
    duals = solve_in_time(builder.build(), HighsOptions(time_limit_s=time_limit_s)).row_duals
    if duals is None:
        return None
    multipliers = [
        (number, value)
        for number, (row, dual, unit) in enumerate(zip(model.rows, duals, rows, strict=True))
        if (value := _rounded(row, float(dual) * cost_unit / unit))
    ]
    bound = DualBound(
        model, [cost << _SCALE_BITS for cost in model.costs], model.lower, model.upper
    )
    bound.change(multipliers)
    # The leaf exceeds what the next smaller time asks for.
    value = -(-bound.value // (model.cost_per_ns << _SCALE_BITS))
    time_ns = model.time_offset_ns + value
    if time_ns < 0:
        return None
    line = " ".join(["l", *(f"{number}:{value}" for number, value in multipliers)])
    text = f"{line}\n".encode("ascii")
    return Proof(time_ns, _SCALE_BITS, gzip.compress(text, mtime=0), len(text), 1)


def _bounds(model: IntegerModel) -> zip[tuple[int, int]]:
    return zip(model.lower, model.upper, strict=True)


def _power(largest: float) -> float:
    """Return the power of two that brings a number down to about 1024, at least 1."""
    return 2.0 ** max(0, math.frexp(largest)[1] - _RANGE_BITS)


def _rounded(row: Row, multiplier: float) -> int:
    value = round(math.ldexp(multiplier, _SCALE_BITS))
    return value if row.is_equation else max(0, value)
