"""Least time and least memory of tiny graphs, by search over everything that a schedule can do.

Written from the definition of the problem, with memory counted anew in every state, so that it
shares nothing with the replay or with any method. At each moment a schedule may free a value that
is in memory, or compute a node whose inputs are in memory. That takes what is in memory at that
moment, the output and the workspace. At the end every node has been computed and the values of the
kept nodes are in memory.

A node whose value is in memory is never computed: that costs time and memory and changes nothing. A
node that is computed once (`again` is false) is not computed when it has been before.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterator
from itertools import count
from typing import NamedTuple

from jettison.instances.remat_graph.graph import Graph


class Move(NamedTuple):
    """One operation: the state after it, its time, and the memory in use while it runs."""

    state: State
    duration_ns: int
    during_bytes: int


class State(NamedTuple):
    """State of the search: the part of the past that matters.

    `progress` says what has been computed: any set of nodes for all schedules; for those in order
    the node that is next for the first time; for staged ones that node and the last one that was
    recomputed since the previous first time (-1 for none).
    """

    resident: frozenset[int]
    progress: Hashable


def least_time_ns(graph: Graph, memory_bytes: int) -> int | None:
    """Least time of any schedule within the memory; None if none exists."""
    return _least_time(graph, memory_bytes, State(frozenset(), frozenset()), _moves)


def least_staged_time_ns(
    graph: Graph, memory_bytes: int, may_repeat: Callable[[int, int], bool] | None = None
) -> int | None:
    """Least time of a staged schedule within the memory; None if none exists.

    `may_repeat` tells, for a stage and an earlier node, whether the stage may compute the node
    again; without it each stage may compute every one.
    """

    def moves(graph: Graph, state: State) -> Iterator[Move]:
        stage = state.progress[0]  # type: ignore[index]
        for move in _staged_moves(graph, state):
            node = move.state.progress[1]  # type: ignore[index]
            repeats = move.state.progress != state.progress and node >= 0
            if may_repeat is None or not repeats or may_repeat(stage, node):
                yield move

    return _least_time(graph, memory_bytes, State(frozenset(), (0, -1)), moves)


def least_in_order_time_ns(graph: Graph, memory_bytes: int) -> int | None:
    """Least time of a schedule whose first computations follow the order; None if none exists."""
    return _least_time(graph, memory_bytes, State(frozenset(), 0), _in_order_moves)


def least_time_in_rounds_ns(graph: Graph, memory_bytes: int, rounds: int) -> int | None:
    """Least time of a schedule whose computations are so many rounds at most, each in order.

    The number of the round and the last node in it are part of the state.
    """

    def moves(graph: Graph, state: State) -> Iterator[Move]:
        computed, current, previous = state.progress  # type: ignore[misc]
        yield from _frees(graph, state)
        for i in range(len(graph)):
            place = current if i > previous else current + 1
            if place < rounds:
                yield from _compute(graph, state, i, (computed | {i}, place, i))

    return _least_time(graph, memory_bytes, State(frozenset(), (frozenset(), 0, -1)), moves)


def least_memory_bytes(graph: Graph) -> int:
    """Least memory in which a schedule exists."""
    return _least_memory(graph, State(frozenset(), frozenset()), _moves)


def least_staged_memory_bytes(graph: Graph) -> int:
    """Least memory in which a staged schedule exists."""
    return _least_memory(graph, State(frozenset(), (0, -1)), _staged_moves)


Moves = Callable[[Graph, State], Iterator[Move]]


def _least_time(graph: Graph, memory_bytes: int, start: State, moves: Moves) -> int | None:
    def cost_after(cost: int, move: Move) -> int | None:
        return cost + move.duration_ns if move.during_bytes <= memory_bytes else None

    return _dijkstra(graph, start, moves, cost_after)


def _least_memory(graph: Graph, start: State, moves: Moves) -> int:
    least = _dijkstra(graph, start, moves, lambda cost, move: max(cost, move.during_bytes))
    assert least is not None, "some memory is always enough"
    return least


def _dijkstra(
    graph: Graph, start: State, moves: Moves, cost_after: Callable[[int, Move], int | None]
) -> int | None:
    """Least cost of a finished state; `cost_after` is None for a move that is not allowed."""
    number = count()
    settled: set[State] = set()
    queue = [(0, next(number), start)]
    while queue:
        cost, _, state = heapq.heappop(queue)
        if state in settled:
            continue
        settled.add(state)
        if _finished(graph, state):
            return cost
        for move in moves(graph, state):
            further = cost_after(cost, move)
            if further is not None and move.state not in settled:
                heapq.heappush(queue, (further, next(number), move.state))
    return None


def _finished(graph: Graph, state: State) -> bool:
    everything = frozenset(range(len(graph)))
    progress = state.progress
    # In rounds, what has been computed is the first part of the progress.
    if isinstance(progress, tuple) and isinstance(progress[0], frozenset):
        progress = progress[0]
    kept = {i for i, node in enumerate(graph.nodes) if node.keep}
    return progress in (everything, len(graph), (len(graph), -1)) and kept <= state.resident


def _moves(graph: Graph, state: State) -> Iterator[Move]:
    computed = state.progress
    assert isinstance(computed, frozenset)
    yield from _frees(graph, state)
    for i in range(len(graph)):
        yield from _compute(graph, state, i, computed | {i})


def _in_order_moves(graph: Graph, state: State) -> Iterator[Move]:
    frontier = state.progress
    assert isinstance(frontier, int)
    yield from _frees(graph, state)
    for i in range(frontier):
        yield from _compute(graph, state, i, frontier)
    if frontier < len(graph):
        yield from _compute(graph, state, frontier, frontier + 1)


def _staged_moves(graph: Graph, state: State) -> Iterator[Move]:
    frontier, previous = state.progress  # type: ignore[misc]
    yield from _frees(graph, state)
    if frontier == len(graph):
        return
    for i in range(previous + 1, frontier):
        yield from _compute(graph, state, i, (frontier, i))
    yield from _compute(graph, state, frontier, (frontier + 1, -1))


def _frees(graph: Graph, state: State) -> Iterator[Move]:
    for i in state.resident:
        yield Move(State(state.resident - {i}, state.progress), 0, _stored(graph, state))


def _compute(graph: Graph, state: State, i: int, progress: Hashable) -> Iterator[Move]:
    node = graph.nodes[i]
    inputs = {j for j, other in enumerate(graph.nodes) if other.name in node.inputs}
    may_run = node.again or not _has_run(state, i)
    if may_run and i not in state.resident and inputs <= state.resident:
        during_bytes = _stored(graph, state) + node.output_bytes + node.workspace_bytes
        yield Move(State(state.resident | {i}, progress), node.duration_ns, during_bytes)


def _has_run(state: State, i: int) -> bool:
    progress = state.progress[0] if isinstance(state.progress, tuple) else state.progress
    if isinstance(progress, frozenset):
        return i in progress
    assert isinstance(progress, int)
    return i < progress


def _stored(graph: Graph, state: State) -> int:
    return sum(graph.nodes[i].output_bytes for i in state.resident)
