"""The search over memory contents: equal to brute force, between bound and heuristic, stoppable."""

from __future__ import annotations

import random
import signal
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from jettison import Chain, RematChain, ScheduleClass, solve
from jettison.solvers import _kernels
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_chain import contents_search, unrestricted
from jettison.solvers.remat_chain.contents_search import search_fastest, search_smallest
from jettison.solvers.remat_chain.least_memory import least_memory_of_any_schedule
from jettison.solvers.remat_chain.unrestricted import UnrestrictedParams, solve_unrestricted
from tests.drawing.chains import random_chain, remat_chains, stage_of
from tests.remat_chain.oracles.brute_force import fastest_in
from tests.remat_chain.oracles.drops_brute_force import trade_off_with_drops
from tests.remat_chain.oracles.judged_chains import judged_chains
from tests.tiny import LARGER_IF_PERSISTENT


def even_chain(layers: int, *, unit: int = 1) -> Chain:
    """Layers that take 10 ns each way, put out 1 unit and save 3."""
    stages = [stage_of(f"layer {k}", 10, 10, unit, 3 * unit + k % 2) for k in range(1, layers + 1)]
    loss = stage_of("loss")
    return Chain("even", 0, (*stages, loss))


def test_the_search_finds_the_time_of_the_brute_force_in_every_memory() -> None:
    faster = 0
    for item in judged_chains()[::4]:
        for memory in range(item.all_schedules[-1][0] - 1, item.memories().stop):
            best = fastest_in(item.all_schedules, memory)
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
    assert faster >= 50


def test_the_least_peak_is_that_of_the_brute_force() -> None:
    smaller = 0
    for item in judged_chains():
        least = item.all_schedules[-1][0]
        found = search_smallest(item.chain, item.chain.store_all_peak_bytes + 1)
        assert found.is_complete
        assert found.schedule is not None
        assert found.lower_bound == found.schedule.replay(item.chain).peak_bytes == least
        nothing = search_smallest(item.chain, least)
        assert (nothing.schedule, nothing.lower_bound) == (None, least)
        smaller += least < item.persistent[-1][0]
    assert smaller >= 10


@settings(max_examples=150)
@given(remat_chains())
def test_any_small_chain_is_solved_or_refused_as_by_the_brute_force(problem: RematChain) -> None:
    result = solve(problem, "unrestricted", gap=0)
    front = trade_off_with_drops(problem.instance)
    assert result.time_ns == fastest_in(front, problem.memory_bytes)
    assert result.status == ("infeasible" if result.time_ns is None else "optimal")
    if result.infeasibility is not None:
        assert result.infeasibility.is_exact
        assert result.infeasibility.least_memory_bytes == front[-1][0]


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
        assert best.status == "optimal"
        assert best.time_ns is not None
        assert cut.lower_bound_ns is not None
        assert cut.lower_bound_ns <= best.time_ns
        raised += cut.lower_bound_ns < best.time_ns
        if persistent.time_ns is not None:
            assert best.time_ns <= persistent.time_ns
            faster += best.time_ns < persistent.time_ns
    assert raised
    assert faster


def test_a_memory_too_small_for_persistent_schedules_may_do() -> None:
    # tests/remat_chain/oracles/test_brute_force.py derives the 4 bytes and the 3.
    assert solve(RematChain(LARGER_IF_PERSISTENT, 3), "rotor-exact").status.startswith("infeasible")
    result = solve(RematChain(LARGER_IF_PERSISTENT, 3), "unrestricted", gap=0)
    assert result.status == "optimal"
    assert result.replay is not None
    assert result.replay.schedule_class is ScheduleClass.PERSISTENT_WITH_DROPS
    refused = solve(RematChain(LARGER_IF_PERSISTENT, 2), "unrestricted", gap=0)
    assert refused.infeasibility is not None
    assert refused.infeasibility.valid_for is ScheduleClass.ALL
    assert refused.infeasibility.least_memory_bytes == 3


def test_large_sizes_are_exact() -> None:
    unit = 10**14
    chain = even_chain(4, unit=unit)
    # Scaled down, the odd bytes of every second layer would be lost.
    front = trade_off_with_drops(chain)
    for memory in (7 * unit, 9 * unit, 9 * unit + 1, 12 * unit + 1):
        found = search_fastest(RematChain(chain, memory))
        assert found.lower_bound == fastest_in(front, memory)


