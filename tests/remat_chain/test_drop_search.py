"""The persistent optimum with drops, against brute forces that share no code with it."""

from __future__ import annotations

import math
import random

import pytest

import jettison as jt
from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_chain.drop_search import (
    fastest_with_drops,
    infeasibility_with_drops,
    least_memory_with_drops,
)
from jettison.solvers.remat_chain.least_memory import least_persistent_memory
from jettison.solvers.remat_chain.rotor import persistent_bracket
from jettison.solvers.remat_chain.rotor_exact import EXACT_SEARCH, ExactSearchParams, Search
from tests.drawing.chains import random_chain
from tests.remat_chain.oracles.brute_force import fastest_in, fastest_persistent, persistent_front
from tests.remat_chain.oracles.drop_recurrence import Reading, time_by_recurrence
from tests.remat_chain.oracles.drops_brute_force import (
    fastest_with_drops as fastest_of_all,
)
from tests.remat_chain.oracles.drops_brute_force import (
    persistent_trade_off_with_drops,
    trade_off_with_drops,
)

WITHOUT_LIMIT = SolveOptions(time_limit_s=None, gap=0)


def chain_of(
    a: tuple[int, ...],
    saved: tuple[int, ...],
    forward_overhead: tuple[int, ...],
    backward_overhead: tuple[int, ...],
    forward_ns: tuple[int, ...] | None = None,
    backward_ns: tuple[int, ...] | None = None,
) -> Chain:
    """Write a chain as papers do: the input first, then the stages, the loss last."""
    count = len(saved)
    ones = (1,) * count
    return Chain(
        name="of amounts",
        input_bytes=a[0],
        stages=tuple(
            Stage(
                name=f"stage {number}",
                forward_ns=(forward_ns or ones)[number - 1],
                backward_ns=(backward_ns or ones)[number - 1],
                output_bytes=a[number],
                saved_bytes=saved[number - 1],
                forward_overhead_bytes=forward_overhead[number - 1],
                backward_overhead_bytes=backward_overhead[number - 1],
            )
            for number in range(1, count + 1)
        ),
    )


# F_all of the last stage, whose input is dropped at once, is the only way within 31 bytes.
ONLY_BY_A_DROP = chain_of((0, 10, 1, 0), (12, 5, 0), (13, 14, 30), (0, 0, 0))
# 40 bytes suffice with a drop; without, F 2 and B 3 each meet a value too many.
LESS_WITH_A_DROP = chain_of((0, 10, 10, 0), (10, 10, 0), (0, 20, 0), (0, 0, 15))
# Running stage 1 again before B 3, whose gradient is larger than all it frees, is against rule 4.
EARLY_RETURN = chain_of(
    (2, 2, 6, 0, 1, 0),
    (2, 6, 5, 1, 0),
    (6, 5, 2, 6, 0),
    (0, 1, 0, 0, 2),
    (0, 2, 4, 2, 6),
    (0, 9, 2, 1, 8),
)


def optimum(
    chain: Chain, memory_bytes: int, params: ExactSearchParams = EXACT_SEARCH
) -> Search | None:
    """Solve, and have the schedule judged."""
    found = fastest_with_drops(chain, memory_bytes, WITHOUT_LIMIT, params=params)
    if found is None:
        return None
    search, termination = found
    assert termination is Termination.COMPLETED
    assert search.is_complete
    assert search.lower_bound_ns == search.time_ns
    replay = search.schedule.replay(chain, memory_bytes)
    assert replay.valid
    assert replay.time_ns == search.time_ns
    assert ScheduleClass.PERSISTENT_WITH_DROPS.covers(replay.schedule_class)
    return search


def test_every_optimum_is_that_of_the_class_and_no_better_than_that_of_all_schedules() -> None:
    generator = random.Random(19)
    solved = with_drops = beyond_class = 0
    for _ in range(24):
        chain = random_chain(generator, generator.randint(2, 5), largest_output_bytes=9)
        of_class = persistent_trade_off_with_drops(chain)
        of_rotor = persistent_front(chain)
        # The search over all schedules takes a second where there are five stages.
        of_all = trade_off_with_drops(chain) if len(chain) <= 4 else ()
        for memory_bytes in {peak + more for peak, _ in of_class for more in (-1, 0)}:
            expected = next((time for peak, time in of_class if peak <= memory_bytes), None)
            params = ExactSearchParams(
                first_search_slots=generator.choice((1, 3, 50)),
                most_search_slots=generator.choice((1, 64, 2**28)),
            )
            found = optimum(chain, memory_bytes, params)
            assert (found and found.time_ns) == expected
            assert time_by_recurrence(chain, memory_bytes) == expected
            if found is None:
                continue
            solved += 1
            if of_all:
                fastest = next(time for peak, time in of_all if peak <= memory_bytes)
                assert fastest <= found.time_ns
                beyond_class += fastest < found.time_ns
            with_drops += fastest_in(of_rotor, memory_bytes) != found.time_ns
    assert solved > 25
    assert with_drops > 2
    assert beyond_class < solved // 10


def test_the_least_memory_is_that_of_the_class() -> None:
    generator = random.Random(3)
    lowered = 0
    for _ in range(60):
        chain = random_chain(generator, generator.randint(1, 5), largest_output_bytes=9)
        least, schedule = least_memory_with_drops(chain)
        assert least == persistent_trade_off_with_drops(chain)[-1][0]
        replay = schedule.replay(chain, least)
        assert replay.valid
        assert replay.peak_bytes == least
        lowered += least < least_persistent_memory(chain)[0]
    assert lowered > 0


