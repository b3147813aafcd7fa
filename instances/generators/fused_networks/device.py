r"""Durations of kernels on an assumed device, alone and fused over several models.

No device was measured. The rates are those of an A100 with 40 GB of memory, as its data sheet and
white paper give them, and four assumptions on how kernels use it:

========================== ==================== ================================================
constant                   value                meaning
========================== ==================== ================================================
`PROCESSORS`               108                  streaming multiprocessors
`TILE_FLOPS_PER_NS`        144                  of one processor: 19.5 TFLOP/s over 108 of them
                                                (float32, no TensorFloat-32: the default of
                                                PyTorch for products, and what grouped
                                                convolutions get), 80 % sustained (assumed)
`MEMORY_BYTES_PER_NS`      1555                 bandwidth of the device memory
`LAUNCH_NS`                3000                 from one kernel to the next in a captured graph
                                                (assumed)
`FILLING_BYTES`            4 MiB                a kernel that moves less leaves memory channels
                                                idle, and takes as long (assumed: 108 processors
                                                with 2048 threads, 16 bytes each, and some)
`TILE`                     128                  rows and columns of the part of a product that
                                                one processor computes at a time (assumed)
`SPLIT`                    2048                 least length of the sums that different
                                                processors add up for one tile (assumed)
`LINK_BYTES_PER_S`         25 GB/s              each way: what copies from pinned memory get from
                                                the 32 GB/s of PCI-e generation 4 (assumed)
========================== ==================== ================================================

A kernel of :math:`f` operations in :math:`t` tiles that moves :math:`b` bytes takes, fused over
:math:`k` models, which each have weights and activations of their own,

.. math::
    \text{launch} + \max\Bigl(
        \bigl\lceil k t / 108 \bigr\rceil \cdot \frac{f / t}{\text{rate of a processor}}, \;
        \frac{\max(k b, \text{filling})}{\text{memory bandwidth}} \Bigr) .

`V100` is a V100 with 32 GB, by the same assumptions: 80 processors that sustain 80 % of the 15.7
TFLOP/s of its data sheet, 157 operations per ns each; 900 bytes per ns; 3 MiB that fill it, as 80
processors in place of 108 do; and the same link, as Table C of the µ-TWO paper says of its machine.

So :math:`k` fused kernels never take longer than :math:`k` single ones, and less where one of them
does not fill the device: launches, small transfers, and waves of tiles that are not full. Integers
only, rounded up, so that numbers are the same on any machine.
"""

from __future__ import annotations

from dataclasses import dataclass

PROCESSORS = 108
TILE_FLOPS_PER_NS = 144
MEMORY_BYTES_PER_NS = 1555
LAUNCH_NS = 3000
FILLING_BYTES = 4 * 2**20
TILE = 128
SPLIT = 2048
LINK_BYTES_PER_S = 25 * 10**9
NUMBER_BYTES = 4


@dataclass(frozen=True, slots=True)
class AssumedDevice:
    """Rates of a device; by default those of the table above.

    Attributes
    ----------
    name
        Name of the device, for the provenance.
    tile_flops_per_ns
        Sustained rate of one processor.
    memory_bytes_per_ns
        Bandwidth of the device memory.
    launch_ns
        Time from one kernel to the next.
    link_bytes_per_s
        To the host, each way.
    processors
        Streaming multiprocessors.
    filling_bytes
        Bytes that a kernel has to move to fill the device memory.
    """

    name: str
    tile_flops_per_ns: int = TILE_FLOPS_PER_NS
    memory_bytes_per_ns: int = MEMORY_BYTES_PER_NS
    launch_ns: int = LAUNCH_NS
    link_bytes_per_s: int = LINK_BYTES_PER_S
    processors: int = PROCESSORS
    filling_bytes: int = FILLING_BYTES


A100 = AssumedDevice("A100 40 GB, assumed rates")
V100 = AssumedDevice(
    "V100 32 GB, assumed rates",
    tile_flops_per_ns=157,
    memory_bytes_per_ns=900,
    processors=80,
    filling_bytes=3 * 2**20,
)


@dataclass(frozen=True, slots=True)
class Kernel:
    """One launch on the device, for one model.

    Attributes
    ----------
    flops
        Floating-point operations.
    tiles
        Parts that different processors compute, at least 1.
    moved_bytes
        Bytes that are read and written, each once.
    """

    flops: int
    tiles: int
    moved_bytes: int

    def duration_ns(self, models: int, device: AssumedDevice = A100) -> int:
        """Return the time of the kernel, fused over several models."""
        waves = _ceil(models * self.tiles, device.processors)
        computing_ns = _ceil(waves * self.flops, self.tiles * device.tile_flops_per_ns)
        moved_bytes = max(models * self.moved_bytes, device.filling_bytes)
        moving_ns = _ceil(moved_bytes, device.memory_bytes_per_ns)
        return device.launch_ns + max(computing_ns, moving_ns)


def product(rows: int, inner: int, columns: int, count: int = 1) -> Kernel:
    """Return `count` products of matrices: rows x inner by inner x columns."""
    parts = max(1, inner // SPLIT)
    tiles = count * _ceil(rows, TILE) * _ceil(columns, TILE) * parts
    numbers = rows * inner + inner * columns + rows * columns
    return Kernel(2 * count * rows * inner * columns, tiles, NUMBER_BYTES * count * numbers)


def elementwise(moved_bytes: int, flops: int = 0) -> Kernel:
    """Return a kernel that passes over its tensors once; its parts are as small as they come."""
    return Kernel(flops, max(PROCESSORS, _ceil(moved_bytes, 2**14)), moved_bytes)


def _ceil(amount: int, unit: int) -> int:
    return -(-amount // unit)
