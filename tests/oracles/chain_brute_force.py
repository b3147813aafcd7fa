"""What tiny chains can do, by search over memory contents: an oracle for schedules and solvers.

Written from Table 1 of RR-9302 alone. It reads the fields of `Chain` and `Stage`, and shares no
code with the replay, the thresholds or the programs that it checks.

A state is what is in memory: for each l from 0 to N how the activation of stage l is held, and
which gradient. One search finds the whole trade-off between memory and time: labels leave the queue
in the order of their time, so that a label of some state is of use only if its peak is below the
peaks of all labels of that state that came before.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from enum import IntEnum

from jettison.instances.chain import Chain


class Held(IntEnum):
    """How the activation of a stage is held in memory."""

    NOT = 0
    PLAIN = 1  # a, and no operation that keeps its input has read it
    CHECKPOINTED = 2  # a, and F_ck or F_all has read it
    WHOLE = 3  # a-bar, of which a is a part


State = tuple[int, tuple[Held, ...]]
Front = tuple[tuple[int, int], ...]

# What F_none may consume. A schedule is persistent if it consumes nothing that had been saved.
_NEVER_SAVED = frozenset({Held.PLAIN})
_ANYTHING = frozenset({Held.PLAIN, Held.CHECKPOINTED, Held.WHOLE})


def persistent_front(chain: Chain) -> Front:
    """Return every (peak bytes, time) that no persistent schedule beats, the fastest first."""
    return _front(chain, _NEVER_SAVED)


def unrestricted_front(chain: Chain) -> Front:
    """Return every (peak bytes, time) that no schedule at all beats, the fastest first."""
    return _front(chain, _ANYTHING)


def fastest_in(front: Front, memory_bytes: int) -> int | None:
    """Return the least time within a memory, or None if nothing fits."""
    return next((time_ns for peak_bytes, time_ns in front if peak_bytes <= memory_bytes), None)


def fastest_persistent(chain: Chain, memory_bytes: int) -> int | None:
    """Return the least time of a persistent schedule within a memory, or None."""
    return fastest_in(persistent_front(chain), memory_bytes)


def fastest(chain: Chain, memory_bytes: int) -> int | None:
    """Return the least time of any schedule within a memory, or None."""
    return fastest_in(unrestricted_front(chain), memory_bytes)


def least_memory_persistent(chain: Chain) -> int:
    """Return the least peak of a persistent schedule."""
    return persistent_front(chain)[-1][0]


def least_memory(chain: Chain) -> int:
    """Return the least peak of any schedule."""
    return unrestricted_front(chain)[-1][0]


def _front(chain: Chain, consumable: frozenset[Held]) -> Front:
    count = len(chain.stages)
    start: State = (count, (Held.PLAIN,) + (Held.NOT,) * count)
    queue = [(0, _stored_bytes(chain, start), start)]
    least_peak: dict[State, int] = {}
    front: list[tuple[int, int]] = []
    while queue:
        time_ns, peak_bytes, state = heapq.heappop(queue)
        if state in least_peak and least_peak[state] <= peak_bytes:
            continue
        least_peak[state] = peak_bytes
        if state[0] == 0:
            # All final states count as one: what else is left in memory does not matter.
            if not front or peak_bytes < front[-1][0]:
                front.append((peak_bytes, time_ns))
            continue
        for duration_ns, needed_bytes, after in _moves(chain, state, consumable):
            peak = max(peak_bytes, needed_bytes, _stored_bytes(chain, after))
            if after not in least_peak or peak < least_peak[after]:
                heapq.heappush(queue, (time_ns + duration_ns, peak, after))
    return tuple(front)


def _moves(
    chain: Chain, state: State, consumable: frozenset[Held]
) -> Iterator[tuple[int, int, State]]:
    """Yield duration, memory in use, and memory contents afterwards of each possible operation."""
    gradient, held = state
    stored = _stored_bytes(chain, state)
    # Nothing reads what a stage computes once its backward is done.
    for number in range(1, gradient + 1):
        stage = chain.stages[number - 1]
        source, target = held[number - 1], held[number]
        if source is Held.NOT:
            continue
        needed = stored + stage.output_bytes + stage.forward_overhead_bytes
        kept = source if source is Held.WHOLE else Held.CHECKPOINTED
        written = Held.PLAIN if target is Held.NOT else target
        # F_ck keeps its input.
        yield stage.forward_ns, needed, (gradient, _with(held, number, kept, written))
        # F_none consumes it. Without a^0, which nothing computes, B 1 would never run.
        if number > 1 and source in consumable:
            yield stage.forward_ns, needed, (gradient, _with(held, number, Held.NOT, written))
        # F_all keeps its input and writes a-bar in place of a.
        yield (
            stage.forward_ns,
            stored + stage.saved_bytes + stage.forward_overhead_bytes,
            (gradient, _with(held, number, kept, Held.WHOLE)),
        )
    if held[gradient] is Held.WHOLE and held[gradient - 1] is not Held.NOT:
        stage = chain.stages[gradient - 1]
        needed = stored + stage.backward_overhead_bytes
        if not chain.backward_overhead_holds_gradient:
            needed += _activation_bytes(chain, gradient - 1)
        left = Held.WHOLE if held[gradient - 1] is Held.WHOLE else Held.NOT
        yield stage.backward_ns, needed, (gradient - 1, _with(held, gradient, left, Held.NOT))


def _with(held: tuple[Held, ...], number: int, source: Held, target: Held) -> tuple[Held, ...]:
    return (*held[: number - 1], source, target, *held[number + 1 :])


def _stored_bytes(chain: Chain, state: State) -> int:
    gradient, held = state
    stored = _activation_bytes(chain, gradient)
    for number, how in enumerate(held):
        if how is Held.WHOLE:
            stored += chain.stages[number - 1].saved_bytes
        elif how is not Held.NOT:
            stored += _activation_bytes(chain, number)
    return stored


def _activation_bytes(chain: Chain, number: int) -> int:
    return chain.input_bytes if number == 0 else chain.stages[number - 1].output_bytes
