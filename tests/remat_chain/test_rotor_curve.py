"""A curve over memory: many brackets from two programs, each as valid as one of its own."""

from __future__ import annotations

import random

import pytest

from jettison.solvers.remat_chain.memory_grid import Bracket
from jettison.solvers.remat_chain.rotor import persistent_bracket, persistent_curve
from tests.drawing.chains import random_chain, scaled_chain
from tests.remat_chain.oracles.brute_force import fastest_in
from tests.remat_chain.oracles.judged_chains import judged, judged_chains


@pytest.mark.parametrize("slots", [1, 3, 8, 20])
def test_every_bracket_holds_the_brute_force_of_its_memory(slots: int) -> None:
    generator = random.Random(4)
    kept = missed = apart = 0
    for _ in range(80):
        chain, front, *_ = judged(
            random_chain(generator, generator.randint(1, 4), largest_output_bytes=40)
        )
        # Around every memory at which the best time changes, and a largest one that makes the
        # slots too wide to fall in step with any of them.
        peaks = {peak + more for peak, _ in front for more in (-1, 0, 1, 15)}
        memories = [*sorted(peaks), max(peaks) + 7]
        for memory, bracket in zip(memories, persistent_curve(chain, memories, slots), strict=True):
            best = fastest_in(front, memory)
            if best is None:
                assert bracket.schedule is None
                continue
            assert bracket.floor_ns is not None
            assert bracket.floor_ns <= best
            if bracket.schedule is None:
                missed += 1
                continue
            kept += 1
            replay = bracket.schedule.replay(chain, memory)
            assert replay.valid
            assert replay.time_ns >= best
            apart += bracket.floor_ns < replay.time_ns
    # Of 685 memories with a schedule, rounding up keeps one in 21 (1 slot) to 449 (20 slots).
    assert kept > 0
    assert missed > 0
    assert apart > 0


def test_where_the_grid_is_exact_the_curve_is_that_of_the_brute_force() -> None:
    for item in judged_chains()[::4]:
        memories = item.memories()
        for memory, bracket in zip(
            memories, persistent_curve(item.chain, memories, 500), strict=True
        ):
            best = fastest_in(item.persistent, memory)
            assert bracket.floor_ns == best
            if bracket.schedule is None:
                assert best is None
            else:
                assert bracket.schedule.replay(item.chain, memory).time_ns == best


def test_the_largest_memory_gets_the_bracket_it_gets_alone() -> None:
    generator = random.Random(1)
    for stage_count in (1, 2, 9, 30):
        chain = random_chain(generator, stage_count, largest_output_bytes=1000)
        largest = chain.store_all_peak_bytes - 1
        curve = persistent_curve(chain, [largest // 3, largest, largest // 2], 50)
        assert curve[1] == persistent_bracket(chain, largest, 50)


def test_more_memory_never_raises_a_floor_or_loses_a_schedule() -> None:
    chain = random_chain(random.Random(5), 12, largest_output_bytes=1000)
    most = chain.store_all_peak_bytes
    curve = persistent_curve(chain, range(most, 0, -most // 40), 60)
    floors = [bracket.floor_ns for bracket in curve if bracket.floor_ns is not None]
    assert len(floors) > 10
    assert floors == sorted(floors)
    fits = [bracket.schedule is not None for bracket in curve]
    assert fits == sorted(fits, reverse=True)


def test_the_answers_come_in_the_order_asked_with_repetitions() -> None:
    chain = random_chain(random.Random(2), 6)
    most = chain.store_all_peak_bytes
    memories = [most // 2, most, most // 2, chain.input_bytes - 1, most]
    curve = persistent_curve(chain, memories, 20)
    assert curve[3] == Bracket(None, None, True)
    assert (curve[0], curve[1]) == (curve[2], curve[4])
    assert curve == [persistent_curve(chain, [memory, most], 20)[0] for memory in memories]


def test_no_memories_and_memories_below_the_input_need_no_program() -> None:
    chain = random_chain(random.Random(2), 6)
    assert persistent_curve(chain, [], 20) == []
    assert (
        persistent_curve(chain, [-1, chain.input_bytes - 1], 20) == [Bracket(None, None, True)] * 2
    )


def test_sizes_far_above_the_slots_are_divided_exactly() -> None:
    # The grid does not depend on the unit of the sizes, even where their products with the slots
    # pass 64 bits.
    generator = random.Random(8)
    for _ in range(10):
        chain = random_chain(generator, 8, largest_output_bytes=1000)
        most = chain.store_all_peak_bytes
        assert most * 2**41 * 1500 > 2**63
        memories = [most * k // 7 for k in range(8)]
        expected = persistent_curve(chain, memories, 1500)
        assert not all(bracket.is_exact for bracket in expected)
        found = persistent_curve(
            scaled_chain(chain, 2**41), [memory * 2**41 for memory in memories], 1500
        )
        assert found == expected


def test_threads_do_not_change_the_curve() -> None:
    chain = random_chain(random.Random(3), 25, largest_output_bytes=1000)
    memories = [chain.store_all_peak_bytes * k // 9 for k in range(9)]
    assert persistent_curve(chain, memories, 100, threads=3) == persistent_curve(
        chain, memories, 100
    )


def test_a_curve_keeps_its_time_limit() -> None:
    chain = random_chain(random.Random(3), 25, largest_output_bytes=1000)
    with pytest.raises(TimeoutError):
        persistent_curve(chain, [chain.store_all_peak_bytes - 1], 100, time_limit_s=0.0)
