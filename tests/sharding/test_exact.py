"""The optimum of sharding against all choices, and the order of bound, optimum and heuristics."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jettison.formulations.sharding.pairwise_choice import Limit
from jettison.instances.generators.strategy_graphs import StrategyGraphs
from jettison.instances.importers.iopddl import import_iopddl
from jettison.instances.sharding.problem import Sharding
from jettison.instances.sharding.strategy_graph import StrategyEdge, StrategyGraph, StrategyNode
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.outcome import Progress, SolveOptions
from jettison.solvers.core.registry import find_method
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.status import Termination
from jettison.solvers.sharding.bounds.messages import Messages
from jettison.solvers.sharding.exact import method as sharding_exact
from jettison.solvers.sharding.exact.method import ShardingExactParams
from jettison.solvers.sharding.exact.model_runs import cover_of
from tests.each import each
from tests.sharding.oracles.strategy_brute_force import least_cost, least_peak, random_graph

# Annealing uses all that it is given, unless the bound is met.
EXACT = SolveOptions(time_limit_s=60, gap=0, most_moves=30_000)
# Messages prove next to nothing.
ONE_PASS = ShardingExactParams(most_looks=1, passes_at_once=1)


def memories(graph: StrategyGraph) -> list[int]:
    """From too little to plenty, the least peak and one byte less among them."""
    least, most = least_peak(graph) or 0, graph.usage_sum_bytes
    return sorted({max(0, least - 1), least, (2 * least + most) // 3, most})


@each(seed=range(120))
def test_the_optimum_is_that_of_the_brute_force(seed: int) -> None:
    graph = random_graph(seed)
    for memory in memories(graph):
        problem = Sharding(graph, memory)
        expected = least_cost(graph, memory)
        result = solve_with(problem, "exact", EXACT)
        assert result.time_ns == expected
        assert result.status == ("infeasible" if expected is None else "optimal")
        assert result.termination is Termination.COMPLETED
        bound = solve_with(problem, "lagrangian", EXACT)
        if bound.infeasibility is None:
            assert bound.lower_bound_ns is not None
            assert expected is None or bound.lower_bound_ns <= expected
        for name in ("local-search", "greedy"):
            found = solve_with(problem, name, EXACT)
            if found.time_ns is not None:
                assert expected is not None
                assert found.time_ns >= expected
        if result.infeasibility is not None:
            proof = result.infeasibility
            assert proof.least_memory_bytes == least_peak(graph)
            assert proof.is_exact == (least_peak(graph) is not None)


@pytest.fixture
def no_tightening(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tighten nothing, so that more is left to HiGHS."""
    monkeypatch.setattr(Messages, "tighten", lambda *_: False)


@pytest.mark.usefixtures("no_tightening")
@each(seed=range(200, 260))
def test_what_is_left_to_highs_has_the_same_optimum(seed: int) -> None:
    graph = random_graph(seed)
    for memory in memories(graph):
        result = solve_with(Sharding(graph, memory), "exact", EXACT, ONE_PASS)
        assert result.time_ns == least_cost(graph, memory)
        assert result.status in {"optimal", "infeasible"}


@pytest.mark.usefixtures("no_tightening")
def test_rows_of_memory_are_added_where_a_point_exceeds_them() -> None:
    params = replace(ONE_PASS, first_rows=0)
    most_models = 0
    for seed in range(400, 460):
        graph = random_graph(seed)
        for memory in memories(graph):
            result = solve_with(Sharding(graph, memory), "exact", EXACT, params)
            assert result.time_ns == least_cost(graph, memory)
            most_models = max(most_models, result.work.get("models", 0))
    assert most_models > 1


def test_a_cover_has_the_largest_usages_that_exceed_a_limit() -> None:
    # 6 + 5 exceed 10; strategy 2 of the first node uses as much as its strategy 1.
    limit = Limit("t", 10, {4: (1, 6, 7), 7: (5, 2), 9: (0, 3)})
    strategies = [0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
    assert cover_of(limit, strategies) == ((4, 1), (4, 2), (7, 0))


@each(seed=range(300, 320))
def test_costs_beyond_64_bits_together_are_exact(seed: int) -> None:
    # Up to eighteen units in each of some ten tables: more than 2^63 together.
    unit = 4 * 10**17 + 1
    graph = random_graph(seed, unit=unit)
    memory = least_peak(graph)
    if memory is None:
        return
    result = solve_with(Sharding(graph, memory), "exact", EXACT)
    assert result.status == "optimal"
    assert result.time_ns == least_cost(graph, memory)


def test_usages_beyond_what_a_double_holds_are_exact() -> None:
    # 3 * (2^61 + 1) bytes at once; a limit in bytes on the command line is below 2^53.
    size = 2**61 + 1
    nodes = tuple(
        StrategyNode(name=name, interval=(0, 1), costs_ns=(1, 2), usages_bytes=(size, size - 1))
        for name in "abc"
    )
    for limit, expected in ((3 * size, 3), (3 * size - 2, 5), (3 * size - 3, 6)):
        graph = StrategyGraph("large", nodes, usage_limit_bytes=limit)
        result = solve_with(Sharding(graph), "exact", EXACT)
        assert (result.status, result.time_ns) == ("optimal", expected)
    result = solve_with(Sharding(StrategyGraph("large", nodes), "7 B"), "exact", EXACT)
    assert result.status == "infeasible"
    assert result.infeasibility is not None
    assert result.infeasibility.least_memory_bytes == 3 * (size - 1)


def test_a_node_without_a_partner_is_named_and_no_memory_would_do() -> None:
    left, right = (
        StrategyNode(name=name, interval=(0, 1), costs_ns=(1,), usages_bytes=(1,))
        for name in ("left", "right")
    )
    edge = StrategyEdge(first="left", second="right", costs_ns=(None,))
    graph = StrategyGraph("apart", (left, right), (edge,))
    result = solve_with(Sharding(graph, 10), "exact", EXACT)
    assert result.status == "infeasible"
    assert result.infeasibility is not None
    assert result.infeasibility.least_memory_bytes is None
    assert result.infeasibility.needed_by in {"left", "right"}


def test_progress_has_bounds_that_only_rise_below_choices_that_only_get_cheaper() -> None:
    seen: list[Progress] = []
    options = replace(EXACT, on_progress=seen.append)
    graph = random_graph(7)
    result = solve_with(Sharding(graph, graph.usage_sum_bytes), "exact", options)
    assert seen
    bounds = [item.lower_bound_ns or 0 for item in seen]
    assert bounds == sorted(bounds)
    assert bounds[-1] <= (result.time_ns or 0)


def test_ctrl_c_ends_with_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sharding_exact, "look", interrupt)
    graph = random_graph(7)
    result = solve_with(Sharding(graph, graph.usage_sum_bytes), "exact", EXACT)
    assert result.termination is Termination.INTERRUPTED


