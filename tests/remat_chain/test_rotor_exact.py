"""The exact search: equal to brute force whatever the grids, and honest when it is stopped."""

from __future__ import annotations

import os
import random
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest

from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.remat_chain.problem import RematChain
from jettison.solvers import _kernels
from jettison.solvers.core.outcome import Progress, SolveOptions
from jettison.solvers.core.solve import solve
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_chain.least_memory import least_memory, least_persistent_memory
from jettison.solvers.remat_chain.needs import ChainNeeds, InputsOnlyNeeds
from jettison.solvers.remat_chain.rotor import persistent_bracket
from jettison.solvers.remat_chain.rotor_exact import (
    ExactSearchParams,
    Search,
    search_persistent_optimum,
    solve_rotor_exact,
)
from tests.drawing import chains as drawing
from tests.drawing.chains import chain_of
from tests.drawing.overheads import with_saving_overheads
from tests.remat_chain.oracles import brute_force as chain_brute_force
from tests.remat_chain.oracles import recurrence as chain_recurrence
from tests.tiny import CHAINS, UNEVEN

WITHOUT_LIMIT = SolveOptions(time_limit_s=None, gap=0)


def random_chain(source: random.Random, layers: int, largest: int) -> Chain:
    stages = []
    for number in range(layers):
        output = source.randint(0, largest)
        stages.append(
            Stage(
                name=f"layer{number}",
                forward_ns=source.randint(0, 9),
                backward_ns=source.randint(0, 9),
                output_bytes=output,
                saved_bytes=output + source.randint(0, 2 * largest),
                forward_overhead_bytes=source.randint(0, largest),
                backward_overhead_bytes=source.randint(0, largest),
            )
        )
    loss = Stage(name="loss", forward_ns=1, backward_ns=1, output_bytes=0, saved_bytes=largest)
    chain = Chain("random", source.randint(0, largest), (*stages, loss))
    return with_saving_overheads(chain)


def large_chain(source: random.Random, layers: int) -> Chain:
    """Sizes and times without a common divisor, as a measurement gives them."""
    stages = []
    for number in range(layers):
        output = source.randint(500_000, 1_500_000)
        forward_ns = source.randint(500_000, 5_000_000)
        stages.append(
            Stage(
                name=f"layer{number}",
                forward_ns=forward_ns,
                backward_ns=2 * forward_ns + source.randint(0, 10**6),
                output_bytes=output,
                saved_bytes=output * source.randint(2, 8) + source.randint(0, 999),
            )
        )
    loss = Stage(name="loss", forward_ns=1000, backward_ns=1000, output_bytes=0, saved_bytes=0)
    return Chain("large", 10**6, (*stages, loss))


def scaled(chain: Chain, factor: int) -> Chain:
    """Multiply all sizes, so that slots of less than one of the old bytes still round them."""
    stages = tuple(
        replace(
            stage,
            output_bytes=factor * stage.output_bytes,
            saved_bytes=factor * stage.saved_bytes,
            forward_overhead_bytes=factor * stage.forward_overhead_bytes,
            saving_overhead_bytes=factor * stage.overhead_of_saving_bytes,
            backward_overhead_bytes=factor * stage.backward_overhead_bytes,
        )
        for stage in chain
    )
    return replace(chain, input_bytes=factor * chain.input_bytes, stages=stages)


def first_grid(slots: int, most_slots: int = 2**28) -> ExactSearchParams:
    return ExactSearchParams(first_search_slots=slots, most_search_slots=most_slots)


def search(chain: Chain, memory_bytes: int, first_slots: int, most_slots: int = 2**28) -> Search:
    """Search to the end, and check what every search that comes to its end has to satisfy."""
    known = least_persistent_memory(chain)[1]
    found, termination = search_persistent_optimum(
        ChainNeeds(chain), memory_bytes, known, WITHOUT_LIMIT, first_grid(first_slots, most_slots)
    )
    assert termination is Termination.COMPLETED
    assert found.is_complete
    assert found.lower_bound_ns == found.time_ns
    replay = found.schedule.replay(chain, memory_bytes)
    assert replay.valid
    assert replay.time_ns == found.time_ns
    return found


