"""Exact numbers from JSON and from text: durations in nanoseconds and sizes in whole bytes."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.core.units import checked_amount

_DECIMAL = re.compile(r"[0-9]+(?:\.[0-9]*)?")
_MOST_LETTERS = 40


def exact_number(value: Any, field: str) -> Fraction:
    """Return a number that was read from JSON as it stands in the file.

    Raises
    ------
    InputError
        If it is not a number, is negative or is infinite.
    """
    expected = "write a non-negative number"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{str(value)[:40]!r} is not a number", field=field, expected=expected)
    if value < 0 or value == math.inf:
        raise InputError(
            f"{str(value)[:40]} is negative or infinite", field=field, expected=expected
        )
    # The text of a float is the number that stands in the file; its binary value is not.
    return Fraction(repr(value))


def number_of_text(text: str, field: str) -> Fraction:
    """Return the number that a text writes in decimal, exactly.

    Raises
    ------
    InputError
        If it is not a number from 0 on, or has more than 40 letters.
    """
    digits = text.strip()
    if len(digits) > _MOST_LETTERS or _DECIMAL.fullmatch(digits) is None:
        raise InputError(
            f"{text[:40]!r} is not a number",
            field=field,
            expected="write a non-negative number such as 12.345",
        )
    return Fraction(digits)


def whole_nanoseconds(number: Fraction, field: str, unit_ns: int) -> int:
    """Return the nearest whole number of nanoseconds, half to even."""
    return checked_amount(round(number * unit_ns), field, "nanoseconds")


def whole_bytes(number: Fraction, field: str) -> int:
    """Return a number of bytes.

    Raises
    ------
    InputError
        If it is no whole number: a part of a byte is neither cut off nor rounded.
    """
    if number.denominator != 1:
        raise InputError(
            f"{float(number)} is not a whole number of bytes",
            field=field,
            expected="write a whole number; a fraction is neither cut off nor rounded",
        )
    return checked_amount(int(number), field, "bytes")
