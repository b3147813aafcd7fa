"""Fastest steps of tiny chains, by search over memory contents: an oracle for schedules.

Written from Table 1 of RR-9302 alone. It reads the fields of `Chain` and `Stage`, and shares no
code with the replay, the thresholds or the programs that it checks.

A state is what is in memory: how the activation of each stage 0..N is held, and which gradient. One
search finds the whole trade-off between memory and time. Labels leave the queue in the order of
their time, so that a label is of use only if its peak is below those of all labels of its state
that came before.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from jettison.instances.remat_chain.chain import Chain
from tests.drawing.overheads import saving_overhead


class Held(IntEnum):
    """Form in which the activation of a stage is held in memory."""

    NOT = 0
    PLAIN = 1  # a, and no operation that keeps its input has read it
    CHECKPOINTED = 2  # a, and F_ck or F_all has read it
    WHOLE = 3  # a-bar, of which a is a part


State = tuple[int, tuple[Held, ...]]  # which gradient is held, and how each activation is
Front = tuple[tuple[int, int], ...]

# What F_none may consume. A schedule is persistent if it consumes nothing that had been saved.
NEVER_SAVED = frozenset({Held.PLAIN})
ANYTHING = frozenset({Held.PLAIN, Held.CHECKPOINTED, Held.WHOLE})


class Move(NamedTuple):
    """One operation from a state, the memory in use while it runs, and the state afterwards."""

    kind: str
    stage: int
    duration_ns: int
    needed_bytes: int
    after: State


def persistent_front(chain: Chain) -> Front:
    """Return every (peak bytes, time) that no persistent schedule beats, the fastest first."""
    return _front(chain, NEVER_SAVED)


def table_1_front(chain: Chain) -> Front:
    """Return every (peak bytes, time) that no sequence of Table 1 beats, the fastest first."""
    return _front(chain, ANYTHING)


def fastest_in(front: Front, memory_bytes: int) -> int | None:
    """Return the least time within a memory, or None if nothing fits."""
    return next((time_ns for peak_bytes, time_ns in front if peak_bytes <= memory_bytes), None)


def fastest_persistent(chain: Chain, memory_bytes: int) -> int | None:
    """Return the least time of a persistent schedule within a memory, or None."""
    return fastest_in(_front(chain, NEVER_SAVED, memory_bytes), memory_bytes)


def fastest(chain: Chain, memory_bytes: int) -> int | None:
    """Return the least time of any sequence of Table 1 within a memory, or None."""
    return fastest_in(_front(chain, ANYTHING, memory_bytes), memory_bytes)


def least_memory_persistent(chain: Chain) -> int:
    """Return the least peak of a persistent schedule."""
    return persistent_front(chain)[-1][0]


def least_memory(chain: Chain) -> int:
    """Return the least peak of any sequence of Table 1."""
    return table_1_front(chain)[-1][0]


def start(chain: Chain) -> State:
    """Return the state that holds the input and the gradient of the loss, which has no size."""
    count = len(chain.stages)
    return count, (Held.PLAIN,) + (Held.NOT,) * count


def moves(chain: Chain, state: State, consumable: frozenset[Held]) -> Iterator[Move]:
    """Yield the operations that a state allows and that could be of any use."""
    gradient, held = state
    stored = _stored_bytes(chain, state)
    # Nothing reads what a stage computes once its backward is done.
    for number in range(1, gradient + 1):
        stage = chain.stages[number - 1]
        source, target = held[number - 1], held[number]
        if source is Held.NOT:
            continue
        working = stored + stage.forward_overhead_bytes
        kept = source if source is Held.WHOLE else Held.CHECKPOINTED
        written = Held.PLAIN if target is Held.NOT else target
        after = (gradient, _with(held, number, kept, written))
        yield Move("F_ck", number, stage.forward_ns, working + stage.output_bytes, after)
        after = (gradient, _with(held, number, kept, Held.WHOLE))
        saving = stored + stage.saved_bytes + saving_overhead(stage)
        yield Move("F_all", number, stage.forward_ns, saving, after)
        # Without a^0, which nothing computes, the last backward would never run.
        if number > 1 and source in consumable:
            after = (gradient, _with(held, number, Held.NOT, written))
            yield Move("F_none", number, stage.forward_ns, working + stage.output_bytes, after)
    if held[gradient] is Held.WHOLE and held[gradient - 1] is not Held.NOT:
        stage = chain.stages[gradient - 1]
        working = stored + stage.backward_overhead_bytes
        if not chain.backward_overhead_holds_gradient:
            working += _gradient_bytes(chain, gradient - 1)
        left = Held.WHOLE if held[gradient - 1] is Held.WHOLE else Held.NOT
        after = (gradient - 1, _with(held, gradient, left, Held.NOT))
        # The new gradient is in memory afterwards even where no overhead made room for it.
        needed = max(working, _stored_bytes(chain, after))
        yield Move("B", gradient, stage.backward_ns, needed, after)


def _front(chain: Chain, consumable: frozenset[Held], limit_bytes: float = math.inf) -> Front:
    queue = [(0, _stored_bytes(chain, start(chain)), start(chain))]
    least_peak: dict[State, int] = {}
    front: list[tuple[int, int]] = []
    while queue:
        time_ns, peak_bytes, state = heapq.heappop(queue)
        if peak_bytes >= least_peak.get(state, math.inf):
            continue
        least_peak[state] = peak_bytes
        if state[0] == 0:
            # Final states count as one: what else is left in memory does not matter.
            if not front or peak_bytes < front[-1][0]:
                front.append((peak_bytes, time_ns))
            continue
        for move in moves(chain, state, consumable):
            peak = max(peak_bytes, move.needed_bytes)
            if peak <= limit_bytes and peak < least_peak.get(move.after, math.inf):
                heapq.heappush(queue, (time_ns + move.duration_ns, peak, move.after))
    return tuple(front)


def _with(held: tuple[Held, ...], number: int, source: Held, target: Held) -> tuple[Held, ...]:
    """Return the contents after stage `number` has run: its input held thus, its output thus."""
    return (*held[: number - 1], source, target, *held[number + 1 :])


def _stored_bytes(chain: Chain, state: State) -> int:
    gradient, held = state
    stored = _gradient_bytes(chain, gradient)
    for number, how in enumerate(held):
        if how is Held.WHOLE:
            stored += chain.stages[number - 1].saved_bytes
        elif how is not Held.NOT:
            stored += _activation_bytes(chain, number)
    return stored


def _activation_bytes(chain: Chain, number: int) -> int:
    return chain.input_bytes if number == 0 else chain.stages[number - 1].output_bytes


def _gradient_bytes(chain: Chain, number: int) -> int:
    if number == 0:
        return chain.input_bytes
    stage = chain.stages[number - 1]
    given = stage.output_gradient_bytes
    return stage.output_bytes if given is None else given
