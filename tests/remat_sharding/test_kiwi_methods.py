from __future__ import annotations

from dataclasses import replace

import pytest

from jettison import Bound, RematSharding, ScheduleClass, ShardedGraph
from jettison.remat_sharding import Resharding, Role, ShardedSchedule
from jettison.solvers.core.bound import Evidence, best_bound
from jettison.solvers.core.outcome import Infeasibility, SolveOptions
from jettison.solvers.core.solve import compare_with, solve_with
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_sharding.fastest_plan import with_fastest
from tests.remat_sharding.oracles.brute_force import (
    best_reduced_plan,
    best_staged_plan,
    priced_choices,
)
from tests.remat_sharding.samples import any_order, training_steps
from tests.remat_sharding.steps import encoder, wide_perceptron
from tests.remat_sharding.tiny_sharded import LAYERS, WAITING, operator

EXACT = SolveOptions(time_limit_s=30, gap=0)


def test_the_reduced_method_finds_the_best_plan_or_the_least_memory_that_would_do() -> None:
    proofs = 0
    for problem in training_steps(seed=31, count=30):
        sharded = problem.instance
        if not priced_choices(sharded):
            continue
        result = solve_with(problem, "kiwi-reduced", EXACT)
        plan = best_reduced_plan(sharded, problem.memory_bytes)
        assert result.time_ns == (plan and plan.time_ns)
        if plan is not None:
            assert result.status in {"optimal", "optimal-kiwi-reduced"}
            continue
        assert result.infeasibility is not None
        least = result.infeasibility.least_memory_bytes
        assert best_reduced_plan(sharded, least - 1) is None
        if result.infeasibility.valid_for is ScheduleClass.KIWI_REDUCED:
            assert result.infeasibility.is_exact
            assert best_reduced_plan(sharded, least) is not None
            proofs += 1
    assert proofs >= 2


@pytest.mark.parametrize("samples", [training_steps, any_order])
def test_the_full_method_finds_the_best_staged_plan(samples: object) -> None:
    assert callable(samples)
    for problem in samples(seed=32, count=12, most_operators=6):
        if not priced_choices(problem.instance):
            continue
        result = solve_with(problem, "kiwi-full", EXACT)
        plan = best_staged_plan(problem.instance, problem.memory_bytes)
        assert result.time_ns == (plan and plan.time_ns)
        if plan is None:
            assert result.infeasibility is not None
            least = result.infeasibility.least_memory_bytes
            assert best_staged_plan(problem.instance, least - 1) is None
        else:
            assert result.status in {"optimal", "optimal-staged"}


def test_a_bound_of_the_reduced_problem_is_not_one_for_staged_plans() -> None:
    for problem in training_steps(seed=33, count=20, most_operators=6):
        if priced_choices(problem.instance):
            # A contradiction raises: each result is judged by the bounds of both methods.
            reduced, full = compare_with(problem, ["kiwi-reduced", "kiwi-full"], EXACT)
            if reduced.time_ns is not None:
                assert full.time_ns is not None
                assert full.time_ns <= reduced.time_ns


@pytest.mark.parametrize("method", ["kiwi-reduced", "kiwi-full"])
def test_below_what_one_operator_needs_nothing_is_solved(method: str) -> None:
    # grad reads x, loss and dot in 2 + 3 + 4 bytes beside w in 3, and writes 3.
    problem = RematSharding(LAYERS, 14)
    result = solve_with(problem, method, EXACT)
    assert result.status == "infeasible-in-order"
    assert result.infeasibility is not None
    assert result.infeasibility.least_memory_bytes == LAYERS.least_peak_bound_bytes == 15
    assert result.infeasibility.needed_by == "grad"
    assert result.work == {}


def test_the_fastest_plan_is_optimal_among_all_where_it_fits() -> None:
    result = solve_with(RematSharding(WAITING, "100%"), "kiwi-reduced", EXACT)
    assert (result.status, result.time_ns, result.peak_bytes) == ("optimal", 4, 10)
    assert result.replay is not None
    assert result.replay.schedule_class is ScheduleClass.KIWI_REDUCED