# Tight enough that the estimate at the start is not the optimum.
HARD = random_chain(random.Random(0), 14, largest_output_bytes=6)


def hard_problem() -> RematChain:
    """Return a problem that takes thousands of states."""
    low, high = HARD.recompute_all_peak_bytes, HARD.store_all_peak_bytes
    return RematChain(HARD, low + (high - low) // 8)


def test_a_search_that_is_stopped_brackets_the_optimum() -> None:
    problem = hard_problem()
    best = search_fastest(problem)
    assert best.is_complete
    assert best.schedule is not None
    assert best.states > 1000
    assert best.lower_bound == best.schedule.replay(HARD).time_ns
    bounds = []
    for most_states in (1, 10, 100, 1000):
        found = search_fastest(problem, most_states=most_states)
        assert found.termination is Termination.NODE_LIMIT
        assert found.lower_bound <= best.lower_bound
        bounds.append(found.lower_bound)
    assert bounds == sorted(bounds)
    assert bounds[-1] > HARD.base_time_ns


FEW_STATES = UnrestrictedParams(most_states=10, few_states=10)
# Next to nothing before the program.
AFTER_THE_PROGRAM = UnrestrictedParams(most_states=10**6, few_states=1)


def test_with_too_few_states_the_program_gives_the_schedule_and_the_search_a_bound() -> None:
    problem = hard_problem()
    best = search_fastest(problem)
    outcome = solve_unrestricted(problem, SolveOptions(gap=0, time_limit_s=None), FEW_STATES)
    assert outcome.termination is Termination.NODE_LIMIT
    assert outcome.schedule is not None
    replay = outcome.schedule.replay(problem.instance, problem.memory_bytes)
    assert replay.valid
    assert outcome.bounds[0].time_ns <= best.lower_bound <= replay.time_ns
    for name in ("rotor-exact", "revolve", "periodic", "chen-sqrt", "recompute-all"):
        other = solve(problem, name, gap=0).time_ns
        assert other is None or replay.time_ns <= other


def test_with_a_time_limit_the_search_does_not_stop_at_its_states() -> None:
    problem = hard_problem()
    outcome = solve_unrestricted(problem, SolveOptions(gap=0, time_limit_s=60), FEW_STATES)
    assert outcome.termination is Termination.COMPLETED
    assert outcome.bounds[0].time_ns == search_fastest(problem, time_limit_s=60).lower_bound


def test_the_program_cuts_the_search_short_and_does_not_change_its_answer() -> None:
    problem = hard_problem()
    alone = solve(problem, "unrestricted", gap=0)
    few = {"most_states": 10**6, "few_states": 10}
    beside = solve(problem, "unrestricted", gap=0, params=few)
    assert (alone.status, beside.status) == ("optimal", "optimal")
    assert alone.time_ns == beside.time_ns


@settings(max_examples=60)
@given(remat_chains(min_stages=2))
def test_the_search_beside_the_program_agrees_with_the_brute_force(problem: RematChain) -> None:
    result = solve(problem, "unrestricted", gap=0, params=AFTER_THE_PROGRAM)
    front = trade_off_with_drops(problem.instance)
    assert result.time_ns == fastest_in(front, problem.memory_bytes)
    assert result.status == ("infeasible" if result.time_ns is None else "optimal")


def test_a_time_limit_leaves_the_persistent_schedule_and_a_bound() -> None:
    outcome = solve_unrestricted(
        RematChain(even_chain(20), 14), SolveOptions(time_limit_s=1e-9, gap=0)
    )
    assert outcome.termination is Termination.TIME_LIMIT
    assert outcome.schedule is not None
    assert outcome.bounds[0].valid_for is ScheduleClass.ALL


def test_ctrl_c_leaves_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    problem = hard_problem()
    monkeypatch.setattr(unrestricted, "solve_rotor_drops", interrupted)
    outcome = solve_unrestricted(problem, SolveOptions(gap=0), FEW_STATES)
    assert outcome.termination is Termination.INTERRUPTED
    # What the first search proved is kept.
    assert outcome.bounds[0].time_ns > HARD.base_time_ns


def test_ctrl_c_in_the_kernel_ends_the_search_with_its_bound() -> None:
    problem = RematChain(even_chain(60), 40)
    timer = threading.Timer(0.3, signal.raise_signal, (signal.SIGINT,))
    timer.start()
    found = contents_search.search_fastest(problem, most_states=10**9)
    timer.join()
    assert found.termination is Termination.INTERRUPTED
    assert found.schedule is None
    assert found.lower_bound >= problem.instance.base_time_ns


def test_a_gap_that_is_allowed_ends_the_search_earlier() -> None:
    exact = solve(hard_problem(), "unrestricted", gap=0, params=AFTER_THE_PROGRAM)
    rough = solve(hard_problem(), "unrestricted", gap=0.1, params=AFTER_THE_PROGRAM)
    assert exact.termination is Termination.COMPLETED
    assert rough.termination is Termination.GAP_REACHED
    assert rough.work["states"] < exact.work["states"]
    assert exact.time_ns is not None
    assert rough.time_ns is not None
    assert rough.lower_bound_ns is not None
    assert rough.lower_bound_ns <= exact.time_ns <= rough.time_ns
    # Of the overhead, a share of 0.1 may be left open.
    assert rough.time_ns - rough.lower_bound_ns <= 0.1 * (rough.time_ns - HARD.base_time_ns) + 1


def test_beyond_the_longest_search_there_is_the_program() -> None:
    short = UnrestrictedParams(most_stages=5, few_stages=5)
    problem = RematChain(even_chain(8), 12)
    result = solve(problem, "unrestricted", gap=0, params=short)
    assert result.time_ns == solve(problem, "rotor-drops", gap=0).time_ns
    assert {ScheduleClass.ALL, ScheduleClass.PERSISTENT_WITH_DROPS} <= {
        bound.valid_for for bound in result.bounds
    }
    nothing = solve(RematChain(even_chain(8), 1), "unrestricted", params=short)
    assert nothing.infeasibility is not None
    assert nothing.infeasibility.valid_for is ScheduleClass.ALL


@pytest.mark.parametrize("layers", [27, 28, 59, 60, 68])
def test_stages_at_the_ends_of_words_are_kept_apart(layers: int) -> None:
    # Everything fits but one layer: one is computed again.
    chain = even_chain(layers)
    problem = RematChain(chain, chain.store_all_peak_bytes - 1)
    found = search_fastest(problem, chain.base_time_ns + 11)
    assert found.is_complete
    assert found.schedule is not None
    replay = found.schedule.replay(chain, problem.memory_bytes)
    assert replay.valid
    assert replay.time_ns == found.lower_bound == chain.base_time_ns + 10


def test_the_longest_chains_find_their_least_memory() -> None:
    chain = even_chain(140)
    found = search_smallest(chain, chain.store_all_peak_bytes)
    assert found.is_complete
    assert found.schedule is not None
    least = least_memory_of_any_schedule(chain)
    assert found.schedule.replay(chain).peak_bytes == found.lower_bound == least


def _arguments(count: int, **changed: object) -> dict[str, Any]:
    ones = np.ones(count, np.int64)
    return {
        "held_bytes": np.ones(count + 1, np.int64),
        "gradient_bytes": np.ones(count + 1, np.int64),
        "saved_bytes": ones,
        "saving_bytes": ones,
        "forward_bytes": ones,
        "backward_bytes": ones,
        "below_bytes": 1000,
        "most_states": 1000,
        **changed,
    }


@pytest.mark.parametrize("count", [0, 253])
def test_the_kernel_refuses_a_chain_that_no_word_holds(count: int) -> None:
    with pytest.raises(ValueError, match="stages"):
        _kernels.smallest_schedule(**_arguments(count))


@pytest.mark.parametrize(
    "name", ["held_bytes", "gradient_bytes", "saving_bytes", "forward_bytes", "backward_bytes"]
)
def test_the_kernel_refuses_arrays_of_another_length(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: wrong length"):
        _kernels.smallest_schedule(**_arguments(2, **{name: np.ones(5, np.int64)}))


def test_the_kernel_refuses_negative_amounts() -> None:
    with pytest.raises(ValueError, match="held_bytes: negative"):
        _kernels.smallest_schedule(**_arguments(2, held_bytes=-np.ones(3, np.int64)))
