"""Schedule with fluid transfers for a plan of POFO: a sequence of two phases."""

from __future__ import annotations

from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.remat_chain.schedule import ChainOperation
from jettison.schedules.remat_offload.plan import OffloadPlan
from jettison.schedules.remat_offload.schedule import OffloadSchedule
from jettison.schedules.remat_offload.transfer_operation import TransferOperation
from jettison.solvers.remat_offload.tensor_lifetimes import TensorLifetimes


def fluid_schedule(chain: Chain, plan: OffloadPlan) -> OffloadSchedule:
    """Return a plan as a sequence whose fluid replay is as fast as the plan allows.

    A tensor is offloaded right after the operation that makes it, dropped after its last use before
    the first backward, and brought back right before its first use after that. An earlier prefetch
    would only take memory from more operations: the fluid replay fills it while they run. Tensors
    without a size stay.

    Raises
    ------
    InputError
        If an operation does not find what it reads, or an offloaded tensor is not in memory at the
        first backward.
    """
    lifetimes = TensorLifetimes(chain, plan.computations)
    before: dict[int, list[TransferOperation]] = {}
    copies: dict[int, list[TransferOperation]] = {}
    drops: dict[int, list[TransferOperation]] = {}
    for tensor in plan.offloaded:
        if not tensor.size_bytes(chain):
            continue
        gap = lifetimes.gap_at_turn(tensor)
        copies.setdefault(lifetimes.maker(gap), []).append(TransferOperation.offload(tensor))
        drops.setdefault(gap.start, []).append(TransferOperation.drop(tensor))
        before.setdefault(gap.end, []).append(TransferOperation.prefetch(tensor))
    operations: list[ChainOperation | TransferOperation] = []
    for position, operation in enumerate((None, *plan.computations.operations), start=-1):
        operations.extend(before.get(position, ()))
        if operation is not None:
            operations.append(operation)
        operations.extend(copies.get(position, ()))
        operations.extend(drops.get(position, ()))
    return OffloadSchedule(tuple(operations))
