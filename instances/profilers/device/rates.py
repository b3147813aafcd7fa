r"""Rates of a device for rooflines, and the names of those that are known.

For single precision, from NVIDIA's data sheets. The V100 is the card of RR-9302, PCIe with 16 GB:
14 TFLOP/s and 900 GB/s, both of them peaks. The A100 with 40 GB has 1555 GB/s and 19.5 TFLOP/s, of
which 15.5 are assumed to be reached. The launch of a kernel, 3 µs, is an assumption for both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from fractions import Fraction

from jettison.instances.core.errors import InputError
from jettison.instances.core.link import parse_link
from jettison.instances.core.units import NANOSECOND_UNITS, NUMBER_PATTERN, checked_amount

_EXPECTED = (
    "write the name of a device, {names}, or floating-point operations, bytes and the launch of a "
    "kernel, such as 14TFLOP/s,900GB/s,3us"
)
_FLOPS = re.compile(rf"\s*(?P<number>{NUMBER_PATTERN})\s*(?P<unit>[GTP])FLOP/s\s*")
_FLOPS_PER_NS = {"G": 1, "T": 10**3, "P": 10**6}
_DURATION = re.compile(rf"\s*(?P<number>{NUMBER_PATTERN})\s*(?P<unit>ns|us|ms|s)\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRates:
    """Rates of a device: an operation takes the slower of computing and moving, and a launch.

    Attributes
    ----------
    label
        Part of the names of instances; empty for the default device.
    device
        Name of the device, for the provenance.
    flops_per_ns, bytes_per_ns
        Floating-point operations, and bytes read or written, at least 1.
    launch_ns
        Time of a launch.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    label: str = "own"
    device: str = "a device"
    flops_per_ns: int
    bytes_per_ns: int
    launch_ns: int

    def __post_init__(self) -> None:
        for item in fields(self)[2:]:
            value = checked_amount(getattr(self, item.name), item.name, "units")
            if value == 0 and item.name != "launch_ns":
                raise InputError("0", field=item.name, expected="write at least 1 per nanosecond")

    @property
    def assumed_device(self) -> str:
        """Name of the device, and that its rates are assumed."""
        return f"{self.device}, assumed rates"

    @property
    def note(self) -> str:
        """Rates of the roofline, for the provenance."""
        return (
            f"no operation was measured: roofline of {self.flops_per_ns} floating-point operations "
            f"and {self.bytes_per_ns} bytes per ns, and {self.launch_ns} ns for each launch"
        )

    def duration_ns(self, flops: int, moved_bytes: int) -> int:
        """Return the duration of an operation, each share rounded up to whole nanoseconds."""
        busy_ns = max(-(-flops // self.flops_per_ns), -(-moved_bytes // self.bytes_per_ns))
        return busy_ns + self.launch_ns


A100 = DeviceRates(
    label="", device="A100 40 GB", flops_per_ns=15_500, bytes_per_ns=1_555, launch_ns=3_000
)
V100 = DeviceRates(
    label="v100", device="V100 PCIe 16 GB", flops_per_ns=14_000, bytes_per_ns=900, launch_ns=3_000
)
NAMED_RATES = {"a100": A100, "v100": V100}


def parse_rates(text: str) -> DeviceRates:
    """Read the name of a device, or rates with their units.

    Raises
    ------
    InputError
        If the text is neither, or a rate is below one per nanosecond.
    """
    named = NAMED_RATES.get(text.strip().lower())
    if named is not None:
        return named
    expected = _EXPECTED.format(names=" or ".join(NAMED_RATES))
    words = text.split(",")
    flops = _FLOPS.fullmatch(words[0])
    launch = _DURATION.fullmatch(words[-1])
    if len(words) != 3 or flops is None or launch is None:
        raise InputError(f"{text[:60]!r}", field="rates", expected=expected)
    try:
        moved = parse_link(words[1])
    except InputError:
        raise InputError(f"{words[1][:40]!r}", field="rates", expected=expected) from None
    return DeviceRates(
        flops_per_ns=int(Fraction(flops["number"]) * _FLOPS_PER_NS[flops["unit"]]),
        bytes_per_ns=int(moved.bytes_per_ns),
        launch_ns=int(Fraction(launch["number"]) * NANOSECOND_UNITS[launch["unit"]]),
    )