def test_graphs_without_a_reduced_problem_are_told_so() -> None:
    late = operator("e", Role.FORWARD, ((1, 0),), ("d",))
    sharded = replace(WAITING, operators=(*WAITING.operators, late), fastest=())
    result = solve_with(RematSharding(sharded, 9), "kiwi-reduced", EXACT)
    assert result.schedule is None
    assert result.infeasibility is None
    assert result.note == (
        "an operator that is not backward comes after one that is; use another method"
    )
    assert solve_with(RematSharding(sharded, 9), "kiwi-full", EXACT).time_ns == 6
    assert solve_with(RematSharding(sharded, 10), "kiwi-reduced", EXACT).status == "optimal"


@pytest.mark.parametrize("method", ["kiwi-reduced", "kiwi-full", "exact"])
def test_where_forbidden_pairs_leave_nothing_no_memory_would_do(method: str) -> None:
    # act must follow dot, and what it must not read from dot is what dot must compute for x.
    tables = (
        Resharding("x", "dot", ((0, None), (0, None))),
        Resharding("dot", "act", ((None, 0), (0, 0))),
    )
    sharded = replace(LAYERS, resharding=tables, fastest=())
    result = solve_with(RematSharding(sharded, 1000), method, EXACT)
    assert result.status == "infeasible"
    assert result.infeasibility == Infeasibility(
        valid_for=ScheduleClass.ALL, least_memory_bytes=None, is_exact=False, needed_by="dot"
    )


@pytest.mark.parametrize("method", ["kiwi-reduced", "kiwi-full", "exact"])
def test_pairs_may_go_together_one_by_one_and_not_at_once(method: str) -> None:
    # b and c have the place of a, and c has not that of b.
    same, other = ((0, None), (None, 0)), ((None, 0), (0, None))
    strategies = ((1, 1), (2, 1))
    sharded = ShardedGraph(
        "odd cycle",
        (
            operator("a", Role.FORWARD, strategies),
            operator("b", Role.FORWARD, strategies, ("a",)),
            operator("c", Role.FORWARD, strategies, ("a", "b")),
        ),
        (Resharding("a", "b", same), Resharding("a", "c", same), Resharding("b", "c", other)),
    )
    result = solve_with(RematSharding(sharded, 1000), method, EXACT)
    assert result.status == "infeasible"
    assert result.infeasibility == Infeasibility(
        valid_for=ScheduleClass.ALL,
        least_memory_bytes=None,
        is_exact=False,
        evidence=Evidence.SOLVER,
    )


def test_a_graph_that_is_too_large_for_the_full_model_is_declined() -> None:
    graph = with_fastest(encoder())
    result = solve_with(RematSharding(graph, "80%"), "kiwi-full", EXACT)
    assert result.schedule is None
    assert result.termination is Termination.MEMORY_LIMIT
    assert result.note is not None
    assert "use another method" in result.note
    assert result.lower_bound_ns is not None
    assert result.lower_bound_ns > graph.base_time_ns


def test_the_perceptron_of_the_paper_is_solved_in_less_and_less_memory() -> None:
    graph = with_fastest(wide_perceptron())
    times = []
    for share in ("100%", "80%", "60%", "50%"):
        result = solve_with(RematSharding(graph, share), "kiwi-reduced", EXACT)
        assert result.status in {"optimal", "optimal-kiwi-reduced"}
        assert isinstance(result.schedule, ShardedSchedule)
        times.append(result.time_ns)
    assert times == sorted(set(times))


def test_a_time_limit_ends_with_what_is_known() -> None:
    graph = with_fastest(wide_perceptron())
    for method in ("kiwi-reduced", "kiwi-full"):
        options = SolveOptions(time_limit_s=1e-6, gap=0)
        result = solve_with(RematSharding(graph, "40%"), method, options)
        assert result.schedule is None
        assert not result.termination.is_regular
        assert result.note is not None


def test_among_equal_bounds_the_one_for_more_schedules_counts() -> None:
    bounds = [
        Bound(time_ns=4, valid_for=valid_for, evidence=Evidence.SOLVER, method=str(valid_for))
        for valid_for in (ScheduleClass.KIWI_REDUCED, ScheduleClass.IN_ORDER, ScheduleClass.STAGED)
    ]
    best = best_bound(bounds, ScheduleClass.KIWI_REDUCED)
    assert best is not None
    assert best.valid_for is ScheduleClass.IN_ORDER
