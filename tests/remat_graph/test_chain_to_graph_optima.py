"""Least times of tiny chains and of their graphs, found by searching all memory contents.

A chain may drop anything at any time, for nothing, and so may a graph.

Both searches are written from the definitions and share nothing with `chain_to_graph`.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Hashable, Iterator

import pytest

from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_graph.chain_to_graph import chain_to_graph, graph_memory_bytes
from jettison.instances.remat_graph.graph import Graph
from tests.drawing.chains import chain_of, with_random_gradients
from tests.drawing.overheads import saving_overhead

State = Hashable


def _least_time(
    start: State,
    moves: Callable[[State], Iterator[tuple[int, State]]],
    done: Callable[[State], bool],
) -> int | None:
    """Dijkstra's algorithm over memory contents."""
    best: dict[State, int] = {start: 0}
    queue: list[tuple[int, int, State]] = [(0, 0, start)]
    pushed = 0
    while queue:
        time, _, state = heapq.heappop(queue)
        if done(state):
            return time
        if time > best[state]:
            continue
        for duration, following in moves(state):
            if time + duration < best.get(following, time + duration + 1):
                best[following] = time + duration
                pushed += 1
                heapq.heappush(queue, (time + duration, pushed, following))
    return None


def _least_chain_time(chain: Chain, memory_bytes: int) -> int | None:
    count = len(chain)

    def moves(state: State) -> Iterator[tuple[int, State]]:
        plain: frozenset[int]
        saved: frozenset[int]
        gradient: int
        plain, saved, gradient = state  # type: ignore[misc]
        stored = (
            sum(chain.activation_bytes(number) for number in plain)
            + sum(chain.stage(number).saved_bytes for number in saved)
            + chain.gradient_bytes(gradient)
        )
        for number in range(1, count + 1):
            if number - 1 not in plain | saved:
                continue
            stage = chain.stage(number)
            room = memory_bytes - stored - stage.forward_overhead_bytes
            if stage.output_bytes <= room:
                there = plain if number in saved else plain | {number}
                yield stage.forward_ns, (there, saved, gradient)
                yield stage.forward_ns, (there - {number - 1}, saved - {number - 1}, gradient)
            if stored + stage.saved_bytes + saving_overhead(stage) <= memory_bytes:
                yield stage.forward_ns, (plain - {number}, saved | {number}, gradient)
            needed = chain.backward_output_bytes(number) + stage.backward_overhead_bytes
            after = (plain - {number - 1}, saved - {number}, number - 1)
            if number == gradient and number in saved and stored + needed <= memory_bytes:
                yield stage.backward_ns, after
        for number in plain | saved:
            yield 0, (plain - {number}, saved - {number}, gradient)

    if chain.input_bytes > memory_bytes:
        return None
    start = (frozenset({0}), frozenset[int](), count)
    return _least_time(start, moves, lambda state: state[2] == 0)  # type: ignore[index]


def _least_graph_time(graph: Graph, memory_bytes: int) -> int | None:
    last = len(graph) - 1

    def moves(state: State) -> Iterator[tuple[int, State]]:
        resident: frozenset[int] = state  # type: ignore[assignment]
        room = memory_bytes - sum(graph.nodes[place].output_bytes for place in resident)
        for place, node in enumerate(graph.nodes):
            if place in resident:
                yield 0, resident - {place}
            elif (
                resident.issuperset(graph.inputs[place])
                and node.output_bytes + node.workspace_bytes <= room
            ):
                yield node.duration_ns, resident | {place}

    # The last backward operation needs all nodes before it.
    return _least_time(frozenset[int](), moves, lambda state: last in state)  # type: ignore[operator]


def _random_chain(rng: random.Random, count: int) -> Chain:
    input_bytes = rng.randint(0, 5)
    stages = []
    for number in range(1, count + 1):
        output = rng.randint(0, 5) if number < count else 0
        forward, backward = rng.randint(0, 4), rng.randint(0, 4)
        saved = output + rng.choice([0, rng.randint(0, 5)])
        stages.append((rng.randint(1, 9), output, saved, forward, backward))
    return chain_of(input_bytes, *stages)


def _optima(chain: Chain) -> Iterator[tuple[int | None, int | None]]:
    """Yield the least times of chain and graph for each memory that makes a difference."""
    graph = chain_to_graph(chain)
    for memory_bytes in range(chain.store_all_peak_bytes):
        least_chain = _least_chain_time(chain, memory_bytes)
        least_graph = _least_graph_time(graph, graph_memory_bytes(chain, memory_bytes))
        if least_chain is not None or least_graph is not None:
            yield least_chain, least_graph


@pytest.mark.parametrize(("count", "chains"), [(3, 80), (4, 12)])
def test_the_least_times_of_chain_and_graph_agree(count: int, chains: int) -> None:
    rng = random.Random(count)
    pairs = [pair for _ in range(chains) for pair in _optima(_random_chain(rng, count))]
    assert len(pairs) >= 30
    assert all(least_chain == least_graph for least_chain, least_graph in pairs)


def test_they_agree_with_gradients_of_any_size() -> None:
    rng = random.Random(7)
    pairs = []
    for _ in range(60):
        chain = with_random_gradients(rng, _random_chain(rng, 3), 8)
        pairs += _optima(chain)
    assert len(pairs) >= 30
    assert all(least_chain == least_graph for least_chain, least_graph in pairs)


def test_what_a_backward_needs_is_not_had_from_a_kept_activation() -> None:
    # Saving everything takes 15 bytes: a0 1, ā1 6, ā2 6, and for B2 two gradients of 1.
    chain = chain_of(1, (10, 1, 6, 0, 0), (20, 1, 6, 0, 0), (1, 0, 0, 0, 0))
    # In 12 bytes one ā fits at a time, and saving ā2 first is best: a0, a1, ā2 take 8 and B2 10;
    # then F1 runs once more for ā1. All operations take 10 + 20 + 1 + 3, and F1 again 10.
    # A graph that made ā2 and ā1 of a1 and a2, 3 bytes with a0, would run nothing again.
    assert _least_chain_time(chain, 12) == 44
    assert _least_graph_time(chain_to_graph(chain), graph_memory_bytes(chain, 12)) == 44


def test_a_drop_lowers_the_least_memory_of_chain_and_graph() -> None:
    # tests/remat_chain/test_drops.py has the schedule: 4 forwards and 3 backwards of 1 ns.
    chain = chain_of(0, (1, 10, 10, 0, 0), (1, 10, 10, 20, 0), (1, 0, 0, 0, 15))
    for memory_bytes, least_ns in ((39, None), (40, 7)):
        assert _least_chain_time(chain, memory_bytes) == least_ns
        on_graph = _least_graph_time(chain_to_graph(chain), graph_memory_bytes(chain, memory_bytes))
        assert on_graph == least_ns
