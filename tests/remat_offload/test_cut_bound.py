"""The cut bound with offloading: below every schedule, and what each of its parts is worth."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import cache

import pytest

from jettison import Chain, Link, RematChain, RematOffloadChain, ScheduleClass, load, solve
from jettison.remat_offload import OffloadSchedule, Transfers
from jettison.schedules.remat_offload.transfer_operation import drops_without_copy
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.outcome import Outcome, Progress, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_chain.cut_bound import bound_chain_cut
from jettison.solvers.remat_chain.rotor_exact import solve_rotor_exact
from jettison.solvers.remat_offload.cut_bound.cuts import OffloadCutParams, OffloadCuts
from jettison.solvers.remat_offload.cut_bound.method import bound_offload_cut
from tests.drawing.chains import chain_of, random_chain
from tests.remat_chain.random_sequences import random_sequence, random_sequence_with_drops
from tests.remat_offload.oracles.judged_offload import JudgedOffload, judged_offloads
from tests.remat_offload.oracles.unrestricted import OffloadSearch

OPTIONS = SolveOptions(time_limit_s=None, gap=0)
EACH_WAY = pytest.mark.parametrize("transfers", list(Transfers))

# As in tests/remat_offload/oracles/test_unrestricted.py: with room for 10 bytes the 3 bytes of the
# input leave during F 1 and come back after B 2.
TIGHT = chain_of(3, (4, 1, 2, 0, 0), (3, 0, 5, 0, 0))


def bound_ns(problem: RematOffloadChain) -> int:
    """Return the bound of a problem whose memory suffices."""
    (bound,) = bound_offload_cut(problem, OPTIONS).bounds
    return bound.time_ns


@cache
def bounds_of(transfers: Transfers) -> tuple[tuple[JudgedOffload, int], ...]:
    """Return each judged problem with its bound."""
    return tuple((item, bound_ns(item.with_transfers(transfers))) for item in judged_offloads())


def shares(transfers: Transfers) -> list[float]:
    """Return the part of the delay that is proved, for each problem with a delay."""
    return [item.share(found) for item, found in bounds_of(transfers) if item.is_delayed]


@pytest.mark.parametrize(("rate", "delay_ns"), [(1, 3), (3, 1), (2, 2)])
def test_what_cannot_stay_beside_a_backward_comes_back_after_it(rate: int, delay_ns: int) -> None:
    # Copies of 3 bytes take 3, 1 and 1.5 ns, the last rounded up.
    problem = RematOffloadChain(TIGHT, 10, rate * 10**9)
    assert bound_ns(problem) == TIGHT.base_time_ns + delay_ns


def test_a_path_starts_when_its_input_is_back() -> None:
    # In 9 bytes B 2 leaves no room for the input, with ā^1 (2 bytes) or a^1 (1). With a^1, F 1 runs
    # again, for 4 ns, but not before the input is back, which takes 6 at half a byte per ns.
    # With ā^1 the input has to be gone when F 2 starts: it leaves in 6 ns, 2 more than F 1 takes.
    # The cuts prove that B 2 is followed by 6 ns; that it also starts 2 ns late takes two of them.
    problem = RematOffloadChain(TIGHT, 9, 5 * 10**8)
    assert bound_ns(problem) == TIGHT.base_time_ns + 6
    fastest_ns = OffloadSearch(TIGHT, 9, problem.link.bytes_per_ns).fastest()
    assert fastest_ns == TIGHT.base_time_ns + 2 + 6


def test_in_part_only_the_bytes_that_lack_room_move() -> None:
    # B 2 lacks 1 byte of room in 10 bytes: at 1 byte per ns it comes back in 1 ns.
    problem = RematOffloadChain(TIGHT, 10, 10**9, Transfers.FLUID)
    assert bound_ns(problem) == TIGHT.base_time_ns + 1


def test_a_delay_of_part_of_a_nanosecond_is_not_rounded_up() -> None:
    # F 2 needs ā1, 4 bytes, and 7; B 2 needs ā1, δ1 and 3. That is all there is. The byte of
    # a0 leaves before F 2 and comes back after B 2, in 0.2 ns each way: rounded up each way, it
    # would be two.
    chain = chain_of(1, (0, 4, 4, 0, 0), (3, 0, 0, 7, 3))
    problem = RematOffloadChain(chain, 11, 5 * 10**9, Transfers.FLUID)
    assert solve(problem, "pofo").time_ns == chain.base_time_ns + 1
    assert bound_ns(problem) == chain.base_time_ns + 1


@EACH_WAY
def test_no_schedule_is_faster(transfers: Transfers) -> None:
    for item, found_ns in bounds_of(transfers):
        assert item.chain.base_time_ns <= found_ns <= item.fastest_ns, item


@EACH_WAY
def test_no_schedule_that_drops_what_has_no_copy_is_faster(transfers: Transfers) -> None:
    generator = random.Random(7)
    dropped = delayed = 0
    for _ in range(120):
        stages = generator.randint(2, 6)
        chain = random_chain(generator, stages)
        link = Link(generator.choice((5 * 10**8, 10**9)))
        moves = generator.random() < 0.5
        operations = random_sequence(stages, generator, transfers=moves, drops=True)
        if not moves:
            operations = [*random_sequence_with_drops(stages, generator, orderly=True)]
        schedule = OffloadSchedule(tuple(operations))
        memory_bytes = schedule.replay(chain, link, transfers).peak_bytes
        replay = schedule.replay(chain, link, transfers, memory_bytes)
        assert replay.valid
        found_ns = bound_ns(RematOffloadChain(chain, memory_bytes, link, transfers))
        assert found_ns <= replay.time_ns
        dropped += bool(drops_without_copy(schedule.operations))
        delayed += found_ns > chain.base_time_ns
    assert dropped > 40
    assert delayed > 5


def test_nearly_all_of_the_delay_is_proved_where_transfers_are_at_once() -> None:
    # 0.95 of it on average, and all of it in about five of six problems with a delay.
    found = shares(Transfers.AT_ONCE)
    assert sum(found) > 0.92 * len(found)
    assert found.count(1.0) > 0.75 * len(found)


def test_of_the_delay_at_once_most_is_proved_for_fluid_transfers_too() -> None:
    found = shares(Transfers.FLUID)
    assert 0.6 * len(found) < sum(found) < sum(shares(Transfers.AT_ONCE))


def small_problem(generator: random.Random, stages: int) -> tuple[Chain, int]:
    """Return a chain and a memory above what single operations need."""
    chain = random_chain(generator, stages)
    low, high = chain.recompute_all_peak_bytes, chain.store_all_peak_bytes
    return chain, generator.randint(low, high)


@EACH_WAY
def test_the_bound_falls_with_memory_and_with_the_rate_of_the_link(transfers: Transfers) -> None:
    generator = random.Random(4)
    for _ in range(12):
        chain, memory_bytes = small_problem(generator, 6)
        more = [
            bound_ns(RematOffloadChain(chain, memory_bytes + extra, 10**9, transfers))
            for extra in range(5)
        ]
        assert more == sorted(more, reverse=True)
        faster = [
            bound_ns(RematOffloadChain(chain, memory_bytes, rate * 10**8, transfers))
            for rate in (1, 4, 10, 40)
        ]
        assert faster == sorted(faster, reverse=True)


def test_with_a_link_without_end_nothing_is_forced() -> None:
    generator = random.Random(5)
    for _ in range(20):
        chain, memory_bytes = small_problem(generator, 5)
        problem = RematOffloadChain(chain, memory_bytes, 2**53 - 1, Transfers.FLUID)
        # A copy takes less than a nanosecond, but not nothing.
        assert bound_ns(problem) <= chain.base_time_ns + 1


@EACH_WAY
def test_with_a_link_too_slow_to_be_of_use_it_is_no_less_than_the_bound_without_one(
    transfers: Transfers,
) -> None:
    # It is more where the end of an operation forces more than its start, or a rerun is bounded
    # by a deadline.
    generator = random.Random(6)
    equal = 0
    for _ in range(40):
        chain, memory_bytes = small_problem(generator, 6)
        (without,) = bound_chain_cut(RematChain(chain, memory_bytes), OPTIONS).bounds
        found_ns = bound_ns(RematOffloadChain(chain, memory_bytes, 1, transfers))
        assert found_ns >= without.time_ns
        equal += found_ns == without.time_ns
    assert equal >= 38


@EACH_WAY
def test_no_schedule_without_offloading_is_faster(transfers: Transfers) -> None:
    generator = random.Random(7)
    for _ in range(15):
        chain, memory_bytes = small_problem(generator, 12)
        schedule = solve_rotor_exact(RematChain(chain, memory_bytes), OPTIONS).schedule
        assert schedule is not None
        time_ns = schedule.replay(chain).time_ns
        for rate in (10**7, 10**8, 10**9):
            problem = RematOffloadChain(chain, memory_bytes, rate, transfers)
            assert bound_ns(problem) <= time_ns


def test_the_bound_is_in_exact_arithmetic_and_holds_for_all_schedules() -> None:
    outcome = bound_offload_cut(RematOffloadChain(TIGHT, 10, 10**9), OPTIONS)
    assert outcome.termination is Termination.COMPLETED
    assert outcome.schedule is None
    (bound,) = outcome.bounds
    assert bound.valid_for is ScheduleClass.ALL
    assert bound.evidence is Evidence.EXACT


def test_the_rate_of_the_link_enters_exactly() -> None:
    # At 1.5 bytes per ns, 3 bytes take 2 ns; at a byte per second less they take a little more,
    # which rounds up to 3.
    assert Link(1_499_999_999).bytes_per_ns == Fraction(1_499_999_999, 10**9)
    exact = RematOffloadChain(TIGHT, 10, 1_500_000_000)
    below = RematOffloadChain(TIGHT, 10, 1_499_999_999)
    assert bound_ns(exact) == TIGHT.base_time_ns + 2
    assert bound_ns(below) == TIGHT.base_time_ns + 3


def test_memory_below_a_single_operation_is_refused_for_all_schedules() -> None:
    # B 1 and F 1 need 9 and 5 bytes, B 2 needs 5 + 1 + 1.
    outcome = bound_offload_cut(RematOffloadChain(TIGHT, 8, 10**9), OPTIONS)
    assert outcome.bounds == ()
    assert outcome.infeasibility is not None
    assert outcome.infeasibility.valid_for is ScheduleClass.ALL
    assert outcome.infeasibility.least_memory_bytes == 9


def test_merged_states_only_lower_what_is_forced() -> None:
    generator = random.Random(8)
    lower = 0
    for _ in range(10):
        chain = random_chain(generator, 12, largest_output_bytes=20)
        for transfers in Transfers:
            problem = RematOffloadChain(chain, chain.recompute_all_peak_bytes, 10**9, transfers)
            deadline_ns = chain.base_time_ns * 5 // 4
            merged = OffloadCuts(problem, OffloadCutParams(most_cut_states=2)).delays(deadline_ns)
            exact = OffloadCuts(problem).delays(deadline_ns)
            if exact is None:
                lower += merged is not None
                continue
            assert merged is not None
            pairs = list(zip(merged.saving_ns, exact.saving_ns, strict=True))
            assert all(less <= more for less, more in pairs)
            lower += merged != exact
    assert lower


def test_at_the_time_limit_the_base_time_is_still_a_bound() -> None:
    problem = RematOffloadChain(TIGHT, 10, 10**9)
    outcome = bound_offload_cut(problem, SolveOptions(time_limit_s=1e-9))
    assert outcome.termination is Termination.TIME_LIMIT
    assert outcome.bounds[0].time_ns == TIGHT.base_time_ns


def test_an_interrupt_leaves_the_best_bound_so_far() -> None:
    def stop(progress: Progress) -> None:
        raise KeyboardInterrupt

    problem = RematOffloadChain(TIGHT, 10, 10**9)
    outcome: Outcome = bound_offload_cut(problem, SolveOptions(on_progress=stop))
    assert outcome.termination is Termination.INTERRUPTED
    # The first deadline, the base time, was ruled out.
    assert outcome.bounds[0].time_ns == TIGHT.base_time_ns + 1


def test_a_link_of_one_byte_per_second_is_no_trouble_for_a_real_chain() -> None:
    chain = load("resnet18-b4-224-cpu")
    assert isinstance(chain, Chain)
    memory_bytes = chain.recompute_all_peak_bytes
    (without,) = bound_chain_cut(RematChain(chain, memory_bytes), OPTIONS).bounds
    found_ns = bound_ns(RematOffloadChain(chain, memory_bytes, 1))
    assert found_ns >= without.time_ns * (1 - 2**-19)