@pytest.mark.parametrize("first_slots", [1, 3, 11])
def test_the_search_equals_brute_force_whatever_the_first_grid(first_slots: int) -> None:
    source = random.Random(20)
    for _ in range(40):
        chain = random_chain(source, source.randint(0, 4), 4)
        least = least_persistent_memory(chain)[0]
        for memory_bytes in range(least, chain.store_all_peak_bytes + 1, 2):
            found = search(chain, memory_bytes, first_slots)
            assert found.time_ns == chain_brute_force.fastest_persistent(chain, memory_bytes)


def test_on_longer_chains_it_equals_the_recurrence_in_plain_loops() -> None:
    # Three to ten stages hold sub-chains of all kinds: left and right parts of splits, several
    # levels deep, in memory from the least to more than plenty. All sizes are multiples of 1009
    # bytes but that of the memory, so that the plain loops may count in these multiples, while
    # slots end anywhere.
    source = random.Random(41)
    compared = 0
    for _ in range(50):
        chain = random_chain(source, source.randint(2, 9), 8)
        least = least_persistent_memory(chain)[0]
        most = chain.store_all_peak_bytes
        for memory in {least, most, source.randint(least, most)}:
            fastest = chain_recurrence.Recurrence().fastest(chain, memory)
            for slots in (1, 2, 7, 40, 300):
                memory_bytes = 1009 * memory + source.randint(0, 1008)
                # Grid after grid, and exact bytes right after one grid.
                for most_slots in (slots, 2 * slots, 2**28):
                    found = search(scaled(chain, 1009), memory_bytes, slots, most_slots)
                    assert found.time_ns == fastest
                    compared += 1
    assert compared > 1000


def test_with_tight_overheads_it_equals_the_recurrence_in_plain_loops() -> None:
    # Overheads above what is stored make the thresholds decide, and they lie anywhere in a slot.
    source = random.Random(42)
    for _ in range(100):
        chain = drawing.random_chain(source, source.randint(2, 8), largest_output_bytes=3)
        least = least_persistent_memory(chain)[0]
        memory = source.randint(least, chain.store_all_peak_bytes)
        fastest = chain_recurrence.Recurrence().fastest(chain, memory)
        for slots in (1, 5, 30):
            for most_slots in (slots, 2**28):
                found = search(scaled(chain, 10**6 + 3), (10**6 + 3) * memory, slots, most_slots)
                assert found.time_ns == fastest


@pytest.mark.parametrize("layers", [30, 60])
@pytest.mark.parametrize("memory", ["alpha=0.05", "alpha=0.2", "alpha=0.5"])
def test_it_equals_the_grid_where_the_grid_is_exact(layers: int, memory: str) -> None:
    # One slot per byte is exact; the search is asked in bytes that are 1009 times smaller. It drops
    # most of each of its grids: all of them together have fewer slots of sub-chains than that one.
    chain = random_chain(random.Random(layers), layers, 12)
    memory_bytes = RematChain(chain, memory).memory_bytes
    available = memory_bytes - chain.input_bytes
    exact = persistent_bracket(chain, memory_bytes, available)
    assert exact.is_exact
    for first_slots in (3, 7, 20, 50):
        found = search(scaled(chain, 1009), 1009 * memory_bytes + 1008, first_slots)
        assert found.time_ns == exact.floor_ns
        assert found.slots > first_slots
        assert found.states < len(chain) * (len(chain) + 1) // 2 * available


@pytest.mark.parametrize("layers", [12, 25, 40])
def test_the_exact_time_lies_between_the_grids_and_does_not_depend_on_them(layers: int) -> None:
    chain = large_chain(random.Random(layers), layers)
    memory_bytes = RematChain(chain, "alpha=0.2").memory_bytes
    times = set()
    for slots in (1, 10, 50, 200, 800):
        bracket = persistent_bracket(chain, memory_bytes, slots)
        found = search(chain, memory_bytes, slots)
        assert bracket.floor_ns is not None
        assert bracket.floor_ns <= found.time_ns
        if bracket.schedule is not None:
            assert found.time_ns <= bracket.schedule.replay(chain).time_ns
        times.add(found.time_ns)
    assert len(times) == 1


