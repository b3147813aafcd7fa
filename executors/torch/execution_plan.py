"""Execution plan of a chain schedule: what is worked out once, before it runs many times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.replay import Rule
from jettison.schedules.remat_chain.contents import ChainContents, Tensor, TensorKind
from jettison.schedules.remat_chain.schedule import ChainOperation, ChainOperationKind
from jettison.schedules.remat_offload.transfer_operation import TransferOperation
from jettison.torch.errors import ExecutionError

Operation = ChainOperation | TransferOperation


@dataclass(frozen=True, slots=True)
class ExecutionPlan:
    r"""Execution plan of a chain schedule: ready to run many times.

    Attributes
    ----------
    operations
        The sequence; it must be one that the replay accepts.
    releases
        For each operation, the offloads that have to be complete before it: it takes memory that
        they give back.
    movable
        For each operation, whether it is an ``F_all`` of which something leaves memory before
        ``B``: :math:`\bar a^\ell`, or the input that its graph has read. The graph must not keep
        an input that is dropped: the backward operation is given the one that is made again.
    repeated
        The stages that run forward more than once.
    delivery
        Number of operations up to the end of the first forward operation of the loss.
    """

    operations: tuple[Operation, ...]
    releases: tuple[tuple[Tensor, ...], ...]
    movable: tuple[bool, ...]
    repeated: frozenset[int]
    delivery: int

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
            movable=tuple(_is_movable(operations, place) for place in range(len(operations))),
            repeated=frozenset(stage for stage, count in forwards.items() if count > 1),
            delivery=1
            + next(
                place
                for place, operation in enumerate(operations)
                if _is_forward(operation, len(chain))
            ),
        )


def _is_forward(operation: Operation, stage: int) -> bool:
    return (
        isinstance(operation, ChainOperation)
        and operation.stage == stage
        and operation.kind is not ChainOperationKind.BACKWARD
    )


def _is_movable(operations: Sequence[Operation], place: int) -> bool:
    start = operations[place]
    if str(start) != f"{ChainOperationKind.FORWARD_ALL} {start.stage}":
        return False
    number = start.stage
    saved = Tensor(TensorKind.SAVED, number)
    inputs = {Tensor(TensorKind.PLAIN, number - 1), Tensor(TensorKind.SAVED, number - 1)}
    dropping = {
        ChainOperation(ChainOperationKind.FORWARD_NONE, number),
        ChainOperation(ChainOperationKind.DROP, number - 1),
    }
    for operation in operations[place + 1 :]:
        if isinstance(operation, TransferOperation):
            if operation.tensor == saved or operation.tensor in inputs:
                return True
        elif operation == ChainOperation(ChainOperationKind.BACKWARD, number):
            return False
        elif _is_forward(operation, number - 1) or operation in dropping:
            # The input is dropped or computed again: the graph must not keep the old one.
            return True
    return False


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
