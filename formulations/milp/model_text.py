"""Array models as MPS and LP text that is the same on every machine and for every solver version.

`write_model` lets HiGHS write; these two functions write by themselves. Numbers are exact: whole
ones without a point, others with the fewest digits that give the same double.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import numpy as np

from jettison.formulations.milp.array_model import ArrayModel
from jettison.instances.core.errors import InputError

_TERMS_PER_LINE = 8


def mps_text(model: ArrayModel) -> str:
    """Return the model as free MPS, in time linear in its size."""
    return "".join(f"{line}\n" for line in _mps_lines(model))


def lp_text(model: ArrayModel) -> str:
    """Return the model in the LP format of CPLEX, in time linear in its size.

    A row with two different limits becomes two rows whose names end in ``lo`` and ``up``; a row
    without a limit is left out.

    Raises
    ------
    InputError
        If the model has no columns: the format has no way to write a row without one.
    """
    if not model.num_columns:
        raise InputError(
            f"the model {model.name} has no columns",
            field="format",
            expected="the LP format cannot hold it: write mps",
        )
    return "".join(f"{line}\n" for line in _lp_lines(model))


ModelText = Callable[[ArrayModel], str]
TEXT_FORMATS: Mapping[str, ModelText] = MappingProxyType({"mps": mps_text, "lp": lp_text})


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _mps_lines(model: ArrayModel) -> Iterator[str]:
    yield f"NAME {model.name}"
    yield "ROWS"
    yield " N cost"
    for name, lower, upper in zip(model.row_names, model.row_lower, model.row_upper, strict=True):
        if math.isinf(lower) and math.isinf(upper):
            kind = "N"
        elif lower == upper:
            kind = "E"
        else:
            kind = "L" if math.isinf(lower) else "G"
        yield f" {kind} {name}"
    yield "COLUMNS"
    yield from _mps_columns(model)
    yield "RHS"
    if model.offset:
        # The right-hand side of the objective is its constant, with the other sign.
        yield f" RHS cost {_number(-model.offset)}"
    for name, lower, upper in zip(model.row_names, model.row_lower, model.row_upper, strict=True):
        side = upper if math.isinf(lower) else lower
        if side and not math.isinf(side):
            yield f" RHS {name} {_number(side)}"
    yield "RANGES"
    for name, lower, upper in zip(model.row_names, model.row_lower, model.row_upper, strict=True):
        if lower != upper and not math.isinf(lower) and not math.isinf(upper):
            yield f" RANGE {name} {_number(upper - lower)}"
    yield "BOUNDS"
    yield from _mps_bounds(model)
    yield "ENDATA"


def _mps_columns(model: ArrayModel) -> Iterator[str]:
    row_of = np.repeat(np.arange(model.num_rows), np.diff(model.indptr))
    by_column = np.argsort(model.indices, kind="stable")
    starts = np.searchsorted(model.indices[by_column], np.arange(model.num_columns + 1))
    within_integers = False
    for column, name in enumerate(model.column_names):
        if bool(model.integer[column]) != within_integers:
            within_integers = not within_integers
            yield f" MARKER 'MARKER' '{'INTORG' if within_integers else 'INTEND'}'"
        entries = by_column[starts[column] : starts[column + 1]]
        if model.objective[column] or not len(entries):
            yield f" {name} cost {_number(model.objective[column])}"
        for entry in entries:
            yield f" {name} {model.row_names[row_of[entry]]} {_number(model.data[entry])}"
    if within_integers:
        yield " MARKER 'MARKER' 'INTEND'"


def _mps_bounds(model: ArrayModel) -> Iterator[str]:
    for name, lower, upper in zip(
        model.column_names, model.column_lower, model.column_upper, strict=True
    ):
        if math.isinf(lower) and math.isinf(upper):
            yield f" FR BOUND {name}"
            continue
        if lower == upper:
            yield f" FX BOUND {name} {_number(lower)}"
            continue
        if math.isinf(lower):
            yield f" MI BOUND {name}"
        elif lower:
            yield f" LO BOUND {name} {_number(lower)}"
        # An integer column without a bound would be read as binary by some programs.
        yield f" PL BOUND {name}" if math.isinf(upper) else f" UP BOUND {name} {_number(upper)}"


def _lp_lines(model: ArrayModel) -> Iterator[str]:
    yield "minimize"
    costs = [
        (float(cost), name)
        for cost, name in zip(model.objective, model.column_names, strict=True)
        if cost
    ]
    yield from _lp_sum("obj:", costs or [(0.0, model.column_names[0])])
    if model.offset:
        yield f" {_signed(model.offset)}"
    yield "subject to"
    for row, name in enumerate(model.row_names):
        part = slice(model.indptr[row], model.indptr[row + 1])
        terms = [
            (float(value), model.column_names[column])
            for value, column in zip(model.data[part], model.indices[part], strict=True)
        ] or [(0.0, model.column_names[0])]
        lower, upper = model.row_lower[row], model.row_upper[row]
        if lower == upper:
            limits = [("", "=", lower)]
        else:
            both = not math.isinf(lower) and not math.isinf(upper)
            limits = [("lo" if both else "", ">=", lower), ("up" if both else "", "<=", upper)]
        for ending, sign, limit in limits:
            if not math.isinf(limit):
                yield from _lp_sum(f"{name}{ending}:", terms)
                yield f"  {sign} {_number(limit)}"
    yield "bounds"
    for name, lower, upper in zip(
        model.column_names, model.column_lower, model.column_upper, strict=True
    ):
        low = "-inf" if math.isinf(lower) else _number(lower)
        high = "+inf" if math.isinf(upper) else _number(upper)
        yield f" {low} <= {name} <= {high}"
    yield "general"
    for name, integer in zip(model.column_names, model.integer, strict=True):
        if integer:
            yield f" {name}"
    yield "end"


def _lp_sum(label: str, terms: list[tuple[float, str]]) -> Iterator[str]:
    for start in range(0, len(terms), _TERMS_PER_LINE):
        part = " ".join(
            f"{_signed(value)} {name}" for value, name in terms[start : start + _TERMS_PER_LINE]
        )
        yield f" {label} {part}" if start == 0 else f"  {part}"


def _signed(value: float) -> str:
    return f"{'-' if value < 0 else '+'} {_number(abs(value))}"
