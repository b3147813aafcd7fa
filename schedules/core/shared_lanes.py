"""Computations and transfers of a schedule on a link that both directions share.

Where the directions are independent, the end of a transfer is known when it starts, and a replay
goes through the operations once. Here it is not: an offload that stands later in the schedule may
start before an operation that waits for memory, and slow down a prefetch under way. So a replay
first says of each operation what it waits for and what it takes (`LaneOperation`), and then time
runs over all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from jettison.instances.core.link import Link
from jettison.schedules.core.shared_link import SharedLink


class Lane(Enum):
    """Lane that an operation occupies while it runs; a release occupies nothing."""

    COMPUTE = "compute"
    TO_HOST = "to host"
    FROM_HOST = "from host"
    RELEASE = "release"


@dataclass(slots=True, eq=False)
class LaneOperation:
    """Operation with all that its start depends on, and with its times once they are known.

    Attributes
    ----------
    lane
        What it occupies.
    duration_ns
        Duration of a computation.
    size_bytes
        Size of a transfer.
    waits_for
        The operations that have to end before it starts.
    follows
        Of an offload, an operation that has to have started before; the others start in order.
    takes_bytes
        Memory that it takes when it starts, and for which it waits; not of an offload.
    gives
        Memory that returns after it has started, as (bytes, operations that have to end first).
    late
        Memory that is freed when the operation ends, as (bytes, operations that use it). What is
        unused when the operation could start is counted against what it takes.
    needs_bytes
        The least that it takes, whatever it frees.
    start_ns, end_ns
        Its times; None until they are known.
    """

    lane: Lane
    duration_ns: int = 0
    size_bytes: int = 0
    waits_for: tuple[LaneOperation, ...] = ()
    follows: LaneOperation | None = None
    takes_bytes: int = 0
    gives: list[tuple[int, tuple[LaneOperation, ...]]] = field(default_factory=list)
    late: list[tuple[int, tuple[LaneOperation, ...]]] = field(default_factory=list)
    needs_bytes: int = 0
    start_ns: int | None = None
    end_ns: int | None = None

    @property
    def times_ns(self) -> tuple[int, int]:
        """Its start and end, once `SharedLanes` has run it."""
        assert self.start_ns is not None
        assert self.end_ns is not None
        return self.start_ns, self.end_ns

    def has_ended(self, now_ns: int) -> bool:
        """Tell whether it has ended at `now_ns`."""
        return self.end_ns is not None and self.end_ns <= now_ns


@dataclass(slots=True)
class _Return:
    """Memory that returns when some operations have ended."""

    size_bytes: int
    floor_ns: int
    after: tuple[LaneOperation, ...]

    def is_due(self, now_ns: int) -> bool:
        return self.floor_ns <= now_ns and all(item.has_ended(now_ns) for item in self.after)


class SharedLanes:
    """Execution of operations in time, in exact integers.

    Computations, offloads and prefetches each run one after the other in the order of the sequence.
    All but offloads start in that order too, which is how memory is given out.

    Parameters
    ----------
    link
        The link.
    limit_bytes
        The memory; None where there is enough.
    stored_bytes
        Memory in use at the start.
    out_of_memory
        Called with the index of an operation and the bytes that it takes beyond the limit, once
        nothing more returns; it then starts.
    """

    def __init__(
        self,
        link: Link,
        limit_bytes: int | None,
        stored_bytes: int,
        out_of_memory: Callable[[int, int], None],
    ) -> None:
        self._link = SharedLink(link)
        self._limit_bytes = limit_bytes
        self._stored_bytes = self.peak_bytes = stored_bytes
        self._out_of_memory = out_of_memory
        self._returns: list[_Return] = []
        self._on_link: dict[bool, LaneOperation] = {}
        self._computing: LaneOperation | None = None
        self._now_ns = 0
        # Memory in use when an operation has started, and what of it then was to return.
        self._stored_after: dict[LaneOperation, tuple[int, list[_Return]]] = {}

    def run(self, operations: Sequence[LaneOperation]) -> None:
        """Give all operations their times."""
        in_order = [
            (at, item) for at, item in enumerate(operations) if item.lane is not Lane.TO_HOST
        ]
        offloads = [item for item in operations if item.lane is Lane.TO_HOST]
        first = next_offload = 0
        sized = False
        while True:
            self._end_what_is_due()
            if next_offload < len(offloads) and self._start_offload(offloads[next_offload]):
                next_offload += 1
                continue
            if first < len(in_order):
                at, item = in_order[first]
                if not sized and self._could_start(item):
                    # What it takes is settled once its lane and its inputs are there.
                    self._settle(item)
                    sized = True
                if sized and self._start(at, item):
                    first, sized = first + 1, False
                    continue
            upcoming = self._next_end_ns()
            if upcoming is None:
                return
            self._now_ns = upcoming

    def stored_bytes_at_start(self, operation: LaneOperation) -> int:
        """Return the memory in use right after an operation has taken its own."""
        return self._stored_after[operation][0]

    def stored_bytes_at_end(self, operation: LaneOperation) -> int:
        """Return the memory in use when it ends, if nothing starts in between."""
        stored_bytes, returns = self._stored_after[operation]
        assert operation.end_ns is not None
        end_ns = operation.end_ns
        return stored_bytes - sum(item.size_bytes for item in returns if item.is_due(end_ns))

    def _end_what_is_due(self) -> None:
        while (upcoming := self._link.next_end()) is not None and upcoming[0] <= self._now_ns:
            end_ns, to_host = upcoming
            self._link.end(to_host, end_ns)
            self._on_link.pop(to_host).end_ns = end_ns
        if self._computing is not None and self._computing.has_ended(self._now_ns):
            self._computing = None

    def _next_end_ns(self) -> int | None:
        ends = []
        if self._computing is not None and self._computing.end_ns is not None:
            ends.append(self._computing.end_ns)
        upcoming = self._link.next_end()
        if upcoming is not None:
            ends.append(upcoming[0])
        return min(ends, default=None)

    def _are_over(self, operations: Sequence[LaneOperation]) -> bool:
        return all(item.has_ended(self._now_ns) for item in operations)

    def _start_offload(self, item: LaneOperation) -> bool:
        if item.follows is not None and item.follows.start_ns is None:
            return False
        if not self._link.is_free(to_host=True) or not self._are_over(item.waits_for):
            return False
        self._send(item, to_host=True)
        return True

    def _send(self, item: LaneOperation, *, to_host: bool) -> None:
        item.start_ns = self._now_ns
        if item.size_bytes:
            self._link.start(to_host, item.size_bytes, self._now_ns)
            self._on_link[to_host] = item
        else:
            item.end_ns = self._now_ns

    def _could_start(self, item: LaneOperation) -> bool:
        if item.lane is Lane.COMPUTE and self._computing is not None:
            return False
        if item.lane is Lane.FROM_HOST and not self._link.is_free(to_host=False):
            return False
        return self._are_over(item.waits_for)

    def _settle(self, item: LaneOperation) -> None:
        for size_bytes, users in item.late:
            if self._are_over(users):
                item.takes_bytes -= size_bytes
            else:
                item.gives.append((size_bytes, (item, *users)))
        stays_bytes = item.takes_bytes
        item.takes_bytes = max(item.needs_bytes, stays_bytes)
        if item.takes_bytes > stays_bytes:
            item.gives.append((item.takes_bytes - stays_bytes, (item,)))

    def _start(self, at: int, item: LaneOperation) -> bool:
        if item.lane is not Lane.RELEASE and not self._has_room(at, item):
            return False
        item.start_ns = self._now_ns
        if item.lane is Lane.COMPUTE:
            item.end_ns = self._now_ns + item.duration_ns
            self._computing = item
        elif item.lane is Lane.FROM_HOST:
            self._send(item, to_host=False)
        self._returns += [
            _Return(size_bytes, self._now_ns, users)
            for size_bytes, users in item.gives
            if size_bytes
        ]
        self._stored_after[item] = self._stored_bytes, list(self._returns)
        return True

    def _has_room(self, at: int, item: LaneOperation) -> bool:
        """Take the memory of an operation, unless it has to wait for some that returns."""
        due = [back for back in self._returns if back.is_due(self._now_ns)]
        self._returns = [back for back in self._returns if not back.is_due(self._now_ns)]
        self._stored_bytes -= sum(back.size_bytes for back in due)
        excess_bytes = 0
        if self._limit_bytes is not None and item.takes_bytes > 0:
            excess_bytes = max(0, self._stored_bytes + item.takes_bytes - self._limit_bytes)
        if excess_bytes and self._returns:
            return False
        if excess_bytes:
            self._out_of_memory(at, excess_bytes)
        self._stored_bytes += item.takes_bytes
        self.peak_bytes = max(self.peak_bytes, self._stored_bytes)
        return True
