"""rotor-drops: at most what rotor and the baselines take, whatever ends it."""

from __future__ import annotations

import random
from dataclasses import replace
from unittest.mock import patch

import pytest

from jettison import Chain, RematChain, ScheduleClass
from jettison.remat_chain import ChainSchedule
from jettison.solvers.core.outcome import Outcome, Progress, SolveOptions
from jettison.solvers.core.registry import methods_of
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_chain import rotor_drops
from jettison.solvers.remat_chain.drop_search import fastest_with_drops, least_memory_with_drops
from jettison.solvers.remat_chain.least_memory import least_persistent_memory
from jettison.solvers.remat_chain.rotor_drops import (
    DROPS,
    solve_rotor_drops,
    solve_rotor_drops_curve,
)
from tests.drawing.chains import random_chain, scaled_chain
from tests.remat_chain.test_drop_search import LESS_WITH_A_DROP, ONLY_BY_A_DROP

WITHOUT_LIMIT = SolveOptions(time_limit_s=None, gap=0)
# As if every chain were a long one.
GRID_FIRST = replace(DROPS, most_stages_at_once=0)
WITH_DROPS = ScheduleClass.PERSISTENT_WITH_DROPS
# All of them find persistent schedules.
WITHIN = ("rotor", "rotor-exact", "revolve", "periodic", "chen-sqrt", "store-all", "recompute-all")


def drawn(count: int, seed: int, stages: int = 9) -> list[RematChain]:
    """Return chains whose sizes share no divisor, each in a memory between least and most."""
    generator = random.Random(seed)
    found = []
    for _ in range(count):
        chain = scaled_chain(random_chain(generator, stages, largest_output_bytes=9), 10**6 + 3)
        least, most = least_memory_with_drops(chain)[0], chain.store_all_peak_bytes
        found.append(RematChain(chain, generator.randint(least, max(least, most - 1))))
    return found


def time_of(outcome: Outcome, problem: RematChain) -> int:
    assert isinstance(outcome.schedule, ChainSchedule)
    replay = outcome.schedule.replay(problem.instance, problem.memory_bytes)
    assert replay.valid
    return replay.time_ns


@pytest.mark.parametrize("seconds", [None, 1e-9])
def test_it_is_never_worse_than_what_its_class_holds(seconds: float | None) -> None:
    options = SolveOptions(time_limit_s=seconds, gap=0)
    names = [method.name for method in methods_of("remat-chain")]
    assert set(WITHIN) < set(names)
    for problem in drawn(6, 1):
        found = solve_with(problem, "rotor-drops", options)
        for name in WITHIN:
            other = solve_with(problem, name, options)
            if other.time_ns is not None:
                assert found.time_ns is not None
                assert found.time_ns <= other.time_ns, name


def test_it_proves_the_optimum_of_its_class_and_of_no_other() -> None:
    for problem in drawn(6, 2):
        outcome = solve_rotor_drops(problem, WITHOUT_LIMIT)
        assert outcome.termination is Termination.COMPLETED
        (bound,) = (bound for bound in outcome.bounds if bound.method == "rotor-drops")
        assert bound.valid_for is WITH_DROPS
        assert bound.time_ns == time_of(outcome, problem)
        exact = fastest_with_drops(problem.instance, problem.memory_bytes, WITHOUT_LIMIT)
        assert exact is not None
        assert exact[0].time_ns == bound.time_ns


@pytest.mark.parametrize("chain", [ONLY_BY_A_DROP, LESS_WITH_A_DROP])
def test_it_fits_where_rotor_does_not(chain: Chain) -> None:
    least = least_memory_with_drops(chain)[0]
    assert least < least_persistent_memory(chain)[0]
    assert solve_with(RematChain(chain, least), "rotor", WITHOUT_LIMIT).time_ns is None
    assert solve_with(RematChain(chain, least), "rotor-drops", WITHOUT_LIMIT).time_ns is not None
    refused = solve_with(RematChain(chain, least - 1), "rotor-drops", WITHOUT_LIMIT)
    assert refused.infeasibility is not None
    assert refused.infeasibility.least_memory_bytes == least
    assert refused.infeasibility.valid_for in {WITH_DROPS, ScheduleClass.ALL}


@pytest.mark.parametrize("most_exact", [0, 350])
def test_long_chains_are_bracketed_on_grids_first(most_exact: int) -> None:
    # As if a chain of 9 stages were a long one, or too long for the exact program.
    params = replace(GRID_FIRST, most_exact_stages=most_exact)
    options = replace(WITHOUT_LIMIT, gap=0.0 if most_exact else 0.01)
    for problem in drawn(5, 3):
        seen: list[Progress] = []
        outcome = solve_rotor_drops(problem, replace(options, on_progress=seen.append), params)
        exact = fastest_with_drops(problem.instance, problem.memory_bytes, WITHOUT_LIMIT)
        assert exact is not None
        (bound,) = (bound for bound in outcome.bounds if bound.method == "rotor-drops")
        assert bound.time_ns <= exact[0].time_ns <= time_of(outcome, problem)
        assert seen
        if most_exact:
            assert bound.time_ns == time_of(outcome, problem)
        else:
            assert outcome.termination in {Termination.COMPLETED, Termination.GAP_REACHED}


def test_a_curve_is_each_of_its_memories() -> None:
    chain = drawn(1, 4)[0].instance
    least, most = least_memory_with_drops(chain)[0], chain.store_all_peak_bytes
    memories = [least - 1, least, (least + most) // 2, most, most + 1]
    problems = [RematChain(chain, memory) for memory in memories]
    outcomes = solve_rotor_drops_curve(problems, WITHOUT_LIMIT, GRID_FIRST)
    assert outcomes[0].infeasibility is not None
    for problem, outcome in list(zip(problems, outcomes, strict=True))[1:]:
        alone = solve_rotor_drops(problem, WITHOUT_LIMIT, GRID_FIRST)
        assert time_of(outcome, problem) == time_of(alone, problem)


@pytest.mark.parametrize(
    "place",
    ["solve_revolve", "refine", "fastest_with_drops", "solve_periodic", "curve_with_drops"],
)
def test_ctrl_c_ends_with_the_best_so_far(place: str) -> None:
    params = GRID_FIRST if place == "curve_with_drops" else DROPS
    for problem in drawn(2, 5):
        with patch(
            f"jettison.solvers.remat_chain.rotor_drops.{place}", side_effect=KeyboardInterrupt
        ):
            outcome = solve_rotor_drops(problem, WITHOUT_LIMIT, params)
        if (
            problem.memory_bytes >= least_persistent_memory(problem.instance)[0]
            or place != "refine"
        ):
            assert outcome.termination is Termination.INTERRUPTED
        assert time_of(outcome, problem) >= problem.instance.base_time_ns


def test_where_memory_for_the_exact_program_ends_the_grids_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = fastest_with_drops

    def stopped(*arguments: object, **more: object) -> object:
        found = real(*arguments, **more)  # type: ignore[arg-type]
        assert found is not None
        return replace(found[0], lower_bound_ns=0, is_complete=False), Termination.MEMORY_LIMIT

    monkeypatch.setattr(rotor_drops, "fastest_with_drops", stopped)
    for problem in drawn(2, 6):
        outcome = solve_rotor_drops(problem, replace(WITHOUT_LIMIT, gap=0.02), GRID_FIRST)
        assert outcome.termination in {Termination.COMPLETED, Termination.GAP_REACHED}
        assert outcome.work["slots"] >= 500
