"""Fastest steps of tiny chains with a link to the host: all sequences, all offloaded sets.

Written from Table 1 and the assumptions 1 to 3 of the POFO paper (NeurIPS 2021): persistent
sequences; values leave before the boundary between F and B of the loss and come back after it;
memory is given back and taken while a transfer runs. It reads the fields of `Chain` and `Stage` and
shares no code with the programs and replays that it checks. With a bandwidth of n / d bytes per ns,
times are counted n-fold and sizes d-fold: the link moves 1 unit per tick, and all is exact.

Between the boundary and the start, time is reversed: a value that must be back for an operation
leaves after that operation, seen backwards. So one loop, which lets values leave as early as they
can and in the order in which they can, does for both phases.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations

from jettison.instances.remat_chain.chain import Chain
from tests.drawing.overheads import saving_overhead

NOT, PLAIN, CHECKPOINTED, WHOLE = range(4)


@dataclass(frozen=True)
class Value:
    """The activation of a stage, whole (a-bar) or not (a)."""

    stage: int
    whole: bool


@dataclass(frozen=True)
class Step:
    """An operation with the values it reads, all that is in memory, and what else it needs."""

    kind: str
    stage: int
    reads: frozenset[Value]
    held: frozenset[Value]
    gradient: int


@cache
def sequences(count: int) -> tuple[tuple[Step, ...], ...]:
    """Return the persistent sequences on `count` stages that compute nothing in vain."""
    start = (CHECKPOINTED,) + (NOT,) * count
    return tuple(_complete(count, start, ()))


def _complete(
    gradient: int, held: tuple[int, ...], done: tuple[Step, ...]
) -> Iterator[tuple[Step, ...]]:
    if gradient == 0:
        yield done
        return
    if _can_run_back(gradient, held):
        yield from _complete(*_run_back(gradient, held, done))
        return
    # What lies above the highest value that is held comes next; anything else would be computed
    # long before it is used.
    source = max(k for k in range(gradient) if held[k] != NOT)
    number = source + 1

    def forward(kind: str, kept: int, made: int) -> Iterator[tuple[Step, ...]]:
        after = (*held[:source], kept, made, *held[number + 1 :])
        step = _step(kind, number, held, gradient)
        yield from _complete(gradient, after, (*done, step))

    kept = WHOLE if held[source] == WHOLE else CHECKPOINTED
    yield from forward("F_all", kept, WHOLE)
    if number < gradient:
        yield from forward("F_ck", kept, PLAIN)
        if held[source] == PLAIN:
            yield from forward("F_none", NOT, PLAIN)


@cache
def sequences_in_any_order(count: int) -> tuple[tuple[Step, ...], ...]:
    """Return the persistent sequences on a few stages that make nothing twice over.

    Where gradients are larger than outputs, what is used later may have to be computed early.
    """
    start = (CHECKPOINTED,) + (NOT,) * count
    return tuple(_complete_in_any_order(count, start, ()))


def _complete_in_any_order(
    gradient: int, held: tuple[int, ...], done: tuple[Step, ...]
) -> Iterator[tuple[Step, ...]]:
    if gradient == 0:
        yield done
        return
    if _can_run_back(gradient, held):
        yield from _complete_in_any_order(*_run_back(gradient, held, done))
    for number in range(1, gradient + 1):
        source = held[number - 1]
        if source == NOT or held[number] == WHOLE:
            continue
        kept = WHOLE if source == WHOLE else CHECKPOINTED
        ways = [("F_all", kept, WHOLE)]
        if held[number] == NOT and number < gradient:
            ways.append(("F_ck", kept, PLAIN))
            if source == PLAIN:
                ways.append(("F_none", NOT, PLAIN))
        for kind, left, made in ways:
            after = (*held[: number - 1], left, made, *held[number + 1 :])
            step = _step(kind, number, held, gradient)
            yield from _complete_in_any_order(gradient, after, (*done, step))


def _can_run_back(gradient: int, held: tuple[int, ...]) -> bool:
    return held[gradient] == WHOLE and held[gradient - 1] != NOT


def _run_back(
    gradient: int, held: tuple[int, ...], done: tuple[Step, ...]
) -> tuple[int, tuple[int, ...], tuple[Step, ...]]:
    left = WHOLE if held[gradient - 1] == WHOLE else NOT
    after = (*held[: gradient - 1], left, NOT, *held[gradient + 1 :])
    return gradient - 1, after, (*done, _step("B", gradient, held, gradient))


def _step(kind: str, stage: int, held: tuple[int, ...], gradient: int) -> Step:
    values = {k: Value(k, how == WHOLE) for k, how in enumerate(held) if how != NOT}
    reads = {values[stage - 1]} | ({values[stage]} if kind == "B" else set())
    return Step(kind, stage, frozenset(reads), frozenset(values.values()), gradient)


def offload_sets(sequence: tuple[Step, ...]) -> Iterator[tuple[Value, ...]]:
    """Yield every set of values that can be away at the boundary."""
    boundary = next(step for step in sequence if step.kind == "B")
    movable = sorted(
        (value for value in boundary.held if value.stage < boundary.stage),
        key=lambda value: value.stage,
    )
    for size in range(len(movable) + 1):
        yield from combinations(movable, size)


@dataclass(frozen=True)
class Link:
    """A chain and its memory in ticks and units."""

    chain: Chain
    memory_bytes: int
    bytes_per_ns: Fraction

    def ticks(self, step: Step) -> int:
        """Return the duration of an operation."""
        stage = self.chain.stages[step.stage - 1]
        time_ns = stage.backward_ns if step.kind == "B" else stage.forward_ns
        return time_ns * self.bytes_per_ns.numerator

    def units(self, size_bytes: int) -> int:
        """Return a size."""
        return size_bytes * self.bytes_per_ns.denominator


def fastest(
    chain: Chain,
    memory_bytes: int,
    bytes_per_ns: Fraction,
    *,
    recomputes: bool = True,
    in_order: bool = True,
) -> Fraction | None:
    """Return the least time in nanoseconds, or None if nothing fits."""
    link = Link(chain, memory_bytes, bytes_per_ns)
    best = None
    find = sequences if in_order else sequences_in_any_order
    for sequence in find(len(chain.stages)):
        if not recomputes and len(sequence) > 2 * len(chain.stages):
            continue
        if best is not None and sum(link.ticks(step) for step in sequence) >= best:
            continue
        for away in offload_sets(sequence):
            time = makespan(link, sequence, away)
            if time is not None and (best is None or time < best):
                best = time
    return None if best is None else Fraction(best, bytes_per_ns.numerator)


def makespan(link: Link, sequence: tuple[Step, ...], away: tuple[Value, ...]) -> int | None:
    """Return the ticks of a sequence with the given values away at the boundary, or None."""
    boundary = next(k for k, step in enumerate(sequence) if step.kind == "B")
    forward, backward = sequence[:boundary], sequence[boundary:]
    # A value can leave once it is there: the input at the start, the others after their operation.
    made = dict.fromkeys(away, 0)
    for value in away:
        for k, step in enumerate(forward):
            if step.stage == value.stage:
                made[value] = k + 1
    first = _phase(link, forward, made)
    if first is None:
        return None
    mirrored = tuple(reversed(backward))
    # It must be back before the first operation that reads it.
    needed = {}
    for value in away:
        readers = [k for k, step in enumerate(mirrored) if value in step.reads]
        if not readers:
            # It is made again before it is read, so that nothing is gained.
            return None
        needed[value] = max(readers) + 1
    second = _phase(link, mirrored, needed)
    return None if second is None else first + second


def _phase(link: Link, steps: tuple[Step, ...], leaves_before: dict[Value, int]) -> int | None:
    """Run steps in order; a value leaves from before the step of the given index on."""
    now = link_free = 0
    leaving: list[tuple[Value, int]] = []  # with the tick at which the transfer starts
    for position in range(len(steps) + 1):
        for value, before in leaves_before.items():
            # No two values can leave from the same step on, so that there is one order.
            if before == position:
                start = max(now, link_free)
                leaving.append((value, start))
                link_free = start + link.units(_bytes(link.chain, value))
        if position == len(steps):
            break
        step = steps[position]
        short = link.units(_needed_bytes(link.chain, step) - link.memory_bytes)
        # Memory is short until enough of what leaves, and is not read, is gone.
        for value, start in leaving:
            if value in step.reads or value not in step.held:
                continue
            size = link.units(_bytes(link.chain, value))
            gone = min(max(now - start, 0), size)
            if short > gone:
                gone = min(short, size)
                now = max(now, start + gone)
            short -= gone
        if short > 0:
            return None
        now += link.ticks(step)
    return max(now, link_free)


def _bytes(chain: Chain, value: Value) -> int:
    if value.stage == 0:
        return chain.input_bytes
    stage = chain.stages[value.stage - 1]
    return stage.saved_bytes if value.whole else stage.output_bytes


def _needed_bytes(chain: Chain, step: Step) -> int:
    stage = chain.stages[step.stage - 1]
    needed = sum(_bytes(chain, value) for value in step.held)
    needed += _gradient_bytes(chain, step.gradient)
    if step.kind == "B":
        if not chain.backward_overhead_holds_gradient:
            needed += _gradient_bytes(chain, step.stage - 1)
        return needed + stage.backward_overhead_bytes
    if step.kind == "F_all":
        return needed + stage.saved_bytes + saving_overhead(stage)
    return needed + stage.output_bytes + stage.forward_overhead_bytes


def _gradient_bytes(chain: Chain, number: int) -> int:
    if number == 0:
        return chain.input_bytes
    stage = chain.stages[number - 1]
    given = stage.output_gradient_bytes
    return stage.output_bytes if given is None else given
