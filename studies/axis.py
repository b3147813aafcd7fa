"""Axes of a grid: a value, a list of values, or a range."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeVar

from jettison.instances.core.errors import InputError
from jettison.instances.core.memory import Alpha, Amount, Share, parse_memory

_Value = TypeVar("_Value", str, int, float)

_Read = TypeVar("_Read")

_MOST_STEPS = 10_000
_KINDS = {str: "a text", int: "a whole number", float: "a number"}


def values_of(
    grid: Mapping[str, Any], field: str, kind: type[_Value], default: list[_Value] | None = None
) -> list[_Value]:
    """Return the values of an axis, which is a single value or a list.

    Raises
    ------
    InputError
        If a value is of another kind.
    """
    if field not in grid:
        return list(default or [])
    given = grid[field]
    values = given if isinstance(given, list) else [given]
    for value in values:
        fits = isinstance(value, int | float) if kind is float else isinstance(value, kind)
        if not fits or isinstance(value, bool) or (kind is float and not _is_finite(value)):
            shown = f"{value!r}" if len(f"{value!r}") < 100 else f"{value!r:.100} ..."
            raise InputError(
                shown, field=field, expected=f"write {_KINDS[kind]}, or a list of them"
            )
    if not values:
        raise InputError("the list is empty", field=field, expected="leave it out, or fill it")
    return [kind(value) for value in values]


def checked_by(read: Callable[[_Value], _Read], value: _Value, field: str) -> _Read:
    """Read a value of an axis; an error names the field of the study.

    Raises
    ------
    InputError
        As `read` does.
    """
    try:
        return read(value)
    except InputError as error:
        raise InputError(error.problem, field=field, expected=error.expected) from None


def memory_axis(given: object) -> list[str]:
    """Return the memories of a grid, each as one types it.

    A range has ``from``, ``to`` and ``step``, all amounts or all shares; both ends belong to it.

    Raises
    ------
    InputError
        If a memory cannot be read, or a range does not ascend.
    """
    if given is None:
        return []
    if not isinstance(given, dict):
        values = values_of({"memory": given}, "memory", str)
        for value in values:
            checked_by(parse_memory, value, "memory")
        return values
    if given.keys() != {"from", "to", "step"}:
        raise InputError(
            f"a range of {', '.join(sorted(given)) or 'nothing'}",
            field="memory",
            expected='write {from = "20%", to = "90%", step = "10%"}',
        )
    ends = [
        checked_by(parse_memory, values_of(given, key, str)[0], f"memory.{key}")
        for key in ("from", "to", "step")
    ]
    match ends:
        case [Share(first), Share(last), Share(step)]:
            return [f"{_decimal(value * 100)}%" for value in _ascending(first, last, step)]
        case [Amount(low), Amount(high), Amount(wide)]:
            steps = _ascending(Fraction(low), Fraction(high), Fraction(wide))
            return [f"{int(value)}B" for value in steps]
        case [Alpha(), *_]:
            raise InputError("a range of alpha", field="memory", expected="list them in alpha")
        case _:
            raise InputError(
                "the ends and the step differ in kind",
                field="memory",
                expected="write three amounts, or three shares",
            )


def _ascending(first: Fraction, last: Fraction, step: Fraction) -> list[Fraction]:
    count = (last - first) // step if step > 0 else -1
    if not 0 <= count < _MOST_STEPS:
        raise InputError(
            f"a range of {count + 1} values",
            field="memory",
            expected=f"write a range that ascends, of at most {_MOST_STEPS} values",
        )
    return [first + number * step for number in range(int(count) + 1)]


def _decimal(value: Fraction) -> str:
    """Write a share with its own digits, at most ten."""
    return f"{float(value):.10f}".rstrip("0").rstrip(".")


def _is_finite(value: object) -> bool:
    """Tell whether a number is one that a float can hold."""
    try:
        return isinstance(value, int | float) and math.isfinite(float(value))
    except OverflowError:
        return False
