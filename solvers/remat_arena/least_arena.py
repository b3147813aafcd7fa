r"""Exact search for the least arena of a small set of buffers, by branch and bound.

In any placement, push every block down, the lowest first, until it rests on the arena's start or on
a block that lives at the same time. No block rises, so that a least arena is among the *canonical*
placements: taken in the order of their offsets, each block stands on the highest block before it
with which it shares some time. The search builds such sequences, with offsets that never fall:

* *Load above a floor.* At a time :math:`t`, all blocks to come begin at the offset of the last one
  or above, and at the height :math:`h_t` of those that stand there. So the arena is no less than
  :math:`\max(h_t, o) + r_t`, with :math:`r_t` the sizes at that time that are still to come. A
  node whose bound meets the best arena is cut.
* *No block above a hole it leaves.* If another block to come would end, at its present offset, no
  higher than where the next one begins, it could be put there without touching any other: only
  sequences are tried in which that has been done (Minimalloc: Moffitt and Wolf, ASPLOS 2023).
* *Equal blocks*, of one size and life, come in the order of their numbers.

Times are reduced to those at which the set of blocks in memory is contained in no neighbouring one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jettison.schedules.remat_arena.buffers import Buffer, rounded_up
from jettison.solvers.core.clock import Clock


@dataclass(frozen=True, slots=True)
class LeastArena:
    """Outcome of the search.

    Attributes
    ----------
    offsets
        A placement with a smaller arena than the one known; None if none was found.
    is_complete
        Whether the search came to its end: there is no smaller arena than the best one then.
    """

    offsets: tuple[int, ...] | None
    is_complete: bool


def least_arena(
    buffers: Sequence[Buffer],
    alignment_bytes: int,
    known_bytes: int,
    most_steps: int,
    clock: Clock,
) -> LeastArena:
    """Search for an arena below one that is known, down to the least.

    Parameters
    ----------
    buffers
        What is placed.
    alignment_bytes
        Sizes are rounded up to multiples of it.
    known_bytes
        The arena of a known placement.
    most_steps
        Heights that are looked at, over the whole search, after which it gives up.
    clock
        When it runs out, it gives up as well.
    """
    sizes = [rounded_up(item.size_bytes, alignment_bytes) for item in buffers]
    search = _Search(sizes, _sections(buffers), known_bytes, most_steps, clock)
    # A sequence is as deep as there are buffers, and Python's stack is not.
    if len(buffers) > _DEEPEST:
        return LeastArena(None, False)
    is_complete = search.run(0)
    return LeastArena(search.offsets, is_complete)


_DEEPEST = 300


def _sections(buffers: Sequence[Buffer]) -> list[range]:
    """Return the interval of each buffer in times whose sets of blocks are maximal."""
    starts = {item.start for item in buffers}
    # A set is maximal just before something ends, if something has begun since the last end.
    maximal: list[int] = []
    begun = False
    events = sorted({item.end for item in buffers} | starts)
    ends = {item.end for item in buffers}
    for moment in events:
        if moment in ends and begun:
            maximal.append(moment - 1)
            begun = False
        begun = begun or moment in starts
    number = {moment: place for place, moment in enumerate(maximal)}
    found = []
    for item in buffers:
        inside = [number[moment] for moment in maximal if item.start <= moment < item.end]
        found.append(range(inside[0], inside[-1] + 1))
    return found


class _Search:
    def __init__(
        self,
        sizes: Sequence[int],
        sections: Sequence[range],
        known_bytes: int,
        most_steps: int,
        clock: Clock,
    ) -> None:
        self.offsets: tuple[int, ...] | None = None
        self._sizes = sizes
        self._sections = sections
        self._best_bytes = known_bytes
        self._left_steps = most_steps
        self._clock = clock
        count = max((item.stop for item in sections), default=0)
        self._height = [0] * count
        self._to_come = [0] * count
        for size, where in zip(sizes, sections, strict=True):
            for section in where:
                self._to_come[section] += size
        self._load = max(self._to_come, default=0)
        self._offset = [-1] * len(sizes)
        self._unplaced = sorted(
            range(len(sizes)), key=lambda i: (-len(sections[i]) * sizes[i], -sizes[i], i)
        )

    def run(self, last: int) -> bool:
        """Place the next block, at the offset of the last one or above; False if it gives up."""
        if not self._unplaced:
            self.offsets = tuple(self._offset)
            self._best_bytes = max(self._height, default=0)
            return True
        self._left_steps -= sum(len(self._sections[i]) for i in self._unplaced)
        if self._left_steps < 0 or not self._clock.left_s:
            return False
        rest = {i: max(self._height[s] for s in self._sections[i]) for i in self._unplaced}
        lowest_end = min(offset + self._sizes[i] for i, offset in rest.items())
        tried: set[tuple[int, int, int]] = set()
        for index in sorted(self._unplaced, key=lambda i: rest[i]):
            offset = rest[index]
            if offset >= lowest_end:
                break
            # One that could have come before the last one, and below it, has missed its turn.
            if offset < last:
                continue
            where = self._sections[index]
            twin = (self._sizes[index], where.start, where.stop)
            if twin in tried:
                continue
            tried.add(twin)
            if not self._try(index, offset):
                return False
            if self._best_bytes <= self._load:
                return True
        return True

    def _try(self, index: int, offset: int) -> bool:
        where, size = self._sections[index], self._sizes[index]
        before = [self._height[section] for section in where]
        for section in where:
            self._height[section] = offset + size
            self._to_come[section] -= size
        place = self._unplaced.index(index)
        del self._unplaced[place]
        self._offset[index] = offset
        is_open = all(
            (max(height, offset) if rest else height) + rest < self._best_bytes
            for height, rest in zip(self._height, self._to_come, strict=True)
        )
        is_complete = self.run(offset) if is_open else True
        self._unplaced.insert(place, index)
        for section, height in zip(where, before, strict=True):
            self._height[section] = height
            self._to_come[section] += size
        return is_complete
