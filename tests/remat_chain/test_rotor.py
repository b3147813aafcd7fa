"""rotor against the brute force: exact where the grid is, and a bracket where it is not."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jettison import Chain, RematChain, Result, ScheduleClass
from jettison.instances.generators.persistence_figure import persistence_figure
from jettison.remat_chain import Stage
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_chain.baselines import store_all_schedule
from jettison.solvers.remat_chain.least_memory import least_persistent_memory
from jettison.solvers.remat_chain.memory_grid import Bracket
from jettison.solvers.remat_chain.rotor import persistent_bracket, solve_rotor
from tests.drawing.chains import chains, random_chain, remat_chains, scaled_chain
from tests.remat_chain.oracles.brute_force import fastest_in, fastest_persistent
from tests.remat_chain.oracles.judged_chains import JudgedChain, judged, judged_chains
from tests.remat_chain.oracles.recurrence import Recurrence

# Sizes that no number of slots within reach divides, on a chain where recomputing pays.
AWKWARD = Chain(
    name="awkward",
    input_bytes=10_007,
    stages=(
        Stage(name="a", forward_ns=3, backward_ns=5, output_bytes=20_011, saved_bytes=70_001),
        Stage(name="b", forward_ns=4, backward_ns=6, output_bytes=30_011, saved_bytes=90_001),
        Stage(name="c", forward_ns=2, backward_ns=2, output_bytes=10_009, saved_bytes=80_021),
        Stage(name="loss", forward_ns=1, backward_ns=1, output_bytes=0, saved_bytes=50_021),
    ),
)


def _solve(chain: Chain, memory_bytes: int) -> Result:
    problem = RematChain(chain, memory_bytes)
    return Result.from_outcome(problem, "rotor", solve_rotor(problem, SolveOptions()), 0.0)


def test_where_the_grid_is_exact_the_time_is_that_of_the_brute_force() -> None:
    for item in judged_chains():
        for memory in item.memories():
            best = fastest_in(item.persistent, memory)
            bracket = persistent_bracket(item.chain, memory, 500)
            assert bracket.is_exact
            assert bracket.floor_ns == best
            if best is None:
                assert bracket.schedule is None
            else:
                assert bracket.schedule is not None
                replay = bracket.schedule.replay(item.chain, memory)
                assert replay.valid
                assert replay.time_ns == best
                assert replay.schedule_class is ScheduleClass.PERSISTENT


def test_every_memory_is_solved_or_refused_as_the_brute_force_says() -> None:
    for item in judged_chains()[::2]:
        least = item.persistent[-1][0]
        for memory in item.memories():
            result = _solve(item.chain, memory)
            assert result.time_ns == fastest_in(item.persistent, memory)
            assert result.termination is Termination.COMPLETED
            if memory >= least:
                assert result.infeasibility is None
                assert result.status in {"optimal", "optimal-persistent"}
            else:
                assert result.infeasibility is not None
                assert result.infeasibility.least_memory_bytes == least


@settings(max_examples=150)
@given(remat_chains())
def test_any_small_chain_is_solved_as_by_the_brute_force(problem: RematChain) -> None:
    time_ns = _solve(problem.instance, problem.memory_bytes).time_ns
    assert time_ns == fastest_persistent(problem.instance, problem.memory_bytes)


@cache
def _chains_that_no_coarse_grid_fits() -> tuple[JudgedChain, ...]:
    """Return 150 chains with sizes of up to 80, which 20 slots and fewer round."""
    generator = random.Random(4)
    return tuple(
        judged(random_chain(generator, generator.randint(1, 4), largest_output_bytes=40))
        for _ in range(150)
    )


@pytest.mark.parametrize("slots", [3, 5, 8, 13, 20])
def test_a_coarse_grid_brackets_the_brute_force(slots: int) -> None:
    rounded = missed = 0
    for chain, front, *_ in _chains_that_no_coarse_grid_fits():
        # Around every memory at which the best time changes.
        for memory in sorted({peak + more for peak, _ in front for more in (-1, 0, 1, 15)}):
            best = fastest_in(front, memory)
            bracket = persistent_bracket(chain, memory, slots)
            if best is None:
                assert bracket.schedule is None
                continue
            assert bracket.floor_ns is not None
            assert bracket.floor_ns <= best
            if bracket.schedule is None:
                assert not bracket.is_exact
                missed += 1
                continue
            replay = bracket.schedule.replay(chain, memory)
            assert replay.valid
            assert replay.time_ns >= best
            if bracket.is_exact:
                assert bracket.floor_ns == replay.time_ns == best
            rounded += not bracket.is_exact
    # Of about 1170 cases, rounding up keeps a schedule in 291 (3 slots) to 945 (20 slots).
    assert rounded > 100
    assert missed > 0


@settings(max_examples=150)
@given(chains(max_stages=9), st.integers(1, 30), st.data())
def test_the_floor_is_never_above_a_schedule_within_its_memory(
    chain: Chain, slots: int, data: st.DataObject
) -> None:
    memory = data.draw(st.integers(0, chain.store_all_peak_bytes + 1))
    bracket = persistent_bracket(chain, memory, slots)
    exact = persistent_bracket(chain, memory, 500)
    if exact.floor_ns is None:
        assert bracket.schedule is None
        return
    assert bracket.floor_ns is not None
    assert chain.base_time_ns <= bracket.floor_ns <= exact.floor_ns
    if bracket.schedule is not None:
        assert bracket.schedule.replay(chain, memory).valid
        assert bracket.schedule.replay(chain).time_ns >= exact.floor_ns


def test_other_schedules_are_never_slower_and_sometimes_faster() -> None:
    cases = [
        (fastest_in(item.all_schedules, memory), fastest_in(item.persistent, memory))
        for item in judged_chains()
        for memory in item.memories()
    ]
    feasible = [(free, kept) for free, kept in cases if free is not None and kept is not None]
    assert all(free <= kept for free, kept in feasible)
    # Persistence costs time in 12 of 2013 cases where it has a schedule, and memory on 2 chains.
    assert sum(free < kept for free, kept in feasible) > 0
    assert sum(free is not None and kept is None for free, kept in cases) > 0


@settings(max_examples=60)
@given(chains(max_stages=7))
def test_more_memory_never_takes_more_time(chain: Chain) -> None:
    least = least_persistent_memory(chain)[0]
    memories = range(least, chain.store_all_peak_bytes + 2)
    times = [persistent_bracket(chain, memory, 500).floor_ns for memory in memories]
    assert None not in times
    assert times == sorted(times, key=lambda time: -(time or 0))
    assert times[-1] == chain.base_time_ns


def test_with_room_for_everything_nothing_is_recomputed_however_awkward_the_sizes() -> None:
    result = _solve(AWKWARD, AWKWARD.store_all_peak_bytes)
    assert result.time_ns == AWKWARD.base_time_ns
    assert result.status == "optimal"
    assert result.schedule == store_all_schedule(AWKWARD)


def test_a_byte_less_than_everything_needs_takes_time() -> None:
    result = _solve(AWKWARD, AWKWARD.store_all_peak_bytes - 1)
    assert result.time_ns is not None
    assert result.time_ns > AWKWARD.base_time_ns
    assert result.time_ns == fastest_persistent(AWKWARD, AWKWARD.store_all_peak_bytes - 1)


def test_at_the_least_memory_there_is_a_schedule_and_a_byte_below_a_proof_of_none() -> None:
    least = least_persistent_memory(AWKWARD)[0]
    result = _solve(AWKWARD, least)
    assert (result.infeasibility, result.peak_bytes) == (None, least)
    refused = _solve(AWKWARD, least - 1)
    assert refused.infeasibility is not None
    assert refused.infeasibility.least_memory_bytes == least
    assert refused.schedule is None


def test_a_proof_of_no_schedule_holds_for_the_schedules_it_names() -> None:
    scopes = set()
    for item in judged_chains():
        memory = item.persistent[-1][0] - 1
        proof = _solve(item.chain, memory).infeasibility
        assert proof is not None
        scopes.add(proof.valid_for)
        if proof.valid_for is ScheduleClass.ALL:
            assert fastest_in(item.all_schedules, memory) is None
    assert scopes == {ScheduleClass.ALL, ScheduleClass.PERSISTENT}


def test_no_memory_at_all_is_refused() -> None:
    assert persistent_bracket(AWKWARD, AWKWARD.input_bytes - 1, 10) == Bracket(None, None, True)
    assert _solve(AWKWARD, 0).infeasibility is not None


def test_a_chain_without_sizes_needs_no_memory() -> None:
    stages = tuple(replace(s, output_bytes=0, saved_bytes=0) for s in AWKWARD.stages)
    chain = replace(AWKWARD, input_bytes=0, stages=stages)
    bracket = persistent_bracket(chain, 0, 10)
    assert bracket == Bracket(chain.base_time_ns, store_all_schedule(chain), True)
    assert _solve(chain, 0).time_ns == chain.base_time_ns


@pytest.mark.parametrize("scale", [2**20, 10**9 + 7])
def test_a_common_divisor_of_the_sizes_makes_the_grid_exact(scale: int) -> None:
    for item in judged_chains()[::20]:
        chain = item.chain
        scaled = scaled_chain(chain, scale)
        for memory in item.memories():
            bracket = persistent_bracket(scaled, memory * scale, 500)
            assert bracket.is_exact
            assert bracket.floor_ns == fastest_in(item.persistent, memory)


def test_the_schedule_is_as_fast_as_its_program_says() -> None:
    # The floor of an exact grid is the value of the program whose schedule is handed back.
    figure = persistence_figure(12, 3)
    bracket = persistent_bracket(figure.chain, figure.memory_bytes, 500)
    assert bracket.schedule is not None
    replay = bracket.schedule.replay(figure.chain, figure.memory_bytes)
    assert replay.time_ns == bracket.floor_ns == figure.persistent_ns


@pytest.mark.parametrize("stage_count", [15, 16, 17, 24, 32, 33])
def test_long_chains_are_solved_as_by_the_recurrence_in_plain_loops(stage_count: int) -> None:
    generator = random.Random(stage_count)
    chain = random_chain(generator, stage_count)
    least, most = least_persistent_memory(chain)[0], chain.store_all_peak_bytes
    for memory in (least, least + 1, (2 * least + most) // 3, (least + most) // 2):
        bracket = persistent_bracket(chain, memory, 500)
        assert bracket.is_exact
        assert bracket.floor_ns == Recurrence().fastest(chain, memory)
        assert bracket.schedule is not None
        replay = bracket.schedule.replay(chain, memory)
        assert replay.valid
        assert replay.time_ns == bracket.floor_ns


@pytest.mark.parametrize("factor", [10**6, 10**8, 10**12])
def test_long_durations_are_added_up_to_the_nanosecond(factor: int) -> None:
    # The sums pass 2**30, and with the largest factor 2**43.
    for item in judged_chains()[::20]:
        stages = tuple(
            replace(
                stage, forward_ns=stage.forward_ns * factor, backward_ns=stage.backward_ns * factor
            )
            for stage in item.chain
        )
        chain = replace(item.chain, stages=stages)
        for memory in item.memories():
            best = fastest_in(item.persistent, memory)
            assert persistent_bracket(chain, memory, 500).floor_ns == (
                None if best is None else best * factor
            )
