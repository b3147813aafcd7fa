"""The program with drops on grids: floors and ceilings around the exact one, in either form."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from jettison.instances.core.errors import InputError
from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers import _kernels
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.remat_chain.drop_grid import (
    DROP_GRID,
    DropGridParams,
    Form,
    curve_with_drops,
    most_slots,
)
from jettison.solvers.remat_chain.drop_needs import DropNeeds
from jettison.solvers.remat_chain.drop_search import fastest_with_drops, least_memory_with_drops
from jettison.solvers.remat_chain.memory_grid import Bracket, MemoryGrid, kernel_arguments
from jettison.solvers.remat_chain.rotor import persistent_curve
from tests.drawing.chains import random_chain, scaled_chain
from tests.remat_chain.oracles.drop_recurrence import Reading, time_by_recurrence

WITHOUT_LIMIT = SolveOptions(time_limit_s=None, gap=0)


def drawn(count: int, seed: int) -> list[tuple[Chain, list[int]]]:
    """Return chains whose sizes share no divisor, and memories around what they need."""
    generator = random.Random(seed)
    found = []
    for _ in range(count):
        chain = random_chain(generator, generator.randint(1, 8), largest_output_bytes=9)
        if generator.random() < 0.5:
            chain = scaled_chain(chain, 10**9 + 7)
        least = least_memory_with_drops(chain)[0]
        most = max(chain.store_all_peak_bytes, least)
        found.append((chain, [least - 1, least, (least + most) // 2, most - 1, most + 3]))
    return found


def exact_ns(chain: Chain, memory_bytes: int) -> int | None:
    found = fastest_with_drops(chain, memory_bytes, WITHOUT_LIMIT)
    return None if found is None else found[0].time_ns


@pytest.mark.parametrize("form", list(Form))
def test_floor_exact_and_ceiling_stand_in_this_order(form: Form) -> None:
    generator = random.Random(form)
    ceilings = apart = 0
    for chain, memories in drawn(25, 5):
        slots = generator.choice((1, 3, 10, 50, 500))
        params = DROP_GRID
        if form is Form.TWO:
            # Four tables of half as many slots fit, of which the floor then comes.
            rows = len(chain) * (len(chain) + 1) // 2
            params = DropGridParams(largest_drop_tables_bytes=32 * rows * (slots // 2 + 2))
        threads = generator.randint(1, 3)
        brackets = curve_with_drops(chain, memories, slots, threads=threads, params=params)
        for memory_bytes, bracket in zip(memories, brackets, strict=True):
            best = exact_ns(chain, memory_bytes)
            if best is None:
                assert bracket.schedule is None
                continue
            assert bracket.floor_ns is not None
            assert bracket.floor_ns <= best
            if bracket.schedule is None:
                continue
            replay = bracket.schedule.replay(chain, memory_bytes)
            assert replay.valid
            assert replay.time_ns >= best
            assert ScheduleClass.PERSISTENT_WITH_DROPS.covers(replay.schedule_class)
            assert not bracket.is_exact or bracket.floor_ns == best == replay.time_ns
            ceilings += 1
            apart += bracket.floor_ns < replay.time_ns
    assert ceilings > 35
    assert apart > 5


def test_four_tables_are_no_slower_than_two_and_two_no_slower_than_one() -> None:
    faster = {Form.FOUR: 0, Form.TWO: 0}
    for chain, memories in drawn(60, 6):
        available = [
            memory - chain.input_bytes for memory in memories if memory > chain.input_bytes
        ]
        if not available:
            continue
        arguments = kernel_arguments(
            DropNeeds(chain), MemoryGrid(max(available), 60), available, rounds_up=True
        )
        four, two = (_kernels.times_with_drops(form, *arguments) for form in (Form.FOUR, Form.TWO))
        first = [needs[0].copy() for needs in arguments[4:6]]
        one = _kernels.persistent_times(*arguments[:4], *first, arguments[6])
        for best, better, good in zip(four, two, one, strict=True):
            # None where nothing fits.
            assert (best or np.inf) <= (better or np.inf) <= (good or np.inf)
            faster[Form.TWO] += better != good
            faster[Form.FOUR] += best != better
    assert faster[Form.TWO] > 5


def test_either_form_is_its_recurrence() -> None:
    generator = random.Random(11)
    missed = 0
    for _ in range(50):
        chain = random_chain(generator, generator.randint(4, 6), largest_output_bytes=9)
        least = least_memory_with_drops(chain)[0]
        memory = generator.randint(least, max(least, chain.store_all_peak_bytes - 1))
        available = memory - chain.input_bytes
        # One slot is one byte.
        arguments = kernel_arguments(
            DropNeeds(chain), MemoryGrid(available, available), [available], rounds_up=True
        )
        (four,), (two,) = (_kernels.times_with_drops(form, *arguments) for form in (4, 2))
        assert four == time_by_recurrence(chain, memory)
        assert two == time_by_recurrence(chain, memory, Reading.TWO_TABLES)
        missed += four != two
    # A checkpoint that serves once more before its F_all, and is dropped then.
    assert 0 < missed < 10


def test_the_answers_do_not_depend_on_the_number_of_threads() -> None:
    generator = random.Random(2)
    chain = scaled_chain(random_chain(generator, 40, largest_output_bytes=9), 10**6 + 3)
    least = least_memory_with_drops(chain)[0]
    memories = [least, (least + chain.store_all_peak_bytes) // 2]
    assert curve_with_drops(chain, memories, 90) == curve_with_drops(chain, memories, 90, threads=3)


def test_times_of_64_bits_are_counted_as_well() -> None:
    generator = random.Random(4)
    for chain, memories in drawn(8, 7):
        factor = generator.randint(10**9, 2 * 10**9)
        slow = scaled_times(chain, factor)
        for some, more in zip(
            curve_with_drops(chain, memories, 40), curve_with_drops(slow, memories, 40), strict=True
        ):
            assert more.floor_ns == (None if some.floor_ns is None else factor * some.floor_ns)


def scaled_times(chain: Chain, factor: int) -> Chain:
    """Return the same chain, slower."""
    return replace(
        chain,
        stages=tuple(
            replace(
                stage,
                forward_ns=factor * stage.forward_ns,
                backward_ns=factor * stage.backward_ns,
            )
            for stage in chain
        ),
    )


def test_no_memory_no_slot_no_time_and_too_many_slots() -> None:
    chain = random_chain(random.Random(1), 5, largest_output_bytes=9)
    peak = chain.store_all_peak_bytes
    assert curve_with_drops(chain, [], 20) == []
    assert curve_with_drops(chain, [-1], 20) == [Bracket(None, None, True)]
    with pytest.raises(InputError, match="slots"):
        curve_with_drops(chain, [peak], 0)
    long = scaled_chain(random_chain(random.Random(1), 60, largest_output_bytes=9), 10**9 + 7)
    with pytest.raises(TimeoutError):
        curve_with_drops(long, [long.store_all_peak_bytes - 1], 500, time_limit_s=1e-9)
    with pytest.raises(MemoryError):
        curve_with_drops(long, [long.store_all_peak_bytes + 1], most_slots(long, Form.TWO) + 1)


def test_a_curve_of_the_program_without_drops_is_never_below_that_with_them() -> None:
    for chain, memories in drawn(15, 9):
        with_drops = curve_with_drops(chain, memories, 30)
        without = persistent_curve(chain, memories, 30)
        for one, other in zip(with_drops, without, strict=True):
            if other.floor_ns is not None:
                assert one.floor_ns is not None
                assert one.floor_ns <= other.floor_ns
            if other.schedule is not None:
                assert one.schedule is not None
                assert one.schedule.replay(chain).time_ns <= other.schedule.replay(chain).time_ns
