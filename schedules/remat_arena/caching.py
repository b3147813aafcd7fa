"""Caching allocator of PyTorch for CUDA: rounding, two pools of segments, best fit, splitting.

The rules of ``c10/cuda/CUDACachingAllocator.cpp`` (PyTorch 2.13) for one stream with the default
settings: no expandable segments, no limit on splitting, no rounding to powers of two, no fraction
of the memory that is collected early. Constants are named as there.

* A request is rounded up to a multiple of 512 bytes (``kMinBlockSize``).
* Up to 1 MiB (``kSmallSize``) it belongs to the small pool, else to the large one.
* The smallest free block of the pool that is large enough serves it, the lowest address among
  equals. What is left of a block is split off where that is at least 512 bytes in the small pool,
  and more than 1 MiB in the large one; else the request takes the whole block.
* If there is none, a segment is asked of the device: 2 MiB (``kSmallBuffer``) for the small pool,
  20 MiB (``kLargeBuffer``) below 10 MiB (``kMinLargeAlloc``), else the size rounded up to a
  multiple of 2 MiB (``kRoundLarge``).
* If the device has no room for it, all segments without a block in use are given back to it, and it
  is asked again. If it has none then, the request fails.
* A freed block is joined with free neighbours of its segment.
"""

from __future__ import annotations

from dataclasses import dataclass

from jettison.schedules.remat_arena.allocator import AllocationError
from jettison.schedules.remat_arena.buffers import rounded_up

MIN_BLOCK_BYTES = 512
SMALL_BYTES = 2**20
SMALL_SEGMENT_BYTES = 2 * 2**20
LARGE_SEGMENT_BYTES = 20 * 2**20
LEAST_OWN_SEGMENT_BYTES = 10 * 2**20
ROUND_LARGE_BYTES = 2 * 2**20


@dataclass(eq=False, slots=True)
class _Block:
    """Block of a segment: a part of it that is free or in use."""

    segment: int
    offset: int
    size_bytes: int
    is_small: bool
    is_free: bool = False
    before: _Block | None = None
    after: _Block | None = None

    @property
    def is_whole(self) -> bool:
        """Whether it is all of its segment."""
        return self.before is None and self.after is None


class CachingAllocator:
    """Allocator with the rules of PyTorch's on CUDA devices.

    Parameters
    ----------
    limit_bytes
        What the device has for segments; None for no limit.

    Attributes
    ----------
    peak_bytes
        The most bytes reserved at one time (``torch.cuda.max_memory_reserved``).
    """

    def __init__(self, limit_bytes: int | None = None) -> None:
        self.peak_bytes = 0
        self._limit_bytes = limit_bytes
        self._reserved_bytes = 0
        self._segments = 0
        self._numbers = 0
        self._used: dict[int, _Block] = {}
        self._free: set[_Block] = set()

    def allocate(self, size_bytes: int) -> int:
        """Serve a request, from a free block or a new segment. Linear in the free blocks.

        Raises
        ------
        AllocationError
            If the device has no room for a segment, after all that are unused were given back.
        """
        size_bytes = rounded_up(size_bytes, MIN_BLOCK_BYTES)
        is_small = size_bytes <= SMALL_BYTES
        fitting = [
            block
            for block in self._free
            if block.is_small == is_small and block.size_bytes >= size_bytes
        ]
        if fitting:
            block = min(fitting, key=lambda item: (item.size_bytes, item.segment, item.offset))
            self._free.remove(block)
        else:
            block = self._new_segment(size_bytes, is_small)
        self._split(block, size_bytes)
        block.is_free = False
        self._numbers += 1
        self._used[self._numbers] = block
        return self._numbers

    def free(self, number: int) -> None:
        """Take back a block, and join it with free neighbours."""
        block = self._used.pop(number)
        block.is_free = True
        before, after = block.before, block.after
        if before is not None and before.is_free:
            self._free.remove(before)
            block.offset, block.before = before.offset, before.before
            block.size_bytes += before.size_bytes
            if block.before is not None:
                block.before.after = block
        if after is not None and after.is_free:
            self._free.remove(after)
            block.size_bytes += after.size_bytes
            block.after = after.after
            if block.after is not None:
                block.after.before = block
        self._free.add(block)

    def _split(self, block: _Block, size_bytes: int) -> None:
        """Split off what a request leaves of a block, where it is large enough to be of use."""
        rest_bytes = block.size_bytes - size_bytes
        is_of_use = rest_bytes >= MIN_BLOCK_BYTES if block.is_small else rest_bytes > SMALL_BYTES
        if not is_of_use:
            return
        rest = _Block(
            block.segment,
            block.offset + size_bytes,
            rest_bytes,
            block.is_small,
            is_free=True,
            before=block,
            after=block.after,
        )
        if rest.after is not None:
            rest.after.before = rest
        block.after, block.size_bytes = rest, size_bytes
        self._free.add(rest)

    def _new_segment(self, size_bytes: int, is_small: bool) -> _Block:
        if is_small:
            segment_bytes = SMALL_SEGMENT_BYTES
        elif size_bytes < LEAST_OWN_SEGMENT_BYTES:
            segment_bytes = LARGE_SEGMENT_BYTES
        else:
            segment_bytes = rounded_up(size_bytes, ROUND_LARGE_BYTES)
        if self._is_over(segment_bytes):
            self._give_unused_back()
        if self._is_over(segment_bytes):
            raise AllocationError(f"a segment of {segment_bytes} bytes")
        self._reserved_bytes += segment_bytes
        self.peak_bytes = max(self.peak_bytes, self._reserved_bytes)
        self._segments += 1
        return _Block(self._segments, 0, segment_bytes, is_small)

    def _is_over(self, segment_bytes: int) -> bool:
        return (
            self._limit_bytes is not None
            and self._reserved_bytes + segment_bytes > self._limit_bytes
        )

    def _give_unused_back(self) -> None:
        for block in [item for item in self._free if item.is_whole]:
            self._free.remove(block)
            self._reserved_bytes -= block.size_bytes