@pytest.fixture
def contest(shared_data: Path) -> Path:
    """The folder of the contest's files."""
    folder = shared_data / "iopddl"
    if not folder.is_dir():
        pytest.skip(f"no {folder}: these are files of the IOPDDL contest")
    return folder


def test_the_example_of_the_contest_costs_445(contest: Path) -> None:
    graph = import_iopddl(contest / "example.json")
    result = solve_with(Sharding(graph), "exact", EXACT)
    assert (result.status, result.time_ns) == ("optimal", 445)
    assert least_cost(graph, 50) == 445


def test_instance_b_of_the_contest_costs_532843_in_exact_arithmetic(contest: Path) -> None:
    # The best of the contest; its peak is 14161040 of 14392528 bytes.
    graph = import_iopddl(contest / "asplos-2025-iopddl-B.json.gz")
    options = replace(EXACT, time_limit_s=300, most_moves=None)
    result = solve_with(Sharding(graph), "exact", options)
    assert (result.status, result.time_ns) == ("optimal", 532843)
    assert result.peak_bytes is not None
    assert result.peak_bytes <= 14392528
    assert result.bound is not None
    assert result.bound.evidence is Evidence.EXACT


def test_the_bound_of_a_run_that_its_clock_cut_short_holds_and_says_so() -> None:
    graph = StrategyGraphs(nodes=80).draw(2)
    whole = solve_with(Sharding(graph), "lagrangian", SolveOptions(time_limit_s=None))
    short = solve_with(Sharding(graph), "lagrangian", SolveOptions(time_limit_s=1e-3))
    assert short.termination is Termination.TIME_LIMIT
    assert short.lower_bound_ns is not None
    assert whole.lower_bound_ns is not None
    assert graph.base_time_ns <= short.lower_bound_ns <= whole.lower_bound_ns


@pytest.mark.parametrize("method", ["exact", "local-search", "greedy"])
def test_a_cheapest_choice_to_begin_from_is_kept_however_little_is_searched(method: str) -> None:
    for seed in range(20):
        graph = random_graph(seed)
        problem = Sharding(graph, least_peak(graph) or 0)
        best = solve_with(problem, "exact", EXACT)
        if best.schedule is None:
            continue
        heard: list[int] = []
        options = SolveOptions(
            time_limit_s=1e-9,
            start=best.schedule,
            on_schedule=lambda _, replay, heard=heard: heard.append(replay.time_ns),
        )
        result = solve_with(problem, method, options)
        assert result.time_ns == best.time_ns, seed
        # The search itself knew it, or else only the caller would put it in at the end.
        outcome = find_method("sharding", method).run(problem, options)
        assert outcome.schedule == best.schedule, seed
        assert heard[0] == best.time_ns, seed


@pytest.mark.parametrize("method", ["exact", "local-search", "greedy", "lagrangian"])
def test_a_limit_that_is_over_at_once_ends_the_method_with_what_is_known(method: str) -> None:
    problem = Sharding(StrategyGraphs(nodes=60, limit_percent=40).draw(1))
    outcome = find_method("sharding", method).run(problem, SolveOptions(time_limit_s=1e-9))
    assert outcome.termination is Termination.TIME_LIMIT
    # Neither passes of messages nor models were begun.
    assert not any(outcome.work.get(name) for name in ("passes", "models"))


@pytest.mark.parametrize("method", ["exact", "local-search"])
def test_the_same_work_finds_the_same(method: str) -> None:
    graph = StrategyGraphs(nodes=80, limit_percent=60).draw(1)
    options = SolveOptions(time_limit_s=None, gap=0, most_moves=60_000)
    first, second = (find_method("sharding", method).run(Sharding(graph), options) for _ in "ab")
    assert first.schedule is not None
    assert (first.schedule, first.bounds, first.work) == (
        second.schedule,
        second.bounds,
        second.work,
    )


def test_more_work_and_another_seed_search_on() -> None:
    # Far from proved: the relaxation is weak here, and what is found depends on how long and where.
    problem = Sharding(StrategyGraphs(nodes=120, limit_percent=30).draw(3))

    def found(moves: int, seed: int) -> int | None:
        options = SolveOptions(time_limit_s=None, gap=0, most_moves=moves, seed=seed)
        return solve_with(problem, "local-search", options).time_ns

    short, longer = found(3_000, 0), found(60_000, 0)
    assert short is not None
    assert longer is not None
    assert longer <= short
    assert longer < short or len({found(3_000, seed) for seed in range(4)}) > 1
