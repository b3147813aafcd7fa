"""Link between the accelerator and the host, with its bandwidth."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from jettison.instances.core.errors import InputError
from jettison.instances.core.units import BYTE_UNITS, checked_amount

_EXPECTED = "write a rate with its unit, such as 12GB/s or 900MiB/s"
_RATE = re.compile(r"\s*(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[A-Za-z]+)/s\s*")
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
class Link:
    r"""Full-duplex link with bandwidth :math:`\beta` in each direction.

    Attributes
    ----------
    bytes_per_s
        At least 1.

    Raises
    ------
    InputError
        If the rate is not a positive integer.
    """

    bytes_per_s: int

    def __post_init__(self) -> None:
        if checked_amount(self.bytes_per_s, "bandwidth", "bytes per second") == 0:
            raise InputError("0 bytes per second", field="bandwidth", expected=_EXPECTED)

    @property
    def bytes_per_ns(self) -> Fraction:
        """The rate in the units of the models, exactly."""
        return Fraction(self.bytes_per_s, _NS_PER_S)

    def transfer_ns(self, size_bytes: int) -> int:
        """Return the time of one transfer in one direction, rounded up to whole nanoseconds."""
        return -(-size_bytes * _NS_PER_S // self.bytes_per_s)

    def __str__(self) -> str:
        for unit in ("TB", "GB", "MB", "kB"):
            if self.bytes_per_s >= BYTE_UNITS[unit]:
                return f"{self.bytes_per_s / BYTE_UNITS[unit]:g} {unit}/s"
        return f"{self.bytes_per_s} B/s"


def parse_link(bandwidth: str | int | Link) -> Link:
    """Read a bandwidth; an ``int`` is in bytes per second, a text has its unit.

    Raises
    ------
    InputError
        If the text is not a positive number followed by a unit of memory and ``/s``.
    """
    if isinstance(bandwidth, Link):
        return bandwidth
    if isinstance(bandwidth, int) and not isinstance(bandwidth, bool):
        return Link(bandwidth)
    if not isinstance(bandwidth, str):
        raise InputError(f"{bandwidth!r} is not text", field="bandwidth", expected=_EXPECTED)
    match = _RATE.fullmatch(bandwidth)
    if match is None or match["unit"] not in BYTE_UNITS:
        raise InputError(f"{bandwidth!r} is not a rate", field="bandwidth", expected=_EXPECTED)
    return Link(int(Fraction(match["number"]) * BYTE_UNITS[match["unit"]]))
