"""Gradients of other sizes than the outputs, with a link: every method against the brute forces."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest

from jettison import Chain, Link, RematOffloadChain, ScheduleClass, solve
from jettison.instances.remat_chain.smaller_gradients import has_larger_gradients
from jettison.remat_offload import OffloadSchedule, Transfers
from jettison.solvers.remat_offload.least_memory import least_memory_with_offloading
from jettison.solvers.remat_offload.methods import METHODS
from jettison.solvers.remat_offload.pofo.bracket import pofo_bracket, pofo_exact
from tests.drawing.chains import chain_of, random_chain, with_random_gradients
from tests.remat_offload.oracles.brute_force import fastest
from tests.remat_offload.oracles.recurrence import OffloadRecurrence
from tests.remat_offload.oracles.samples import OffloadSample, offload_samples
from tests.remat_offload.oracles.transfer_referee import Referee
from tests.remat_offload.oracles.unrestricted import OffloadSearch

RATES = (500_000_000, 1_000_000_000, 2_000_000_000)
HEURISTICS = ("offload-only", "autocapper", "opportunist", "rotor", "offload-all", "store-all")


def samples(seed: int, count: int, most_stages: int) -> Iterator[OffloadSample]:
    generator = random.Random(seed)
    for sample in offload_samples(seed, count, most_stages=most_stages):
        chain = with_random_gradients(generator, sample.chain, generator.choice((3, 14)))
        yield sample._replace(chain=chain)


def test_the_program_is_exact_or_an_honest_bracket() -> None:
    exact = 0
    for sample in samples(1, 900, 4):
        given = sample.chain, sample.memory_bytes, sample.bytes_per_ns
        best = fastest(*given)
        bracket = pofo_exact(sample.chain, sample.memory_bytes, sample.bytes_per_s)
        if not has_larger_gradients(sample.chain):
            assert (bracket.floor_ns, bracket.plan_ns) == (best, best), sample
            assert OffloadRecurrence(*given).fastest() == best, sample
            exact += best is not None
            continue
        # In the order of the program, the plan is the best there is.
        if bracket.plan_ns is not None:
            assert bracket.plan_ns == best, sample
        if best is not None:
            assert bracket.floor_ns is not None, sample
            assert bracket.floor_ns <= best, sample
    assert exact > 200


def test_the_floor_holds_for_persistent_schedules_in_any_order() -> None:
    generator = random.Random(2)
    faster = 0
    for _ in range(600):
        chain = with_random_gradients(generator, random_chain(generator, 3), 14)
        if not has_larger_gradients(chain):
            continue
        least, peak = least_memory_with_offloading(chain), chain.store_all_peak_bytes
        memory_bytes, rate = generator.randint(least, max(least, peak)), generator.choice(RATES)
        given = chain, memory_bytes, Fraction(rate, 10**9)
        best = fastest(*given, in_order=False)
        if best is None:
            continue
        bracket = pofo_exact(chain, memory_bytes, rate)
        assert bracket.floor_ns is not None, given
        assert bracket.floor_ns <= best, given
        assert bracket.plan_ns is None or best <= bracket.plan_ns, given
        faster += best != fastest(*given)
    # The order of the program is not always the best one.
    assert faster > 0


@pytest.mark.parametrize("slots", [3, 20])
def test_grids_bracket_the_brute_force(slots: int) -> None:
    for sample in samples(3 + slots, 200, 4):
        best = fastest(sample.chain, sample.memory_bytes, sample.bytes_per_ns)
        bracket = pofo_bracket(sample.chain, sample.memory_bytes, sample.bytes_per_s, slots)
        if best is None:
            assert bracket.plan is None
            continue
        assert bracket.floor_ns is not None, sample
        assert bracket.floor_ns <= best, sample
        assert bracket.plan_ns is None or bracket.plan_ns >= best, sample


@cache
def searched() -> tuple[tuple[RematOffloadChain, int], ...]:
    """Return problems with transfers at once, and the least time of all schedules of each."""
    return tuple(_searched())


def _searched() -> Iterator[tuple[RematOffloadChain, int]]:
    generator = random.Random(4)
    for number in range(160):
        stage_count = 3 if number % 10 == 0 else generator.choice((1, 2, 2))
        largest = 3 if stage_count < 3 else 2
        chain = random_chain(generator, stage_count, largest_output_bytes=largest)
        chain = with_random_gradients(generator, chain, 6)
        least, peak = least_memory_with_offloading(chain), chain.store_all_peak_bytes
        memory_bytes = generator.randint(least, max(least, peak - 1))
        link = Link(generator.choice(RATES))
        fastest_ns = OffloadSearch(chain, memory_bytes, link.bytes_per_ns).fastest()
        assert fastest_ns is not None, chain
        yield RematOffloadChain(chain, memory_bytes, link), fastest_ns


def test_the_least_memory_is_that_of_the_search() -> None:
    for problem, _ in searched()[::6]:
        chain = problem.instance
        least = least_memory_with_offloading(chain)
        if least:
            assert OffloadSearch(chain, least - 1, Fraction(1)).fastest() is None, chain


@pytest.mark.parametrize("method", ["cut-bound", "event-bound"])
@pytest.mark.parametrize("transfers", list(Transfers))
def test_no_schedule_is_faster_than_a_bound(method: str, transfers: Transfers) -> None:
    # Every schedule at once is one with fluid transfers.
    step = 1 if method == "cut-bound" else 6
    for problem, fastest_ns in searched()[::step]:
        result = solve(replace(problem, transfers=transfers), method, time_limit=60)
        for bound in result.bounds:
            assert bound.valid_for is ScheduleClass.ALL
            assert bound.time_ns <= fastest_ns, (problem, bound)


def test_no_method_is_faster_than_the_fastest_schedule() -> None:
    found = 0
    for problem, fastest_ns in searched():
        for method in ("pofo", *HEURISTICS):
            result = solve(problem, method)
            if result.time_ns is not None:
                assert result.time_ns >= fastest_ns, (problem, method)
                found += 1
            for bound in result.bounds:
                if bound.valid_for is ScheduleClass.ALL:
                    assert bound.time_ns <= fastest_ns, (problem, method, bound)
    assert found > 480


def test_no_method_is_left_out() -> None:
    tested = {"pofo", *HEURISTICS, "cut-bound", "event-bound"}
    assert {method.name for method in METHODS} == tested


def test_with_fluid_transfers_bound_program_and_heuristics_are_in_this_order() -> None:
    for sample in samples(6, 150, 4):
        problem = RematOffloadChain(
            sample.chain, sample.memory_bytes, Link(sample.bytes_per_s), Transfers.FLUID
        )
        best = fastest(sample.chain, sample.memory_bytes, sample.bytes_per_ns)
        bound = solve(problem, "cut-bound")
        if best is not None:
            # Times of schedules are whole nanoseconds.
            assert all(item.time_ns <= -(-best // 1) for item in bound.bounds), sample
        result = solve(problem, "pofo", gap=0)
        if result.time_ns is not None and best is not None:
            assert not result.infeasibility
            floors = [item.time_ns for item in result.bounds]
            assert max(floors) <= result.time_ns, sample
            assert max(floors) <= -(-best // 1), sample


def test_a_larger_gradient_does_not_make_pofo_deny_a_schedule() -> None:
    # As for rotor (tests/remat_chain/test_gradient_sizes.py): F_all 1 comes before B 2.
    plain = chain_of(0, (1, 1, 3, 3, 0), (1, 0, 1, 8, 0))
    first, loss = plain.stages
    chain: Chain = replace(plain, stages=(replace(first, output_gradient_bytes=6), loss))
    assert fastest(chain, 10, Fraction(1)) is None
    assert fastest(chain, 10, Fraction(1), in_order=False) == 5
    bracket = pofo_exact(chain, 10, 10**9)
    assert bracket.plan is None
    assert bracket.floor_ns is not None
    assert bracket.floor_ns <= 5


def test_a_referee_of_times_finds_the_peak_of_the_replay() -> None:
    judged = 0
    for sample in samples(7, 200, 4):
        link = Link(sample.bytes_per_s)
        problem = RematOffloadChain(sample.chain, sample.memory_bytes, link, Transfers.AT_ONCE)
        result = solve(problem, "autocapper")
        if not isinstance(result.schedule, OffloadSchedule):
            continue
        assert result.replay is not None
        # A tensor of an operation of no time is in the replay's peak and not in the referee's.
        peak_bytes = Referee(sample.chain, link).peak_bytes(result.schedule, result.replay)
        assert peak_bytes <= result.replay.peak_bytes <= sample.memory_bytes, sample
        judged += peak_bytes == result.replay.peak_bytes
    assert judged > 50
