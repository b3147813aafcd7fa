"""Plans that are measured by arrays, beside schedules that are all made and replayed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction

import pytest

from jettison import Graph, RematGraph
from jettison.instances.generators.layered_graph import LayeredGraphs, Passes
from jettison.remat_graph import GraphSchedule, Node
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_graph.baselines.articulation_points import articulation_points
from jettison.solvers.remat_graph.baselines.checkpoints import (
    PlanLimit,
    PlanStoppedError,
    forward_nodes,
)
from jettison.solvers.remat_graph.baselines.chen import (
    segmented_plan,
    solve_ap_chen_greedy,
    solve_chen_greedy,
)
from jettison.solvers.remat_graph.baselines.dtr import _Runtime, solve_dtr
from jettison.solvers.remat_graph.baselines.last_node import last_node_plan
from jettison.solvers.remat_graph.baselines.plan_measure import PlanMeasure
from jettison.solvers.remat_graph.baselines.plans import (
    Plan,
    arithmetic_middle,
    coarse_to_fine,
    fastest_that_fits,
    geometric_middle,
)
from jettison.solvers.remat_graph.baselines.revolve import (
    LinearisedGraph,
    revolve_plan,
    solve_linearized_griewank,
)
from jettison.solvers.remat_graph.baselines.simple import solve_recompute_all
from tests.remat_graph.baselines.test_heuristics import tiny_graph
from tests.remat_graph.oracles.plans_by_sets import (
    all_greedy_checkpoints,
    best_of,
    neighbourhood,
    revolve,
    segments,
)

NO_LIMIT = PlanLimit(None, Clock(None))
OPTIONS = SolveOptions(time_limit_s=None)


def graphs() -> Iterator[Graph]:
    """Yield 60 tiny graphs and 8 of 12 to 24 nodes."""
    yield from map(tiny_graph, range(60))
    for seed in range(2):
        for nodes in (12, 24):
            for passes in Passes:
                yield LayeredGraphs(nodes=nodes, passes=passes).draw(seed)


def memories(graph: Graph) -> Iterator[int]:
    """Yield from what single operations need to what nothing recomputed takes."""
    least, most = graph.least_peak_bound_bytes, graph.store_all_peak_bytes
    for quarters in range(5):
        yield least + (most - least) * quarters // 4


def assert_same(outcome: Outcome, expected: tuple[GraphSchedule | None, int]) -> None:
    """Compare an answer with that of the oracle; without one, the memory that would do."""
    schedule, least_peak = expected
    assert outcome.termination is Termination.COMPLETED
    assert outcome.schedule == schedule
    if schedule is None:
        assert outcome.note is not None
        assert f"({least_peak} bytes)" in outcome.note


def test_greedy_plans_are_those_of_the_definition() -> None:
    for graph in graphs():
        forward = forward_nodes(graph)
        for solve, candidates in (
            (solve_chen_greedy, forward[:-1]),
            (solve_ap_chen_greedy, articulation_points(graph)),
        ):
            schedules = [
                segments(graph, chosen) for chosen in all_greedy_checkpoints(graph, candidates)
            ]
            for memory_bytes in memories(graph):
                outcome = solve(RematGraph(graph, memory_bytes), OPTIONS)
                assert_same(outcome, best_of(graph, schedules, memory_bytes))


def test_revolve_plans_are_those_of_the_definition() -> None:
    for graph in graphs():
        steps = len(forward_nodes(graph))
        schedules = [segments(graph, [])]
        schedules += [revolve(graph, steps, most) for most in range(steps, 0, -1)]
        for memory_bytes in memories(graph):
            outcome = solve_linearized_griewank(RematGraph(graph, memory_bytes), OPTIONS)
            assert_same(outcome, best_of(graph, schedules, memory_bytes))


def test_the_measure_is_that_of_the_replay_and_plans_recompute_nothing_in_vain() -> None:
    for number, graph in enumerate(graphs()):
        draw = random.Random(number)
        forward = forward_nodes(graph)
        checkpoints = [node for node in forward if draw.random() < 0.3]
        linearised = LinearisedGraph(graph)
        measure = PlanMeasure(graph)
        for plan in (
            segmented_plan(graph, checkpoints, NO_LIMIT),
            revolve_plan(linearised, draw.randint(1, len(graph)), NO_LIMIT),
            last_node_plan(graph, NO_LIMIT),
        ):
            schedule = GraphSchedule.from_computations(graph, plan)
            assert list(schedule.computations) == plan
            replay = schedule.replay(graph)
            assert measure.time_ns(plan) == replay.time_ns
            assert measure.peak_bytes(plan) == replay.peak_bytes


def test_a_plan_that_takes_more_than_it_may_is_not_made() -> None:
    # 64 nodes in layers: the plan without checkpoints recomputes nothing, this one does.
    graph = LayeredGraphs(nodes=64, passes=Passes.TRAINING).draw(0)
    time_ns = PlanMeasure(graph).time_ns(segmented_plan(graph, [7, 15], NO_LIMIT))
    assert segmented_plan(graph, [7, 15], PlanLimit(time_ns, Clock(None)))
    with pytest.raises(PlanStoppedError):
        segmented_plan(graph, [7, 15], PlanLimit(time_ns - 1, Clock(None)))
    with pytest.raises(PlanStoppedError):
        segmented_plan(graph, [7, 15], PlanLimit(None, Clock(0)))


def test_from_coarse_to_fine_every_class_comes_once() -> None:
    # Classes 0-3, 4-7, ... of 0 to 41; the first is that of the middle: isqrt(1 * 42) - 1 = 5 on
    # a logarithmic scale, 41 // 2 = 20 on the other.
    def fours(number: int) -> tuple[int, int]:
        return number // 4 * 4, number // 4 * 4 + 3

    for middle_of, first in ((geometric_middle, 5), (arithmetic_middle, 20)):
        found = list(coarse_to_fine(0, 41, middle_of, fours))
        assert found[0] == first
        assert sorted(number // 4 for number in found) == list(range(11))
        assert list(coarse_to_fine(3, 2, middle_of, fours)) == []


def test_dtr_evicts_what_is_least_of_all_in_the_order_of_the_graph(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chosen: list[int] = []
    evict = _Runtime._least_valuable

    def checked(self: _Runtime, about_to_run: int) -> int:
        least = evict(self, about_to_run)
        evicted = self.computed - self.in_memory
        ratios = []
        for node in self.in_memory:
            item = self.graph.nodes[node]
            if item.keep or self.locks[node] or not item.output_bytes:
                continue
            reached = neighbourhood(self.graph, node, evicted) | {node}
            cost_ns = sum(self.graph.nodes[one].duration_ns for one in reached)
            weight = item.output_bytes * max(self.now_ns - self.last_access_ns[node], 1)
            ratios.append((Fraction(cost_ns, weight), node))
        assert min(ratios)[1] == least
        chosen.append(least)
        return least

    monkeypatch.setattr(_Runtime, "_least_valuable", checked)
    for graph in graphs():
        for memory_bytes in memories(graph):
            solve_dtr(RematGraph(graph, memory_bytes), SolveOptions(time_limit_s=None))
    assert len(chosen) > 150


def test_a_plan_that_is_too_long_to_hand_over_is_cut_off_at_the_time_limit() -> None:
    # A chain of 200 nodes: recomputing everything takes 1 + 2 + ... + 200 = 20 100 computations,
    # which are more than the first plan has for nothing.
    nodes = [Node(name="0", duration_ns=1, output_bytes=1)]
    nodes += [
        Node(name=f"{place}", duration_ns=1, output_bytes=1, inputs=(f"{place - 1}",))
        for place in range(1, 200)
    ]
    problem = RematGraph(Graph("chain", tuple(nodes)), 2)
    stopped = solve_recompute_all(problem, SolveOptions(time_limit_s=0.01))
    assert stopped.termination is Termination.TIME_LIMIT
    assert stopped.schedule is None
    finished = solve_recompute_all(problem, SolveOptions(time_limit_s=None))
    assert finished.termination is Termination.COMPLETED
    assert isinstance(finished.schedule, GraphSchedule)
    assert len(finished.schedule.computations) == 20_100


def test_a_plan_that_is_cut_off_leaves_the_shorter_ones() -> None:
    graph = Graph("one", (Node(name="0", duration_ns=1, output_bytes=1),))

    def too_long(limit: PlanLimit) -> list[int]:
        limit.require_time(10**9)
        return [0] * 10**9

    plans = [Plan(0, too_long), Plan(1, lambda limit: [0])]
    outcome = fastest_that_fits(RematGraph(graph, 1), "x", plans, SolveOptions(time_limit_s=60))
    assert isinstance(outcome.schedule, GraphSchedule)
    assert outcome.schedule.computations == (0,)
    assert outcome.termination is Termination.TIME_LIMIT
