"""Execution plan of a chain schedule: what is worked out once, before it runs many times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.replay import Rule
from jettison.schedules.remat_chain.contents import ChainContents, Tensor, TensorKind
from jettison.schedules.remat_chain.schedule import ChainOperation, ChainOperationKind
from jettison.schedules.remat_offload.transfer_operation import TransferOperation
from jettison.torch.errors import ExecutionError

Operation = ChainOperation | TransferOperation


class Movement(Enum):
    """Tensors that leave memory between the ``F_all`` of a stage and its ``B``."""

    NONE = auto()
    """Nothing: the graph may keep all that it has read."""

    INPUT = auto()
    """The input. The backward operation is given the one that is made again or comes back."""

    ALL = auto()
    r"""All that the stage has saved, :math:`\bar a^\ell`, and perhaps the input."""


@dataclass(frozen=True, slots=True)
class ExecutionPlan:
    r"""Execution plan of a chain schedule: ready to run many times.

    Attributes
    ----------
    operations
        The sequence; it must be one that the replay accepts.
    releases
        For each operation, the offloads that have to be complete before it: it takes memory that
        they give back. What has left is held until the limit is reached, which costs no time and
        spares the device from waiting: the measured peak is near the limit, and not at the peak
        that the replay predicts, where that is less.
    awaits
        For each operation, the tensors that it reads and that may be on their way back then.
    moves
        For each operation that is an ``F_all``, what leaves memory before ``B``.
    runs
        How often each stage runs forward.
    delivery
        Number of operations up to the end of the first forward operation of the loss.
    backward_ends
        Number of operations up to the end of the backward operation of each stage.
    """

    operations: tuple[Operation, ...]
    releases: tuple[tuple[Tensor, ...], ...]
    awaits: tuple[tuple[Tensor, ...], ...]
    moves: tuple[Movement, ...]
    runs: Mapping[int, int]
    delivery: int
    backward_ends: Mapping[int, int]

    @classmethod
    def of(
        cls, operations: Sequence[Operation], chain: Chain, memory_bytes: int | None
    ) -> ExecutionPlan:
        """Make the plan of a schedule.

        Without `memory_bytes` nothing that leaves stays longer than to the next operation that
        takes memory. :math:`O(n^2)` at worst for n operations, usually linear.
        """
        forwards = Counter(
            operation.stage for operation in operations if _is_forward(operation, operation.stage)
        )
        return cls(
            operations=tuple(operations),
            releases=_releases(operations, chain, memory_bytes),
            awaits=_awaits(operations),
            moves=tuple(_movement(operations, place) for place in range(len(operations))),
            runs=forwards,
            delivery=1
            + next(
                place
                for place, operation in enumerate(operations)
                if _is_forward(operation, len(chain))
            ),
            backward_ends={
                operation.stage: end
                for end, operation in enumerate(operations, start=1)
                if isinstance(operation, ChainOperation)
                and operation.kind is ChainOperationKind.BACKWARD
            },
        )


def _is_forward(operation: Operation, stage: int) -> bool:
    return (
        isinstance(operation, ChainOperation)
        and operation.stage == stage
        and operation.kind not in {ChainOperationKind.BACKWARD, ChainOperationKind.DROP}
    )


def _awaits(operations: Sequence[Operation]) -> tuple[tuple[Tensor, ...], ...]:
    arriving: set[Tensor] = set()
    awaits = []
    for operation in operations:
        awaited: tuple[Tensor, ...] = ()
        if isinstance(operation, TransferOperation):
            if operation.kind.is_prefetch:
                arriving.add(operation.tensor)
        elif operation.kind is not ChainOperationKind.DROP:
            number = operation.stage
            read = (
                Tensor(TensorKind.PLAIN, number - 1),
                Tensor(TensorKind.SAVED, number - 1),
                Tensor(TensorKind.SAVED, number),
            )
            awaited = tuple(tensor for tensor in read if tensor in arriving)
        awaits.append(awaited)
    return tuple(awaits)


def _movement(operations: Sequence[Operation], place: int) -> Movement:
    start = operations[place]
    if str(start) != f"{ChainOperationKind.FORWARD_ALL} {start.stage}":
        return Movement.NONE
    number = start.stage
    saved = Tensor(TensorKind.SAVED, number)
    inputs = {Tensor(TensorKind.PLAIN, number - 1), Tensor(TensorKind.SAVED, number - 1)}
    dropping = {
        ChainOperation(ChainOperationKind.FORWARD_NONE, number),
        ChainOperation(ChainOperationKind.DROP, number - 1),
    }
    found = Movement.NONE
    for operation in operations[place + 1 :]:
        if isinstance(operation, TransferOperation):
            if operation.tensor == saved:
                return Movement.ALL
            if operation.tensor in inputs:
                found = Movement.INPUT
        elif operation == ChainOperation(ChainOperationKind.BACKWARD, number):
            break
        elif _is_forward(operation, number - 1) or operation in dropping:
            # The input is dropped or computed again: the graph must not keep the old one.
            found = Movement.INPUT
    return found


def _releases(
    operations: Sequence[Operation], chain: Chain, memory_bytes: int | None
) -> tuple[tuple[Tensor, ...], ...]:
    """Return which offloads each operation waits for, by the replay's rules for memory."""

    def broken(rule: Rule, tensor: str) -> None:
        raise ExecutionError(f"the schedule breaks a rule ({rule}: {tensor}); replay it first")

    contents = ChainContents(chain, broken)
    limit_bytes = -1 if memory_bytes is None else memory_bytes
    stored_bytes = chain.input_bytes
    in_flight: set[Tensor] = set()
    leaving: list[Tensor] = []
    waits: list[tuple[Tensor, ...]] = []
    for operation in operations:
        released: list[Tensor] = []
        taken_bytes = stays_bytes = 0
        late: list[Tensor] = []
        if isinstance(operation, ChainOperation):
            effect = operation.apply_to(contents)
            late = [tensor for tensor in effect.drops if tensor in in_flight]
            stays_bytes = effect.change_bytes(chain)
            stays_bytes += sum(tensor.size_bytes(chain) for tensor in late)
            taken_bytes = max(effect.extra_bytes, stays_bytes)
        elif operation.kind.is_offload:
            in_flight.add(operation.tensor)
        elif operation.kind.is_drop:
            contents.send_away(operation.tensor)
            if operation.tensor in in_flight:
                late = [operation.tensor]
            else:
                stays_bytes = -operation.tensor.size_bytes(chain)
        else:
            contents.bring_back(operation.tensor)
            taken_bytes = stays_bytes = operation.tensor.size_bytes(chain)
        takes_memory = isinstance(operation, ChainOperation) or operation.kind.is_prefetch
        while takes_memory and leaving and stored_bytes + taken_bytes > limit_bytes:
            tensor = leaving.pop(0)
            in_flight.discard(tensor)
            released.append(tensor)
            stored_bytes -= tensor.size_bytes(chain)
        stored_bytes += stays_bytes
        leaving += late
        waits.append(tuple(released))
    return tuple(waits)
