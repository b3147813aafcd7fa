"""Replay of an offload schedule on a link that both directions share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jettison.instances.core.link import Link
from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.findings import Findings
from jettison.schedules.core.replay import Replay, Rule, Step, Transfer
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.core.shared_lanes import Lane, LaneOperation, SharedLanes
from jettison.schedules.remat_chain.contents import ChainContents, Effect, Tensor
from jettison.schedules.remat_chain.schedule import ChainOperation
from jettison.schedules.remat_offload.pofo_rules import PofoRules
from jettison.schedules.remat_offload.transfer_operation import TransferOperation

_Users = tuple[LaneOperation, ...]


@dataclass(frozen=True, slots=True)
class _Entry:
    """Operation of the sequence, and what it does in time; `effect` is that of a computation."""

    position: int
    operation: ChainOperation | TransferOperation
    lane: LaneOperation
    tensor: Tensor
    effect: Effect | None = None

    def __str__(self) -> str:
        return str(self.operation)


class SharedLinkReplay:
    """Execution of operations on three queues, two of which share a link, in exact integers.

    The rules are those of `AtOnceReplay`, and on a link whose directions are independent so are the
    times. While an offload and a prefetch are under way, each has half of the link's total
    (`SharedLink`).

    A broken rule is recorded, and the replay goes on as if it were kept.

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
        self._link = link
        self._limit_bytes = memory_bytes
        self._findings = Findings()
        self._contents = ChainContents(chain, self._findings.broken)
        # By tensor: what makes or brings it, what makes, reads or copies it, and its first copy.
        self._made_by: dict[Tensor, LaneOperation] = {}
        self._used_by: dict[Tensor, _Users] = {}
        self._hosted_by: dict[Tensor, LaneOperation] = {}
        self._entries: list[_Entry] = []
        if memory_bytes is not None and chain.input_bytes > memory_bytes:
            self._findings.broken_at_start("the input", chain.input_bytes - memory_bytes)

    def run(self, operations: Sequence[ChainOperation | TransferOperation]) -> Replay:
        """Execute a sequence."""
        for position, operation in enumerate(operations):
            self._findings.at(position, str(operation))
            least = 1 if isinstance(operation, ChainOperation) else operation.least_stage
            if not least <= operation.stage <= len(self._chain):
                self._findings.broken(Rule.UNKNOWN_OPERATION, f"stage {operation.stage}")
            elif isinstance(operation, ChainOperation):
                self._compute(position, operation)
            elif operation.kind.is_offload:
                self._offload(position, operation)
            elif operation.kind.is_drop:
                self._drop(position, operation)
            else:
                self._prefetch(position, operation)
        for number in range(self._contents.gradient, 0, -1):
            self._findings.broken_at_end(Rule.UNFINISHED, f"B {number} is missing")
        lanes = SharedLanes(
            self._link, self._limit_bytes, self._chain.input_bytes, self._out_of_memory
        )
        lanes.run([entry.lane for entry in self._entries])
        return self._record(lanes)

    def _users(self, tensor: Tensor) -> _Users:
        return self._used_by.get(tensor, ())

    def _maker(self, tensor: Tensor) -> _Users:
        return (self._made_by[tensor],) if tensor in self._made_by else ()

    def _compute(self, position: int, operation: ChainOperation) -> None:
        effect = operation.apply_to(self._contents)
        lane = LaneOperation(
            Lane.COMPUTE,
            duration_ns=effect.duration_ns,
            waits_for=tuple(item for tensor in effect.reads for item in self._maker(tensor)),
            takes_bytes=sum(tensor.size_bytes(self._chain) for tensor in effect.adds),
            needs_bytes=effect.extra_bytes,
            late=[(tensor.size_bytes(self._chain), self._users(tensor)) for tensor in effect.drops],
        )
        for tensor in effect.reads:
            self._used_by[tensor] = (*self._users(tensor), lane)
        for tensor in effect.adds:
            self._made_by[tensor] = lane
            self._used_by[tensor] = (lane,)
        self._entries.append(_Entry(position, operation, lane, effect.output, effect))

    def _offload(self, position: int, operation: TransferOperation) -> None:
        tensor = self._expect_in_memory(operation)
        lane = LaneOperation(
            Lane.TO_HOST,
            size_bytes=tensor.size_bytes(self._chain),
            waits_for=self._maker(tensor),
        )
        self._hosted_by.setdefault(tensor, lane)
        self._used_by[tensor] = (*self._users(tensor), lane)
        self._entries.append(_Entry(position, operation, lane, tensor))

    def _drop(self, position: int, operation: TransferOperation) -> None:
        tensor = self._expect_in_memory(operation)
        if tensor not in self._contents.tensors:
            return
        users = self._users(tensor)
        if tensor in self._hosted_by:
            self._contents.send_away(tensor)
            users = (*users, self._hosted_by[tensor])
        else:
            self._contents.give_up(tensor)
        lane = LaneOperation(Lane.RELEASE, gives=[(tensor.size_bytes(self._chain), users)])
        self._entries.append(_Entry(position, operation, lane, tensor))

    def _prefetch(self, position: int, operation: TransferOperation) -> None:
        tensor = operation.tensor
        if tensor in self._contents.tensors:
            self._findings.broken(Rule.IN_MEMORY_ALREADY, str(tensor))
        source: _Users = ()
        if tensor in self._hosted_by:
            source = (self._hosted_by[tensor],)
        else:
            self._findings.broken(Rule.NO_COPY, str(tensor))
        size_bytes = tensor.size_bytes(self._chain)
        lane = LaneOperation(
            Lane.FROM_HOST,
            size_bytes=size_bytes,
            waits_for=(*source, *self._users(tensor)),
            takes_bytes=size_bytes,
        )
        self._contents.bring_back(tensor)
        self._made_by[tensor] = lane
        self._used_by[tensor] = (lane,)
        self._entries.append(_Entry(position, operation, lane, tensor))

    def _expect_in_memory(self, operation: TransferOperation) -> Tensor:
        if operation.tensor not in self._contents.tensors:
            self._findings.broken(Rule.NOT_IN_MEMORY, str(operation.tensor))
        return operation.tensor

    def _out_of_memory(self, at: int, excess_bytes: int) -> None:
        entry = self._entries[at]
        self._findings.at(entry.position, str(entry))
        self._findings.broken(Rule.OUT_OF_MEMORY, str(entry.tensor), excess_bytes)

    def _record(self, lanes: SharedLanes) -> Replay:
        pofo = PofoRules(len(self._chain))
        steps: list[Step] = []
        transfers: list[Transfer] = []
        seen: set[str | None] = set()
        copied: set[Tensor] = set()
        for entry in self._entries:
            operation, lane = entry.operation, entry.lane
            if isinstance(operation, ChainOperation):
                pofo.compute(operation, *lane.times_ns)
                steps.append(_step(entry, lanes, repeated=operation.computation in seen))
                seen.add(operation.computation)
                continue
            if operation.kind.is_drop:
                if entry.tensor in copied:
                    pofo.drop()
                continue
            start_ns, end_ns = lane.times_ns
            to_host = operation.kind.is_offload
            pofo.transfer(operation, start_ns, end_ns)
            transfers.append(Transfer(str(entry), start_ns, end_ns, lane.size_bytes, to_host))
            if to_host:
                copied.add(entry.tensor)
            elif steps and start_ns < steps[-1].end_ns:
                running = steps[-1]
                steps[-1] = replace(
                    running,
                    during_bytes=max(running.during_bytes, lanes.stored_bytes_at_start(lane)),
                    after_bytes=running.after_bytes + lane.size_bytes,
                )
        is_pofo = self._contents.is_persistent and pofo.kept
        return Replay(
            steps=tuple(steps),
            peak_bytes=lanes.peak_bytes,
            limit_bytes=self._limit_bytes,
            violations=self._findings.violations,
            schedule_class=ScheduleClass.POFO if is_pofo else ScheduleClass.ALL,
            transfers=tuple(transfers),
        )


def _step(entry: _Entry, lanes: SharedLanes, *, repeated: bool) -> Step:
    assert entry.effect is not None
    lane = entry.lane
    start_ns, end_ns = lane.times_ns
    stored_bytes = lanes.stored_bytes_at_start(lane)
    return Step(
        operation=str(entry),
        start_ns=start_ns,
        end_ns=end_ns,
        during_bytes=stored_bytes - lane.takes_bytes + entry.effect.extra_bytes,
        after_bytes=lanes.stored_bytes_at_end(lane),
        repeated=repeated,
    )
