"""Formats of numbers and names on the page: rounded for a person, and exact beside it."""

from __future__ import annotations

from jettison.instances.core.link import Link, SharedTotal
from jettison.instances.core.units import format_bytes, format_ns

_THIN = "\N{NARROW NO-BREAK SPACE}"
NOTHING = "\N{EN DASH}"


def grouped(amount: int) -> str:
    """Write an integer with its digits in groups of three."""
    return f"{amount:,}".replace(",", _THIN)


def exact_time(amount_ns: int) -> str:
    """Write a time for a person, and in nanoseconds."""
    return f"{human_time(amount_ns)} ({grouped(amount_ns)} ns)"


def human_time(amount_ns: int) -> str:
    """Write a time with four digits."""
    return format_ns(amount_ns).replace("us", "µs")


def exact_memory(amount_bytes: int) -> str:
    """Write an amount of memory for a person, and in bytes."""
    return f"{format_bytes(amount_bytes)} ({grouped(amount_bytes)} bytes)"


def percent(share: float | None) -> str:
    """Write a share as a percentage; a small one keeps two significant digits."""
    if share is None:
        return NOTHING
    hundredths = 100 * share
    if hundredths == 0:
        return "0 %"
    if abs(hundredths) < 0.01:
        return f"{hundredths:.1g} %"
    return f"{hundredths:.2f} %" if abs(hundredths) < 10 else f"{hundredths:.1f} %"


def seconds(amount_s: float) -> str:
    """Write seconds with three digits."""
    return f"{amount_s:.3g} s" if amount_s < 1000 else f"{grouped(round(amount_s))} s"


def link(bytes_per_s: int, shared_bytes_per_s: int | None) -> str:
    """Write a bandwidth, with the total that both directions share if there is one."""
    if shared_bytes_per_s is None:
        return str(Link(bytes_per_s))
    return str(Link(bytes_per_s, SharedTotal(shared_bytes_per_s)))


def plural(count: int, noun: str) -> str:
    """Write a number of things."""
    return f"{grouped(count)} {noun}{'' if count == 1 else 's'}"
