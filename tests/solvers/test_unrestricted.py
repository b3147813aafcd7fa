"""The search over memory contents: equal to brute force, between bound and heuristic, stoppable."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from jettison.instances.chain import Chain, Stage
from jettison.instances.remat_chain import RematChain
from jettison.schedules.schedule_class import ScheduleClass
from jettison.solvers import _kernels, unrestricted
from jettison.solvers.outcome import SolveOptions
from jettison.solvers.solve import solve
from jettison.solvers.status import Termination
from jettison.solvers.unrestricted import search_fastest, search_smallest, solve_unrestricted
from tests.oracles.chain_brute_force import fastest, fastest_in, least_memory
from tests.oracles.judged_chains import judged_chains
from tests.strategies import random_chain, remat_chains
from tests.tiny import LARGER_IF_PERSISTENT, chain_of


def even_chain(layers: int, *, unit: int = 1) -> Chain:
    """Layers that take 10 ns each way, put out 1 unit and save 3."""
    stages = [
        Stage(
            name=f"layer {k}",
            forward_ns=10,
            backward_ns=10,
            output_bytes=unit,
            saved_bytes=3 * unit + k % 2,
        )
        for k in range(1, layers + 1)
    ]
    loss = Stage(name="loss", forward_ns=0, backward_ns=0, output_bytes=0, saved_bytes=0)
    return Chain("even", 0, (*stages, loss))


def test_the_search_finds_the_time_of_the_brute_force_in_every_memory() -> None:
    faster = 0
    for item in judged_chains():
        for memory in range(item.unrestricted[-1][0] - 1, item.memories().stop):
            best = fastest_in(item.unrestricted, memory)
            found = search_fastest(RematChain(item.chain, memory))
            assert found.is_complete
            if best is None:
                assert found.schedule is None
                continue
            assert found.schedule is not None
            replay = found.schedule.replay(item.chain, memory)
            assert replay.valid
            assert replay.time_ns == found.lower_bound == best
            faster += best != fastest_in(item.persistent, memory)
    # What the whole search is for.
    assert faster >= 10


def test_the_least_peak_is_that_of_the_brute_force() -> None:
    smaller = 0
    for item in judged_chains():
        least = item.unrestricted[-1][0]
        found = search_smallest(item.chain, item.chain.store_all_peak_bytes + 1)
        assert found.is_complete
        assert found.schedule is not None
        assert found.lower_bound == found.schedule.replay(item.chain).peak_bytes == least
        nothing = search_smallest(item.chain, least)
        assert (nothing.schedule, nothing.lower_bound) == (None, least)
        smaller += least < item.persistent[-1][0]
    assert smaller >= 2


@settings(deadline=None, max_examples=150)
@given(remat_chains())
def test_any_small_chain_is_solved_or_refused_as_by_the_brute_force(problem: RematChain) -> None:
    result = solve(problem, "unrestricted", gap=0)
    assert result.time_ns == fastest(problem.instance, problem.memory_bytes)
    known = "infeasible" if result.time_ns is None else "optimal"
    # The bound that counts is that of Table 1, unless no schedule at all can be better.
    assert result.status in {known, f"{known}-table-1"}
    if result.infeasibility is not None:
        assert result.infeasibility.is_exact
        assert result.infeasibility.least_memory_bytes == least_memory(problem.instance)


def test_it_lies_between_the_bound_and_the_persistent_optimum_on_longer_chains() -> None:
    generator = random.Random(8)
    raised = faster = 0
    for _ in range(60):
        chain = random_chain(generator, generator.randint(6, 9))
        low, high = chain.recompute_all_peak_bytes, chain.store_all_peak_bytes
        problem = RematChain(chain, low + (high - low) * generator.randint(0, 2) // 4)
        persistent = solve(problem, "rotor-exact", gap=0)
        best = solve(problem, "unrestricted", gap=0)
        cut = solve(problem, "cut-bound")
        assert best.status in {"optimal", "optimal-table-1"}
        assert best.time_ns is not None
        assert cut.lower_bound_ns is not None
        assert cut.lower_bound_ns <= best.time_ns
        raised += cut.lower_bound_ns < best.time_ns
        if persistent.time_ns is not None:
            assert best.time_ns <= persistent.time_ns
            faster += best.time_ns < persistent.time_ns
    assert raised
    assert faster


def test_the_rerun_bounds_guide_the_search_and_do_not_change_its_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    guided = [search_fastest(RematChain(even_chain(7), memory)) for memory in range(7, 20)]
    monkeypatch.setattr(
        unrestricted,
        "_rerun_bounds",
        lambda problem: np.zeros(len(problem.instance), dtype=np.int64),
    )
    blind = [search_fastest(RematChain(even_chain(7), memory)) for memory in range(7, 20)]
    assert [item.lower_bound for item in guided] == [item.lower_bound for item in blind]
    assert sum(item.states for item in guided) < sum(item.states for item in blind)


def test_a_memory_too_small_for_persistent_schedules_may_do() -> None:
    # tests/oracles/test_chain_brute_force.py derives the 4 bytes and the 3.
    assert solve(RematChain(LARGER_IF_PERSISTENT, 3), "rotor-exact").status.startswith("infeasible")
    result = solve(RematChain(LARGER_IF_PERSISTENT, 3), "unrestricted", gap=0)
    assert result.status in {"optimal", "optimal-table-1"}
    assert result.replay is not None
    assert result.replay.schedule_class is ScheduleClass.TABLE_1
    refused = solve(RematChain(LARGER_IF_PERSISTENT, 2), "unrestricted", gap=0)
    assert refused.infeasibility is not None
    assert refused.infeasibility.valid_for is ScheduleClass.ALL
    assert refused.infeasibility.least_memory_bytes == 3


def test_large_sizes_are_exact() -> None:
    unit = 10**14
    chain = even_chain(4, unit=unit)
    # Scaled down, the odd bytes of every second layer would be lost.
    for memory in (7 * unit, 9 * unit, 9 * unit + 1, 12 * unit + 1):
        assert search_fastest(RematChain(chain, memory)).lower_bound == fastest(chain, memory)


def test_a_search_that_is_stopped_brackets_the_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = RematChain(even_chain(9), 10)
    best = solve(problem, "unrestricted", gap=0)
    assert best.time_ns is not None
    assert best.work["states"] > 100
    bounds = []
    for most_states in (1, 10, 100):
        found = search_fastest(problem, most_states=most_states)
        assert not found.is_complete
        assert found.lower_bound <= best.time_ns
        bounds.append(found.lower_bound)
    assert bounds == sorted(bounds)
    monkeypatch.setattr(
        unrestricted,
        "search_fastest",
        lambda problem, below_ns, time_limit_s: search_fastest(problem, below_ns, most_states=10),
    )
    outcome = solve_unrestricted(problem, SolveOptions(gap=0))
    assert outcome.termination is Termination.NODE_LIMIT
    assert outcome.schedule is not None
    replay = outcome.schedule.replay(problem.instance, problem.memory_bytes)
    assert replay.valid
    assert outcome.bounds[0].time_ns <= best.time_ns <= replay.time_ns


def test_a_time_limit_leaves_the_persistent_schedule_and_a_bound() -> None:
    outcome = solve_unrestricted(
        RematChain(even_chain(20), 14), SolveOptions(time_limit_s=1e-9, gap=0)
    )
    assert outcome.termination is Termination.TIME_LIMIT
    assert outcome.schedule is not None
    assert outcome.bounds[0].valid_for is ScheduleClass.TABLE_1


@pytest.mark.parametrize(
    ("stop", "termination"),
    [
        (KeyboardInterrupt, Termination.INTERRUPTED),
        (MemoryError, Termination.MEMORY_LIMIT),
    ],
)
@pytest.mark.parametrize("memory", [2, 3, 10])
def test_what_stops_the_search_leaves_what_is_known(
    monkeypatch: pytest.MonkeyPatch,
    stop: type[BaseException],
    termination: Termination,
    memory: int,
) -> None:
    def stopped(*arguments: object, **options: object) -> None:
        raise stop

    monkeypatch.setattr(unrestricted, "search_fastest", stopped)
    monkeypatch.setattr(unrestricted, "search_smallest", stopped)
    chain = LARGER_IF_PERSISTENT if memory < 10 else even_chain(9)
    outcome = solve_unrestricted(RematChain(chain, memory), SolveOptions(gap=0))
    assert outcome.termination is termination
    assert (outcome.schedule is None) == (outcome.note is not None) == (memory < 10)
    assert outcome.bounds[0].time_ns >= chain.base_time_ns


def test_a_gap_that_is_allowed_ends_the_search_earlier() -> None:
    # In 3 bytes: 5 ns persistent, 4 ns else, see tests/oracles/test_chain_brute_force.py.
    chain = chain_of(0, (1, 1, 2, 0, 0), (1, 0, 0, 2, 0), (0, 0, 3, 0, 0), holds_gradient=True)
    exact = solve(RematChain(chain, 3), "unrestricted", gap=0)
    rough = solve(RematChain(chain, 3), "unrestricted", gap=0.5)
    assert exact.time_ns == 4 + 3
    assert exact.termination is Termination.COMPLETED
    assert rough.termination is Termination.GAP_REACHED
    assert rough.time_ns == 5 + 3
    assert rough.lower_bound_ns is not None
    assert rough.lower_bound_ns >= rough.time_ns / 2


def test_a_chain_of_too_many_stages_is_declined_with_a_note() -> None:
    outcome = solve_unrestricted(RematChain(even_chain(29), "50%"), SolveOptions())
    assert outcome.termination is Termination.NODE_LIMIT
    assert outcome.schedule is None
    assert outcome.note is not None
    assert "30 stages" in outcome.note
    assert solve(RematChain(even_chain(28), "90%"), "unrestricted").time_ns is not None


def _arguments(count: int, **changed: object) -> dict[str, Any]:
    ones = np.ones(count, np.int64)
    return {
        "held_bytes": np.ones(count + 1, np.int64),
        "saved_bytes": ones,
        "forward_bytes": ones,
        "backward_bytes": ones,
        "below_bytes": 1000,
        "most_states": 1000,
        **changed,
    }


@pytest.mark.parametrize("count", [0, 30])
def test_the_kernel_refuses_a_chain_that_no_word_holds(count: int) -> None:
    with pytest.raises(ValueError, match="stages"):
        _kernels.smallest_schedule(**_arguments(count))


@pytest.mark.parametrize("name", ["held_bytes", "forward_bytes", "backward_bytes"])
def test_the_kernel_refuses_arrays_of_another_length(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: wrong length"):
        _kernels.smallest_schedule(**_arguments(2, **{name: np.ones(5, np.int64)}))


def test_the_kernel_refuses_negative_amounts() -> None:
    with pytest.raises(ValueError, match="held_bytes: negative"):
        _kernels.smallest_schedule(**_arguments(2, held_bytes=-np.ones(3, np.int64)))