def test_times_of_hours_are_exact_to_the_nanosecond() -> None:
    # Rows of the grids count times in units of thousands of nanoseconds here: 2^28 of them are to
    # last for some 10^14 ns.
    source = random.Random(8)
    for _ in range(20):
        small = random_chain(source, 6, 5)
        stages = tuple(
            Stage(
                name=stage.name,
                forward_ns=stage.forward_ns * 10**12 + source.randint(0, 10**4),
                backward_ns=stage.backward_ns * 10**12 + source.randint(0, 10**4),
                output_bytes=stage.output_bytes,
                saved_bytes=stage.saved_bytes,
            )
            for stage in small
        )
        chain = Chain("slow", small.input_bytes, stages)
        least = least_persistent_memory(chain)[0]
        memory_bytes = (least + chain.store_all_peak_bytes) // 2
        fastest = chain_recurrence.Recurrence().fastest(chain, memory_bytes)
        assert search(chain, memory_bytes, 9).time_ns == fastest


def test_sizes_of_a_petabyte_are_exact() -> None:
    unit = 10**15
    stages = tuple(
        Stage(
            name=f"layer{k}",
            forward_ns=2 + k,
            backward_ns=3,
            output_bytes=unit + k,
            saved_bytes=2 * unit + 3 * k,
        )
        for k in range(4)
    )
    loss = Stage(name="loss", forward_ns=1, backward_ns=1, output_bytes=0, saved_bytes=0)
    chain = Chain("huge", 7, (*stages, loss))
    least = least_persistent_memory(chain)[0]
    most = chain.store_all_peak_bytes
    # One byte less than what saves everything is the hardest to tell apart.
    for memory_bytes in (least, (least + most) // 2, most - 1, most):
        fastest = chain_brute_force.fastest_persistent(chain, memory_bytes)
        for first_slots in (1, 13):
            assert search(chain, memory_bytes, first_slots).time_ns == fastest


def test_a_threshold_counts_where_a_slot_holds_sizes_on_both_sides_of_it() -> None:
    # With 13 bytes, only a^3 = 4 may be beside the 9 of the loss: the first run goes to it, 11 ns,
    # and the loss takes 2. Stages 1..3 are left beside 13 bytes. Saving ā^1 = 3 leaves 10, below
    # m_nul(2,3) = m_all(2,3) = 4 + 2 + 6; otherwise running stage 2 a third time, 1 ns, would do.
    # Keeping a^1 = 1 leaves 12: F 1 runs a third time, 9 ns, and the three stages take 10 + 2 + 2.
    chain = chain_of(
        0, (9, 1, 3, 0, 0), (1, 2, 2, 6, 0), (1, 4, 4, 0, 0), (1, 0, 9, 0, 0), holds_gradient=True
    )
    assert chain_brute_force.fastest_persistent(chain, 13) == 11 + 2 + 9 + 14
    for slots in (1, 2, 3, 13):
        assert search(chain, 13, slots, slots).time_ns == 36


def test_one_stage_alone_runs_in_exactly_what_it_needs() -> None:
    loss = Stage(name="loss", forward_ns=3, backward_ns=4, output_bytes=0, saved_bytes=5)
    chain = Chain("single", 2, (loss,))
    # a^0 = 2 beside max(0 + 5 + 0, 0 + 5 + 2 + 0) = 7.
    least = least_persistent_memory(chain)[0]
    assert least == 9
    assert search(chain, least, 1).time_ns == 7


def test_without_any_time_there_is_nothing_to_gain() -> None:
    stages = tuple(
        Stage(name=f"layer{k}", forward_ns=0, backward_ns=0, output_bytes=size, saved_bytes=5)
        for k, size in enumerate((2, 3, 1, 2, 0))
    )
    chain = Chain("instant", 1, stages)
    assert search(chain, least_persistent_memory(chain)[0], 4).time_ns == 0


def test_stages_without_any_size_are_all_saved_in_no_memory() -> None:
    stages = tuple(
        Stage(name=f"layer{k}", forward_ns=5, backward_ns=1, output_bytes=0, saved_bytes=0)
        for k in range(6)
    )
    chain = Chain("weightless", 0, stages)
    result = solve(RematChain(chain, 0), "rotor-exact", gap=0)
    assert result.time_ns == chain.base_time_ns


def test_more_memory_never_takes_longer() -> None:
    chain = large_chain(random.Random(9), 20)
    least = least_persistent_memory(chain)[0]
    step = (chain.store_all_peak_bytes - least) // 12
    times = [
        solve(RematChain(chain, least + k * step), "rotor-exact", gap=0).time_ns or 0
        for k in range(13)
    ]
    assert times == sorted(times, reverse=True)
    assert times[-1] >= chain.base_time_ns


@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: chain.name)
def test_rotor_exact_is_never_above_rotor_nor_below_its_floor(chain: Chain) -> None:
    least = least_persistent_memory(chain)[0]
    for memory_bytes in range(least, chain.store_all_peak_bytes + 1):
        grid = solve(RematChain(chain, memory_bytes), "rotor")
        exact = solve(RematChain(chain, memory_bytes), "rotor-exact", gap=0)
        assert exact.answer == "optimal"
        assert grid.lower_bound_ns is not None
        assert exact.time_ns is not None
        assert grid.time_ns is not None
        assert grid.lower_bound_ns <= exact.time_ns <= grid.time_ns


