"""Replay of a multi-model schedule on a link that both directions share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.schedules.core.replay import Rule, Transfer
from jettison.schedules.core.shared_lanes import Lane, LaneOperation, SharedLanes
from jettison.schedules.multi_model.operation import MultiModelOperation
from jettison.schedules.multi_model.unit_walk import UnitComputation, UnitWalk

_Users = tuple[LaneOperation, ...]


@dataclass(frozen=True, slots=True)
class _Entry:
    """Operation of the round, and what it does in time; `name` is what would be out of memory."""

    position: int
    operation: MultiModelOperation
    lane: LaneOperation
    name: str


class SharedUnitReplay(UnitWalk):
    """Replay of training units in exact integers, on a link whose directions share a total.

    The rules are those of `MultiModelReplay`, and on a link whose directions are independent so are
    the times. While an offload and a prefetch are under way, each has half of the link's total
    (`SharedLink`). All operations of a round are issued first, and then run in time.

    Parameters
    ----------
    problem
        The models, the memory of the device and the link; no copy has a time of its own.
    """

    def __init__(self, problem: MultiModelTraining) -> None:
        super().__init__(problem)
        # Operations of the round, and the last one that is started in the order of issue.
        self._entries: list[_Entry] = []
        self._started: LaneOperation | None = None
        # By sub-array and feature map, of this round: what makes or brings it, what makes or reads
        # it, and its copy on the host. What was there before the round is there when it starts.
        self._made_by: dict[tuple[int, int], LaneOperation] = {}
        self._used_by: dict[tuple[int, int], _Users] = {}
        self._hosted_by: dict[tuple[int, int], LaneOperation] = {}

    def _begin_unit(self) -> None:
        """Start with nothing, as every round does."""

    def _compute(self, item: UnitComputation) -> None:
        lane = LaneOperation(
            Lane.COMPUTE,
            duration_ns=item.run_ns,
            waits_for=self._makers(item.operation.array, *item.reads),
            takes_bytes=item.taken_bytes,
            needs_bytes=item.taken_bytes,
        )
        lane.gives.append((item.returned_bytes, (lane,)))
        for place in item.reads:
            key = item.operation.array, place
            self._used_by[key] = (*self._used_by.get(key, ()), lane)
        for place in item.makes:
            self._make(item.operation.array, place, lane)
        self._issue(item.operation, lane, item.name)

    def _offload(self, operation: MultiModelOperation) -> None:
        key = operation.array, operation.position
        lane = LaneOperation(
            Lane.TO_HOST,
            size_bytes=self._size_bytes(operation),
            waits_for=self._makers(*key),
            follows=self._started,
        )
        self._hosted_by[key] = lane
        self._issue(operation, lane, self._name(operation))
        self._release(operation, (lane, *self._used_by.get(key, ())))

    def _prefetch(self, operation: MultiModelOperation) -> None:
        key = operation.array, operation.position
        size_bytes = self._size_bytes(operation)
        lane = LaneOperation(
            Lane.FROM_HOST,
            size_bytes=size_bytes,
            waits_for=(self._hosted_by[key],) if key in self._hosted_by else (),
            takes_bytes=size_bytes,
        )
        self._make(*key, lane)
        self._issue(operation, lane, self._name(operation))

    def _discard(self, operation: MultiModelOperation) -> None:
        self._release(operation, self._used_by.get((operation.array, operation.position), ()))

    def _release(self, operation: MultiModelOperation, after: _Users) -> None:
        lane = LaneOperation(Lane.RELEASE, gives=[(self._size_bytes(operation), after)])
        self._issue(operation, lane, self._name(operation))

    def _issue(self, operation: MultiModelOperation, lane: LaneOperation, name: str) -> None:
        self._entries.append(_Entry(self._findings.position, operation, lane, name))
        if lane.lane is not Lane.TO_HOST:
            self._started = lane

    def _makers(self, array: int, *places: int) -> _Users:
        keys = [(array, place) for place in places]
        return tuple(self._made_by[key] for key in keys if key in self._made_by)

    def _make(self, array: int, place: int, lane: LaneOperation) -> None:
        self._made_by[array, place] = lane
        self._used_by[array, place] = (lane,)

    def _end_round(self) -> None:
        lanes = SharedLanes(
            self._problem.link, self._limit_bytes, self._stored_bytes, self._out_of_memory
        )
        lanes.run([entry.lane for entry in self._entries])
        self._peak_bytes = max(self._peak_bytes, lanes.peak_bytes)
        begin_ns = end_ns = self._started_ns
        for entry in self._entries:
            if entry.lane.lane is not Lane.RELEASE:
                self._record(entry, lanes, begin_ns)
                end_ns = max(end_ns, begin_ns + entry.lane.times_ns[1])
        changes = sorted(change for entry in self._entries for change in _changes(entry.lane))
        for when_ns, at_once in groupby(changes, key=itemgetter(0)):
            self._stored_bytes += sum(size_bytes for _, size_bytes in at_once)
            self._note_memory(begin_ns + when_ns)
        self._started_ns = end_ns
        self._entries = []
        self._started = None
        self._made_by, self._used_by, self._hosted_by = {}, {}, {}

    def _record(self, entry: _Entry, lanes: SharedLanes, begin_ns: int) -> None:
        lane = entry.lane
        start_ns, end_ns = (begin_ns + when_ns for when_ns in lane.times_ns)
        if lane.lane is Lane.COMPUTE:
            during_bytes = lanes.stored_bytes_at_start(lane)
            after_bytes = lanes.stored_bytes_at_end(lane)
            self._note_step(entry.operation, start_ns, end_ns, during_bytes, after_bytes)
            return
        to_host = lane.lane is Lane.TO_HOST
        self._transfers.append(
            Transfer(str(entry.operation), start_ns, end_ns, lane.size_bytes, to_host)
        )
        if not to_host:
            self._note_arrival(start_ns, lane.size_bytes, lanes.stored_bytes_at_start(lane))

    def _out_of_memory(self, at: int, excess_bytes: int) -> None:
        entry = self._entries[at]
        self._findings.at(entry.position, str(entry.operation))
        self._findings.broken(Rule.OUT_OF_MEMORY, entry.name, excess_bytes)


def _changes(lane: LaneOperation) -> Iterator[tuple[int, int]]:
    """Yield when an operation changes the memory in use, and by how much."""
    if lane.lane is Lane.TO_HOST:
        return
    assert lane.start_ns is not None
    if lane.lane is not Lane.RELEASE:
        yield lane.start_ns, lane.takes_bytes
    for size_bytes, after in lane.gives:
        if size_bytes:
            yield max([lane.start_ns, *(item.times_ns[1] for item in after)]), -size_bytes
