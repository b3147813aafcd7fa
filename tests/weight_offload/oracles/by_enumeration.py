r"""The least period of the tiniest steps with offloaded weights, by writing down all intervals.

Built in another way than the search over moments: a period is :math:`T` unit slots in a circle, and
a schedule is a choice of slots. Every operation gets a start; every layer is absent during one
interval of slots between its backward and its forward, or none, and one between its forward and its
backward, or none; a layer that is ever absent gets an upload. More is never useful: without the
second of two deletions between two uses, and what moved between them, a schedule stays valid, and a
second upload between two backwards carries what the host has.

All durations are positive, so that what happens at one moment can always be put into an order in
which memory leaves before it is taken, and only the sum of each slot counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil

from jettison.instances.remat_chain.chain import Stage
from jettison.instances.weight_offload.problem import WeightOffload
from tests.drawing.overheads import saving_overhead

# The slots in which a layer's weights are in memory; those of its prefetches and of its upload.
Choice = tuple[frozenset[int], frozenset[int], frozenset[int]]


def _starts(durations: list[int], period: int, since: int = 0) -> Iterator[list[int]]:
    if not durations:
        yield []
        return
    for start in range(since, period - sum(durations) + 1):
        for rest in _starts(durations[1:], period, start + durations[0]):
            yield [start, *rest]


def _absences(after: int, until: int, moving: int) -> Iterator[tuple[int, int]]:
    """All (deleted, prefetched from) between the end of one use and the start of the next."""
    for deleted in range(after, until):
        for fetched in range(deleted + 1, until - moving + 1):
            yield deleted, fetched


def _choices(
    backward: tuple[int, int], forward: tuple[int, int], moving: int, period: int
) -> Iterator[Choice]:
    """All choices of a layer whose uses are [start, end); the forward lies after the backward."""
    between = [None, *_absences(backward[1], forward[0], moving)]
    around = [None, *_absences(forward[1], backward[0] + period, moving)]
    every = frozenset(range(period))
    for first in between:
        for second in around:
            absent: set[int] = set()
            fetching: list[int] = []
            for gap in (first, second):
                if gap is not None:
                    absent |= {slot % period for slot in range(*gap)}
                    fetching += [slot % period for slot in range(gap[1], gap[1] + moving)]
            if first is None and second is None:
                yield every, frozenset(), frozenset()
                continue
            deleted = first[0] if first is not None else second[0] if second is not None else 0
            for start in range(backward[1], deleted - moving + 1):
                slots = {slot % period for slot in range(start, start + moving)}
                yield every - absent, frozenset(fetching), frozenset(slots)


def _fits(
    options: list[list[Choice]],
    weights: list[int],
    room: list[int],
    busy: tuple[set[int], set[int]],
) -> bool:
    if not options:
        return True
    for resident, fetching, uploading in options[0]:
        if fetching & busy[0] or uploading & busy[1]:
            continue
        left = [
            amount - (weights[0] if slot in resident else 0) for slot, amount in enumerate(room)
        ]
        taken = (busy[0] | fetching, busy[1] | uploading)
        if min(left) >= 0 and _fits(options[1:], weights[1:], left, taken):
            return True
    return False


def _is_possible(problem: WeightOffload, period: int) -> bool:
    chain = problem.instance
    layers = len(chain)
    rate = Fraction(problem.link.bytes_per_s, 10**9)
    weights = [stage.weight_bytes for stage in chain]
    durations = [chain.stages[layer].backward_ns for layer in reversed(range(layers))]
    durations += [stage.forward_ns for stage in chain]
    for starts in _starts(durations, period):
        # The first operation starts the period, or all could start earlier.
        if starts[0]:
            break
        backward = [(starts[layers - 1 - k], durations[layers - 1 - k]) for k in range(layers)]
        forward = [(starts[layers + k], durations[layers + k]) for k in range(layers)]
        room = [
            problem.memory_bytes - _other_bytes(problem, backward, forward, slot)
            for slot in range(period)
        ]
        if min(room) < 0:
            continue
        options = []
        for layer in range(layers):
            back = (backward[layer][0], sum(backward[layer]))
            ahead = (forward[layer][0], sum(forward[layer]))
            options.append(list(_choices(back, ahead, ceil(weights[layer] / rate), period)))
        if _fits(options, weights, room, (set(), set())):
            return True
    return False


def _other_bytes(
    problem: WeightOffload,
    backward: list[tuple[int, int]],
    forward: list[tuple[int, int]],
    slot: int,
) -> int:
    """Bytes besides the weights in a slot: who was the last to start, and is it still running."""
    chain = problem.instance
    saved = [stage.saved_bytes for stage in chain]
    uses = [(start, length, True, k) for k, (start, length) in enumerate(backward)]
    uses += [(start, length, False, k) for k, (start, length) in enumerate(forward)]
    start, length, is_backward, layer = max(use for use in uses if use[0] <= slot)
    stage = chain.stages[layer]
    held = chain.input_bytes + sum(saved[: layer + 1])
    runs = slot < start + length
    if not is_backward:
        return held + (saving_overhead(stage) if runs else 0)
    gradient = chain.input_bytes if layer == 0 else _gradient_bytes(chain.stages[layer - 1])
    if not runs:
        return held - saved[layer] + (gradient if layer else 0)
    extra = stage.backward_overhead_bytes
    if chain.backward_overhead_holds_gradient:
        extra = max(extra, gradient if layer else 0)
    else:
        extra += gradient
    return held + _gradient_bytes(stage) + extra + stage.weight_bytes


def least_period_by_enumeration(problem: WeightOffload, longest_ns: int) -> int | None:
    """Return the least period up to a time, None if there is none; all weights have bytes."""
    shortest = sum(stage.forward_ns + stage.backward_ns for stage in problem.instance)
    for period in range(shortest, longest_ns + 1):
        if _is_possible(problem, period):
            return period
    return None


def _gradient_bytes(stage: Stage) -> int:
    given = stage.output_gradient_bytes
    return stage.output_bytes if given is None else given
