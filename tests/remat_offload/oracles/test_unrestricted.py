"""The search over all schedules that may offload: by hand, and where it must agree with others."""

from __future__ import annotations

import random
from fractions import Fraction

from jettison import Chain, Link
from jettison.remat_offload import OffloadSchedule
from jettison.solvers.remat_offload.least_memory import least_memory_with_offloading
from tests.drawing.chains import chain_of, random_chain
from tests.remat_chain.oracles.brute_force import fastest
from tests.remat_chain.random_sequences import random_sequence
from tests.remat_offload.oracles.unrestricted import OffloadSearch

# Stage 1 takes 4 ns, puts out 1 byte and saves 2; the loss takes 3 ns and saves 5. The input has 3
# bytes. Backwards take 1 ns. B 2 needs its 5 bytes, a^1 (1) or ā^1 (2), and the gradient of a^1
# (1). F 1 and B 1 need 3 + 2 (+ 1 + 3) = 9 bytes at most.
TIGHT = chain_of(3, (4, 1, 2, 0, 0), (3, 0, 5, 0, 0))


def search(chain: Chain, memory_bytes: int, bytes_per_ns: Fraction | int) -> int | None:
    """Return the least time."""
    return OffloadSearch(chain, memory_bytes, Fraction(bytes_per_ns)).fastest()


def test_with_room_for_everything_no_schedule_beats_the_base_time() -> None:
    # Everything is 3 + 2 + 5 + 1 = 11 bytes while B 2 runs.
    assert TIGHT.base_time_ns == 4 + 3 + 1 + 1
    assert search(TIGHT, 11, 1) == 9


def test_the_input_leaves_during_the_first_forward_and_is_back_for_the_last_backward() -> None:
    # In 10 bytes, B 2 has no room for the 3 bytes of the input. With 1 byte per ns it leaves in 3
    # ns, while F 1 runs for 4. It comes back in 3 ns, after B 2 ends, for B 2 fills 8 of 10 bytes.
    assert search(TIGHT, 10, 1) == 9 + 3
    # With 3 bytes per ns it is 1 ns, with 2 bytes per ns 1.5, which round up to 2.
    assert search(TIGHT, 10, 3) == 9 + 1
    assert search(TIGHT, 10, 2) == 9 + 2


def test_a_copy_in_flight_takes_all_of_its_memory() -> None:
    # F 2 needs 5 + 2 bytes, the input 3 more. In 9 bytes it starts when the input has left: with
    # half a byte per ns, at 6 instead of 4. It comes back in 6 ns after B 2.
    assert search(TIGHT, 9, Fraction(1, 2)) == 9 + 2 + 6


def test_a_link_too_slow_to_be_of_use_leaves_recomputation() -> None:
    generator = random.Random(1)
    for _ in range(8):
        chain = random_chain(generator, 2)
        least = least_memory_with_offloading(chain)
        memory_bytes = generator.randint(least, max(least, chain.store_all_peak_bytes))
        slow = search(chain, memory_bytes, Fraction(1, 1000))
        without = fastest(chain, memory_bytes)
        if without is not None:
            assert slow == without
        else:
            # A single copy takes 1000 ns.
            assert slow is not None
            assert slow >= 1000


def test_a_schedule_exists_exactly_where_each_operation_fits_alone() -> None:
    generator = random.Random(2)
    for _ in range(8):
        chain = random_chain(generator, 2, largest_output_bytes=2)
        least = least_memory_with_offloading(chain)
        assert search(chain, least, 1) is not None
        if least:
            assert search(chain, least - 1, 1) is None


def test_a_drop_without_a_copy_is_among_the_moves() -> None:
    # a^1 is dropped under ā^2 and made again for B 2, in 4 forwards of 1 ns and 3 backwards of 1:
    # a copy would take 10 ms. Without that move 40 bytes are too few (tests/schedules/test_drops).
    chain = chain_of(0, (1, 10, 10, 0, 0), (1, 10, 10, 20, 0), (1, 0, 0, 0, 15))
    assert search(chain, 40, Fraction(1, 10**6)) == 7
    assert fastest(chain, 41) is None


def test_no_valid_schedule_with_drops_is_faster_than_the_search() -> None:
    generator = random.Random(3)
    met = 0
    for _ in range(60):
        chain = random_chain(generator, 2, largest_output_bytes=2)
        link = Link(generator.choice((5 * 10**8, 10**9)))
        for _ in range(6):
            operations = random_sequence(2, generator, transfers=True, drops=True)
            schedule = OffloadSchedule(tuple(operations))
            memory_bytes = schedule.replay(chain, link).peak_bytes
            replay = schedule.replay(chain, link, memory_bytes=memory_bytes)
            assert replay.valid
            fastest_ns = search(chain, memory_bytes, link.bytes_per_ns)
            assert fastest_ns is not None
            assert fastest_ns <= replay.time_ns
            met += fastest_ns == replay.time_ns
    assert met > 5
