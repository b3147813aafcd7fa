"""Memory that a recorded step gives back: when what a call has allocated is gone.

An execution trace knows storages by the addresses of objects, which are used again, and does not
say when one is gone. A tensor that is made without an operator, such as the number by which a
tensor is divided, appears in it only where it is read; at the address of an older tensor it looks
as if that were read. The allocator's events in the Kineto trace tell them apart.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence

from jettison.instances.importers.torch_trace.kineto_trace import MemoryEvent, TimedCall


class ReleasedMemory:
    """Releases of what calls have allocated; without events of the allocator, nothing is released.

    Parameters
    ----------
    memory
        Events of the allocator, in their order.
    timed
        The timed call of each call, by its number.
    """

    def __init__(self, memory: Sequence[MemoryEvent], timed: Mapping[int, TimedCall]) -> None:
        self._memory = memory
        self._timed = timed
        self._releases: defaultdict[int, list[int]] = defaultdict(list)
        for event in memory:
            if event.size_bytes < 0:
                self._releases[event.address].append(event.time_ns)

    def release_ns(self, maker: int, size_bytes: int) -> int | None:
        r"""Return when a value is gone that a call returns; None if it stays or that is not known.

        Where the call leaves several allocations that are large enough, the value is gone when all
        of them are. :math:`O(\log n + k)` for n events, k of which are in the call.
        """
        span = self._timed[maker].span
        left: dict[int, int] = {}
        first = bisect_left(self._memory, span.start_ns, key=_time_ns)
        last = bisect_right(self._memory, span.end_ns, key=_time_ns)
        for place in range(first, last):
            event = self._memory[place]
            if event.thread == span.thread:
                left.pop(event.address, None)
                if event.size_bytes >= size_bytes:
                    left[event.address] = event.time_ns
        found = [self._next_release_ns(*allocation) for allocation in left.items()]
        known = [time_ns for time_ns in found if time_ns is not None]
        return max(known) if known and len(known) == len(found) else None

    def is_gone(self, release_ns: int | None, reader: int) -> bool:
        """Return whether what is released then is gone before a call begins."""
        return release_ns is not None and release_ns < self._timed[reader].span.start_ns

    def _next_release_ns(self, address: int, time_ns: int) -> int | None:
        releases = self._releases.get(address, [])
        place = bisect_right(releases, time_ns)
        return releases[place] if place < len(releases) else None


def _time_ns(event: MemoryEvent) -> int:
    return event.time_ns
