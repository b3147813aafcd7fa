"""Plans of steps whose input the caller holds: it stays on the device, whatever a schedule says.

A schedule of POFO may send the input of a chain to the host, drop it and bring it back. Whoever
calls a model usually holds its input: the drop frees nothing, and the copy that comes back is a
second one. What is planned here is therefore a chain without an input, in a memory that is smaller
by its size.
"""

from __future__ import annotations

from dataclasses import replace

from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.schedules.remat_chain.contents import Tensor, TensorKind
from jettison.schedules.remat_chain.schedule import ChainOperation, ChainOperationKind
from jettison.schedules.remat_offload.schedule import OffloadSchedule
from jettison.schedules.remat_offload.transfer_operation import TransferOperation

_INPUT = Tensor(TensorKind.PLAIN, 0)


def without_input(problem: RematOffloadChain) -> RematOffloadChain | None:
    """Return the problem of the chain without its input, in the rest of the memory.

    The gradient of the input has its place: it becomes an overhead of the first stage. None if the
    memory does not even hold the input.
    """
    chain = problem.instance
    rest_bytes = problem.memory_bytes - chain.input_bytes
    if rest_bytes <= 0:
        return None
    return replace(problem, instance=_emptied(chain), memory=rest_bytes)


def with_input(schedule: OffloadSchedule) -> OffloadSchedule:
    """Return the schedule with the input in memory all the time.

    Transfers of the input, which cost nothing where it has no size, are left out, and a first
    operation that drops it keeps it.
    """
    drop = ChainOperation(ChainOperationKind.FORWARD_NONE, 1)
    keep = ChainOperation(ChainOperationKind.FORWARD_CHECKPOINT, 1)
    return OffloadSchedule(
        tuple(
            keep if operation == drop else operation
            for operation in schedule.operations
            if not (isinstance(operation, TransferOperation) and operation.tensor == _INPUT)
        )
    )


def _emptied(chain: Chain) -> Chain:
    first, *others = chain.stages
    first = replace(
        first, backward_overhead_bytes=first.backward_overhead_bytes + chain.input_bytes
    )
    return replace(chain, input_bytes=0, stages=(first, *others))
