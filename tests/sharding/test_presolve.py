"""Each reduction of a sharding problem keeps the optimum, and what would not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from jettison.instances.sharding.problem import Sharding
from jettison.instances.sharding.strategy_graph import StrategyEdge, StrategyGraph, StrategyNode
from jettison.schedules.sharding.strategy_choice import StrategyChoice
from jettison.solvers.core.clock import Clock
from jettison.solvers.sharding.bounds.messages import Messages, tighten
from jettison.solvers.sharding.presolve.presolved import Reduction, Size, presolve, reductions
from jettison.solvers.sharding.presolve.reductions import (
    drop_dominated,
    eliminate_free,
    fold_separable,
    keep_consistent,
    merge_followers,
)
from jettison.solvers.sharding.presolve.state import NoChoiceError, Part, ShardingState
from tests.sharding.oracles.strategy_brute_force import least_cost, least_peak, random_graph


def best_of(state: ShardingState) -> tuple[int, dict[int, int]] | None:
    """All choices of a state, one by one: the least cost, and the labels that have it."""
    nodes = sorted(state.alive)
    best = None
    for chosen in itertools.product(*(range(len(state.costs[node])) for node in nodes)):
        of = dict(zip(nodes, chosen, strict=True))
        parts = [int(state.costs[node][of[node]]) for node in nodes]
        parts += [int(table[of[i], of[j]]) for (i, j), table in state.tables.items()]
        if max(parts, default=0) >= state.forbidden:
            continue
        used = [0] * len(state.capacity)
        for node in nodes:
            for part in state.parts[node]:
                for row in range(part.first, part.end):
                    used[row] += int(part.usage[of[node]])
        if all(one <= most for one, most in zip(used, state.capacity, strict=True)):
            cost = state.offset + sum(parts)
            if best is None or cost < best[0]:
                best = cost, {node: int(state.labels[node][of[node]]) for node in nodes}
    return best


def check(state: ShardingState, problem: Sharding) -> None:
    """The best of the state is the best of the problem, and its decoded choice is as good."""
    expected = least_cost(problem.instance, problem.memory_bytes)
    best = best_of(state)
    if best is None:
        assert expected is None
        return
    assert best[0] == expected
    replay = StrategyChoice(state.decode(best[1])).replay(problem.instance, problem.memory_bytes)
    assert replay.valid
    assert replay.time_ns == expected


@pytest.mark.parametrize("name", reductions())
def test_each_reduction_alone_keeps_an_optimum(name: str) -> None:
    reduction = reductions()[name]
    changed = 0
    for seed in range(60):
        graph = random_graph(seed, most_nodes=5)
        least, most = least_peak(graph) or 0, graph.usage_sum_bytes
        for memory in {least, (least + most) // 2}:
            problem = Sharding(graph, memory)
            state = ShardingState(problem.instance, problem.memory_bytes)
            try:
                # Merging needs every strategy to have a partner, as after the first reduction.
                keep_consistent(state)
                changed += reduction(state, Clock(None))
            except NoChoiceError:
                assert least_cost(graph, memory) is None
                continue
            check(state, problem)
    # What keep_consistent can do, it has done before; all others find work.
    assert changed or name == "keep_consistent"


class Countdown(Clock):
    """Time for so many looks at it."""

    def __init__(self, looks: int) -> None:
        super().__init__(None)
        self.looks = looks

    @property
    def left_s(self) -> float:
        self.looks -= 1
        return max(0.0, float(self.looks))


@pytest.mark.parametrize("looks", range(1, 20, 2))
def test_reductions_that_the_clock_stops_between_two_nodes_keep_an_optimum(looks: int) -> None:
    stopped = 0
    for seed in range(12):
        graph = random_graph(seed, most_nodes=5)
        problem = Sharding(graph, least_peak(graph) or 0)
        clock = Countdown(looks)
        try:
            state = presolve(problem, clock)
        except NoChoiceError:
            assert least_cost(graph, problem.memory_bytes) is None
            continue
        stopped += clock.looks < 1
        # One reduction was under way when the time ended, and none was begun after that.
        assert clock.looks >= -1
        check(state, problem)
    assert stopped


@pytest.mark.parametrize(
    "reduction", [fold_separable, merge_followers, eliminate_free, drop_dominated]
)
def test_a_reduction_looks_at_the_clock_before_each_step(reduction: Reduction) -> None:
    for seed in range(20):
        graph = random_graph(seed, most_nodes=5)
        problem = Sharding(graph, graph.usage_sum_bytes)
        state = ShardingState(problem.instance, problem.memory_bytes)
        try:
            keep_consistent(state)
        except NoChoiceError:
            continue
        before = Size.of(state)
        assert not reduction(state, Countdown(1))
        assert Size.of(state) == before


@pytest.mark.parametrize("unit", [1, 10**17])
def test_all_reductions_together_keep_an_optimum_in_both_kinds_of_integers(unit: int) -> None:
    for seed in range(100, 180):
        graph = random_graph(seed, unit=unit)
        for memory in {least_peak(graph) or 0, graph.usage_sum_bytes}:
            problem = Sharding(graph, memory)
            try:
                state = presolve(problem, Clock(None))
            except NoChoiceError:
                assert least_cost(graph, memory) is None
                continue
            check(state, problem)


def test_what_is_tightened_away_is_in_no_choice_below_the_target() -> None:
    for seed in range(60):
        graph = random_graph(seed)
        memory = least_peak(graph)
        if memory is None:
            continue
        problem = Sharding(graph, memory)
        expected = least_cost(graph, memory)
        assert expected is not None
        state = presolve(problem, Clock(None))
        if not state.alive:
            continue
        messages = Messages(state)
        messages.improve(8, None, Clock(None))
        split = messages.exact()
        assert split.bound_ns(state.offset) <= expected
        tighten(state, split, expected + 1)
        check(state, problem)
        # Below the optimum there is nothing, whatever is left.
        tighten(state, split, expected)
        best = best_of(state)
        assert best is None or best[0] >= expected


class NodesUntilTheEnd(Clock):
    """Time for so many nodes."""

    def __init__(self, nodes: int) -> None:
        super().__init__(None)
        self.nodes = nodes

    def require_time(self) -> None:
        self.nodes -= 1
        if self.nodes < 0:
            raise TimeoutError


def test_a_pass_that_the_time_ends_between_two_nodes_counts_for_nothing() -> None:
    graph = random_graph(5, most_nodes=6)
    problem = Sharding(graph, graph.usage_sum_bytes)
    state = ShardingState(problem.instance, problem.memory_bytes)
    keep_consistent(state)
    # A pass looks at every node twice: forth and back.
    nodes = 2 * len(state.alive)
    one = Messages(state)
    assert one.improve(1, None, Clock(None)) == 1
    cut = Messages(state)
    assert cut.improve(5, None, NodesUntilTheEnd(2 * nodes - 1)) == 1
    assert (cut.value, cut.exact().bound) == (one.value, one.exact().bound)
    none = Messages(state)
    assert none.improve(5, None, NodesUntilTheEnd(nodes - 1)) == 0
    assert none.value == -np.inf


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
    state = ShardingState(problem.instance, problem.memory_bytes)
    keep_consistent(state)
    assert not eliminate_free(state)
    # Without its memory b would be free: a, b and c as they like but for one byte cost 3.
    state.parts[1] = []
    assert eliminate_free(state)
    best = best_of(state)
    assert best is not None
    assert best[0] < 6


def test_sizes_count_what_is_left() -> None:
    state = ShardingState(chain_of_three(), 1)
    assert Size.of(state) == Size(nodes=3, edges=2, strategies=6, pairs=8, rows=1)
    assert state.parts[0] == [Part(0, 1, state.parts[0][0].usage)]
