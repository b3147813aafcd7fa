"""Plans for an arena: they fit with their addresses, and no bound is above the best of them."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

import jettison as jt
from jettison.instances.remat_arena.problem import RematArena
from jettison.instances.remat_graph.graph import Graph, Node
from jettison.schedules.remat_arena.schedule import AddressedSchedule, ArenaReplay
from jettison.solvers.core.method import Promise
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.registry import find_method, methods_of
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_arena import replanning
from jettison.solvers.remat_arena.replanning import REPLAN
from tests.drawing.graphs import random_graph
from tests.remat_arena.oracles.arena_times import least_arena_time_ns

OPTIONS = SolveOptions(time_limit_s=None)


def tiny(seed: int) -> tuple[Graph, int]:
    """Return a graph of sizes up to 3, and an arena from what one operation needs to the peak."""
    chance = random.Random(seed)
    while True:
        drawn = random_graph(chance, 5, least=1)
        nodes = tuple(
            replace(
                node,
                output_bytes=1 + node.output_bytes % 3,
                workspace_bytes=node.workspace_bytes % 3,
            )
            for node in drawn.nodes
        )
        graph = Graph("tiny", nodes)
        least, most = graph.least_peak_bound_bytes, graph.store_all_peak_bytes
        if least < most:
            return graph, chance.randint(least, most)


def test_no_bound_is_above_the_least_time_of_an_arena_and_no_plan_is_below() -> None:
    met = 0
    for seed in range(10):
        graph, arena_bytes = tiny(seed)
        best_ns = least_arena_time_ns(graph, arena_bytes)
        problem = RematArena(graph, arena_bytes)
        for method in methods_of(problem.problem):
            result = solve_with(problem, method.name, OPTIONS)
            for bound in result.bounds:
                is_for_all = bound.valid_for is jt.ScheduleClass.ALL
                assert best_ns is None or not is_for_all or bound.time_ns <= best_ns, seed
            if method.promise is Promise.BOUND or result.schedule is None:
                continue
            assert best_ns is not None
            assert result.time_ns is not None
            assert result.time_ns >= best_ns, (seed, method.name)
            met += method.name == "replan-orders" and result.time_ns == best_ns
    assert met >= 7


def test_a_plan_that_does_not_fit_is_made_again_in_less_memory() -> None:
    # Most sizes are rounded up by the alignment, so that the first plan is too large.
    chance = random.Random(5)
    replanned = 0
    for seed in range(3):
        graph = random_graph(chance, 16, least=1)
        problem = RematArena(graph, 4 * graph.store_all_peak_bytes // 5 + 8)
        params = replace(REPLAN, alignment_bytes=2, plans=4)
        result = solve_with(problem, "replan-anneal", replace(OPTIONS, seed=seed), params)
        if result.schedule is None:
            assert result.note
            continue
        assert isinstance(result.schedule, AddressedSchedule)
        assert isinstance(result.replay, ArenaReplay)
        assert result.schedule.alignment_bytes == 2
        assert result.replay.valid
        assert result.replay.peak_bytes <= problem.memory_bytes
        assert result.replay.live_peak_bytes <= result.replay.aligned_peak_bytes
        replanned += result.work["plans"] > 1
    assert replanned


def test_what_does_not_fit_without_addresses_is_refused_with_a_bound_on_the_memory() -> None:
    graph, _ = tiny(1)
    result = solve_with(RematArena(graph, 1), "replan", OPTIONS)
    assert result.schedule is None
    assert result.infeasibility is not None
    assert result.infeasibility.least_memory_bytes == graph.least_peak_bound_bytes
    # Whether so much would do with addresses is another question.
    assert not result.infeasibility.is_exact


def test_a_start_with_addresses_is_kept_where_nothing_is_faster() -> None:
    graph = Graph(
        "chain",
        (
            Node(name="a", duration_ns=1, output_bytes=2),
            Node(name="b", duration_ns=1, output_bytes=2, inputs=("a",), keep=True),
        ),
    )
    problem = RematArena(graph, "100%")
    first = jt.solve(problem)
    assert first.schedule is not None
    again = jt.solve(problem, "best-fit", start=first.schedule)
    assert again.time_ns == first.time_ns == 2


def test_a_planner_whose_share_of_the_time_was_too_short_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph, _ = tiny(3)
    asked: list[SolveOptions] = []

    class SlowPlanner:
        def run(self, problem: jt.RematGraph, options: SolveOptions) -> Outcome:
            asked.append(options)
            found = find_method("remat-graph", "recompute-all").run(problem, options)
            return found if len(asked) > 1 else replace(found, termination=Termination.TIME_LIMIT)

    monkeypatch.setattr(replanning, "find_method", lambda *_: SlowPlanner())
    problem = RematArena(graph, 3 * graph.store_all_peak_bytes)
    options = SolveOptions(time_limit_s=100, gap=0)
    outcome = replanning.solve_replan(problem, options)
    assert outcome.schedule is not None
    first, second = asked
    assert first.time_limit_s is not None
    assert second.time_limit_s is not None
    assert first.time_limit_s <= 50 < second.time_limit_s
    assert second.start is not None
