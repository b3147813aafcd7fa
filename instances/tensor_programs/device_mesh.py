r"""Mesh of devices with the times of its collectives, in whole nanoseconds.

With :math:`n` devices along a dimension, latency :math:`\alpha`, :math:`b` nanoseconds per byte and
:math:`B` bytes of the gathered tensor (for an all-reduce, of one device's partial sum):

.. math::
    \text{all-gather} &= \alpha + b\,\tfrac{n-1}{n}\,B \\
    \text{all-reduce} &= \alpha + 2b\,\tfrac{n-1}{n}\,B \\
    \text{reduce-scatter} &= \alpha + b\,\tfrac{n-1}{n}\,B \\
    \text{all-to-all} &= \alpha + b\,\tfrac{n-1}{n^2}\,B\,\tfrac{n}{2}

Alpa's formulas, which KIWI builds on. A share of an operation with :math:`f` operations that moves
:math:`m` bytes takes :math:`\max(\varepsilon, f/F + m/W)`. Every time is rounded up.

The paper measured V100 cards and does not publish what it measured. `v100_mesh` assumes, for single
precision: :math:`F` = 14 TFLOP/s, :math:`W` = 0.8 TB/s, :math:`\varepsilon` = 1 ns; inside a node
NVLink with 130 GB/s and 10 µs, between nodes 3.5 GB/s and 30 µs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from jettison.instances.core.errors import InputError
from jettison.instances.core.link import Link
from jettison.instances.core.units import checked_amount

_NS_PER_S = 10**9
LARGEST_MESH = 2**12
LARGEST_SLOWDOWN = 10**4


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshDimension:
    """Dimension of a mesh: the number of its devices, and the link between them.

    Attributes
    ----------
    devices
        Number of devices; with 1 every collective takes no time.
    latency_ns
        Latency of every collective, however small.
    link
        Bandwidth of each device.
    """

    devices: int
    latency_ns: int
    link: Link

    def __post_init__(self) -> None:
        checked_amount(self.latency_ns, "latency_ns", "nanoseconds")
        if not 1 <= self.devices <= LARGEST_MESH:
            raise InputError(
                f"{self.devices}", field="devices", expected=f"write 1 to {LARGEST_MESH}"
            )

    def all_gather_ns(self, gathered_bytes: int) -> int:
        """Return the time until every device has the whole of `gathered_bytes`."""
        return self._collective_ns(Fraction(self.devices - 1, self.devices), gathered_bytes)

    def all_reduce_ns(self, partial_bytes: int) -> int:
        """Return the time to add up partial sums, each as large as the result, on all devices."""
        return self._collective_ns(Fraction(2 * (self.devices - 1), self.devices), partial_bytes)

    def all_to_all_ns(self, gathered_bytes: int) -> int:
        """Return the time to split a tensor of `gathered_bytes` along another dimension."""
        n = self.devices
        return self._collective_ns(Fraction(n - 1, n * n) * Fraction(n, 2), gathered_bytes)

    def _collective_ns(self, share: Fraction, size_bytes: int) -> int:
        if self.devices == 1:
            return 0
        return self.latency_ns + math.ceil(share * size_bytes / self.link.bytes_per_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceMesh:
    """Mesh of equal devices, in one or two dimensions.

    Attributes
    ----------
    dimensions
        One or two; devices that differ in dimension 0 only may stand in different nodes.
    flops_per_s, memory_bytes_per_s
        Rates of one device.
    least_ns
        Least duration of an operation.

    Raises
    ------
    InputError
        If there are no or more than two dimensions, or a rate is not positive.
    """

    dimensions: tuple[MeshDimension, ...]
    flops_per_s: int
    memory_bytes_per_s: int
    least_ns: int = 1

    def __post_init__(self) -> None:
        if not 1 <= len(self.dimensions) <= 2:
            raise InputError(
                f"{len(self.dimensions)} dimensions", field="mesh", expected="give one or two"
            )
        checked_amount(self.least_ns, "least_ns", "nanoseconds")
        for name in ("flops_per_s", "memory_bytes_per_s"):
            if checked_amount(getattr(self, name), name, "a second") == 0:
                raise InputError("0", field=name, expected="write a positive rate")

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of devices along each dimension."""
        return tuple(dimension.devices for dimension in self.dimensions)

    def compute_ns(self, flops: Fraction, moved_bytes: int) -> int:
        """Return the time of one device for its share of an operation."""
        duration = flops / self.flops_per_s + Fraction(moved_bytes, self.memory_bytes_per_s)
        return max(self.least_ns, math.ceil(duration * _NS_PER_S))


def v100_mesh(shape: tuple[int, ...], slowdown: int = 1) -> DeviceMesh:
    """Return a mesh of V100 cards with the numbers of this module, which are assumptions.

    Parameters
    ----------
    shape
        Devices along each dimension. Of two, dimension 0 goes between nodes and dimension 1 stays
        inside one; a mesh of one dimension is one node.
    slowdown
        What every bandwidth between devices is divided by (KIWI, Figure 6: 1, 10, 100); latencies
        stay.

    Raises
    ------
    InputError
        If the shape or the slowdown is out of range.
    """
    if not 1 <= slowdown <= LARGEST_SLOWDOWN:
        raise InputError(f"{slowdown}", field="slowdown", expected=f"write 1 to {LARGEST_SLOWDOWN}")
    between = (30_000, Link(3_500_000_000 // slowdown))
    within = (10_000, Link(130_000_000_000 // slowdown))
    links = (within,) if len(shape) == 1 else (between, within)
    if not 1 <= len(shape) <= 2:
        raise InputError(f"{len(shape)} dimensions", field="mesh", expected="write n or n0xn1")
    return DeviceMesh(
        dimensions=tuple(
            MeshDimension(devices=devices, latency_ns=latency_ns, link=link)
            for devices, (latency_ns, link) in zip(shape, links, strict=True)
        ),
        flops_per_s=14 * 10**12,
        memory_bytes_per_s=800 * 10**9,
    )
