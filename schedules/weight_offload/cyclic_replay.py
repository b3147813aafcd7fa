"""Replay of a cyclic schedule, in which weights leave memory and come back."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace

from jettison.instances.core.link import Link
from jettison.instances.weight_offload.cycle import CycleOperation, WeightCycle
from jettison.schedules.core.findings import Findings
from jettison.schedules.core.replay import Replay, Rule, Step, Transfer
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.core.shared_link import SharedLink
from jettison.schedules.weight_offload.cyclic_event import CyclicEvent, CyclicEventKind

# One to warm up; what starts in the second is shown, and the third ends what that leaves under way.
_PERIODS = 3
_SHOWN = 1

_PROCESSOR, _TO_HOST, _FROM_HOST = "the processor", "the link to the host", "the link from the host"


@dataclass(slots=True)
class _Weights:
    """State of the weights of one layer: where they are, and which version.

    Attributes
    ----------
    resident
        Whether they occupy memory, on their way from the host included.
    arriving
        Whether they are on their way from the host.
    running
        The operation that uses them now.
    version
        How often a backward has changed them.
    uploading_version, hosted_version
        The version on its way to the host, and the newest of which the host has all; None if none.
    """

    resident: bool
    arriving: bool = False
    running: CycleOperation | None = None
    version: int = 0
    uploading_version: int | None = None
    hosted_version: int | None = None

    @property
    def is_ready(self) -> bool:
        return self.resident and not self.arriving

    @property
    def state(self) -> tuple[object, ...]:
        """The part of the state that has to be the same at the end of every period."""
        return (
            self.resident,
            self.arriving,
            self.running,
            self.uploading_version is not None,
            self.hosted_version == self.version,
        )


class CyclicReplay:
    r"""Replay of three periods of a cyclic schedule in exact integers.

    The first period is a warm-up: it starts with those weights in memory that it deletes before it
    prefetches them, or never deletes. The other two are judged. If a period ends in the state in
    which it began, all later ones repeat it. The rules:

    - computations run one after the other, in the order :math:`B_L, \dots, B_1, F_1, \dots, F_L`,
      each once per period and while all weights of its layer are in memory;
    - each direction of the link carries one transfer at a time; :math:`x` bytes take
      :math:`\lceil x / \beta \rceil` nanoseconds, or longer where both directions share the link
      (`SharedLink`);
    - weights are uploaded while they are in memory and their backward does not run;
    - weights are deleted when the host has their newest version, and nothing uses or moves them;
    - weights occupy memory from the start of their prefetch to their deletion; what operations need
      on top, running and between them, is that of `WeightCycle`; the sum never exceeds the limit.

    A broken rule is recorded, and the replay goes on as if it were kept.

    Parameters
    ----------
    cycle
        The operations of the instance.
    link
        The link to the host.
    memory_bytes
        The limit; None to measure only.
    """

    def __init__(self, cycle: WeightCycle, link: Link, memory_bytes: int | None) -> None:
        self._cycle = cycle
        self._transfers_ns = [link.transfer_ns(size) for size in cycle.weight_bytes]
        # Where one direction slows down the other: the transfer of each, with the period of its
        # start and its place in the record.
        self._shared = SharedLink(link) if link.is_shared else None
        self._on_link: dict[bool, tuple[CyclicEvent, int, int | None]] = {}
        self._limit_bytes = memory_bytes
        self._findings = Findings()
        self._known: set[tuple[Rule, int, str]] = set()
        self._weights: list[_Weights] = []
        self._weight_bytes = 0
        self._other_bytes = cycle.operations[-1].resting_bytes
        self._next_operation = 0
        self._done: set[CycleOperation] = set()
        # Events under way, as (end, order of start, event, period of its start).
        self._under_way: list[tuple[int, int, CyclicEvent, int]] = []
        self._started = 0
        self._free_ns = {_PROCESSOR: 0, _TO_HOST: 0, _FROM_HOST: 0}
        self._period_ns = 0
        self._period = 0
        self._position = 0
        self._now_ns = 0
        self._step_peak_bytes = 0
        self._peak_bytes = 0
        self._steps: list[Step] = []
        self._transfers: list[Transfer] = []
        self._profile: list[tuple[int, int]] = []

    def run(self, period_ns: int, events: Sequence[CyclicEvent]) -> Replay:
        """Execute the events of a period, which are sorted by start time."""
        self._period_ns = period_ns
        self._set_the_scene(events)
        texts = [str(event) for event in events]
        layers = range(1, self._cycle.num_layers + 1)
        for self._period in range(_PERIODS):
            before = [item.state for item in self._weights]
            self._next_operation = 0
            self._now_ns = self._period * period_ns
            self._note_memory()
            for self._position, event in enumerate(events):
                self._end_what_lasts_until(self._period * period_ns + event.start_ns)
                self._findings.at(self._position, texts[self._position])
                if event.layer in layers:
                    self._start(event)
                else:
                    self._broken(Rule.UNKNOWN_OPERATION, f"layer {event.layer}")
            self._end_what_lasts_until((self._period + 1) * period_ns)
            self._expect_the_same(before)
        for operation in self._cycle:
            if operation not in self._done:
                self._findings.broken_at_end(Rule.UNFINISHED, f"{operation} is missing")
        return Replay(
            steps=tuple(self._steps),
            peak_bytes=self._peak_bytes,
            limit_bytes=self._limit_bytes,
            violations=self._findings.violations,
            schedule_class=ScheduleClass.ALL,
            transfers=tuple(self._transfers),
            period_ns=period_ns,
            memory_profile=tuple(self._profile),
        )

    def _set_the_scene(self, events: Sequence[CyclicEvent]) -> None:
        resident = dict.fromkeys(range(1, self._cycle.num_layers + 1), True)
        for event in reversed(events):
            if event.kind in {CyclicEventKind.PREFETCH, CyclicEventKind.DELETE}:
                resident[event.layer] = event.kind is CyclicEventKind.DELETE
        for layer, size_bytes in enumerate(self._cycle.weight_bytes, start=1):
            self._weights.append(_Weights(resident[layer]))
            self._weight_bytes += size_bytes if resident[layer] else 0

    def _expect_the_same(self, before: Sequence[tuple[object, ...]]) -> None:
        for layer, (weights, state) in enumerate(zip(self._weights, before, strict=True), start=1):
            place = (Rule.NOT_PERIODIC, layer, "")
            if self._period >= _SHOWN and weights.state != state and place not in self._known:
                self._known.add(place)
                self._findings.broken_at_end(Rule.NOT_PERIODIC, _name(layer))

    def _start(self, event: CyclicEvent) -> None:
        weights = self._weights[event.layer - 1]
        if event.kind.is_computation:
            duration_ns = self._compute(event, weights)
        elif event.kind.is_transfer:
            duration_ns = self._transfer(event, weights)
            if self._put_on_shared_link(event, duration_ns):
                return
        else:
            self._delete(event, weights)
            return
        if duration_ns == 0:
            self._end(event, self._period)
            return
        self._started += 1
        end_ns = self._now_ns + duration_ns
        heapq.heappush(self._under_way, (end_ns, self._started, event, self._period))

    def _end_what_lasts_until(self, now_ns: int) -> None:
        while True:
            next_ns = self._under_way[0][0] if self._under_way else now_ns + 1
            upcoming = None if self._shared is None else self._shared.next_end()
            if upcoming is not None and upcoming[0] <= min(next_ns, now_ns):
                self._now_ns, to_host = upcoming
                self._end_shared(to_host)
            elif next_ns <= now_ns:
                self._now_ns, _, event, period = heapq.heappop(self._under_way)
                self._end(event, period)
            else:
                break
        self._now_ns = now_ns

    def _put_on_shared_link(self, event: CyclicEvent, alone_ns: int) -> bool:
        """Start a transfer on the link that both directions share, if there is one and it is free.

        One that breaks the rule that it is takes as long as alone, and slows down nothing.
        """
        to_host = event.kind is CyclicEventKind.UPLOAD
        if self._shared is None or not alone_ns or not self._shared.is_free(to_host):
            return False
        self._shared.start(to_host, self._cycle.weight_bytes[event.layer - 1], self._now_ns)
        place = len(self._transfers) - 1 if self._period == _SHOWN else None
        self._on_link[to_host] = event, self._period, place
        return True

    def _end_shared(self, to_host: bool) -> None:
        """End the transfer of a direction of the shared link now."""
        assert self._shared is not None
        self._shared.end(to_host, self._now_ns)
        event, period, place = self._on_link.pop(to_host)
        if place is not None:
            end_ns = self._now_ns - _SHOWN * self._period_ns
            self._transfers[place] = replace(self._transfers[place], end_ns=end_ns)
        self._end(event, period)

    def _operation(self, event: CyclicEvent) -> tuple[int, CycleOperation]:
        if event.kind is CyclicEventKind.BACKWARD:
            place = self._cycle.backward_index(event.layer)
        else:
            place = self._cycle.forward_index(event.layer)
        return place, self._cycle.operations[place]

    def _compute(self, event: CyclicEvent, weights: _Weights) -> int:
        place, operation = self._operation(event)
        if place != self._next_operation:
            self._broken(Rule.OUT_OF_ORDER, f"expected {self._expected}")
        self._next_operation = place + 1
        self._occupy(_PROCESSOR, operation.duration_ns)
        if not weights.is_ready:
            self._broken(Rule.NOT_IN_MEMORY, _name(event.layer))
        if operation.is_backward:
            if weights.uploading_version is not None:
                self._broken(Rule.IN_USE, _name(event.layer))
            weights.version += 1
        weights.running = operation
        self._other_bytes = operation.working_bytes
        self._step_peak_bytes = 0
        self._note_memory()
        self._expect_room(operation)
        return operation.duration_ns

    @property
    def _expected(self) -> str:
        if self._next_operation == len(self._cycle):
            return "the end of the period"
        return str(self._cycle.operations[self._next_operation])

    def _transfer(self, event: CyclicEvent, weights: _Weights) -> int:
        size_bytes = self._cycle.weight_bytes[event.layer - 1]
        duration_ns = self._transfers_ns[event.layer - 1]
        to_host = event.kind is CyclicEventKind.UPLOAD
        lane = _TO_HOST if to_host else _FROM_HOST
        self._occupy(lane, duration_ns)
        if to_host in self._on_link:
            self._broken(Rule.BUSY, lane)
        if to_host:
            if not weights.is_ready:
                self._broken(Rule.NOT_IN_MEMORY, _name(event.layer))
            if weights.running is not None and weights.running.is_backward:
                self._broken(Rule.IN_USE, _name(event.layer))
            weights.uploading_version = weights.version
        elif weights.resident:
            self._broken(Rule.IN_MEMORY_ALREADY, _name(event.layer))
        else:
            weights.resident = weights.arriving = True
            self._weight_bytes += size_bytes
            self._note_memory()
            self._expect_room(event.layer)
        if self._period == _SHOWN:
            end_ns = event.start_ns + duration_ns
            self._transfers.append(
                Transfer(str(event), event.start_ns, end_ns, size_bytes, to_host)
            )
        return duration_ns

    def _delete(self, event: CyclicEvent, weights: _Weights) -> None:
        if not weights.resident:
            self._broken(Rule.NOT_IN_MEMORY, _name(event.layer))
            return
        is_moving = weights.arriving or weights.uploading_version is not None
        if is_moving or weights.running is not None:
            self._broken(Rule.IN_USE, _name(event.layer))
        if weights.hosted_version != weights.version:
            self._broken(Rule.NO_COPY, _name(event.layer))
        weights.resident = False
        self._weight_bytes -= self._cycle.weight_bytes[event.layer - 1]
        self._note_memory()

    def _end(self, event: CyclicEvent, period: int) -> None:
        weights = self._weights[event.layer - 1]
        if event.kind is CyclicEventKind.PREFETCH:
            weights.arriving = False
        elif event.kind is CyclicEventKind.UPLOAD:
            weights.hosted_version = weights.uploading_version
            weights.uploading_version = None
        else:
            _, operation = self._operation(event)
            if weights.running is operation:
                weights.running = None
            self._other_bytes = operation.resting_bytes
            self._done.add(operation)
            if period == _SHOWN:
                self._steps.append(
                    Step(
                        operation=str(operation),
                        start_ns=event.start_ns,
                        end_ns=event.start_ns + operation.duration_ns,
                        during_bytes=self._step_peak_bytes,
                        after_bytes=self._stored_bytes,
                        repeated=False,
                    )
                )
            self._note_memory()

    @property
    def _stored_bytes(self) -> int:
        return self._weight_bytes + self._other_bytes

    def _note_memory(self) -> None:
        stored_bytes = self._stored_bytes
        self._step_peak_bytes = max(self._step_peak_bytes, stored_bytes)
        if self._period >= _SHOWN:
            self._peak_bytes = max(self._peak_bytes, stored_bytes)
        if self._period == _SHOWN:
            when_ns = self._now_ns - self._period * self._period_ns
            if self._profile and self._profile[-1][0] == when_ns:
                self._profile.pop()
            self._profile.append((when_ns, stored_bytes))

    def _expect_room(self, needed_by: CycleOperation | int) -> None:
        """Note what an operation, or the weights of a layer, take above the limit."""
        if self._limit_bytes is not None and self._stored_bytes > self._limit_bytes:
            tensor = _name(needed_by) if isinstance(needed_by, int) else str(needed_by)
            self._broken(Rule.OUT_OF_MEMORY, tensor, self._stored_bytes - self._limit_bytes)

    def _occupy(self, resource: str, duration_ns: int) -> None:
        if self._free_ns[resource] > self._now_ns:
            self._broken(Rule.BUSY, resource)
        self._free_ns[resource] = max(self._free_ns[resource], self._now_ns + duration_ns)

    def _broken(self, rule: Rule, tensor: str, bytes_over: int = 0) -> None:
        place = (rule, self._position, tensor)
        if self._period >= _SHOWN and place not in self._known:
            self._known.add(place)
            self._findings.broken(rule, tensor, bytes_over)


def _name(layer: int) -> str:
    return f"w^{layer}"
