"""Each reduction of a sharding problem keeps the optimum, and what would not."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from jettison.instances.generators.strategy_graphs import StrategyGraphs
from jettison.instances.sharding.problem import Sharding
from jettison.instances.sharding.strategy_graph import StrategyEdge, StrategyGraph, StrategyNode
from jettison.schedules.sharding.strategy_choice import StrategyChoice
from jettison.solvers.core.clock import Clock
from jettison.solvers.sharding.bounds.messages import Messages
from jettison.solvers.sharding.presolve.presolved import REDUCTIONS, presolve
from jettison.solvers.sharding.presolve.reduced_graph import NoChoiceError, ReducedGraph, Size
from tests.sharding.oracles.strategy_brute_force import least_cost, least_peak, random_graph

# Pairs that an edge may have beyond those of the two edges that it replaces.
MORE = 16
UNLIMITED = Clock(None)


def best_of(graph: ReducedGraph) -> tuple[int, Sequence[int]] | None:
    """All choices of what is left, one by one: the least cost, and the choice that has it."""
    data, _ = graph.written()
    best = None
    for chosen in itertools.product(*(range(len(costs)) for costs in data.costs)):
        parts = [costs[a] for costs, a in zip(data.costs, chosen, strict=True)]
        parts += [table[chosen[i]][chosen[j]] for (i, j), table in data.tables.items()]
        if None in parts:
            continue
        used = [
            sum(usages[chosen[place]] for place, usages in limit.usages.items())
            for limit in data.limits
        ]
        if all(one <= limit.capacity for one, limit in zip(used, data.limits, strict=True)):
            cost = data.offset + sum(part for part in parts if part is not None)
            if best is None or cost < best[0]:
                best = cost, chosen
    return best


def check(graph: ReducedGraph, problem: Sharding) -> None:
    """The best of the rest is the best of the problem, and its decoded choice is as good."""
    expected = least_cost(problem.instance, problem.memory_bytes)
    best = best_of(graph)
    if best is None:
        assert expected is None
        return
    assert best[0] == expected
    nodes = graph.native.alive()
    replay = StrategyChoice(graph.decode_places(nodes, best[1])).replay(
        problem.instance, problem.memory_bytes
    )
    assert replay.valid
    assert replay.time_ns == expected


@pytest.mark.parametrize("name", REDUCTIONS)
def test_each_reduction_alone_keeps_an_optimum(name: str) -> None:
    changed = 0
    for seed in range(60):
        graph = random_graph(seed, most_nodes=5)
        least, most = least_peak(graph) or 0, graph.usage_sum_bytes
        for memory in {least, (least + most) // 2}:
            problem = Sharding(graph, memory)
            reduced = ReducedGraph(problem)
            try:
                # Merging needs every strategy to have a partner, as after the first reduction.
                reduced.reduce("keep_consistent", UNLIMITED, MORE)
                changed += reduced.reduce(name, UNLIMITED, MORE)
            except NoChoiceError:
                assert least_cost(graph, memory) is None
                continue
            check(reduced, problem)
    # What keep_consistent can do, it has done before; all others find work.
    assert changed or name == "keep_consistent"


class SoManyPairs(Clock):
    """Time without end, and work for so many looks at it, of some pairs each."""

    def __init__(self, looks: int) -> None:
        super().__init__(None)
        self.looks = looks

    @property
    def left_s(self) -> float:
        self.looks -= 1
        return 1e9 if self.looks > 0 else 0.0

    @property
    def left_moves(self) -> int | None:
        return 0 if self.looks <= 0 else None


@pytest.mark.parametrize("looks", range(1, 16, 2))
def test_reductions_that_the_clock_stops_keep_an_optimum(looks: int) -> None:
    stopped = 0
    for seed in range(12):
        graph = random_graph(seed, most_nodes=5)
        problem = Sharding(graph, least_peak(graph) or 0)
        clock = SoManyPairs(looks)
        try:
            reduced = presolve(problem, clock)
        except NoChoiceError:
            assert least_cost(graph, problem.memory_bytes) is None
            continue
        stopped += clock.looks < 1
        check(reduced, problem)
    assert stopped


class OneMove(Clock):
    """No more work than one move."""

    def __init__(self) -> None:
        super().__init__(None)

    @property
    def left_moves(self) -> int | None:
        return 0


@pytest.mark.parametrize("name", REDUCTIONS[2:])
def test_a_reduction_looks_at_its_budget_before_each_step(name: str) -> None:
    for seed in range(20):
        graph = random_graph(seed, most_nodes=5)
        reduced = ReducedGraph(Sharding(graph, graph.usage_sum_bytes))
        try:
            reduced.reduce("keep_consistent", UNLIMITED, MORE)
        except NoChoiceError:
            continue
        before = reduced.size
        assert not reduced.reduce(name, OneMove(), MORE)
        assert reduced.size == before


@pytest.mark.parametrize("unit", [1, 10**17])
def test_all_reductions_together_keep_an_optimum_in_both_kinds_of_integers(unit: int) -> None:
    for seed in range(100, 180):
        graph = random_graph(seed, unit=unit)
        for memory in {least_peak(graph) or 0, graph.usage_sum_bytes}:
            problem = Sharding(graph, memory)
            try:
                reduced = presolve(problem, UNLIMITED)
                assert reduced.is_wide == (unit > 1)
            except NoChoiceError:
                assert least_cost(graph, memory) is None
                continue
            check(reduced, problem)


@pytest.mark.parametrize("unit", [1, 10**16])
def test_what_is_tightened_away_is_in_no_choice_below_the_target(unit: int) -> None:
    tightened = 0
    for seed in range(100):
        graph = random_graph(seed, unit=unit)
        memory = least_peak(graph)
        if memory is None:
            continue
        problem = Sharding(graph, memory)
        expected = least_cost(graph, memory)
        assert expected is not None
        reduced = ReducedGraph(problem)
        reduced.reduce("keep_consistent", UNLIMITED, MORE)
        messages = Messages(reduced)
        messages.improve(8, None, UNLIMITED)
        assert messages.exact().bound_ns(reduced.offset_ns) <= expected
        tightened += messages.tighten(expected + 1)
        check(reduced, problem)
        # Below the optimum there is nothing, whatever is left.
        messages.tighten(expected)
        best = best_of(reduced)
        assert best is None or best[0] >= expected
    assert tightened > 20


def test_messages_resume_on_a_smaller_graph_from_where_they_ended() -> None:
    graph = StrategyGraphs(nodes=60, limit_percent=40).draw(1)
    reduced = presolve(Sharding(graph), UNLIMITED)
    messages = Messages(reduced)
    messages.improve(200, None, UNLIMITED)
    bound_ns = messages.exact().bound_ns(reduced.offset_ns)
    kept = messages.kept
    # Strategies go that no choice a little above the bound has, and with them messages.
    before = reduced.size
    assert messages.tighten(bound_ns + bound_ns // 50)
    reduced.reduce("keep_consistent", UNLIMITED, MORE)
    assert reduced.size.strategies < before.strategies
    resumed = Messages(reduced, kept=kept)
    resumed.improve(1, None, UNLIMITED)
    fresh = Messages(reduced)
    fresh.improve(1, None, UNLIMITED)
    assert resumed.value > messages.value - 1
    assert resumed.value > fresh.value


def test_a_pass_that_the_work_ends_counts_for_nothing() -> None:
    graph = random_graph(5, most_nodes=6)
    reduced = ReducedGraph(Sharding(graph, graph.usage_sum_bytes))
    reduced.reduce("keep_consistent", UNLIMITED, MORE)
    messages = Messages(reduced)
    assert messages.improve(5, None, OneMove()) == 0
    assert messages.value == float("-inf")


def chain_of_three() -> StrategyGraph:
    """a - b - c; b costs 0 with 1 byte or 3 with none, and all edges cost nothing if equal."""
    ends = [
        StrategyNode(name=name, interval=(0, 1), costs_ns=costs, usages_bytes=(1, 0))
        for name, costs in (("a", (0, 2)), ("b", (0, 3)), ("c", (0, 2)))
    ]
    edges = [
        StrategyEdge(first=one, second=two, costs_ns=(0, 1, 1, 0))
        for one, two in (("a", "b"), ("b", "c"))
    ]
    return StrategyGraph("three", tuple(ends), tuple(edges))


def test_a_node_that_uses_memory_is_not_minimised_out() -> None:
    # In 1 byte: b alone may use it, which costs 2 + 1 + 0 + 1 + 2 = 6, or a alone: 0 + 1 + 3 + 0 +
    # 2 = 6; all without: 2 + 3 + 2 = 7.
    graph = chain_of_three()
    problem = Sharding(graph, 1)
    assert least_cost(graph, 1) == 6
    reduced = ReducedGraph(problem)
    reduced.reduce("keep_consistent", UNLIMITED, MORE)
    assert not reduced.reduce("eliminate_free", UNLIMITED, MORE)
    # Without memory it is: all as they like, in three bytes, costs nothing.
    free = ReducedGraph(problem, 3)
    free.reduce("drop_rows", UNLIMITED, MORE)
    assert free.reduce("eliminate_free", UNLIMITED, MORE)
    assert free.is_empty
    assert free.offset_ns == 0


def test_sizes_count_what_is_left() -> None:
    reduced = ReducedGraph(Sharding(chain_of_three(), 1))
    assert reduced.size == Size(nodes=3, edges=2, strategies=6, pairs=8, rows=1)
    assert reduced.native.node(0) == ([0, 1], [0, 2], [(0, 1, [1, 0])])
