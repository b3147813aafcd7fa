"""The least memory in which a persistent schedule of a chain exists."""

from __future__ import annotations

from functools import lru_cache

from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_chain.schedule import (
    ChainOperation,
    ChainOperationKind,
    ChainSchedule,
)
from jettison.solvers import _kernels
from jettison.solvers.core.outcome import Infeasibility
from jettison.solvers.remat_chain.needs import ChainNeeds

# The kernels number the operations in this order.
_KINDS = (
    ChainOperationKind.FORWARD_ALL,
    ChainOperationKind.FORWARD_CHECKPOINT,
    ChainOperationKind.FORWARD_NONE,
    ChainOperationKind.BACKWARD,
    ChainOperationKind.DROP,
)


def least_persistent_memory(chain: Chain) -> tuple[int, ChainSchedule]:
    """Return the least memory in bytes of a persistent schedule, and a schedule that attains it."""
    return least_memory(ChainNeeds(chain))


@lru_cache(maxsize=8)
def least_memory(needs: ChainNeeds) -> tuple[int, ChainSchedule]:
    """Return the least memory in bytes for given thresholds, and a schedule that attains it.

    The recurrence of RR-9302 with maxima in place of sums, in exact integers: :math:`O(N^3)` time.
    """
    least, sequence = _kernels.least_memory(
        needs.input_bytes, needs.saved_bytes, needs.forward_all, needs.forward_none
    )
    return least + needs.chain.input_bytes, chain_schedule(sequence)


def least_memory_of_any_schedule(chain: Chain) -> int:
    r"""Return a lower bound in bytes on the memory of every schedule, with drops or not; O(N).

    The input can neither be dropped, because the last backward needs it, nor be recomputed.
    Beside it, each stage's backward has its inputs and outputs in memory, and each forward runs at
    least once.
    """
    needed = [chain.input_bytes]
    for number, stage in enumerate(chain, start=1):
        held = chain.activation_bytes(number - 1) if number > 1 else 0
        needed.append(chain.input_bytes + held + stage.saving_bytes)
        needed.append(
            chain.input_bytes
            + held
            + stage.gradient_bytes
            + stage.saved_bytes
            + chain.backward_output_bytes(number)
            + stage.backward_overhead_bytes
        )
    return max(needed)


def persistent_infeasibility(chain: Chain, memory_bytes: int) -> Infeasibility | None:
    """Return the proof that no persistent schedule fits, or None if one does.

    The least memory that it names is attained by a persistent schedule.
    """
    return infeasibility_below(
        least_persistent_memory(chain)[0], ScheduleClass.PERSISTENT, chain, memory_bytes
    )


def infeasibility_below(
    least_bytes: int, valid_for: ScheduleClass, chain: Chain, memory_bytes: int
) -> Infeasibility | None:
    """Return the proof that no schedule of a class fits, or None where the memory suffices.

    Where the memory is below what any schedule needs, the proof covers all schedules.
    """
    if memory_bytes >= least_bytes:
        return None
    beyond_all = memory_bytes < least_memory_of_any_schedule(chain)
    return Infeasibility(
        valid_for=ScheduleClass.ALL if beyond_all else valid_for,
        least_memory_bytes=least_bytes,
        is_exact=True,
    )


def duration_ns(schedule: ChainSchedule, chain: Chain) -> int:
    """Return the sum of the durations of a schedule's operations: its time, if it is valid.

    Schedules of least memory are long: a replay, to compare them with others, would take as long as
    a grid. Whatever is returned is replayed in the end.
    """
    forward_ns = [0, *(stage.forward_ns for stage in chain)]
    backward_ns = [0, *(stage.backward_ns for stage in chain)]
    total_ns = 0
    for operation in schedule.operations:
        if operation.kind is ChainOperationKind.BACKWARD:
            total_ns += backward_ns[operation.stage]
        elif operation.kind is not ChainOperationKind.DROP:
            total_ns += forward_ns[operation.stage]
    return total_ns


def chain_schedule(sequence: list[tuple[int, int]]) -> ChainSchedule:
    """Convert a kernel's sequence of (kind, stage) pairs into a schedule."""
    return ChainSchedule(tuple(_operation(kind, stage) for kind, stage in sequence))


@lru_cache(maxsize=2**16)
def _operation(kind: int, stage: int) -> ChainOperation:
    # Sequences are long but have few distinct operations: each is made once.
    return ChainOperation(_KINDS[kind], stage)
