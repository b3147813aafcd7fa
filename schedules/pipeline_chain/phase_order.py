r"""Orders of the phases on a device of a pipeline: 1F1B, and Megatron's interleaved 1F1B.

A *part* is a run of consecutive stages, counted from 0 along the chain. In 1F1B device :math:`r`
(from 0) of :math:`p` has part :math:`r`, and runs :math:`p-r` forward phases before it alternates.

In interleaved 1F1B (Narayanan et al., SC 2021, section 2.2) it has the :math:`v` parts
:math:`r, r+p, \dots, r+(v-1)p`, its *chunks*. Micro-batches go in groups of :math:`p`: the
:math:`k`-th forward phase of a device, :math:`k = gpv + cp + b` with :math:`b < p` and
:math:`c < v`, is that of chunk :math:`c` and micro-batch :math:`gp + b`; the :math:`k`-th backward
phase that of chunk :math:`v-1-c`. A device runs :math:`\min(mv, 2(p-r-1) + (v-1)p)` forward phases
of its :math:`mv`, then a forward and a backward phase in turn, then the backward phases that are
left. With one chunk this would be more forward phases at first than 1F1B has, and is not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Turn:
    """Turn of a device: a phase of one of the parts, for one micro-batch.

    Attributes
    ----------
    is_backward
        Which phase.
    part
        The part, from 0 along the chain.
    microbatch
        The micro-batch, from 1.
    """

    is_backward: bool
    part: int
    microbatch: int


# A search asks for the same orders thousands of times.
@lru_cache(maxsize=1024)
def device_turns(devices: int, device: int, chunks: int, microbatches: int) -> tuple[Turn, ...]:
    """Return the phases of a device in their order.

    Parameters
    ----------
    devices
        Number of devices.
    device
        The device, from 1.
    chunks
        Parts of each device; 1 is 1F1B, more is interleaved, for multiples of `devices` only.
    microbatches
        Micro-batches of a step.
    """
    if chunks > 1:
        return tuple(_interleaved(devices, device - 1, chunks, microbatches))
    in_flight, part = min(microbatches, devices - device + 1), device - 1
    order = [Turn(False, part, number) for number in range(1, in_flight + 1)]
    for number in range(1, microbatches + 1):
        order.append(Turn(True, part, number))
        if number + in_flight <= microbatches:
            order.append(Turn(False, part, number + in_flight))
    return tuple(order)


def _interleaved(devices: int, rank: int, chunks: int, microbatches: int) -> list[Turn]:
    count = microbatches * chunks
    ahead = min(count, 2 * (devices - rank - 1) + (chunks - 1) * devices)

    def turn(position: int, *, is_backward: bool) -> Turn:
        group, within = divmod(position, devices * chunks)
        chunk, number = divmod(within, devices)
        if is_backward:
            chunk = chunks - 1 - chunk
        return Turn(is_backward, chunk * devices + rank, group * devices + number + 1)

    order = [turn(position, is_backward=False) for position in range(ahead)]
    for position in range(count):
        if position + ahead < count:
            order.append(turn(position + ahead, is_backward=False))
        order.append(turn(position, is_backward=True))
    return order


@dataclass(frozen=True, slots=True)
class Load:
    """Load of a device when a phase begins: what waits between its phases beside it.

    Attributes
    ----------
    is_backward, chunk
        The phase that begins, and of which chunk, from 0.
    waiting
        For each chunk, the other micro-batches that are between their phases.
    """

    is_backward: bool
    chunk: int
    waiting: tuple[int, ...]


def largest_loads(turns: Sequence[Turn], devices: int, chunks: int) -> list[Load]:
    """Return the loads of a device in its order that no other load of the same phase exceeds."""
    waiting = [0] * chunks
    seen: set[Load] = set()
    for turn in turns:
        chunk = turn.part // devices
        waiting[chunk] -= turn.is_backward
        seen.add(Load(turn.is_backward, chunk, tuple(waiting)))
        waiting[chunk] += not turn.is_backward
    return [
        load for load in sorted(seen, key=str) if not any(_exceeds(other, load) for other in seen)
    ]


def _exceeds(one: Load, other: Load) -> bool:
    return (
        one != other
        and (one.is_backward, one.chunk) == (other.is_backward, other.chunk)
        and all(mine >= its for mine, its in zip(one.waiting, other.waiting, strict=True))
    )
