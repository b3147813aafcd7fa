"""Fastest steps of tiny chains if freeing a value costs nothing: an oracle of schedules with drops.

Written from the class of schedules in words. It reads the fields of `Chain` and `Stage`, and shares
no code with the replay, the thresholds or the programs that it checks, nor with the oracle of the
sequences of RR-9302.

A state is which gradient is in memory, and how each activation is held. *All schedules*: a forward
runs wherever its input is held, and anything may be freed at any time. *Persistent with drops*:

1. every a-bar stays until its backward;
2. a plain value that a forward has read and kept (a *checkpoint*) stays until the backward that
   reads it, or is dropped while the a-bar of the next stage is in memory;
3. only a value that nothing else has read makes way as a forward reads it;
4. a forward runs only from the newest value below the gradient.

A drop changes no clock, and what a smaller memory can do a larger one can: so one search that goes
through the states by their time, with the peak beside it, finds the whole trade-off.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator

from jettison.instances.remat_chain.chain import Chain
from tests.drawing.overheads import saving_overhead

# How the activation of a stage is held: not at all, plain, plain and read before, with all that
# the backward of its stage needs.
NOTHING, PLAIN, CHECKPOINT, WHOLE = range(4)

State = tuple[int, tuple[int, ...]]
# One operation: what it is, its stage, its time, the memory while it runs, the state after it.
Step = tuple[str, int, int, int, State]


def trade_off_with_drops(chain: Chain, most_bytes: float = math.inf) -> tuple[tuple[int, int], ...]:
    """Return every (peak bytes, time) that no schedule beats, the fastest first."""
    return _trade_off(chain, _any_step, most_bytes)


def persistent_trade_off_with_drops(
    chain: Chain, most_bytes: float = math.inf
) -> tuple[tuple[int, int], ...]:
    """Return every (peak bytes, time) that no persistent schedule with drops beats."""
    return _trade_off(chain, _persistent_step, most_bytes)


def fastest_with_drops(chain: Chain, memory_bytes: int) -> int | None:
    """Return the least time of any schedule within a memory, or None if nothing fits."""
    front = trade_off_with_drops(chain, memory_bytes)
    return front[0][1] if front else None


def fastest_persistent_with_drops(chain: Chain, memory_bytes: int) -> int | None:
    """Return the least time of a persistent schedule with drops within a memory, or None."""
    front = persistent_trade_off_with_drops(chain, memory_bytes)
    return front[0][1] if front else None


def _trade_off(
    chain: Chain, steps: Callable[[Chain, State], Iterator[Step]], most_bytes: float
) -> tuple[tuple[int, int], ...]:
    first: State = (len(chain.stages), (PLAIN,) + (NOTHING,) * len(chain.stages))
    queue = [(0, _stored(chain, first), first)]
    reached: dict[State, int] = {}
    front: list[tuple[int, int]] = []
    while queue:
        time_ns, peak, state = heapq.heappop(queue)
        if peak > most_bytes or peak >= reached.get(state, math.inf):
            continue
        reached[state] = peak
        if state[0] == 0:
            if not front or peak < front[-1][0]:
                front.append((peak, time_ns))
            continue
        for _, _, duration_ns, needed, after in steps(chain, state):
            later = max(peak, needed)
            if later < reached.get(after, math.inf):
                heapq.heappush(queue, (time_ns + duration_ns, later, after))
    return tuple(front)


def _any_step(chain: Chain, state: State) -> Iterator[Step]:
    gradient, held = state
    for number in range(1, gradient + 1):
        if held[number - 1] != NOTHING:
            # What the forward writes beside a value that is there already is of no use.
            if held[number] == NOTHING:
                yield _forward(chain, state, number, PLAIN)
            if held[number] != WHOLE:
                yield _forward(chain, state, number, WHOLE)
    for number in range(1, gradient + 1):
        # Nothing makes the input of the chain again.
        if held[number] == WHOLE:
            # Of a-bar, the output may be kept.
            yield _after(chain, "free", state, _with(held, {number: PLAIN}))
        elif held[number] == PLAIN:
            yield _after(chain, "free", state, _with(held, {number: NOTHING}))
    yield from _backward(chain, state)


def _persistent_step(chain: Chain, state: State) -> Iterator[Step]:
    gradient, held = state
    newest = max((k for k in range(gradient) if held[k] != NOTHING), default=0)
    number = newest + 1
    # Rule 4; where the gradient is above the newest value, a-bar of its own stage may wait.
    source = held[newest]
    if number <= gradient and source != NOTHING and held[number] != WHOLE:
        kept = WHOLE if source == WHOLE else CHECKPOINT
        if number < gradient:
            for kind, written in (("F_ck", PLAIN), ("F_all", WHOLE)):
                yield _forward(chain, state, number, written, source=kept, kind=kind)
            if source == PLAIN and newest > 0:
                yield _forward(chain, state, number, PLAIN, source=NOTHING, kind="F_none")
        else:
            yield _forward(chain, state, number, WHOLE, source=kept, kind="F_all")
    elif number < gradient:
        raise AssertionError("the newest value is the newest")
    for k in range(1, gradient):
        if held[k] == CHECKPOINT and held[k + 1] == WHOLE:
            yield _after(chain, "D", state, _with(held, {k: NOTHING}))
    yield from _backward(chain, state)


def _forward(
    chain: Chain,
    state: State,
    number: int,
    written: int,
    source: int | None = None,
    kind: str = "F",
) -> Step:
    gradient, held = state
    stage = chain.stages[number - 1]
    if written == WHOLE:
        working = stage.saved_bytes + saving_overhead(stage)
    else:
        working = stage.output_bytes + stage.forward_overhead_bytes
    needed = _stored(chain, state) + working
    changes = {number: written}
    if source is not None:
        changes[number - 1] = source
    return kind, number, stage.forward_ns, needed, (gradient, _with(held, changes))


def _backward(chain: Chain, state: State) -> Iterator[Step]:
    gradient, held = state
    if held[gradient] != WHOLE or held[gradient - 1] == NOTHING:
        return
    stage = chain.stages[gradient - 1]
    needed = _stored(chain, state) + stage.backward_overhead_bytes
    if not chain.backward_overhead_holds_gradient:
        needed += _gradient(chain, gradient - 1)
    rest = {gradient: NOTHING}
    if held[gradient - 1] != WHOLE:
        rest[gradient - 1] = NOTHING
    after = (gradient - 1, _with(held, rest))
    # The new gradient is in memory afterwards even where no overhead made room for it.
    yield "B", gradient, stage.backward_ns, max(needed, _stored(chain, after)), after


def _after(chain: Chain, kind: str, state: State, held: tuple[int, ...]) -> Step:
    return kind, 0, 0, _stored(chain, (state[0], held)), (state[0], held)


def _with(held: tuple[int, ...], changes: dict[int, int]) -> tuple[int, ...]:
    return tuple(changes.get(number, how) for number, how in enumerate(held))


def _stored(chain: Chain, state: State) -> int:
    gradient, held = state
    stored = _gradient(chain, gradient)
    for number, how in enumerate(held):
        if how == WHOLE:
            stored += chain.stages[number - 1].saved_bytes
        elif how != NOTHING:
            stored += _activation(chain, number)
    return stored


def _activation(chain: Chain, number: int) -> int:
    return chain.input_bytes if number == 0 else chain.stages[number - 1].output_bytes


def _gradient(chain: Chain, number: int) -> int:
    if number == 0:
        return chain.input_bytes
    stage = chain.stages[number - 1]
    given = stage.output_gradient_bytes
    return stage.output_bytes if given is None else given
