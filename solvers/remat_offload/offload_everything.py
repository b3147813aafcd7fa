r"""Schedule that fits wherever any does: after each operation everything moves to the host.

Stage by stage :math:`F_{ck}^\ell` makes :math:`a^\ell` for the next stage, and once that has left,
:math:`F_{all}^\ell` makes :math:`\bar a^\ell` for the backward. What the next operation reads comes
back. Only gradients stay, so that no operation has more in memory than its own inputs, outputs and
overhead: the least memory of `least_memory` is attained. Nothing overlaps, and every
forward but the last runs twice; it is a fallback, not a plan.
"""

from __future__ import annotations

from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.schedules.remat_chain.contents import Tensor, TensorKind
from jettison.schedules.remat_chain.schedule import ChainOperation, ChainOperationKind
from jettison.schedules.remat_offload.schedule import OffloadSchedule
from jettison.schedules.remat_offload.transfer_operation import TransferOperation
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_offload.least_memory import offload_infeasibility


def offload_everything(chain: Chain) -> OffloadSchedule:
    """Return the schedule that offloads everything after every operation; O(N) operations."""
    offload, drop, prefetch = (
        TransferOperation.offload,
        TransferOperation.drop,
        TransferOperation.prefetch,
    )
    plain = [Tensor(TensorKind.PLAIN, number) for number in range(len(chain) + 1)]
    saved = [Tensor(TensorKind.SAVED, number) for number in range(len(chain) + 1)]
    loss = len(chain)
    # A chain of the loss alone keeps the input: a copy would only delay the release of its memory.
    operations: list[ChainOperation | TransferOperation] = [offload(plain[0])] if loss > 1 else []
    for number in range(1, loss):
        operations += [
            ChainOperation(ChainOperationKind.FORWARD_CHECKPOINT, number),
            offload(plain[number]),
            drop(plain[number]),
            ChainOperation(ChainOperationKind.FORWARD_ALL, number),
            offload(saved[number]),
            drop(saved[number]),
            drop(plain[number - 1]),
            prefetch(plain[number]),
        ]
    operations += [
        ChainOperation(ChainOperationKind.FORWARD_ALL, loss),
        ChainOperation(ChainOperationKind.BACKWARD, loss),
    ]
    for number in range(loss - 1, 0, -1):
        operations += [
            prefetch(plain[number - 1]),
            prefetch(saved[number]),
            ChainOperation(ChainOperationKind.BACKWARD, number),
        ]
    return OffloadSchedule(tuple(operations))


def solve_offload_everything(problem: RematOffloadChain, options: SolveOptions) -> Outcome:
    """Return the schedule that offloads everything, or the proof that no schedule fits."""
    del options
    refused = offload_infeasibility(problem.instance, problem.memory_bytes)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    schedule = offload_everything(problem.instance)
    return Outcome(termination=Termination.COMPLETED, schedule=schedule)
