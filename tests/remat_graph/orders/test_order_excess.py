"""Orders of little excess: moves are exact, and the search finds what brute force finds."""

from __future__ import annotations

import random
from itertools import permutations

from jettison.instances.remat_graph.reordered_graph import ReorderedGraph
from jettison.solvers.core.clock import Clock
from jettison.solvers.remat_graph.orders.excess import (
    OrderExcess,
    anneal_order,
    greedy_order,
    random_move,
)
from tests.drawing.graphs import tight
from tests.remat_graph.order_graphs import ONE_RESULT, THREE, interleaved


def test_a_move_changes_what_a_new_start_in_that_order_has() -> None:
    chance = random.Random(9)
    moved = 0
    for _ in range(40):
        problem = tight(chance, chance.randint(3, 14))
        graph, memory_bytes = problem.instance, problem.memory_bytes
        state = OrderExcess(graph, memory_bytes, range(len(graph)))
        for _ in range(20):
            move = random_move(state, chance)
            if move is None:
                continue
            moved += 1
            before = state.excess_bytes
            assert state.move(*move) == state.excess_bytes - before
            anew = OrderExcess(graph, memory_bytes, state.order)
            assert state.during_bytes == anew.during_bytes
            assert state.excess_bytes == anew.excess_bytes
            ordered = ReorderedGraph(graph, tuple(state.order)).graph
            assert max(state.during_bytes) == ordered.store_all_peak_bytes
    assert moved > 400


def test_the_excess_is_what_places_are_above_the_limit() -> None:
    # p; p and q; p and r, of 0 bytes: 1 byte above 1.
    assert OrderExcess(THREE, 1, range(3)).during_bytes == [1, 2, 1]
    assert OrderExcess(THREE, 1, range(3)).excess_bytes == 1
    assert OrderExcess(THREE, 1, (1, 0, 2)).excess_bytes == 0


def test_greedy_goes_on_with_what_stores_least() -> None:
    # p; r stores 1 and frees 1, q stores 1; then q and s.
    assert greedy_order(ONE_RESULT) == [0, 2, 1, 3]
    # All that nobody reads first; then q and its users.
    assert greedy_order(interleaved(2)) == [1, 3, 0, 2, 4]


def test_annealing_finds_the_least_excess_of_tiny_graphs() -> None:
    chance = random.Random(10)
    for _ in range(25):
        problem = tight(chance, 6)
        graph, memory_bytes = problem.instance, problem.memory_bytes
        least = min(
            OrderExcess(graph, memory_bytes, order).excess_bytes
            for order in permutations(range(6))
            if all(order.index(p) < order.index(i) for i in order for p in graph.inputs[i])
        )
        state = OrderExcess(graph, memory_bytes, range(6))
        best = anneal_order(state, chance, 1200, Clock(None))
        assert OrderExcess(graph, memory_bytes, best).excess_bytes == least


def test_without_time_the_order_stays() -> None:
    state = OrderExcess(THREE, 1, range(3))
    clock = Clock(1e-9)
    assert anneal_order(state, random.Random(0), 1000, clock) == [0, 1, 2]
