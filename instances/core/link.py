"""Link between the accelerator and the host, with its bandwidth."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from jettison.instances.core.errors import InputError
from jettison.instances.core.units import BYTE_UNITS, NUMBER_PATTERN, byte_unit, checked_amount

_EXPECTED = (
    "write a rate with its unit, such as 12GB/s or 900MiB/s, or 12GB/s:half-duplex, or "
    "12GB/s:total=14GB/s, or the name of a measured link (`jettison list links`)"
)
_RATE = re.compile(
    rf"\s*(?P<number>{NUMBER_PATTERN})\s*(?P<unit>[A-Za-z]+?)(?:/s|ps)\s*", re.IGNORECASE
)
_HALF_DUPLEX = "half-duplex"
_TOTAL = "total="
_NS_PER_S = 10**9


class Transfers(StrEnum):
    """Memory model of a transfer: what counts while a tensor is on the link.

    ``at-once``
        The whole tensor counts from the start to the end of a transfer, as frameworks do it.
    ``fluid``
        Memory is freed, or taken, byte by byte as the tensor leaves or arrives: assumption 3 of
        POFO.
    """

    AT_ONCE = "at-once"
    FLUID = "fluid"


@dataclass(frozen=True, slots=True)
class FullDuplex:
    """Link whose two directions do not slow each other down."""


@dataclass(frozen=True, slots=True)
class SharedTotal:
    """Link whose two directions share a total rate.

    A direction that works alone has the full rate of the link; while both work, each has half of
    the total. A total that is no more than the rate of one direction is a half-duplex link.

    Attributes
    ----------
    bytes_per_s
        The total of both directions.
    """

    bytes_per_s: int


@dataclass(frozen=True, slots=True)
class Link:
    r"""Link with bandwidth :math:`\beta` in each direction, and what both carry at a time.

    Attributes
    ----------
    bytes_per_s
        Rate of a direction that works alone, at least 1.
    duplex
        Whether both directions have that rate at the same time, or share a total, which is at
        least the rate and at most twice the rate.

    Raises
    ------
    InputError
        If a rate is not a positive integer, or the total is out of range.
    """

    bytes_per_s: int
    duplex: FullDuplex | SharedTotal = FullDuplex()

    def __post_init__(self) -> None:
        if checked_amount(self.bytes_per_s, "bandwidth", "bytes per second") == 0:
            raise InputError("0 bytes per second", field="bandwidth", expected=_EXPECTED)
        if isinstance(self.duplex, SharedTotal):
            total = checked_amount(self.duplex.bytes_per_s, "bandwidth", "bytes per second")
            if not self.bytes_per_s <= total <= 2 * self.bytes_per_s:
                raise InputError(
                    f"a total of {total} bytes per second, with {self.bytes_per_s} each way",
                    field="bandwidth",
                    expected="write a total from the rate of one direction, which is half-duplex, "
                    "to twice that rate, which is full-duplex",
                )

    @classmethod
    def half_duplex(cls, bytes_per_s: int) -> Link:
        """Return a link that carries no more in both directions together than in one."""
        return cls(bytes_per_s, SharedTotal(bytes_per_s))

    @property
    def total_bytes_per_s(self) -> int:
        """Rate of both directions together, at most twice the rate of one."""
        if isinstance(self.duplex, SharedTotal):
            return self.duplex.bytes_per_s
        return 2 * self.bytes_per_s

    @property
    def is_shared(self) -> bool:
        """Whether one direction slows down the other."""
        return self.total_bytes_per_s < 2 * self.bytes_per_s

    @property
    def full_duplex(self) -> Link:
        """The full-duplex link with the same rate, on which nothing is slower."""
        return Link(self.bytes_per_s)

    @property
    def always_available(self) -> Link:
        """The full-duplex link with the rate that a direction has whatever the other one does.

        What starts at a given time on this link ends no earlier than on the link itself.
        """
        return Link(max(self.total_bytes_per_s // 2, 1)) if self.is_shared else self.full_duplex

    @property
    def bytes_per_ns(self) -> Fraction:
        """The rate in the units of the models, exactly."""
        return Fraction(self.bytes_per_s, _NS_PER_S)

    def transfer_ns(self, size_bytes: int) -> int:
        """Return the time of one transfer alone on the link, rounded up to whole nanoseconds."""
        return -(-size_bytes * _NS_PER_S // self.bytes_per_s)

    def both_ways_ns(self, size_bytes: int) -> int:
        """Return the least time in which both directions carry so many bytes together."""
        return -(-size_bytes * _NS_PER_S // self.total_bytes_per_s)

    @property
    def shared_bytes_per_s(self) -> int | None:
        """The total that both directions share; None for a full-duplex link."""
        return self.total_bytes_per_s if self.is_shared else None

    @property
    def text(self) -> str:
        """The link as `parse_link` reads it, exactly."""
        if not self.is_shared:
            return f"{self.bytes_per_s}B/s"
        return f"{self.bytes_per_s}B/s:{_TOTAL}{self.total_bytes_per_s}B/s"

    def __str__(self) -> str:
        rate = _written(self.bytes_per_s)
        if not self.is_shared:
            return rate
        if self.total_bytes_per_s == self.bytes_per_s:
            return f"{rate} half-duplex"
        return f"{rate}, both ways {_written(self.total_bytes_per_s)}"


def link_keys(link: Link | None) -> dict[str, int | None]:
    """Return the keys of a link in what the commands print; None where there is no link."""
    return {
        "bandwidth_bytes_per_s": None if link is None else link.bytes_per_s,
        "total_bandwidth_bytes_per_s": None if link is None else link.shared_bytes_per_s,
    }


def parse_link(bandwidth: str | int | Link) -> Link:
    """Read a link; an ``int`` is in bytes per second, a text has its unit.

    A text is a rate (``12GB/s``), which is full-duplex, a rate of a half-duplex link
    (``12GB/s:half-duplex``), a rate with the total of both directions (``12GB/s:total=14GB/s``),
    or the name of a measured link.

    Raises
    ------
    InputError
        If it is none of these, or the rates do not go together.
    """
    if isinstance(bandwidth, Link):
        return bandwidth
    if isinstance(bandwidth, int) and not isinstance(bandwidth, bool):
        return Link(bandwidth)
    if not isinstance(bandwidth, str):
        raise InputError(f"{bandwidth!r} is not text", field="bandwidth", expected=_EXPECTED)
    from jettison.instances.core.measured_links import MEASURED_LINKS

    measured = MEASURED_LINKS.get(bandwidth.strip())
    if measured is not None:
        return measured.link
    rate, colon, shared = bandwidth.partition(":")
    bytes_per_s = _parsed(rate, bandwidth)
    if not colon:
        return Link(bytes_per_s)
    if shared.strip() == _HALF_DUPLEX:
        return Link.half_duplex(bytes_per_s)
    name, equals, total = shared.partition("=")
    if f"{name.strip()}{equals}" != _TOTAL:
        raise InputError(f"{bandwidth!r} is not a link", field="bandwidth", expected=_EXPECTED)
    return Link(bytes_per_s, SharedTotal(_parsed(total, bandwidth)))


def _parsed(rate: str, bandwidth: str) -> int:
    match = _RATE.fullmatch(rate)
    # A letter alone would be a power of 1024 in memory, and of 1000 to those who sell links.
    is_whole = match is not None and match["unit"][-1] in "bB"
    unit_bytes = byte_unit(match["unit"]) if match is not None and is_whole else None
    if match is None or unit_bytes is None:
        raise InputError(f"{bandwidth!r} is not a rate", field="bandwidth", expected=_EXPECTED)
    return int(Fraction(match["number"]) * unit_bytes)


def _written(bytes_per_s: int) -> str:
    for unit in ("TB", "GB", "MB", "kB"):
        if bytes_per_s >= BYTE_UNITS[unit]:
            return f"{bytes_per_s / BYTE_UNITS[unit]:g} {unit}/s"
    return f"{bytes_per_s} B/s"
