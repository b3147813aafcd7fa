r"""Size of the block that PyTorch's allocator hands out for a tensor.

On a CPU it is the size of the tensor. On a GPU the caching allocator rounds sizes up to 512 bytes.
It cuts blocks out of segments: 2 MiB for sizes up to 1 MiB, 20 MiB for those below 10 MiB, and for
larger ones segments of their own, a multiple of 2 MiB. Of a segment of the first kind every
remainder is cut off and can be used again; of the others only one above 1 MiB, so that the block of
a large tensor has up to 1 MiB more than the tensor (``c10/cuda/CUDACachingAllocator``, PyTorch 2.0
to 2.14). The sizes here are those of blocks from new segments. A tensor that takes the place of an
earlier one may keep up to 1 MiB more of it.

What the allocator *reserves* is the size of its segments: more than what it has handed out, by
remainders that nothing fits in. `MemoryWindow.reserved_bytes` has it beside what is allocated.
"""

from __future__ import annotations

import torch

_ROUNDING = 512
_SMALL = 2**20
_LARGE_SEGMENT = 20 * 2**20
_LARGE = 10 * 2**20
_ROUND_SEGMENT = 2 * 2**20


def allocated_bytes(size_bytes: int, device: torch.device) -> int:
    """Return the size of the block for a tensor of this size on a device."""
    return cuda_block_bytes(size_bytes) if device.type == "cuda" else size_bytes


def cuda_block_bytes(size_bytes: int) -> int:
    """Return the size of the block that the CUDA caching allocator cuts for this many bytes."""
    if size_bytes == 0:
        return 0
    rounded = _rounded(size_bytes, _ROUNDING)
    if rounded <= _SMALL:
        return rounded
    if rounded < _LARGE:
        remainder = _LARGE_SEGMENT - rounded
    else:
        remainder = _rounded(rounded, _ROUND_SEGMENT) - rounded
    return rounded if remainder > _SMALL else rounded + remainder


def _rounded(size_bytes: int, unit: int) -> int:
    return -(-size_bytes // unit) * unit
