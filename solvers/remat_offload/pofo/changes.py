"""Changes of a schedule with transfers at once, here and there, as long as it becomes faster.

POFO's program does not see what a tensor takes while it is on the link, nor transfers that come
back before the loss or leave after it. So its best schedule is changed: a tensor is moved in one
more gap, or in one less, or in another one; a stage is computed again, or a run of forward
operations is left out and its values are saved at first. Where a change needs more memory than
there is, gaps over the operations that do not fit are added, as `autocapper` does. The executor
times every change; what is no slower is where the next one starts, and after many failures that is
the best schedule again, with some changes. The sequence of changes is drawn from a seed, and ends
after so many without a faster schedule: no clock is a part of it.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from jettison.instances.core.errors import InputError
from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.remat_chain.contents import Tensor
from jettison.schedules.remat_chain.schedule import (
    ChainOperation,
    ChainOperationKind,
    ChainSchedule,
)
from jettison.schedules.remat_offload.schedule import OffloadSchedule
from jettison.schedules.remat_offload.transfer_operation import TransferOperation
from jettison.solvers.remat_chain.least_memory import duration_ns
from jettison.solvers.remat_offload.executor import execute_gaps
from jettison.solvers.remat_offload.incumbent import OffloadIncumbent
from jettison.solvers.remat_offload.tensor_lifetimes import Gap, TensorLifetimes

ALL = ChainOperationKind.FORWARD_ALL
CHECKPOINT = ChainOperationKind.FORWARD_CHECKPOINT
BACKWARD = ChainOperationKind.BACKWARD
# Failures, for each stage, after which the best schedule is taken up again.
PATIENCE = 10


@dataclass(frozen=True, slots=True)
class Moving:
    """Computations, and the gaps in which tensors are on the host."""

    lifetimes: TensorLifetimes
    gaps: frozenset[Gap]


def offer_changes(incumbent: OffloadIncumbent, seed: int, idle_changes: int) -> Iterator[None]:
    """Offer changes of the incumbent's schedule, and yield after each of them.

    Parameters
    ----------
    incumbent
        The incumbent of a problem with transfers at once, with a schedule.
    seed
        Seed of the changes.
    idle_changes
        Changes for each stage since the last faster schedule, after which it ends.
    """
    generator = random.Random(seed)
    stages = len(incumbent.problem.instance)
    idle = 0
    while idle < idle_changes * stages:
        assert incumbent.schedule is not None
        assert incumbent.time_ns is not None
        best_ns = incumbent.time_ns
        current, current_ns = moving_of(incumbent.problem.instance, incumbent.schedule), best_ns
        for _ in range(generator.randrange(3) if idle else 0):
            changed = _changed(incumbent, current, generator)
            if changed is not None and _time_ns(incumbent, changed) is not None:
                current, current_ns = changed, 2 * best_ns
        failures = 0
        while failures < PATIENCE * stages and idle < idle_changes * stages:
            idle += 1
            failures += 1
            changed = _changed(incumbent, current, generator)
            time_ns = None if changed is None else _time_ns(incumbent, changed)
            if changed is not None and time_ns is not None and time_ns <= current_ns:
                failures = 0 if time_ns < current_ns else failures
                current, current_ns = changed, time_ns
            yield
            if incumbent.time_ns < best_ns:
                best_ns, idle = incumbent.time_ns, 0


def moving_of(chain: Chain, schedule: OffloadSchedule) -> Moving:
    """Return the computations of a schedule and the gaps from which its prefetches come back."""
    lifetimes = TensorLifetimes(chain, schedule.computations)
    gaps_of = _gaps_of(lifetimes)
    gaps: set[Gap] = set()
    computed = iter(schedule.computations.operations)
    awaited, position = next(computed, None), 0
    for operation in schedule.operations:
        if isinstance(operation, TransferOperation):
            if operation.kind.is_prefetch:
                gaps.update(
                    gap
                    for gap in gaps_of.get(operation.tensor, ())
                    if gap.start < position <= gap.end
                )
            if not operation.kind.is_drop or awaited is None:
                continue
            if awaited.kind is not ChainOperationKind.DROP or awaited.stage != operation.stage:
                continue
        awaited, position = next(computed, None), position + 1
    return Moving(lifetimes, frozenset(gaps))


def _gaps_of(lifetimes: TensorLifetimes) -> dict[Tensor, list[Gap]]:
    found: dict[Tensor, list[Gap]] = {}
    for gap in lifetimes.gaps:
        if gap.tensor.size_bytes(lifetimes.chain):
            found.setdefault(gap.tensor, []).append(gap)
    return found


def _time_ns(incumbent: OffloadIncumbent, moving: Moving) -> int | None:
    """Return the time of a schedule as it is executed; offer it where it may be the fastest."""
    problem = incumbent.problem
    execution = execute_gaps(moving.lifetimes, moving.gaps, problem.link, problem.memory_bytes)
    if execution is None:
        return None
    best_ns = incumbent.time_ns
    # The executor knows no shared link, and is an optimist there.
    if problem.link.is_shared or best_ns is None or execution.time_ns < best_ns:
        replay = incumbent.offer(execution.schedule)
        return replay.time_ns if replay.valid else None
    return execution.time_ns


def _changed(
    incumbent: OffloadIncumbent, current: Moving, generator: random.Random
) -> Moving | None:
    """Return the result of one change; None where it leads nowhere."""
    memory_bytes = incumbent.problem.memory_bytes
    lifetimes = current.lifetimes
    gaps = set(current.gaps)
    if generator.random() < 0.3:
        computations = _other_computations(lifetimes.computations.operations, generator)
        if computations is None or computations == lifetimes.computations:
            return None
        if incumbent.time_ns is not None:
            least_ns = duration_ns(computations, lifetimes.chain)
            if least_ns >= incumbent.time_ns:
                return None
        try:
            other = TensorLifetimes(lifetimes.chain, computations)
        except InputError:
            return None
        gaps = _carried_over(lifetimes, gaps, other)
        lifetimes = other
    else:
        every = [gap for found in _gaps_of(lifetimes).values() for gap in found]
        if not every:
            return None
        gaps ^= {generator.choice(every)}
        if generator.random() < 0.4:
            gaps ^= {generator.choice(every)}
    if not _fits_with_more(lifetimes, gaps, memory_bytes, generator):
        return None
    return Moving(lifetimes, frozenset(gaps))


def _carried_over(before: TensorLifetimes, gaps: Iterable[Gap], after: TensorLifetimes) -> set[Gap]:
    """Return the gaps of other computations in which the same tensors cross the first backward."""
    crossing = {gap.tensor: gap for gap in after.gaps if gap.start < after.turn <= gap.end}
    return {
        crossing[gap.tensor]
        for gap in gaps
        if gap.start < before.turn <= gap.end and gap.tensor in crossing
    }


def _fits_with_more(
    lifetimes: TensorLifetimes, gaps: set[Gap], memory_bytes: int, generator: random.Random
) -> bool:
    """Add gaps over the operation of the largest need until everything fits, if that is possible.

    Of gaps that cover it, any may be taken; nothing is added over what fits.
    """
    chain = lifetimes.chain
    needs_bytes = list(lifetimes.needs_bytes)

    def move(gap: Gap) -> None:
        for position in range(gap.start + 1, gap.end):
            needs_bytes[position] -= gap.tensor.size_bytes(chain)

    for gap in gaps:
        move(gap)
    while (most_bytes := max(needs_bytes)) > memory_bytes:
        peak = needs_bytes.index(most_bytes)
        over = [
            gap
            for gap in lifetimes.gaps
            if gap.start < peak < gap.end and gap not in gaps and gap.tensor.size_bytes(chain)
        ]
        if not over:
            return False
        gap = generator.choice(over)
        gaps.add(gap)
        move(gap)
    return True


def _other_computations(
    operations: tuple[ChainOperation, ...], generator: random.Random
) -> ChainSchedule | None:
    """Return the sequence with a stage computed again, or with a run of operations left out.

    The result may lack what an operation reads.
    """
    position = generator.randrange(len(operations))
    chosen = operations[position]
    changed = list(operations)
    if chosen.kind is BACKWARD or chosen.kind is ChainOperationKind.DROP:
        return None
    later = [place for place, item in enumerate(operations) if item == _backward(chosen)]
    if not later:
        return None
    is_first = all(item.computation != chosen.computation for item in operations[:position])
    if is_first:
        if chosen.kind is not ALL or later[0] == position + 1:
            return None
        changed.insert(later[0], chosen)
        changed[position] = ChainOperation(CHECKPOINT, chosen.stage)
        return ChainSchedule(tuple(changed))
    first = position
    while generator.random() < 0.7 and operations[first - 1].kind not in {
        BACKWARD,
        ChainOperationKind.DROP,
    }:
        first -= 1
    for place in range(first, position + 1):
        if operations[place].kind is ALL:
            # What it would save is saved by the run before.
            before = [
                earlier
                for earlier, item in enumerate(operations[:first])
                if item.computation == operations[place].computation
            ]
            if not before:
                return None
            changed[before[-1]] = ChainOperation(ALL, operations[place].stage)
    del changed[first : position + 1]
    return ChainSchedule(tuple(changed))


def _backward(operation: ChainOperation) -> ChainOperation:
    return ChainOperation(BACKWARD, operation.stage)