def test_checkpoints_of_inputs_only_are_searched_to_the_end_too() -> None:
    chain = large_chain(random.Random(3), 60)
    needs = InputsOnlyNeeds(chain)
    memory_bytes = RematChain(chain, "alpha=0.1").memory_bytes
    found, termination = search_persistent_optimum(
        needs, memory_bytes, least_memory(needs)[1], WITHOUT_LIMIT, first_grid(20)
    )
    assert termination is Termination.COMPLETED
    assert found.time_ns >= search(chain, memory_bytes, 64).time_ns


def test_the_bracket_narrows_from_grid_to_grid() -> None:
    chain = large_chain(random.Random(6), 60)
    memory_bytes = RematChain(chain, "alpha=0.1").memory_bytes
    seen: list[Progress] = []
    options = SolveOptions(time_limit_s=None, gap=0, on_progress=seen.append)
    known = least_persistent_memory(chain)[1]
    found, _ = search_persistent_optimum(
        ChainNeeds(chain), memory_bytes, known, options, first_grid(20)
    )
    assert len(seen) > 2
    lower = [progress.lower_bound_ns or 0 for progress in seen]
    upper = [progress.time_ns or 0 for progress in seen]
    assert lower == sorted(lower)
    assert upper == sorted(upper, reverse=True)
    assert lower[0] < lower[-1] == found.time_ns == upper[-1]


def test_a_gap_that_is_wide_enough_ends_the_search() -> None:
    chain = large_chain(random.Random(6), 60)
    problem = RematChain(chain, "alpha=0.1")
    outcome = solve_rotor_exact(problem, SolveOptions(gap=0.1))
    exact = solve_rotor_exact(problem, WITHOUT_LIMIT)
    assert outcome.termination is Termination.GAP_REACHED
    assert outcome.schedule is not None
    assert exact.schedule is not None
    time_ns = outcome.schedule.replay(chain).time_ns
    assert outcome.bounds[0].time_ns <= exact.schedule.replay(chain).time_ns <= time_ns
    assert time_ns - outcome.bounds[0].time_ns <= 0.1 * time_ns


