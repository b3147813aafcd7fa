"""The least time of a unit of µ-TWO by trying every operation list, on tiny instances.

Each list is issued one operation after another, in all orders: transfers and recomputations may
come anywhere. What keeps the number of lists finite is that a feature map comes back only so many
times in a round, and that a list is given up once it cannot end before the best one. Memory is a
list of changes, looked at from the start of the round for each operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.instances.multi_model.sub_array import IdleTensor, SubArray

Tensor = tuple[int, int]
State = tuple[frozenset[Tensor], frozenset[Tensor]]


def least_unit_ns(
    problem: MultiModelTraining,
    sizes: tuple[int, ...],
    best: float = math.inf,
    *,
    most_arrivals: int = 2,
) -> float:
    """Return the least time of a unit, or `best` if there is no faster schedule."""
    arrays = [problem.sub_array(size) for size in sizes]
    if len(arrays) == 1:
        alone = _Round(problem, arrays, 0, 0, most_arrivals, lambda: best)
        for _, ended_ns in alone.ends((frozenset(), frozenset())):
            best = ended_ns
        return best
    used_ns = sum(work.run_ns for work in arrays[1].backward + arrays[0].forward)
    first = _Round(problem, arrays, 0, 1, most_arrivals, lambda: best - used_ns)
    second = _Round(problem, arrays, 1, 0, most_arrivals, lambda: best - used_ns)
    names = [(0, place) for place in range(len(arrays[0].tensors))]
    shortest_ns = used_ns
    for there in _subsets(names):
        for host in _subsets(names):
            # The least time to each state between the rounds.
            between: dict[State, int] = {}
            used_ns = shortest_ns
            for state, ended_ns in first.ends((there, host)):
                between[state] = min(ended_ns, between.get(state, ended_ns))
            for state, used_ns in between.items():
                for end, ended_ns in second.ends(state):
                    if end == (there, host):
                        best = min(best, used_ns + ended_ns)
    return best


def _subsets(names: list[Tensor]) -> Iterator[frozenset[Tensor]]:
    for count in range(len(names), -1, -1):
        yield from map(frozenset, combinations(names, count))


@dataclass(frozen=True)
class _Listed:
    """State after a list of operations; memory is every change so far, as (when, bytes)."""

    there: frozenset[Tensor]
    host: frozenset[Tensor]
    ready: Mapping[Tensor, int]
    read: Mapping[Tensor, int]
    copied: Mapping[Tensor, int]
    changes: tuple[tuple[int, int], ...]
    fore: int = 0
    back: int = 0
    last_start: int = 0
    computed: int = 0
    sent: int = 0
    fetched: int = 0
    arrivals: tuple[Tensor, ...] = ()

    @property
    def end(self) -> int:
        return max(self.last_start, self.computed, self.sent, self.fetched)


class _Round:
    """All lists of one round."""

    def __init__(
        self,
        problem: MultiModelTraining,
        arrays: list[SubArray],
        back: int,
        fore: int,
        most_arrivals: int,
        limit: Callable[[], float],
    ) -> None:
        self.arrays, self.back, self.fore, self.limit = arrays, back, fore, limit
        self.most_arrivals = most_arrivals
        self.forward, self.backward = arrays[fore].forward, arrays[back].backward
        self.room = problem.memory_bytes - sum(array.static_bytes for array in arrays)
        self.copy_ns = {
            (number, place): duration
            for number, array in enumerate(arrays)
            for place, duration in enumerate(problem.swap_ns(array))
        }

    def tensor(self, name: Tensor) -> IdleTensor:
        return self.arrays[name[0]].tensors[name[1]]

    def ends(self, start: State) -> Iterator[tuple[State, int]]:
        held = sum(self.tensor(name).size_bytes for name in start[0])
        if self.back != self.fore:
            held += self.arrays[self.back].forward[-1].active_bytes
        if held > self.room:
            return
        times = dict.fromkeys(self.copy_ns, 0)
        first = _Listed(
            there=start[0],
            host=start[1],
            ready=times,
            read=times,
            copied=times,
            changes=((0, held),),
        )
        yield from self.go_on(first)

    def go_on(self, at: _Listed) -> Iterator[tuple[State, int]]:
        left = self.forward[at.fore :] + self.backward[at.back :]
        least = max(at.end, max(at.computed, at.last_start) + sum(work.run_ns for work in left))
        if least >= self.limit():
            return
        if not left and all(name[0] != self.back for name in at.there):
            new = frozenset(name for name in at.host if name[0] != self.back)
            yield (at.there, new), at.end
        for after in self.next(at):
            if after is not None:
                yield from self.go_on(after)

    def next(self, at: _Listed) -> Iterator[_Listed | None]:
        if at.fore < len(self.forward):
            yield self.run_forward(at)
        alone = self.back == self.fore
        if at.back < len(self.backward) and (not alone or at.fore == len(self.forward)):
            yield self.run_backward(at)
        for name in self.copy_ns:
            if name in at.there:
                yield self.discard(at, name)
                yield self.offload(at, name)
            elif self.is_idle(at, name) and at.arrivals.count(name) < self.most_arrivals:
                if name in at.host:
                    yield self.prefetch(at, name)
                yield self.recompute(at, name)

    def in_use(self, at: _Listed, name: Tensor) -> bool:
        tensor = self.tensor(name)
        first, last = tensor.first_backward, tensor.last_backward
        return name[0] == self.back and first < at.back <= last

    def is_idle(self, at: _Listed, name: Tensor) -> bool:
        if name[0] == self.fore and at.fore <= self.tensor(name).last_forward:
            return False
        return not self.in_use(at, name)

    def when_free(self, at: _Listed, earliest: int, size: int) -> int | None:
        """Return the first moment from `earliest` on at which there is so much memory."""
        moments = sorted({earliest, *(when for when, _ in at.changes if when > earliest)})
        for moment in moments:
            used = sum(change for when, change in at.changes if when <= moment)
            if size <= 0 or used + size <= self.room:
                return moment
        return None

    def compute(
        self, at: _Listed, reads: list[Tensor], run_ns: int, taken: int, kept: int
    ) -> _Listed | None:
        """Run something that takes memory, and keeps some of it at its end."""
        earliest = max([at.last_start, at.computed, *(at.ready[name] for name in reads)])
        start = self.when_free(at, earliest, taken)
        if start is None:
            return None
        end = start + run_ns
        changes = (*at.changes, (start, taken), (end, kept - taken))
        read = dict(at.read) | {name: max(at.read[name], end) for name in reads}
        return replace(at, last_start=start, computed=end, changes=changes, read=read)

    def run_forward(self, at: _Listed) -> _Listed | None:
        work = self.forward[at.fore]
        before = self.forward[at.fore - 1].active_bytes if at.fore else 0
        idle = [
            (self.fore, place)
            for place, tensor in enumerate(self.arrays[self.fore].tensors)
            if tensor.last_forward == at.fore
        ]
        more = sum(self.tensor(name).size_bytes for name in idle)
        kept = work.active_bytes + more - before
        after = self.compute(at, [], work.run_ns, work.peak_bytes - before, kept)
        if after is None:
            return None
        times = dict.fromkeys(idle, after.computed)
        return replace(
            after,
            fore=at.fore + 1,
            there=at.there | set(idle),
            ready=dict(at.ready) | times,
            read=dict(after.read) | times,
        )

    def run_backward(self, at: _Listed) -> _Listed | None:
        array = self.arrays[self.back]
        work = self.backward[at.back]
        before = (
            self.backward[at.back - 1].active_bytes if at.back else array.forward[-1].active_bytes
        )
        used = [
            (self.back, place)
            for place, tensor in enumerate(array.tensors)
            if tensor.first_backward == at.back
        ]
        if not at.there.issuperset(used):
            return None
        before += sum(self.tensor(name).size_bytes for name in used)
        kept = work.active_bytes - before
        after = self.compute(at, used, work.run_ns, work.peak_bytes - before, kept)
        if after is None:
            return None
        return replace(after, back=at.back + 1, there=at.there - set(used))

    def recompute(self, at: _Listed, name: Tensor) -> _Listed | None:
        tensor = self.tensor(name)
        sources = [(name[0], place) for place in tensor.sources]
        if any(source not in at.there and not self.in_use(at, source) for source in sources):
            return None
        reads = [source for source in sources if source in at.there]
        size = tensor.size_bytes
        after = self.compute(at, reads, tensor.recompute_ns, size + tensor.recompute_bytes, size)
        if after is None:
            return None
        return self.arrived(after, name, after.computed)

    def prefetch(self, at: _Listed, name: Tensor) -> _Listed | None:
        size = self.tensor(name).size_bytes
        earliest = max(at.last_start, at.fetched, at.copied[name])
        start = self.when_free(at, earliest, size)
        if start is None:
            return None
        end = start + self.copy_ns[name]
        changes = (*at.changes, (start, size))
        return self.arrived(replace(at, last_start=start, fetched=end, changes=changes), name, end)

    def arrived(self, at: _Listed, name: Tensor, when: int) -> _Listed:
        return replace(
            at,
            there=at.there | {name},
            ready=dict(at.ready) | {name: when},
            read=dict(at.read) | {name: when},
            arrivals=(*at.arrivals, name),
        )

    def offload(self, at: _Listed, name: Tensor) -> _Listed:
        start = max(at.last_start, at.sent, at.ready[name])
        end = start + self.copy_ns[name]
        gone = max(end, at.read[name])
        return replace(
            at,
            there=at.there - {name},
            host=at.host | {name},
            sent=end,
            copied=dict(at.copied) | {name: end},
            changes=(*at.changes, (gone, -self.tensor(name).size_bytes)),
        )

    def discard(self, at: _Listed, name: Tensor) -> _Listed:
        gone = max(at.last_start, at.read[name])
        return replace(
            at,
            there=at.there - {name},
            changes=(*at.changes, (gone, -self.tensor(name).size_bytes)),
        )