def test_a_drop_at_the_end_of_a_sub_chain_needs_a_table_of_its_own() -> None:
    # The third line of C_0 at k = t: F_ck 1, F_none 2, F_all 3, D 2, F_all 1, F_all 2, then the
    # backwards: 5 forwards and 3 backwards.
    found = optimum(ONLY_BY_A_DROP, 31)
    assert found is not None
    assert found.time_ns == 8 == fastest_of_all(ONLY_BY_A_DROP, 31)
    assert str(found.schedule.operations[3]) == "D 2"
    assert fastest_persistent(ONLY_BY_A_DROP, 31) is None
    assert fastest_persistent(ONLY_BY_A_DROP, 32) is not None


def test_drops_lower_the_least_memory() -> None:
    assert least_memory_with_drops(LESS_WITH_A_DROP)[0] == 40
    assert least_persistent_memory(LESS_WITH_A_DROP)[0] > 41
    assert infeasibility_with_drops(LESS_WITH_A_DROP, 40) is None
    refusal = infeasibility_with_drops(LESS_WITH_A_DROP, 39)
    assert refusal is not None
    assert refusal.least_memory_bytes == 40
    assert fastest_with_drops(LESS_WITH_A_DROP, 39, WITHOUT_LIMIT) is None


def test_the_class_is_not_all_schedules() -> None:
    found = optimum(EARLY_RETURN, 21)
    assert found is not None
    assert found.time_ns == 36
    assert fastest_of_all(EARLY_RETURN, 21) == 34


def test_more_memory_never_hurts() -> None:
    generator = random.Random(8)
    for _ in range(3):
        chain = random_chain(generator, 8, largest_output_bytes=9)
        times = []
        for memory_bytes in range(
            least_memory_with_drops(chain)[0], chain.store_all_peak_bytes + 1
        ):
            found = optimum(chain, memory_bytes)
            assert found is not None
            times.append(found.time_ns)
        assert times == sorted(times, reverse=True)
        assert times[-1] == chain.base_time_ns


def misread(reading: Reading) -> tuple[int, int]:
    """Return how often a reading promises too much, and how often too little."""
    tried = [(ONLY_BY_A_DROP, 31), (LESS_WITH_A_DROP, 40)]
    for generator in (random.Random(1), random.Random(3)) * 90:
        chain = random_chain(generator, generator.randint(3, 6), largest_output_bytes=9)
        least = least_memory_with_drops(chain)[0]
        most = max(least, chain.store_all_peak_bytes - 1)
        tried.append((chain, generator.randint(least - 1, most)))
    too_fast = too_slow = 0
    for chain, memory_bytes in tried:
        right = time_by_recurrence(chain, memory_bytes)
        wrong = time_by_recurrence(chain, memory_bytes, reading)
        # None where nothing fits.
        too_fast += (wrong or math.inf) < (right or math.inf)
        too_slow += (wrong or math.inf) > (right or math.inf)
    return too_fast, too_slow


@pytest.mark.parametrize(
    "reading",
    [
        Reading.SAVED_NOT_COUNTED,
        Reading.INPUT_NOT_NEEDED,
        Reading.INPUT_NOT_SUBTRACTED,
        Reading.GRADIENT_NOT_COUNTED,
        Reading.WRITTEN_NOT_COUNTED,
    ],
)
def test_what_is_not_counted_promises_what_does_not_fit(reading: Reading) -> None:
    too_fast, too_slow = misread(reading)
    assert too_fast > 0
    assert too_slow == 0


@pytest.mark.parametrize(
    "reading",
    [
        Reading.WITHOUT_DROPS,
        Reading.TWO_TABLES,
        Reading.NO_DROP_WITHIN_E,
        Reading.NO_DROP_WITHIN_RETURN,
        Reading.NO_DROP_AT_THE_END,
    ],
)
def test_what_is_left_out_misses_schedules(reading: Reading) -> None:
    too_fast, too_slow = misread(reading)
    assert too_fast == 0
    assert too_slow > 0


def test_without_its_drops_the_recurrence_is_that_of_rotor() -> None:
    generator = random.Random(6)
    for _ in range(40):
        chain = random_chain(generator, generator.randint(1, 6), largest_output_bytes=9)
        front = persistent_front(chain) if len(chain) <= 4 else ()
        memory_bytes = generator.randint(chain.input_bytes, chain.store_all_peak_bytes)
        without = time_by_recurrence(chain, memory_bytes, Reading.WITHOUT_DROPS)
        rotor = persistent_bracket(chain, memory_bytes, 10**4)
        assert rotor.is_exact
        assert rotor.floor_ns == without
        if front:
            assert fastest_in(front, memory_bytes) == without


@pytest.mark.parametrize(
    ("name", "share", "time_ns"),
    [
        ("resnet18-b4-224-cpu", "60%", 499_939_940),
        ("resnet18-b64-32-cpu", "70%", 2_033_355_356),
    ],
)
def test_two_networks_take_the_least_time_of_all_schedules(
    name: str, share: str, time_ns: int
) -> None:
    # Both are the optimum over all schedules, by a search that is not part of the package.
    chain = jt.load(name)
    assert isinstance(chain, Chain)
    found = optimum(chain, jt.RematChain(chain, memory=share).memory_bytes)
    assert found is not None
    assert found.time_ns == time_ns
