r"""Simulation that times the transfers of given gaps among given computations.

Source: the simulation that the heuristics of POFO, Section 5.1, rest on; the paper leaves its rules
open. Here:

- A gap lowers the needs of the operations within it by the size of its tensor. If a need is still
  above the memory, there is no schedule.
- A tensor comes back for the end of its gap, or as many operations earlier as all needs allow with
  it, but not for the first operation of the gap. That operation is the *trigger* of its prefetch.
  Gaps are handled by ascending end.
- The link to the host carries tensors in the order in which they were made, each from then on; it
  carries a tensor once, since the copy on the host stays. Memory returns when the copy is complete
  and the operation at the start of the gap has ended.
- The link from the host carries tensors by ascending trigger. The next one starts as soon as its
  trigger is the next operation or earlier, its copy is complete and its memory is free.
- Of the next operation and the next prefetch, the one that can start earlier starts; a prefetch on
  ties.

A tensor that comes back at the very time when it leaves need not have left: what ran before fitted
beside it. The computations are executed again without such gaps until there are none.

No deadlock: once all that is on its way has arrived or left, what is stored beside the next
operation is at most its need with every prefetch of an earlier or equal trigger.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter, itemgetter

from jettison.instances.core.link import Link
from jettison.schedules.remat_chain.contents import Tensor
from jettison.schedules.remat_chain.schedule import ChainOperation
from jettison.schedules.remat_offload.schedule import OffloadSchedule
from jettison.schedules.remat_offload.transfer_operation import TransferOperation
from jettison.solvers.remat_offload.tensor_lifetimes import Gap, TensorLifetimes


@dataclass(frozen=True, slots=True)
class Execution:
    """Schedule with transfers at once, and its time."""

    schedule: OffloadSchedule
    time_ns: int


def execute_gaps(
    lifetimes: TensorLifetimes, gaps: Iterable[Gap], link: Link, memory_bytes: int
) -> Execution | None:
    r"""Time the transfers of some gaps among the computations; None where memory does not suffice.

    Parameters
    ----------
    lifetimes
        The computations.
    gaps
        Gaps of `lifetimes`, each once. A tensor without a size stays, and so does one in whose gap
        there is no operation.
    link, memory_bytes
        The resources.

    Notes
    -----
    Time :math:`O(n g)` for n operations and g gaps, for each time that gaps are left out.
    """
    moved = sorted(
        (gap for gap in gaps if gap.tensor.size_bytes(lifetimes.chain) and gap.start + 1 < gap.end),
        key=lambda gap: (gap.end, gap.start, gap.tensor.stage),
    )
    best: Execution | None = None
    while True:
        prefetches = _prefetches(lifetimes, moved, memory_bytes)
        if prefetches is None:
            return best
        simulation = _Simulation(lifetimes, prefetches, link, memory_bytes)
        execution = simulation.run()
        if best is None or execution.time_ns <= best.time_ns:
            best = execution
        if not simulation.idle_gaps:
            return best
        moved = [gap for gap in moved if gap not in simulation.idle_gaps]


@dataclass(frozen=True, slots=True)
class _Prefetch:
    trigger: int
    gap: Gap


def _prefetches(
    lifetimes: TensorLifetimes, gaps: list[Gap], memory_bytes: int
) -> list[_Prefetch] | None:
    """Return the prefetches in their order of start; None where memory does not suffice."""
    needs_bytes = list(lifetimes.needs_bytes)
    for gap in gaps:
        for position in range(gap.start + 1, gap.end):
            needs_bytes[position] -= gap.tensor.size_bytes(lifetimes.chain)
    if max(needs_bytes, default=0) > memory_bytes or lifetimes.chain.input_bytes > memory_bytes:
        return None
    found = []
    for gap in gaps:
        size_bytes = gap.tensor.size_bytes(lifetimes.chain)
        trigger = gap.end
        while trigger - 1 > gap.start + 1 and needs_bytes[trigger - 1] + size_bytes <= memory_bytes:
            trigger -= 1
            needs_bytes[trigger] += size_bytes
        found.append(_Prefetch(trigger, gap))
    return sorted(found, key=lambda item: (item.trigger, item.gap.end))


class _Memory:
    """Memory of the simulation: bytes in use, and bytes that return at later times."""

    def __init__(self, stored_bytes: int, limit_bytes: int) -> None:
        self._stored_bytes = stored_bytes
        self._limit_bytes = limit_bytes
        self._returns: list[tuple[int, int]] = []

    def free_from(self, earliest_ns: int, size_bytes: int) -> int:
        """Return the first time from `earliest_ns` on at which `size_bytes` are free."""
        left_bytes = self._stored_bytes + size_bytes
        now_ns = earliest_ns
        for when_ns, returned_bytes in self._returns:
            if when_ns > now_ns and left_bytes <= self._limit_bytes:
                break
            now_ns = max(now_ns, when_ns)
            left_bytes -= returned_bytes
        return now_ns

    def take(self, now_ns: int, size_bytes: int) -> None:
        """Take memory that is free at `now_ns`, which never decreases from call to call."""
        while self._returns and self._returns[0][0] <= now_ns:
            self._stored_bytes -= self._returns.pop(0)[1]
        self._stored_bytes += size_bytes

    def give_back(self, when_ns: int, size_bytes: int) -> None:
        """Give memory back at a time from now on."""
        insort(self._returns, (when_ns, size_bytes))


class _Simulation:
    """Simulation of device and link in exact nanoseconds; notes the gaps that free no memory."""

    def __init__(
        self,
        lifetimes: TensorLifetimes,
        prefetches: list[_Prefetch],
        link: Link,
        memory_bytes: int,
    ) -> None:
        self.idle_gaps: set[Gap] = set()
        self._lifetimes = lifetimes
        self._prefetches = prefetches
        self._link = link
        self._memory = _Memory(lifetimes.chain.input_bytes, memory_bytes)
        self._leaving: dict[int, list[Tensor]] = {}
        self._away_after: dict[int, list[Tensor]] = {}
        self._needed_by: dict[int, list[Tensor]] = {}
        copied: set[Tensor] = set()
        for gap in sorted((item.gap for item in prefetches), key=attrgetter("start")):
            if gap.tensor not in copied:
                copied.add(gap.tensor)
                self._leaving.setdefault(lifetimes.maker(gap), []).append(gap.tensor)
            self._away_after.setdefault(gap.start, []).append(gap.tensor)
            self._needed_by.setdefault(gap.end, []).append(gap.tensor)
        self._started_ns = self._computed_ns = self._offloaded_ns = self._prefetched_ns = 0
        self._hosted_ns: dict[Tensor, int] = {}
        # When a tensor is out of memory, and when it is back.
        self._gone_ns: dict[Tensor, int] = {}
        self._back_ns: dict[Tensor, int] = {}
        # Drops that have not been issued, by the time at which they take effect. Each enters the
        # sequence there: whether it comes before the first backward is part of the schedule.
        self._dropping: list[tuple[int, TransferOperation]] = []
        self._issued: list[ChainOperation | TransferOperation] = []

    def run(self) -> Execution:
        computations = self._lifetimes.computations.operations
        self._move_out(-1, 0)
        position = arrived = 0
        while position < len(computations):
            prefetch_ns = None
            if arrived < len(self._prefetches) and self._prefetches[arrived].trigger <= position:
                prefetch_ns = self._prefetch_start(self._prefetches[arrived].gap.tensor)
            compute_ns = self._compute_start(position)
            if prefetch_ns is not None and (compute_ns is None or prefetch_ns <= compute_ns):
                self._prefetch(self._prefetches[arrived].gap, prefetch_ns)
                arrived += 1
            else:
                # An operation with tensors still on the host waits for a prefetch to start.
                assert compute_ns is not None
                self._compute(position, compute_ns)
                position += 1
        return Execution(OffloadSchedule(tuple(self._issued)), self._computed_ns)

    def _compute_start(self, position: int) -> int | None:
        """Return when an operation can start; None while one of its tensors is on the host."""
        earliest_ns = max(self._started_ns, self._computed_ns)
        for tensor in self._needed_by.get(position, ()):
            if tensor not in self._back_ns:
                return None
            earliest_ns = max(earliest_ns, self._back_ns[tensor])
        return self._memory.free_from(earliest_ns, self._taken_bytes(position))

    def _prefetch_start(self, tensor: Tensor) -> int:
        earliest_ns = max(self._started_ns, self._prefetched_ns, self._gone_ns[tensor])
        return self._memory.free_from(earliest_ns, tensor.size_bytes(self._lifetimes.chain))

    def _compute(self, position: int, start_ns: int) -> None:
        effect = self._lifetimes.effects[position]
        taken_bytes = self._taken_bytes(position)
        self._drop_until(start_ns)
        self._started_ns = start_ns
        self._computed_ns = start_ns + effect.duration_ns
        self._memory.take(start_ns, taken_bytes)
        left_bytes = taken_bytes - effect.change_bytes(self._lifetimes.chain)
        self._memory.give_back(self._computed_ns, left_bytes)
        self._issued.append(self._lifetimes.computations.operations[position])
        self._move_out(position, self._computed_ns)

    def _move_out(self, position: int, now_ns: int) -> None:
        """Offload what an operation has made, and drop tensors whose gap begins after it."""
        for tensor in self._leaving.get(position, ()):
            size_bytes = tensor.size_bytes(self._lifetimes.chain)
            start_ns = max(self._offloaded_ns, now_ns)
            self._offloaded_ns = start_ns + self._link.transfer_ns(size_bytes)
            self._hosted_ns[tensor] = self._offloaded_ns
            self._issued.append(TransferOperation.offload(tensor))
        for tensor in self._away_after.get(position, ()):
            self._gone_ns[tensor] = max(now_ns, self._hosted_ns[tensor])
            self._back_ns.pop(tensor, None)
            size_bytes = tensor.size_bytes(self._lifetimes.chain)
            self._memory.give_back(self._gone_ns[tensor], size_bytes)
            drop = (self._gone_ns[tensor], TransferOperation.drop(tensor))
            insort(self._dropping, drop, key=itemgetter(0))

    def _drop_until(self, now_ns: int) -> None:
        while self._dropping and self._dropping[0][0] <= now_ns:
            self._issued.append(self._dropping.pop(0)[1])

    def _prefetch(self, gap: Gap, start_ns: int) -> None:
        tensor = gap.tensor
        if start_ns == self._gone_ns[tensor]:
            self.idle_gaps.add(gap)
        size_bytes = tensor.size_bytes(self._lifetimes.chain)
        self._drop_until(start_ns)
        self._started_ns = start_ns
        self._prefetched_ns = start_ns + self._link.transfer_ns(size_bytes)
        self._back_ns[tensor] = self._prefetched_ns
        self._memory.take(start_ns, size_bytes)
        self._issued.append(TransferOperation.prefetch(tensor))

    def _taken_bytes(self, position: int) -> int:
        effect = self._lifetimes.effects[position]
        return max(effect.extra_bytes, effect.change_bytes(self._lifetimes.chain))
