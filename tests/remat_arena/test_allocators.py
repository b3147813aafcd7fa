"""Allocators at run time: an arena of best or first fit, and the rules of PyTorch's for CUDA."""

from __future__ import annotations

import random

import pytest

from jettison.schedules.remat_arena.allocator import AllocationError, allocate
from jettison.schedules.remat_arena.arena import Arena, Fit
from jettison.schedules.remat_arena.buffers import Buffer, live_peak_bytes
from jettison.schedules.remat_arena.caching import CachingAllocator

MIB = 2**20


def test_best_fit_takes_the_smallest_hole_and_first_fit_the_lowest() -> None:
    offsets = {}
    for fit in Fit:
        arena = Arena(fit)
        for size in (4, 1, 2, 1):
            arena.allocate(size)
        # Holes of 4 bytes at 0 and of 2 at 5.
        arena.free(0)
        arena.free(5)
        offsets[fit] = arena.allocate(2)
    assert offsets == {Fit.BEST: 5, Fit.FIRST: 0}


def test_free_neighbours_become_one_hole_and_the_end_moves_down() -> None:
    arena = Arena()
    places = [arena.allocate(3) for _ in range(4)]
    assert places == [0, 3, 6, 9]
    arena.free(0)
    arena.free(3)
    assert arena.allocate(6) == 0
    arena.free(9)
    arena.free(6)
    # The arena ends at 6 again, and grows from there.
    assert arena.allocate(8) == 6
    assert arena.peak_bytes == 14


def test_a_hole_in_two_pieces_serves_nothing_of_their_sum() -> None:
    # Three values of 2 bytes; the outer ones go, and 4 bytes come.
    buffers = [
        Buffer(0, False, 2, 0, 3),
        Buffer(1, False, 2, 1, 5),
        Buffer(2, False, 2, 2, 3),
        Buffer(3, False, 4, 3, 5),
        Buffer(4, False, 1, 4, 5),
    ]
    assert live_peak_bytes(buffers) == 7
    served = allocate(buffers, Arena())
    # The last one of 2 is at the end: the 4 come after the one in the middle, at 4.
    assert served.fits
    assert served.held_peak_bytes == 8
    assert served.waste_bytes == 1
    refused = allocate(buffers, Arena(limit_bytes=7))
    assert not refused.fits
    assert refused.refused_at == 3


def test_no_allocator_overlaps_and_none_holds_less_than_what_is_live() -> None:
    for seed in range(30):
        chance = random.Random(seed)
        fit = chance.choice(list(Fit))
        arena = Arena(fit, alignment_bytes=chance.choice((1, 8)))
        blocks: dict[int, int] = {}
        live = 0
        for _ in range(200):
            if blocks and chance.random() < 0.45:
                offset = chance.choice(list(blocks))
                arena.free(offset)
                live -= blocks.pop(offset)
            else:
                size = chance.randint(1, 30)
                offset = arena.allocate(size)
                assert all(
                    offset + size <= other or other + blocks[other] <= offset for other in blocks
                )
                blocks[offset] = size
                live += size
            assert arena.peak_bytes >= live


def test_small_requests_share_a_segment_of_two_mebibytes() -> None:
    allocator = CachingAllocator()
    numbers = [allocator.allocate(1) for _ in range(2 * MIB // 512)]
    assert allocator.peak_bytes == 2 * MIB
    extra = allocator.allocate(1)
    assert allocator.peak_bytes == 4 * MIB
    for number in (*numbers, extra):
        allocator.free(number)
    # Whole segments are free, and serve the largest small requests.
    for _ in range(4):
        allocator.allocate(MIB)
    assert allocator.peak_bytes == 4 * MIB


@pytest.mark.parametrize(
    ("size", "reserved"),
    [
        (MIB, 2 * MIB),
        (MIB + 1, 20 * MIB),
        (10 * MIB - 512, 20 * MIB),
        (10 * MIB, 10 * MIB),
        (10 * MIB + 1, 12 * MIB),
    ],
)
def test_segments_have_the_sizes_of_pytorch(size: int, reserved: int) -> None:
    allocator = CachingAllocator()
    allocator.allocate(size)
    assert allocator.peak_bytes == reserved


def test_a_large_block_is_split_only_where_more_than_a_mebibyte_is_left() -> None:
    # 19 MiB of 20 leave 1 MiB, which stays with the request; 18.5 MiB leave 1.5.
    for size, reserved in ((19 * MIB, 40 * MIB), (18 * MIB + MIB // 2, 20 * MIB)):
        allocator = CachingAllocator()
        first = allocator.allocate(9 * MIB)
        allocator.free(first)
        allocator.allocate(size)
        allocator.allocate(MIB + 512)
        assert allocator.peak_bytes == reserved


def test_unused_segments_go_back_to_a_full_device_before_a_request_fails() -> None:
    allocator = CachingAllocator(limit_bytes=30 * MIB)
    first = allocator.allocate(20 * MIB)
    allocator.free(first)
    # 24 MiB have no room beside the cached segment of 20, which is given back.
    second = allocator.allocate(24 * MIB)
    assert allocator.peak_bytes == 24 * MIB
    with pytest.raises(AllocationError):
        allocator.allocate(8 * MIB)
    allocator.free(second)
    allocator.allocate(8 * MIB)


def test_without_a_limit_cached_segments_are_kept() -> None:
    allocator = CachingAllocator()
    allocator.free(allocator.allocate(20 * MIB))
    allocator.allocate(24 * MIB)
    assert allocator.peak_bytes == 44 * MIB
