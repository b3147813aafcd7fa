r"""Placement of buffers whose lives are known: dynamic storage allocation.

Each buffer :math:`b` has a size :math:`s_b` and lives over an interval of computations. Offsets
:math:`o_b \ge 0` are wanted such that blocks that live at one time do not overlap, of the least
arena :math:`\max_b (o_b + s_b)`. That is strongly NP-hard (Garey and Johnson, SR2). The maximum
load, the largest sum of sizes at one time, is a lower bound; in theory an arena of
:math:`2 + \varepsilon` times the load can always be found (Buchsbaum et al. 2003), in practice
that of training steps is met or nearly so.

`place_all` places buffers one after the other in several orders, each at the lowest offset at which
it fits between those before it, which is what planners of compilers do (best fit or first fit by
decreasing size: Pisarchyk and Lee, arXiv:2001.03288; Sekiyama et al., arXiv:1804.10001). Then it
climbs: buffers that end at the top of the arena, or that stand below these, come earlier in the
order (Vela's hill climbing for Arm Ethos-U works likewise). Small sets are then settled by the
search of `least_arena`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jettison.schedules.remat_arena.buffers import Buffer, live_peak_bytes, rounded_up
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.params import Params
from jettison.solvers.remat_arena.least_arena import least_arena


@dataclass(frozen=True, kw_only=True)
class PlacementParams(Params):
    """Parameters of placing buffers.

    Attributes
    ----------
    alignment_bytes
        Offsets are multiples of it, and sizes are rounded up to multiples: 512 on CUDA, say.
    climbing_steps
        Orders that are tried by climbing, each of which places all buffers.
    most_steps_of_buffers
        Most buffers that are placed in all orders of climbing together.
    exact_steps
        Heights that the exact search looks at, after which it leaves the question open.
    """

    alignment_bytes: int = 1
    climbing_steps: int = 300
    most_steps_of_buffers: int = 100_000
    exact_steps: int = 2_000_000


PLACEMENT = PlacementParams()


@dataclass(frozen=True, slots=True)
class Placement:
    """Placement of buffers in an arena, with a lower bound.

    Attributes
    ----------
    offsets
        The first byte of each buffer.
    arena_bytes
        The end of the highest block.
    bound_bytes
        No placement has a smaller arena: the load, or the arena itself where that is proved.
    """

    offsets: tuple[int, ...]
    arena_bytes: int
    bound_bytes: int


Integers = npt.NDArray[np.int64]


class Strip:
    """Buffers as arrays, which are placed in one order after the other.

    Parameters
    ----------
    buffers
        What is placed.
    alignment_bytes
        Multiples of it are placed only.
    """

    def __init__(self, buffers: Sequence[Buffer], alignment_bytes: int) -> None:
        self.start = np.array([item.start for item in buffers], dtype=np.int64)
        self.end = np.array([item.end for item in buffers], dtype=np.int64)
        self.size = np.array(
            [rounded_up(item.size_bytes, alignment_bytes) for item in buffers], dtype=np.int64
        )
        self.count = len(buffers)

    def place(self, order: Sequence[int]) -> Integers:
        """Place in an order, each at its lowest offset; return the offsets. Quadratic at worst."""
        start, end = self.start[list(order)], self.end[list(order)]
        offsets = np.zeros(self.count, dtype=np.int64)
        # Columns of what is placed already, in the order of placement.
        low, high = np.zeros(self.count, dtype=np.int64), np.zeros(self.count, dtype=np.int64)
        for done, index in enumerate(order):
            beside = np.flatnonzero((start[:done] < end[done]) & (start[done] < end[:done]))
            offset, size = 0, int(self.size[index])
            if len(beside):
                ascending = beside[np.argsort(low[beside], kind="stable")]
                tops = np.maximum.accumulate(high[ascending])
                floors = np.concatenate(([0], tops))
                gaps = low[ascending] - floors[:-1]
                fitting = np.flatnonzero(gaps >= size)
                offset = int(floors[fitting[0]] if len(fitting) else tops[-1])
            offsets[index] = low[done] = offset
            high[done] = offset + size
        return offsets

    def arena_bytes(self, offsets: Integers) -> int:
        """Return the end of the highest block."""
        return int((offsets + self.size).max(initial=0))

    def below(self, index: int, offsets: Integers) -> list[int]:
        """Return buffers on which one rests, directly or not: what keeps it where it is."""
        found, waiting = {index}, [index]
        while waiting:
            top = waiting.pop()
            under = np.flatnonzero(
                (offsets + self.size == offsets[top])
                & (self.start < self.end[top])
                & (self.start[top] < self.end)
            )
            new = [int(item) for item in under if int(item) not in found]
            found.update(new)
            waiting += new
        return sorted(found)


def place_all(
    buffers: Sequence[Buffer],
    params: PlacementParams,
    clock: Clock,
    enough_bytes: int = 0,
    seed: int = 0,
) -> Placement:
    """Place buffers in a small arena, and stop at the load, or once the arena is small enough.

    Parameters
    ----------
    buffers
        What is placed; `live_peak_bytes` is their load.
    params
        Alignment and effort.
    clock
        When it runs out, the best placement so far is returned; there is always one.
    enough_bytes
        An arena of so many bytes will do.
    seed
        Seed of the climbing.
    """
    bound_bytes = live_peak_bytes(buffers, params.alignment_bytes)
    strip = Strip(buffers, params.alignment_bytes)
    target = max(bound_bytes, enough_bytes)
    best, order = _best_of_orders(strip, target, clock)
    if strip.arena_bytes(best) > target:
        best = _climb(strip, best, order, target, params, clock, random.Random(seed))
    arena_bytes = strip.arena_bytes(best)
    if arena_bytes > target:
        found = least_arena(buffers, params.alignment_bytes, arena_bytes, params.exact_steps, clock)
        if found.offsets is not None:
            best = np.array(found.offsets, dtype=np.int64)
            arena_bytes = strip.arena_bytes(best)
        if found.is_complete:
            bound_bytes = arena_bytes
    return Placement(tuple(map(int, best)), arena_bytes, bound_bytes)


def _best_of_orders(strip: Strip, target: int, clock: Clock) -> tuple[Integers, list[int]]:
    """Place by decreasing size, by decreasing life, by their product, and as the step runs."""
    life = strip.end - strip.start
    keys: tuple[Callable[[int], tuple[int, ...]], ...] = (
        lambda i: (-int(strip.size[i]), -int(life[i]), i),
        lambda i: (-int(life[i]), -int(strip.size[i]), i),
        lambda i: (-int(life[i]) * int(strip.size[i]), i),
        lambda i: (int(strip.start[i]), -int(life[i]), i),
    )
    best: Integers | None = None
    best_order: list[int] = []
    for key in keys:
        order = sorted(range(strip.count), key=key)
        offsets = strip.place(order)
        if best is None or strip.arena_bytes(offsets) < strip.arena_bytes(best):
            best, best_order = offsets, order
        if strip.arena_bytes(best) <= target or not clock.left_s:
            break
    assert best is not None
    return best, best_order


def _climb(
    strip: Strip,
    best: Integers,
    order: Sequence[int],
    target: int,
    params: PlacementParams,
    clock: Clock,
    chance: random.Random,
) -> Integers:
    """Let what stands at the top, or below that, come earlier, as long as the arena is too high."""
    current, order = best, list(order)
    steps = min(params.climbing_steps, params.most_steps_of_buffers // max(1, strip.count))
    for _ in range(steps):
        if strip.arena_bytes(best) <= target or not clock.left_s:
            break
        ends = current + strip.size
        top = int(chance.choice(np.flatnonzero(ends == ends.max()).tolist()))
        moved = top if chance.random() < 0.5 else chance.choice(strip.below(top, current))
        place = order.index(moved)
        tried = [*order[:place], *order[place + 1 :]]
        tried.insert(chance.randrange(place + 1), moved)
        offsets = strip.place(tried)
        # Sideways moves, and now and then a step up, lead out of plateaus.
        allowed = strip.arena_bytes(current) * (1.0 if chance.random() < 0.9 else 1.02)
        if strip.arena_bytes(offsets) <= allowed:
            current, order = offsets, tried
        if strip.arena_bytes(offsets) < strip.arena_bytes(best):
            best = offsets
    return best
