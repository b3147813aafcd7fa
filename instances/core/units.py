"""Amounts of memory and time as people write them, and the integers that the models use.

Everything inside jettison is an integer: bytes, nanoseconds, bytes per second. Text is read once,
here, and always with its unit.
"""

from __future__ import annotations

import re
from fractions import Fraction

from jettison.instances.core.errors import InputError

# Above 2**53 - 1 an integer does not survive a reader that holds JSON numbers as doubles.
LARGEST_AMOUNT = 2**53 - 1

BYTE_UNITS = {
    "B": 1,
    "kB": 10**3,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
# What people write beside these: K, M, G and T count powers of 1024, as in the options of Docker.
# Upper and lower case are the same: nobody means a millibyte.
_SPELLINGS = {
    **{unit.casefold(): size for unit, size in BYTE_UNITS.items()},
    **{unit[0].casefold(): size for unit, size in BYTE_UNITS.items() if unit.endswith("iB")},
}
NANOSECOND_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}

# A number as people write it: 4, 0.5 or .5.
NUMBER_PATTERN = r"(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
_AMOUNT = re.compile(rf"\s*(?P<number>{NUMBER_PATTERN})\s*(?P<unit>[A-Za-z]*)\s*")


def checked_amount(value: object, field: str, unit: str) -> int:
    """Return `value` if it is an integer amount that every later computation can hold.

    Raises
    ------
    InputError
        If `value` is not an ``int`` (a ``bool`` or ``5.0`` is not), is negative, or is above
        2**53 - 1.
    """
    expected = f"write a whole number of {unit}, 0 to {LARGEST_AMOUNT}"
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{value!r} is not an integer", field=field, expected=expected)
    if value < 0:
        raise InputError(f"{value} is negative", field=field, expected=expected)
    if value > LARGEST_AMOUNT:
        raise InputError("the value is too large", field=field, expected=expected)
    return value


def byte_unit(text: str) -> int | None:
    """Return the bytes of a unit: GiB and G are 2^30, GB is 10^9, in either case; else None."""
    return _SPELLINGS.get(text.casefold())


def parse_bytes(text: str) -> int:
    """Read an amount of memory such as ``4GiB``, ``4G``, ``512mb`` or ``1000B``.

    Units are those of `byte_unit`; fractions of a byte are dropped.

    Raises
    ------
    InputError
        If the text is not a non-negative number followed by a unit.
    """
    expected = (
        "write a number with its unit, such as 4GiB: B; kB, MB, GB, TB (powers of 1000); K, M, G, "
        "T or KiB, MiB, GiB, TiB (powers of 1024), in either case"
    )
    match = _AMOUNT.fullmatch(text)
    if match is None:
        raise InputError(f"{text!r} is not an amount of memory", expected=expected)
    if not match["unit"]:
        raise InputError(f"{text!r} has no unit", expected=expected)
    unit_bytes = byte_unit(match["unit"])
    if unit_bytes is None:
        raise InputError(f"{match['unit']!r} is not a unit of memory", expected=expected)
    amount = int(Fraction(match["number"]) * unit_bytes)
    return checked_amount(amount, "", "bytes")


def format_bytes(amount_bytes: int) -> str:
    """Write an amount of memory for a person: ``1.50 GiB``."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if abs(amount_bytes) >= BYTE_UNITS[unit]:
            return f"{amount_bytes / BYTE_UNITS[unit]:.2f} {unit}"
    return f"{amount_bytes} B"


def exact_bytes(amount_bytes: int) -> str:
    """Write an amount of memory for a person, and to the byte: ``1.50 KiB (1536 bytes)``."""
    if amount_bytes < BYTE_UNITS["KiB"]:
        return f"{amount_bytes} bytes"
    return f"{format_bytes(amount_bytes)} ({amount_bytes} bytes)"


def format_ns(duration_ns: int, digits: int = 4) -> str:
    """Write a duration for a person, rounded to significant digits: ``12.3 ms``."""
    for unit in ("s", "ms", "us"):
        if abs(duration_ns) >= NANOSECOND_UNITS[unit]:
            return f"{duration_ns / NANOSECOND_UNITS[unit]:.{digits}g} {unit}"
    return f"{duration_ns} ns"


def percent(share: float | None) -> str:
    """Write a share as a percentage, to five digits at most, or a dash."""
    if share is None:
        return "-"
    decimals = 2 if abs(share) < 1 else 1 if abs(share) < 10 else 0
    return f"{100 * share:.{decimals}f} %"


def check_range(name: str, value: int, least: int, most: int) -> None:
    """Check that a parameter is in its range.

    Raises
    ------
    InputError
        If it is not.
    """
    if not least <= value <= most:
        raise InputError(f"{value}", field=name, expected=f"write {least} to {most}")
