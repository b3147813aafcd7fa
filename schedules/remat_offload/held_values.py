"""Values of a chain over time: when each is on the device, and when there is a copy on the host."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.replay import Replay, Step, Transfer
from jettison.schedules.remat_chain.contents import ChainContents, Tensor, TensorKind
from jettison.schedules.remat_chain.schedule import ChainOperation
from jettison.schedules.remat_offload.transfer_operation import TransferOperation


class Place(StrEnum):
    """Place of a value."""

    DEVICE = "device"
    HOST = "host"


class Held(NamedTuple):
    """Value that is in one place from one time to another.

    Attributes
    ----------
    tensor
        The value; gradients are left out.
    place
        Where it is. A copy on the host counts until the last prefetch of it has ended.
    start_ns, end_ns
        From the end of what makes it there to its drop.
    """

    tensor: Tensor
    place: Place
    start_ns: int
    end_ns: int


def held_values(
    chain: Chain, operations: Iterable[ChainOperation | TransferOperation], replay: Replay
) -> tuple[Held, ...]:
    """Return where values are, from a schedule and its replay.

    A value that is dropped stays until all that reads or copies it has ended, as the replay has it
    whose transfers take their memory at once. Operations that are not in the replay, on stages that
    do not exist, are passed over. Time linear in the number of operations.
    """
    return _Walk(chain, replay).run(operations)


class _Walk:
    """Walk along a schedule, with the times of its replay."""

    def __init__(self, chain: Chain, replay: Replay) -> None:
        self._contents = ChainContents(chain, lambda _rule, _tensor: None)
        self._replay = replay
        self._steps: dict[str, deque[Step]] = {}
        for step in replay.steps:
            self._steps.setdefault(step.operation, deque()).append(step)
        self._transfers: dict[str, deque[Transfer]] = {}
        for transfer in replay.transfers:
            self._transfers.setdefault(transfer.operation, deque()).append(transfer)
        self._since = {Tensor(TensorKind.PLAIN, 0): 0}
        self._busy: dict[Tensor, int] = {}
        self._copied: dict[Tensor, int] = {}
        self._fetched: dict[Tensor, int] = {}
        self._reached_ns = 0
        self._found: list[Held] = []

    def run(self, operations: Iterable[ChainOperation | TransferOperation]) -> tuple[Held, ...]:
        for operation in operations:
            if isinstance(operation, ChainOperation):
                self._compute(operation)
            elif operation.kind.is_drop:
                tensor = operation.tensor
                self._drop(tensor, max(self._reached_ns, self._busy.get(tensor, 0)))
                if tensor in self._copied:
                    self._contents.send_away(tensor)
                else:
                    self._contents.give_up(tensor)
            else:
                self._move(operation)
        for tensor in list(self._since):
            self._drop(tensor, self._replay.time_ns)
        for tensor, since_ns in self._copied.items():
            until_ns = self._fetched.get(tensor, self._replay.time_ns)
            self._found.append(Held(tensor, Place.HOST, since_ns, max(since_ns, until_ns)))
        return tuple(self._found)

    def _compute(self, operation: ChainOperation) -> None:
        waiting = self._steps.get(str(operation))
        if not waiting:
            return
        step = waiting.popleft()
        self._reached_ns = max(self._reached_ns, step.start_ns)
        effect = operation.apply_to(self._contents)
        for tensor in effect.reads:
            self._busy[tensor] = max(self._busy.get(tensor, 0), step.end_ns)
        for tensor in effect.drops:
            self._drop(tensor, max(step.end_ns, self._busy.get(tensor, 0)))
        for tensor in effect.adds:
            if tensor.kind is not TensorKind.GRADIENT:
                self._since[tensor] = self._busy[tensor] = step.end_ns

    def _move(self, operation: TransferOperation) -> None:
        waiting = self._transfers.get(str(operation))
        if not waiting:
            return
        transfer, tensor = waiting.popleft(), operation.tensor
        self._busy[tensor] = max(self._busy.get(tensor, 0), transfer.end_ns)
        if transfer.to_host:
            self._copied.setdefault(tensor, transfer.end_ns)
            return
        self._fetched[tensor] = transfer.end_ns
        self._contents.bring_back(tensor)
        # Its memory is taken when the copy begins.
        self._since[tensor] = transfer.start_ns

    def _drop(self, tensor: Tensor, now_ns: int) -> None:
        since_ns = self._since.pop(tensor, None)
        if since_ns is not None:
            self._found.append(Held(tensor, Place.DEVICE, since_ns, max(since_ns, now_ns)))
