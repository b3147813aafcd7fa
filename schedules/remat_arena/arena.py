"""Arena with best fit or first fit: one block of memory that grows at its end."""

from __future__ import annotations

import bisect
from enum import StrEnum

from jettison.schedules.remat_arena.allocator import AllocationError
from jettison.schedules.remat_arena.buffers import rounded_up


class Fit(StrEnum):
    """Choice among the free pieces that are large enough: the smallest, or the lowest."""

    BEST = "best"
    FIRST = "first"


class Arena:
    """Arena of contiguous memory, whose free neighbours are joined.

    A request takes a free piece that is large enough; if there is none, the arena grows. The memory
    that it holds ends where its last buffer does.

    Parameters
    ----------
    fit
        Which free piece is taken; the lowest among equal ones.
    alignment_bytes
        Sizes are rounded up to multiples of it.
    limit_bytes
        What it may hold; None for no limit.
    """

    def __init__(
        self, fit: Fit = Fit.BEST, alignment_bytes: int = 1, limit_bytes: int | None = None
    ) -> None:
        self.peak_bytes = 0
        self._fit = fit
        self._alignment_bytes = alignment_bytes
        self._limit_bytes = limit_bytes
        self._end = 0
        self._sizes: dict[int, int] = {}
        # Free pieces below the end: first byte and size, ascending, none next to another.
        self._free: list[tuple[int, int]] = []

    def allocate(self, size_bytes: int) -> int:
        """Serve a request; the number is its first byte. Linear in the free pieces.

        Raises
        ------
        AllocationError
            If it would end above the limit.
        """
        size_bytes = rounded_up(size_bytes, self._alignment_bytes)
        fitting = [piece for piece in self._free if piece[1] >= size_bytes]
        if fitting:
            by_size = self._fit is Fit.BEST
            offset, free_bytes = min(fitting, key=lambda piece: piece[1] if by_size else piece[0])
            place = bisect.bisect_left(self._free, (offset, free_bytes))
            rest = (offset + size_bytes, free_bytes - size_bytes)
            self._free[place : place + 1] = [rest] if rest[1] else []
        else:
            offset = self._end
            end = offset + size_bytes
            if self._limit_bytes is not None and end > self._limit_bytes:
                raise AllocationError(f"{size_bytes} bytes end at {end}")
            self._end = end
        self.peak_bytes = max(self.peak_bytes, self._end)
        self._sizes[offset] = size_bytes
        return offset

    def free(self, number: int) -> None:
        """Take back the buffer at an offset, and join it with free neighbours."""
        first, last = number, number + self._sizes.pop(number)
        place = bisect.bisect_left(self._free, (first, 0))
        if place < len(self._free) and self._free[place][0] == last:
            last += self._free.pop(place)[1]
        if place and sum(self._free[place - 1]) == first:
            place -= 1
            first = self._free.pop(place)[0]
        if last == self._end:
            self._end = first
        else:
            self._free.insert(place, (first, last - first))
