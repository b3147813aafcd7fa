r"""Replay of a multi-model schedule: several models trained in one memory.

Computations, offloads and prefetches each run one after the other, in the order in which they are
issued; a copy takes the time that the problem gives it. An operation starts as soon as

- the operation before it on its queue has ended;
- what it reads is there: computed, arrived, or, for a prefetch, complete on the host;
- every computation and prefetch issued before it has started, so that memory is given out in the
  order of issue;
- its memory is free. With :math:`p` an operator of a sub-array and :math:`p - 1` the one of its
  pass before it, :math:`p` takes
  :math:`\text{peak}(p) - \text{active}(p - 1) - \text{(idle feature maps that it uses first)}`; a
  recomputation takes the feature map and its workspace, a prefetch the feature map.

Memory returns at the end of an operator, all but :math:`\text{active}(p)` and the feature maps that
become idle there; at the end of a recomputation, its workspace; at the end of an offload, its
feature map; and at a discard, once all that was issued before it and reads the feature map has
ended. While memory is short, an operation waits for what is going to return; if that is not
enough, the memory is exceeded.

The next round of a training unit starts when all operations of the round have ended, and so does
the next unit. Of a pair, the first round finds what the second leaves.
"""

from __future__ import annotations

import heapq

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.schedules.core.replay import Rule, Transfer
from jettison.schedules.multi_model.operation import MultiModelOperation
from jettison.schedules.multi_model.unit_walk import UnitComputation, UnitWalk


class MultiModelReplay(UnitWalk):
    """Replay of training units in exact integers, where one direction does not slow the other."""

    def __init__(self, problem: MultiModelTraining) -> None:
        super().__init__(problem)
        # Memory that returns later, as (when, bytes).
        self._returns: list[tuple[int, int]] = []
        # Times from which each queue is free; `_started_ns` is the last start that took memory.
        self._computed_ns = self._offloaded_ns = self._prefetched_ns = 0
        self._swaps_ns: list[tuple[int, ...]] = []
        # By sub-array: times from which a feature map can be read, until which it is read or
        # written, and from which it is complete on the host.
        self._ready_ns: list[dict[int, int]] = []
        self._busy_ns: list[dict[int, int]] = []
        self._hosted_ns: list[dict[int, int]] = []

    def _begin_unit(self) -> None:
        self._swaps_ns = [self._problem.swap_ns(array) for array in self._arrays]
        self._ready_ns = [{} for _ in self._arrays]
        self._busy_ns = [{} for _ in self._arrays]
        self._hosted_ns = [{} for _ in self._arrays]

    def _end_round(self) -> None:
        end_ns = max(self._computed_ns, self._offloaded_ns, self._prefetched_ns, self._started_ns)
        while self._returns:
            self._return_next()
        self._started_ns = self._computed_ns = end_ns
        self._offloaded_ns = self._prefetched_ns = end_ns

    def _compute(self, item: UnitComputation) -> None:
        ready, busy = self._ready_ns[item.operation.array], self._busy_ns[item.operation.array]
        ready_ns = max(
            [self._started_ns, self._computed_ns, *(ready.get(place, 0) for place in item.reads)]
        )
        start_ns = self._take(ready_ns, item.taken_bytes, item.name)
        during_bytes = self._stored_bytes
        end_ns = start_ns + item.run_ns
        self._computed_ns = end_ns
        self._give_back(end_ns, item.returned_bytes)
        after_bytes = during_bytes - sum(back for when, back in self._returns if when <= end_ns)
        self._note_step(item.operation, start_ns, end_ns, during_bytes, after_bytes)
        for place in item.reads:
            busy[place] = max(busy.get(place, 0), end_ns)
        for place in item.makes:
            ready[place] = busy[place] = end_ns

    def _offload(self, operation: MultiModelOperation) -> None:
        place = operation.position
        ready, busy = self._ready_ns[operation.array], self._busy_ns[operation.array]
        start_ns = max(self._started_ns, self._offloaded_ns, ready.get(place, 0))
        end_ns = start_ns + self._swaps_ns[operation.array][place]
        size_bytes = self._size_bytes(operation)
        self._offloaded_ns = end_ns
        self._hosted_ns[operation.array][place] = end_ns
        self._give_back(max(end_ns, busy.get(place, 0)), size_bytes)
        self._transfers.append(Transfer(str(operation), start_ns, end_ns, size_bytes, True))

    def _prefetch(self, operation: MultiModelOperation) -> None:
        place = operation.position
        size_bytes = self._size_bytes(operation)
        earliest_ns = max(
            self._started_ns,
            self._prefetched_ns,
            self._hosted_ns[operation.array].get(place, 0),
        )
        start_ns = self._take(earliest_ns, size_bytes, self._name(operation))
        end_ns = start_ns + self._swaps_ns[operation.array][place]
        self._prefetched_ns = end_ns
        self._ready_ns[operation.array][place] = self._busy_ns[operation.array][place] = end_ns
        self._transfers.append(Transfer(str(operation), start_ns, end_ns, size_bytes, False))
        self._note_arrival(start_ns, size_bytes, self._stored_bytes)

    def _discard(self, operation: MultiModelOperation) -> None:
        busy_ns = self._busy_ns[operation.array].get(operation.position, 0)
        self._give_back(max(self._started_ns, busy_ns), self._size_bytes(operation))

    def _take(self, earliest_ns: int, size_bytes: int, name: str) -> int:
        """Take memory from `earliest_ns` on, as soon as there is enough; return when."""
        now_ns = earliest_ns
        # An operation without memory never waits, and does not break the limit.
        while self._returns and (
            self._returns[0][0] <= now_ns or (size_bytes > 0 and self._excess_bytes(size_bytes) > 0)
        ):
            now_ns = max(now_ns, self._return_next())
        excess_bytes = self._excess_bytes(size_bytes)
        if size_bytes > 0 and excess_bytes > 0:
            self._findings.broken(Rule.OUT_OF_MEMORY, name, excess_bytes)
        self._stored_bytes += size_bytes
        self._peak_bytes = max(self._peak_bytes, self._stored_bytes)
        self._started_ns = now_ns
        self._note_memory(now_ns)
        return now_ns

    def _excess_bytes(self, size_bytes: int) -> int:
        return self._stored_bytes + size_bytes - self._limit_bytes

    def _give_back(self, when_ns: int, size_bytes: int) -> None:
        if size_bytes:
            heapq.heappush(self._returns, (when_ns, size_bytes))

    def _return_next(self) -> int:
        when_ns, size_bytes = heapq.heappop(self._returns)
        self._stored_bytes -= size_bytes
        self._note_memory(when_ns)
        return when_ns
