"""Placement of buffers: valid, never below the load, and exact on small sets."""

from __future__ import annotations

import random
from dataclasses import replace

from jettison.schedules.remat_arena.buffers import Buffer, live_peak_bytes
from jettison.solvers.core.clock import Clock
from jettison.solvers.remat_arena.buffer_placement import PLACEMENT, Placement, place_all
from jettison.solvers.remat_arena.least_arena import least_arena
from tests.remat_arena.oracles.addresses_by_enumeration import least_arena_bytes

# As (start, end, size): 5 bytes are in memory at each of five moments, and no 5 bytes hold them.
ABOVE_ITS_LOAD = (
    (0, 1, 2),
    (0, 2, 3),
    (1, 3, 1),
    (2, 3, 1),
    (1, 4, 1),
    (2, 4, 2),
    (3, 5, 2),
    (4, 5, 3),
)
NO_CLOCK = Clock(None)


def drawn(chance: random.Random, count: int, moments: int, most_bytes: int) -> list[Buffer]:
    found = []
    for number in range(count):
        start = chance.randrange(moments)
        end = min(moments, start + chance.randint(1, 4))
        found.append(Buffer(number, False, chance.randint(1, most_bytes), start, end))
    return found


def check(buffers: list[Buffer], placed: Placement, alignment_bytes: int = 1) -> None:
    load = live_peak_bytes(buffers, alignment_bytes)
    assert load <= placed.bound_bytes <= placed.arena_bytes
    for i, one in enumerate(buffers):
        assert placed.offsets[i] % alignment_bytes == 0
        assert placed.offsets[i] >= 0
        assert placed.offsets[i] + one.size_bytes <= placed.arena_bytes
        for j, other in enumerate(buffers[:i]):
            apart = (
                placed.offsets[i] + one.size_bytes <= placed.offsets[j]
                or placed.offsets[j] + other.size_bytes <= placed.offsets[i]
            )
            assert apart or not one.overlaps(other)


def test_the_search_finds_the_least_arena_of_an_enumeration() -> None:
    for seed in range(60):
        chance = random.Random(seed)
        buffers = drawn(chance, chance.randint(1, 6), 5, 3)
        expected = least_arena_bytes(
            [(item.start, item.end - 1, item.size_bytes) for item in buffers]
        )
        placed = place_all(buffers, PLACEMENT, NO_CLOCK)
        check(buffers, placed)
        assert placed.arena_bytes == placed.bound_bytes == expected, seed
        # From nothing known, the search alone comes to the same.
        found = least_arena(buffers, 1, 10**6, 10**6, NO_CLOCK)
        assert found.is_complete
        assert found.offsets is not None
        ends = [o + item.size_bytes for o, item in zip(found.offsets, buffers, strict=True)]
        assert max(ends) == expected, seed


def test_an_arena_above_the_load_is_found_and_proved() -> None:
    buffers = [
        Buffer(number, False, size, start, end)
        for number, (start, end, size) in enumerate(ABOVE_ITS_LOAD)
    ]
    assert live_peak_bytes(buffers) == 5
    assert least_arena_bytes([(start, end - 1, size) for start, end, size in ABOVE_ITS_LOAD]) == 6
    placed = place_all(buffers, PLACEMENT, NO_CLOCK)
    check(buffers, placed)
    assert placed.arena_bytes == placed.bound_bytes == 6
    # Without the search the arena is the same, but the load is all that is proved.
    hurried = place_all(buffers, replace(PLACEMENT, exact_steps=1), NO_CLOCK)
    check(buffers, hurried)
    assert hurried.bound_bytes == 5


def test_more_buffers_are_placed_near_the_load_and_on_multiples_of_the_alignment() -> None:
    for seed in range(2):
        buffers = drawn(random.Random(seed), 120, 40, 5000)
        for alignment_bytes in (1, 512):
            params = replace(
                PLACEMENT, alignment_bytes=alignment_bytes, climbing_steps=20, exact_steps=100_000
            )
            placed = place_all(buffers, params, NO_CLOCK)
            check(buffers, placed, alignment_bytes)
            load = live_peak_bytes(buffers, alignment_bytes)
            assert placed.arena_bytes <= 1.1 * load, seed


def test_an_arena_that_is_large_enough_ends_the_search() -> None:
    buffers = drawn(random.Random(3), 100, 40, 5000)
    enough = 2 * live_peak_bytes(buffers)
    placed = place_all(buffers, PLACEMENT, NO_CLOCK, enough_bytes=enough)
    check(buffers, placed)
    assert placed.arena_bytes <= enough


def test_nothing_takes_no_arena() -> None:
    assert place_all([], PLACEMENT, NO_CLOCK).arena_bytes == 0
