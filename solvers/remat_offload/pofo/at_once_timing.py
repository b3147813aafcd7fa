r"""Timing of a POFO plan with transfers at once: when tensors leave, and when they come back.

POFO's model is fluid: memory follows a tensor byte by byte. Here a tensor takes all of its memory
until its copy is complete, and again from the start of its prefetch, as in POFO's experiments.

The first phase, up to the first backward operation, is timed greedily. Tensors are copied in the
order in which they are made. After its last use of the phase a tensor stays in memory until its
copy is complete, and an operation waits while memory is short.

The second phase is the same in reversed time. There a tensor is copied after its first use of the
phase, and the end of such a copy is the start of its prefetch: prefetches run as late as possible,
one after the other.

Once all copies are complete, memory beside an operation holds what it holds at the end in the fluid
model. So a plan that fits in the fluid model fits here; it only waits longer.

The two phases are timed separately, with all copies complete between them. The schedule keeps only
the order of the starts; executed in this order nothing starts later than it was timed. By
induction: what an operation reads is there no later; as much memory has been taken, by the same
operations, and no less has returned.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass

from jettison.instances.core.link import Link
from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.remat_chain.schedule import ChainOperation
from jettison.schedules.remat_offload.plan import OffloadPlan
from jettison.schedules.remat_offload.schedule import OffloadSchedule
from jettison.schedules.remat_offload.transfer_operation import TransferOperation
from jettison.solvers.remat_offload.tensor_lifetimes import Gap, TensorLifetimes


@dataclass(frozen=True, slots=True)
class AtOnceTiming:
    """Schedule of a plan, and the time of its two phases, which its replay does not exceed."""

    schedule: OffloadSchedule
    time_ns: int


def time_at_once(
    chain: Chain, plan: OffloadPlan, link: Link, memory_bytes: int
) -> AtOnceTiming | None:
    r"""Time a plan with transfers at once; None where it does not fit in the fluid model either.

    Tensors without a size stay.

    Raises
    ------
    InputError
        If an operation does not find what it reads, or an offloaded tensor is not in memory at the
        first backward.

    Notes
    -----
    Time :math:`O(n k)` for n operations and k offloads.
    """
    lifetimes = TensorLifetimes(chain, plan.computations)
    gaps = sorted(
        (lifetimes.gap_at_turn(tensor) for tensor in plan.offloaded if tensor.size_bytes(chain)),
        key=lambda gap: (gap.end, gap.start, gap.tensor.stage),
    )
    needs_bytes = list(lifetimes.needs_bytes)
    for gap in gaps:
        for position in range(gap.start + 1, gap.end):
            needs_bytes[position] -= gap.tensor.size_bytes(chain)
    if max(needs_bytes, default=0) > memory_bytes or chain.input_bytes > memory_bytes:
        return None
    turn, last = lifetimes.turn, len(needs_bytes) - 1
    durations_ns = [effect.duration_ns for effect in lifetimes.effects]
    leaving = sorted(gaps, key=lambda gap: (lifetimes.maker(gap), gap.start, gap.tensor.stage))
    first = _time_phase(
        durations_ns[:turn],
        needs_bytes[:turn],
        [_copy(chain, link, gap, lifetimes.maker(gap), gap.start) for gap in leaving],
        memory_bytes,
    )
    second = _time_phase(
        durations_ns[turn:][::-1],
        needs_bytes[turn:][::-1],
        [_copy(chain, link, gap, last - gap.end, last - gap.end) for gap in reversed(gaps)],
        memory_bytes,
    )
    operations: list[ChainOperation | TransferOperation] = []
    for position in range(-1, turn):
        if position >= 0:
            operations.append(plan.computations.operations[position])
        operations.extend(
            TransferOperation.offload(gap.tensor)
            for gap in leaving
            if lifetimes.maker(gap) == position
        )
        operations.extend(
            TransferOperation.drop(gap.tensor) for gap in leaving if gap.start == position
        )
    time_ns = first.end_ns + second.end_ns
    arrived = 0
    prefetches_ns = [time_ns - gone_ns for gone_ns in reversed(second.gone_ns)]
    for position in range(turn, last + 1):
        end_ns = time_ns - second.starts_ns[last - position]
        start_ns = end_ns - durations_ns[position]
        # A prefetch that starts with the end of an operation, or later, does not fit before it.
        while arrived < len(gaps) and (
            prefetches_ns[arrived] <= start_ns and prefetches_ns[arrived] < end_ns
        ):
            operations.append(TransferOperation.prefetch(gaps[arrived].tensor))
            arrived += 1
        operations.append(plan.computations.operations[position])
    return AtOnceTiming(OffloadSchedule(tuple(operations)), time_ns)


@dataclass(frozen=True, slots=True)
class _Copy:
    """Copy of a tensor that leaves memory: from which operation on, and which one reads it last.

    Operations are numbered within the phase; -1 stands for its start.
    """

    size_bytes: int
    duration_ns: int
    made_by: int
    last_use: int


@dataclass(frozen=True, slots=True)
class _PhaseTimes:
    """Times of a phase: starts of its operations, ends of its copies, and its end."""

    starts_ns: list[int]
    gone_ns: list[int]
    end_ns: int


def _copy(chain: Chain, link: Link, gap: Gap, made_by: int, last_use: int) -> _Copy:
    size_bytes = gap.tensor.size_bytes(chain)
    return _Copy(size_bytes, link.transfer_ns(size_bytes), made_by, last_use)


def _time_phase(
    durations_ns: Sequence[int],
    needs_bytes: Sequence[int],
    copies: Sequence[_Copy],
    memory_bytes: int,
) -> _PhaseTimes:
    """Time a phase: each operation starts as soon as enough copies have freed their memory.

    Parameters
    ----------
    durations_ns, needs_bytes
        Of each operation; the needs, which fit, exclude the tensors that have left.
    copies
        The copies, in the order of the operations that make their tensors.
    memory_bytes
        The limit.
    """
    starts_ns: list[int] = []
    gone_ns: list[int] = []
    clock_ns = link_ns = 0
    in_the_way: list[tuple[int, int]] = []
    for position in range(-1, len(needs_bytes)):
        if position >= 0:
            excess_bytes = needs_bytes[position] - memory_bytes
            excess_bytes += sum(size for when_ns, size in in_the_way if when_ns > clock_ns)
            for when_ns, size_bytes in in_the_way:
                if excess_bytes <= 0:
                    break
                if when_ns > clock_ns:
                    clock_ns = when_ns
                    excess_bytes -= size_bytes
            starts_ns.append(clock_ns)
            clock_ns += durations_ns[position]
        while len(gone_ns) < len(copies) and copies[len(gone_ns)].made_by == position:
            link_ns = max(link_ns, clock_ns) + copies[len(gone_ns)].duration_ns
            gone_ns.append(link_ns)
        for item, when_ns in zip(copies, gone_ns, strict=False):
            if item.last_use == position:
                insort(in_the_way, (when_ns, item.size_bytes))
    return _PhaseTimes(starts_ns, gone_ns, max(clock_ns, link_ns))
