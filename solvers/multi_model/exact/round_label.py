r"""Label of the exact search: the state of a round after some of its operations.

A label says which feature maps are in memory, which have a copy on the host, and from when on the
queues and feature maps are free. Times before the last start of a computation or prefetch,
:math:`\sigma`, have no effect any more: whatever is issued later starts at :math:`\sigma` or later.
So every time is raised to :math:`\sigma`, and labels with the same contents can be compared.

*Label A serves in place of label B* (dominates it) if their contents agree, no time of A is later
(the last start, the ends of the three queues, and for each feature map when it can be read, when it
is no longer read, and when its copy is complete), and A never has more in memory from B's last
start on. Any operations that complete B then complete A, and no operation starts later: by
induction over the operations, each start is the first moment, not before some of these times, at
which memory suffices; memory has been taken by operations issued before, and returns at times that
are sums and maxima of earlier ones.

The rules are those of `jettison.schedules.multi_model.unit_replay`, which judges what comes out.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass

from jettison.schedules.multi_model.operation import MultiModelOperation
from jettison.solvers.multi_model.exact.training_round import TrainingRound


@dataclass(slots=True)
class RoundLabel:
    """The state of a round between two operations.

    Attributes
    ----------
    forwards, backwards
        How many operators have been issued.
    idle, hosted
        Feature maps in memory (or on their way there), and with a copy on the host.
    started_ns, computed_ns, offloaded_ns, prefetched_ns
        The last start that took memory, and the ends of the queues.
    ready_ns, busy_ns, hosted_ns
        For each feature map, when it can be read, when it is no longer read, and when its copy is
        complete; 0 where it does not matter.
    stored_bytes
        Memory in use at `started_ns`.
    returns
        Memory that returns later, as (when, bytes), by time.
    forward_bytes, backward_bytes
        Memory of the passes.
    least_ns
        Lower bound on the end of the round.
    before, operations
        The preceding label, and the operations issued since.
    is_replaced
        Whether another label serves in place of it.
    """

    forwards: int
    backwards: int
    idle: int
    hosted: int
    started_ns: int
    computed_ns: int
    offloaded_ns: int
    prefetched_ns: int
    ready_ns: list[int]
    busy_ns: list[int]
    hosted_ns: list[int]
    stored_bytes: int
    returns: list[tuple[int, int]]
    forward_bytes: int
    backward_bytes: int
    least_ns: int
    before: RoundLabel | None
    operations: tuple[MultiModelOperation, ...]
    is_replaced: bool = False

    @classmethod
    def at_the_start(cls, problem: TrainingRound, idle: int, hosted: int) -> RoundLabel:
        """Return the label of a round that finds these feature maps."""
        zeros = [0] * len(problem.tensors)
        stored_bytes = problem.static_bytes + problem.carried_bytes + problem.size_bytes(idle)
        return cls(
            0, 0, idle, hosted, 0, 0, 0, 0, zeros, zeros, zeros, stored_bytes, [], 0,
            problem.carried_bytes, 0, None, (),
        )  # fmt: skip

    @property
    def key(self) -> tuple[int, int, int, int]:
        """The contents: operators issued, and feature maps in memory and on the host."""
        return self.forwards, self.backwards, self.idle, self.hosted

    @property
    def end_ns(self) -> int:
        """The end of everything that has been issued."""
        return max(self.started_ns, self.computed_ns, self.offloaded_ns, self.prefetched_ns)

    def serves_for(self, other: RoundLabel) -> bool:
        """Tell whether this label serves in place of another one with the same contents."""
        if (
            self.started_ns > other.started_ns
            or self.computed_ns > other.computed_ns
            or self.offloaded_ns > other.offloaded_ns
            or self.prefetched_ns > other.prefetched_ns
        ):
            return False
        for mine, its in (
            (self.ready_ns, other.ready_ns),
            (self.busy_ns, other.busy_ns),
            (self.hosted_ns, other.hosted_ns),
        ):
            if mine != its and any(a > b for a, b in zip(mine, its, strict=True)):
                return False
        return self._never_has_more(other)

    def _never_has_more(self, other: RoundLabel) -> bool:
        mine_bytes, its_bytes = self.stored_bytes, other.stored_bytes
        if not self.returns and not other.returns:
            return mine_bytes <= its_bytes
        mine, its = self.returns, other.returns
        i = 0
        while i < len(mine) and mine[i][0] <= other.started_ns:
            mine_bytes -= mine[i][1]
            i += 1
        if mine_bytes > its_bytes:
            return False
        for when_ns, returned_bytes in its:
            while i < len(mine) and mine[i][0] <= when_ns:
                mine_bytes -= mine[i][1]
                i += 1
            its_bytes -= returned_bytes
            if mine_bytes > its_bytes:
                return False
        return True

    def successor(self, operation: MultiModelOperation) -> RoundLabel:
        """Return a copy of this label as its successor, to be changed."""
        return RoundLabel(
            self.forwards, self.backwards, self.idle, self.hosted, self.started_ns,
            self.computed_ns, self.offloaded_ns, self.prefetched_ns, self.ready_ns.copy(),
            self.busy_ns.copy(), self.hosted_ns.copy(), self.stored_bytes, self.returns.copy(),
            self.forward_bytes, self.backward_bytes, 0, self, (operation,),
        )  # fmt: skip

    def take(self, earliest_ns: int, size_bytes: int, limit_bytes: int) -> bool:
        """Start a taker of memory as soon as there is enough; tell whether there ever is."""
        now_ns = max(earliest_ns, self.started_ns)
        returns, done = self.returns, 0
        stored_bytes = self.stored_bytes
        while done < len(returns) and (
            returns[done][0] <= now_ns
            or (size_bytes > 0 and stored_bytes + size_bytes > limit_bytes)
        ):
            now_ns = max(now_ns, returns[done][0])
            stored_bytes -= returns[done][1]
            done += 1
        del returns[:done]
        self.stored_bytes = stored_bytes + size_bytes
        self.started_ns = now_ns
        return size_bytes <= 0 or self.stored_bytes <= limit_bytes

    def give_back(self, when_ns: int, size_bytes: int) -> None:
        """Return memory at some time from the last start on."""
        if when_ns <= self.started_ns:
            self.stored_bytes -= size_bytes
        elif size_bytes:
            insort(self.returns, (when_ns, size_bytes))

    def raise_times(self) -> None:
        """Raise all times to the last start, and clear those that do not matter."""
        now_ns = self.started_ns
        self.computed_ns = max(self.computed_ns, now_ns)
        self.offloaded_ns = max(self.offloaded_ns, now_ns)
        self.prefetched_ns = max(self.prefetched_ns, now_ns)
        for number in range(len(self.ready_ns)):
            if self.idle >> number & 1:
                self.ready_ns[number] = max(self.ready_ns[number], now_ns)
                self.busy_ns[number] = max(self.busy_ns[number], now_ns)
            else:
                self.ready_ns[number] = self.busy_ns[number] = 0
            if self.hosted >> number & 1:
                self.hosted_ns[number] = max(self.hosted_ns[number], now_ns)


def path_to(label: RoundLabel) -> tuple[MultiModelOperation, ...]:
    """Return all operations issued up to a label, in their order."""
    parts = []
    at: RoundLabel | None = label
    while at is not None:
        parts.append(at.operations)
        at = at.before
    return tuple(operation for part in reversed(parts) for operation in part)
