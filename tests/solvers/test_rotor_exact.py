"""The exact search: equal to brute force, between the grids, and honest when it is stopped."""

from __future__ import annotations

import random

import pytest

from jettison.instances.chain import Chain, Stage
from jettison.instances.remat_chain import RematChain
from jettison.solvers.chain_needs import ChainNeeds
from jettison.solvers.least_chain_memory import least_persistent_memory
from jettison.solvers.outcome import SolveOptions
from jettison.solvers.rotor import persistent_bracket
from jettison.solvers.rotor_exact import search_persistent_optimum, solve_rotor_exact
from jettison.solvers.solve import solve
from jettison.solvers.status import Termination
from tests.oracles import chain_brute_force
from tests.tiny import CHAINS, UNEVEN


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
    return Chain("random", source.randint(0, largest), (*stages, loss))


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


@pytest.mark.parametrize("slots", [1, 3, 11])
def test_the_search_equals_brute_force_whatever_the_grids(slots: int) -> None:
    source = random.Random(20)
    for _ in range(40):
        chain = random_chain(source, source.randint(0, 4), 4)
        least, known = least_persistent_memory(chain)
        for memory_bytes in range(least, chain.store_all_peak_bytes + 1, 2):
            found = search_persistent_optimum(
                ChainNeeds(chain), memory_bytes, known, slots=slots, most_states=10**6
            )
            assert found.is_complete
            assert found.lower_bound_ns == found.time_ns
            assert found.time_ns == chain_brute_force.fastest_persistent(chain, memory_bytes)


@pytest.mark.parametrize("layers", [12, 25, 40])
def test_the_exact_time_lies_between_the_grids_and_does_not_depend_on_them(layers: int) -> None:
    chain = large_chain(random.Random(layers), layers)
    memory_bytes = RematChain(chain, "alpha=0.2").memory_bytes
    known = least_persistent_memory(chain)[1]
    times = set()
    for slots in (50, 200, 800):
        bracket = persistent_bracket(chain, memory_bytes, slots)
        found = search_persistent_optimum(
            ChainNeeds(chain), memory_bytes, known, slots=slots, most_states=10**7
        )
        assert found.is_complete
        assert bracket.floor_ns is not None
        assert bracket.floor_ns <= found.time_ns
        if bracket.schedule is not None:
            assert found.time_ns <= bracket.schedule.replay(chain).time_ns
        assert found.schedule.replay(chain, memory_bytes).valid
        times.add(found.time_ns)
    assert len(times) == 1


def test_a_search_that_is_stopped_returns_a_bracket_around_the_optimum() -> None:
    chain = large_chain(random.Random(5), 40)
    memory_bytes = RematChain(chain, "alpha=0.1").memory_bytes
    known = least_persistent_memory(chain)[1]
    complete = search_persistent_optimum(
        ChainNeeds(chain), memory_bytes, known, slots=400, most_states=10**7
    )
    for most_states in (1, 10, 100):
        stopped = search_persistent_optimum(
            ChainNeeds(chain), memory_bytes, known, slots=30, most_states=most_states
        )
        assert not stopped.is_complete
        assert stopped.lower_bound_ns <= complete.time_ns <= stopped.time_ns
        assert stopped.schedule.replay(chain, memory_bytes).valid


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
    for memory_bytes in (least, (least + chain.store_all_peak_bytes) // 2):
        exact = solve(RematChain(chain, memory_bytes), "rotor-exact", gap=0)
        assert exact.time_ns == chain_brute_force.fastest_persistent(chain, memory_bytes)


def test_a_time_limit_leaves_a_schedule_and_a_bound() -> None:
    chain = large_chain(random.Random(11), 150)
    problem = RematChain(chain, "alpha=0.05")
    outcome = solve_rotor_exact(problem, SolveOptions(time_limit_s=1e-3, gap=0))
    assert outcome.termination is Termination.TIME_LIMIT
    assert outcome.schedule is not None
    assert outcome.bounds[0].time_ns >= chain.base_time_ns


def test_below_the_least_memory_it_proves_that_nothing_fits() -> None:
    least = least_persistent_memory(UNEVEN)[0]
    result = solve(RematChain(UNEVEN, least - 1), "rotor-exact")
    assert result.infeasibility is not None
    assert result.infeasibility.least_memory_bytes == least


def test_stages_without_any_size_are_all_saved_in_no_memory() -> None:
    stages = tuple(
        Stage(name=f"layer{k}", forward_ns=5, backward_ns=1, output_bytes=0, saved_bytes=0)
        for k in range(6)
    )
    chain = Chain("weightless", 0, stages)
    result = solve(RematChain(chain, 0), "rotor-exact", gap=0)
    assert result.time_ns == chain.base_time_ns
    assert result.status == "optimal"
