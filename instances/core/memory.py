"""Memory limits as they are given: an amount, a share of the peak, POFO's ratio, or a card."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from jettison.instances.core.card import Card, Resident, parse_card
from jettison.instances.core.errors import InputError
from jettison.instances.core.units import (
    BYTE_UNITS,
    NUMBER_PATTERN,
    checked_amount,
    format_bytes,
    parse_bytes,
)

_EXPECTED = (
    "write an amount (4GiB or 4G; 4GB, MB and kB are powers of 1000), a share of the no-saving "
    "peak (60%), alpha=0.2, or card=96GiB:resident=3GiB"
)
_LARGEST_SHARE = 4
# A plain number up to here looks like a percentage, and no step that is measured fits in as few
# bytes; the tiny instances by which one checks a program by hand do.
_LARGEST_PERCENTAGE = 100
_LEAST_MEASURED_BYTES = BYTE_UNITS["MiB"]
_NUMBER = re.compile(NUMBER_PATTERN)


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of bytes."""

    size_bytes: int

    def __post_init__(self) -> None:
        checked_amount(self.size_bytes, "memory", "bytes")

    def __str__(self) -> str:
        return format_bytes(self.size_bytes)


@dataclass(frozen=True, slots=True)
class Share:
    """Share of the no-saving peak, the peak of a step that keeps everything; at most 4."""

    of_peak: Fraction

    def __post_init__(self) -> None:
        if self.of_peak < 0:
            raise InputError(f"{self.of_peak} is negative", field="memory", expected=_EXPECTED)
        # The peak is below 2^60, and amounts of memory have to fit 63 bits.
        if self.of_peak > _LARGEST_SHARE:
            raise InputError(
                f"{self} of the no-saving peak",
                field="memory",
                expected="write at most 400%; nothing changes above 100%",
            )

    def __str__(self) -> str:
        return f"{float(self.of_peak * 100):g}%"


@dataclass(frozen=True, slots=True)
class Alpha:
    r"""POFO's ratio: :math:`(1-\alpha) M^{low} + \alpha M^{high}`, for chains."""

    alpha: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise InputError(
                f"alpha = {self.alpha}", field="memory", expected="write a ratio from 0 to 1"
            )

    def __str__(self) -> str:
        return f"alpha={float(self.alpha):g}"


Memory = Amount | Share | Alpha | Card


def _not_recorded() -> Resident:
    return Resident.recorded(None)


def parse_memory(
    memory: str | int | Memory,
    peak_bytes: Callable[[], int] | None = None,
    resident: Callable[[], Resident] = _not_recorded,
) -> Memory:
    """Read a memory limit; an ``int`` is a number of bytes, a text has its unit.

    Parameters
    ----------
    memory
        Memory limit as it was given.
    peak_bytes
        The no-saving peak; None where it is not known. Where it is a mebibyte or more, a plain
        number from 1 to 100 is refused, as it may be a percentage without its sign.
    resident
        What is resident on a card that does not say so itself.

    Raises
    ------
    InputError
        If the text is none of the four forms, or has no unit; or a plain number looks like a
        percentage. `Amount` says that bytes are meant.
    """
    if isinstance(memory, Card):
        return memory.on(resident())
    if isinstance(memory, Amount | Share | Alpha):
        return memory
    if isinstance(memory, int) and not isinstance(memory, bool):
        is_small = 0 < memory <= _LARGEST_PERCENTAGE
        peak = peak_bytes() if is_small and peak_bytes is not None else 0
        if peak >= _LEAST_MEASURED_BYTES:
            raise InputError(
                f"{memory} is a number of bytes, of a step that takes {format_bytes(peak)}",
                field="memory",
                expected=f'write "{memory}%" for a share of that, or "{memory} B" for bytes',
            )
        return Amount(memory)
    if not isinstance(memory, str):
        raise InputError(f"{memory!r} is not text", field="memory", expected=_EXPECTED)
    text = memory.strip()
    card = parse_card(text)
    if card is not None:
        return card.on(resident())
    if text.endswith("%") and _NUMBER.fullmatch(text[:-1].strip()):
        return Share(Fraction(text[:-1].strip()) / 100)
    if text.startswith("alpha=") and _NUMBER.fullmatch(text.removeprefix("alpha=")):
        return Alpha(Fraction(text.removeprefix("alpha=")))
    try:
        return Amount(parse_bytes(text))
    except InputError as error:
        raise InputError(error.problem, field="memory", expected=_EXPECTED) from None


def amount_or_share(
    memory: str | int | Memory,
    peak_bytes: Callable[[], int],
    expected: str,
    resident: Callable[[], Resident] = _not_recorded,
) -> Amount | Share | Card:
    """Read a memory limit as `parse_memory` does, for problems without POFO's ratio alpha.

    Raises
    ------
    InputError
        As `parse_memory`, and for a ratio; `expected` says what would be right.
    """
    found = parse_memory(memory, peak_bytes, resident)
    if isinstance(found, Alpha):
        raise InputError(f"{found} is defined for chains only", field="memory", expected=expected)
    return found


def bytes_of(memory: str | int | Memory | None, peak_bytes: Callable[[], int]) -> int:
    """Return an amount in bytes, a share of a peak, rounded down, or what a card leaves."""
    if isinstance(memory, Share):
        return int(memory.of_peak * peak_bytes())
    if isinstance(memory, Card):
        return memory.limit_bytes
    assert isinstance(memory, Amount)
    return memory.size_bytes
