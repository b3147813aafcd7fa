r"""Replay of an offload schedule with fluid transfers: memory changes byte by byte.

POFO's model, for sequences of two phases: tensors are offloaded and dropped before the first
backward, and brought back after the last first forward. All offloads end before the second phase
starts, and no prefetch starts before it does. What is dropped without a copy is gone at once.

In the first phase transfers run one after the other, each as early as possible, and a computation
waits while memory is short. Memory is checked when a computation starts: while it runs, what is on
its way only shrinks. A tensor counts in full until it is dropped, and then with the bytes that have
not left. The second phase is the same in reversed time: a tensor counts in full from the place of
its prefetch on, before that with the bytes that have arrived, and memory is checked when a
computation ends. Prefetches run as late as possible, so that no other timing of the same sequence
is shorter.

All of it in integers: with :math:`\beta = n/d` bytes per nanosecond in lowest terms, time is
counted in ticks of :math:`1/n` nanosecond and size in :math:`1/d` byte, so that the link moves one
unit per tick. Times are rounded up to nanoseconds at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from jettison.instances.core.link import Link
from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.findings import Findings
from jettison.schedules.core.replay import Replay, Rule, Step, Transfer
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_chain.contents import ChainContents, Effect, Tensor
from jettison.schedules.remat_chain.schedule import ChainOperation, ChainOperationKind
from jettison.schedules.remat_offload.transfer_operation import (
    TransferOperation,
    drops_without_copy,
)

Operations = Sequence[ChainOperation | TransferOperation]


def has_two_phases(operations: Operations) -> bool:
    """Tell whether a sequence has two phases: all offloads, then all prefetches, once each.

    What has no copy may be dropped in either phase. A prefetch behind the last computation, in
    whose memory it would count, belongs to neither.
    """
    second = second_phase(operations)
    free = drops_without_copy(operations)
    moves = [
        (position >= second, item)
        for position, item in enumerate(operations)
        if isinstance(item, TransferOperation) and position not in free
    ]
    offloads = [item.tensor for late, item in moves if item.kind.is_offload and not late]
    drops = [item.tensor for late, item in moves if item.kind.is_drop and not late]
    prefetches = [item.tensor for late, item in moves if item.kind.is_prefetch and late]
    return (
        len(offloads) == len(drops) == len(prefetches) == len(set(offloads))
        and set(offloads) == set(drops) == set(prefetches)
        and len(moves) == 3 * len(offloads)
        and not (operations and isinstance(operations[-1], TransferOperation))
    )


def second_phase(operations: Operations) -> int:
    """Return the position of the first backward or prefetch, where the second phase starts."""
    for position, item in enumerate(operations):
        if isinstance(item, TransferOperation):
            if item.kind.is_prefetch:
                return position
        elif item.kind is ChainOperationKind.BACKWARD:
            return position
    return len(operations)


@dataclass(slots=True)
class _Shipment:
    """Tensor on the link, in ticks and units; while it is pinned it counts in full."""

    operation: str
    size: int
    start: int
    end: int
    is_pinned: bool


@dataclass(slots=True)
class _Phase:
    """Phase of a sequence: its computations and transfers, on a time axis of its own."""

    clock: int = 0
    shipments: list[_Shipment] = field(default_factory=list)

    @property
    def end(self) -> int:
        """Time at which both queues are empty."""
        return max(self.clock, self.shipments[-1].end if self.shipments else 0)

    def ship(self, operation: str, size: int, ready: int, *, pinned: bool) -> _Shipment:
        free = self.shipments[-1].end if self.shipments else 0
        start = max(free, ready)
        self.shipments.append(_Shipment(operation, size, start, start + size, pinned))
        return self.shipments[-1]

    def on_the_way(self, tick: int) -> int:
        """Return the memory of the tensors on the link that are not pinned."""
        return sum(item.end - max(tick, item.start) for item in self._open(tick))

    def wait_for(self, room: int) -> None:
        """Advance time until the tensors on the link take at most `room`, or none is left."""
        excess = self.on_the_way(self.clock) - max(room, 0)
        for item in self._open(self.clock):
            if excess <= 0:
                break
            start = max(self.clock, item.start)
            gone = min(excess, item.end - start)
            excess -= gone
            self.clock = start + gone

    def _open(self, tick: int) -> list[_Shipment]:
        return [item for item in self.shipments if item.end > tick and not item.is_pinned]


@dataclass(slots=True)
class _Computation:
    """Computation with the memory in use around it, in units, tensors on the link excluded.

    `returned` is the part of `before` that prefetches right before it have brought back.
    """

    position: int
    operation: ChainOperation
    effect: Effect
    before: int
    taken: int
    after: int
    returned: int = 0
    start: int = 0
    on_the_way: int = 0


class FluidReplay:
    """Replay of a sequence of two phases with fluid transfers; it goes on after a violation.

    Parameters
    ----------
    chain
        The instance.
    link
        The link to the host.
    memory_bytes
        The limit; None to measure only.
    """

    def __init__(self, chain: Chain, link: Link, memory_bytes: int | None) -> None:
        self._chain = chain
        self._ticks_per_ns, self._units_per_byte = link.bytes_per_ns.as_integer_ratio()
        self._limit_bytes = memory_bytes
        self._findings = Findings()
        self._contents = ChainContents(chain, self._findings.broken)
        self._ready: dict[Tensor, int] = {}
        self._peak = self._units(chain.input_bytes)
        if memory_bytes is not None and chain.input_bytes > memory_bytes:
            self._findings.broken_at_start("the input", chain.input_bytes - memory_bytes)

    def run(self, operations: Operations) -> Replay:
        """Execute a sequence for which `has_two_phases` holds."""
        second = second_phase(operations)
        forward, first = self._run_first(operations[:second])
        backward, last = self._run_second(operations, second)
        for number in range(self._contents.gradient, 0, -1):
            self._findings.broken_at_end(Rule.UNFINISHED, f"B {number} is missing")
        end = forward.end + backward.end
        for item in last:
            # The second phase was run from its end.
            item.start = end - item.start - self._duration(item)
        return Replay(
            steps=tuple(self._steps([*first, *last])),
            peak_bytes=self._bytes(self._peak),
            limit_bytes=self._limit_bytes,
            violations=self._findings.violations,
            schedule_class=ScheduleClass.POFO
            if self._contents.is_persistent and not self._runs_loss(last)
            else ScheduleClass.ALL,
            transfers=(
                *(self._transfer(item, item.start, item.end, True) for item in forward.shipments),
                *(
                    self._transfer(item, end - item.end, end - item.start, False)
                    for item in reversed(backward.shipments)
                ),
            ),
        )

    def _run_first(self, operations: Operations) -> tuple[_Phase, list[_Computation]]:
        phase = _Phase()
        done: list[_Computation] = []
        shipped: dict[Tensor, _Shipment] = {}
        stored = self._units(self._chain.input_bytes)
        for position, operation in enumerate(operations):
            self._findings.at(position, str(operation))
            if isinstance(operation, ChainOperation):
                item = self._prepare(position, operation, stored)
                if item is not None:
                    self._place(phase, item)
                    for tensor in item.effect.adds:
                        self._ready[tensor] = phase.clock
                    stored = item.after
                    done.append(item)
                continue
            tensor = operation.tensor
            if not self._is_known(operation) or tensor not in self._contents.tensors:
                self._findings.broken(Rule.NOT_IN_MEMORY, str(tensor))
                continue
            if operation.kind.is_offload:
                size = self._units(tensor.size_bytes(self._chain))
                ready = self._ready.get(tensor, 0)
                shipped[tensor] = phase.ship(str(operation), size, ready, pinned=True)
            elif tensor not in shipped:
                self._contents.give_up(tensor)
                stored -= self._units(tensor.size_bytes(self._chain))
            else:
                shipped[tensor].is_pinned = False
                self._contents.send_away(tensor)
                stored -= shipped[tensor].size
        self._stored = stored
        return phase, done

    def _run_second(self, operations: Operations, second: int) -> tuple[_Phase, list[_Computation]]:
        items: list[_Computation | TransferOperation] = []
        stored = self._stored
        returned = 0
        for position, operation in enumerate(operations[second:], start=second):
            self._findings.at(position, str(operation))
            if isinstance(operation, ChainOperation):
                item = self._prepare(position, operation, stored)
                if item is not None:
                    item.returned, returned = returned, 0
                    stored = item.after
                    items.append(item)
                continue
            tensor = operation.tensor
            is_there = tensor in self._contents.tensors
            if not self._is_known(operation) or is_there is operation.kind.is_prefetch:
                rule = Rule.IN_MEMORY_ALREADY if is_there else Rule.NOT_IN_MEMORY
                self._findings.broken(rule, str(tensor))
                continue
            size = self._units(tensor.size_bytes(self._chain))
            if operation.kind.is_drop:
                self._contents.give_up(tensor)
                stored -= size
                continue
            self._contents.bring_back(tensor)
            stored, returned = stored + size, returned + size
            items.append(operation)
        phase = _Phase()
        done: list[_Computation] = []
        for entry in reversed(items):
            if isinstance(entry, TransferOperation):
                size = self._units(entry.tensor.size_bytes(self._chain))
                phase.ship(str(entry), size, phase.clock, pinned=False)
            else:
                self._findings.at(entry.position, str(entry.operation))
                self._place(phase, entry)
                done.append(entry)
        return phase, done[::-1]

    def _runs_loss(self, items: Sequence[_Computation]) -> bool:
        """Tell whether the forward of the loss is among some computations."""
        loss = len(self._chain)
        return any(
            item.operation.stage == loss and item.operation.kind is not ChainOperationKind.BACKWARD
            for item in items
        )

    def _is_known(self, operation: ChainOperation | TransferOperation) -> bool:
        least = 1 if isinstance(operation, ChainOperation) else operation.least_stage
        if least <= operation.stage <= len(self._chain):
            return True
        self._findings.broken(Rule.UNKNOWN_OPERATION, f"stage {operation.stage}")
        return False

    def _prepare(
        self, position: int, operation: ChainOperation, stored: int
    ) -> _Computation | None:
        """Apply a computation to the contents of memory; its time is decided later."""
        if not self._is_known(operation):
            return None
        effect = operation.apply_to(self._contents)
        change = self._units(effect.change_bytes(self._chain))
        taken = max(self._units(effect.extra_bytes), change)
        return _Computation(position, operation, effect, stored, taken, stored + change)

    def _place(self, phase: _Phase, item: _Computation) -> None:
        """Run a computation next in its phase, as soon as its memory is free."""
        if self._limit_bytes is not None:
            # A computation that adds nothing breaks no limit, but its memory has to be free all the
            # same: tensors on the link may take it while it runs. A prefetch adds its tensor, which
            # counts in full with the computation behind it.
            room = self._units(self._limit_bytes) - item.before - item.taken
            phase.wait_for(room)
            if room < 0 and item.taken + item.returned:
                self._findings.broken(
                    Rule.OUT_OF_MEMORY,
                    str(item.effect.output),
                    self._bytes(-room),
                )
        item.start = phase.clock
        item.on_the_way = phase.on_the_way(phase.clock)
        self._peak = max(self._peak, item.before + item.taken + item.on_the_way)
        phase.clock += self._duration(item)

    def _steps(self, items: Sequence[_Computation]) -> Iterator[Step]:
        seen: set[str | None] = set()
        for item in items:
            computation = item.operation.computation
            yield Step(
                operation=str(item.operation),
                start_ns=self._ns(item.start),
                end_ns=self._ns(item.start + self._duration(item)),
                during_bytes=self._bytes(item.before + item.taken + item.on_the_way),
                after_bytes=self._bytes(item.after + item.on_the_way),
                repeated=computation in seen,
            )
            seen.add(computation)

    def _transfer(self, item: _Shipment, start: int, end: int, to_host: bool) -> Transfer:
        return Transfer(
            item.operation, self._ns(start), self._ns(end), self._bytes(item.size), to_host
        )

    def _duration(self, item: _Computation) -> int:
        return item.effect.duration_ns * self._ticks_per_ns

    def _units(self, size_bytes: int) -> int:
        return size_bytes * self._units_per_byte

    def _bytes(self, units: int) -> int:
        return -(-units // self._units_per_byte)

    def _ns(self, ticks: int) -> int:
        return -(-ticks // self._ticks_per_ns)