def test_a_time_limit_leaves_a_schedule_and_a_bound() -> None:
    chain = large_chain(random.Random(11), 150)
    problem = RematChain(chain, "alpha=0.05")
    outcome = solve_rotor_exact(problem, SolveOptions(time_limit_s=1e-3, gap=0))
    assert outcome.termination is Termination.TIME_LIMIT
    assert outcome.schedule is not None
    assert outcome.bounds[0].time_ns >= chain.base_time_ns


@pytest.mark.parametrize("most_bytes", [1, 10**5, 4 * 10**5])
def test_a_memory_limit_leaves_a_bracket_around_the_optimum(most_bytes: int) -> None:
    # The 1326 sub-chains of 51 stages take 58 kB a grid of 10 slots, and their bookkeeping as much:
    # 100 kB hold none, 400 kB one that leaves too much for a finer one.
    chain = large_chain(random.Random(5), 50)
    memory_bytes = RematChain(chain, "alpha=0.1").memory_bytes
    known = least_persistent_memory(chain)[1]
    optimum = search(chain, memory_bytes, 64).time_ns
    stopped, termination = search_persistent_optimum(
        ChainNeeds(chain),
        memory_bytes,
        known,
        WITHOUT_LIMIT,
        ExactSearchParams(first_search_slots=10, most_search_bytes=most_bytes),
    )
    assert termination is Termination.MEMORY_LIMIT
    assert not stopped.is_complete
    assert stopped.lower_bound_ns <= optimum <= stopped.time_ns
    assert (stopped.lower_bound_ns > chain.base_time_ns) == (most_bytes == 4 * 10**5)
    assert (stopped.time_ns < known.replay(chain).time_ns) == (most_bytes == 4 * 10**5)
    assert stopped.schedule.replay(chain, memory_bytes).valid


def test_an_interruption_leaves_the_bracket_of_the_grids_before() -> None:
    chain = large_chain(random.Random(2), 250)
    problem = RematChain(chain, "alpha=0.1")
    seen: list[Progress] = []

    def interrupt_soon(progress: Progress) -> None:
        seen.append(progress)
        if len(seen) == 1:
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()

    found, termination = search_persistent_optimum(
        ChainNeeds(chain),
        problem.memory_bytes,
        least_persistent_memory(chain)[1],
        SolveOptions(time_limit_s=None, gap=0, on_progress=interrupt_soon),
        first_grid(20),
    )
    assert termination is Termination.INTERRUPTED
    assert found.lower_bound_ns >= (seen[0].lower_bound_ns or 0) > chain.base_time_ns
    assert found.schedule.replay(chain, problem.memory_bytes).time_ns == found.time_ns


def test_a_search_that_was_stopped_can_be_taken_up_again() -> None:
    chain = large_chain(random.Random(7), 120)
    memory_bytes = RematChain(chain, "alpha=0.1").memory_bytes
    needs = ChainNeeds(chain)
    times = np.array([(stage.forward_ns, stage.backward_ns) for stage in chain], dtype=np.int64)
    kernel = _kernels.PersistentSearch(
        np.ascontiguousarray(times[:, 0]),
        np.ascontiguousarray(times[:, 1]),
        needs.input_bytes,
        needs.saved_bytes,
        needs.forward_all,
        needs.forward_none,
        available_bytes=memory_bytes - chain.input_bytes,
        known_time_ns=least_persistent_memory(chain)[1].replay(chain).time_ns,
        first_slots=30,
        most_slots=2**28,
        most_bytes=2**30,
    )
    kernel.refine()
    bracket = (kernel.lower_bound_ns, kernel.time_ns)
    with pytest.raises(TimeoutError):
        kernel.refine(time_limit_s=0)
    assert (kernel.lower_bound_ns, kernel.time_ns) == bracket
    while not kernel.is_complete:
        kernel.refine()
    assert kernel.time_ns == search(chain, memory_bytes, 100).time_ns


def test_below_the_least_memory_it_proves_that_nothing_fits() -> None:
    least = least_persistent_memory(UNEVEN)[0]
    result = solve(RematChain(UNEVEN, least - 1), "rotor-exact")
    assert result.infeasibility is not None
    assert result.infeasibility.least_memory_bytes == least
