"""The best schedule of a graph that a search knows, and when it anneals."""

from __future__ import annotations

from jettison.instances.generators.layered_graph import LayeredGraphs
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.clock import Clock
from jettison.solvers.remat_graph.annealing.beside_models import BESIDE, GraphAnnealing

GRAPH = LayeredGraphs(nodes=300).draw(1)
# At 90 % of the peak the first moves of annealing find a schedule, and the base time cannot do.
TIGHT = RematGraph(GRAPH, GRAPH.store_all_peak_bytes * 9 // 10)
# 30 for each node (`remat_anneal`).
MOVES_OF_A_ROUND = 9_000
MOVES = BESIDE.moves_at_once


def incumbent() -> GraphAnnealing:
    return GraphAnnealing(TIGHT, seed=0, clock=Clock(None))


def test_the_first_round_is_ended_although_a_schedule_is_known() -> None:
    best = incumbent()
    best.find_first()
    assert best.time_ns is not None
    assert best.moves >= MOVES_OF_A_ROUND


def test_annealing_has_the_moves_that_it_is_granted_in_whole_pieces() -> None:
    best = incumbent()
    best.find_first()
    moves = best.moves
    best.improve_beside(MOVES - 1, GRAPH.base_time_ns)
    assert best.moves == moves
    best.improve_beside(2 * MOVES + 1, GRAPH.base_time_ns)
    assert best.moves == moves + 3 * MOVES


def test_annealing_goes_on_when_its_rounds_are_over() -> None:
    graph = LayeredGraphs(nodes=12).draw(1)
    problem = RematGraph(graph, graph.store_all_peak_bytes * 9 // 10)
    best = GraphAnnealing(problem, seed=0, clock=Clock(None))
    # Seven rounds from 30 moves for each of 12 nodes, each three times as long: 393480 moves.
    best.improve_beside(400_000, 0)
    assert best.moves > 393_480


def test_rounds_from_schedules_have_hardly_more_than_twice_the_moves_of_the_rest() -> None:
    best = incumbent()
    best.find_first()
    first = best.moves
    for _ in range(4):
        best.improve_from(range(len(GRAPH)), GRAPH.base_time_ns)
    # 1 + 3 rounds, each three times as long: after the second, twice the first round is exceeded.
    assert first < best.moves <= 5 * first + 2 * MOVES


def test_annealing_from_a_schedule_never_makes_it_worse() -> None:
    best = incumbent()
    best.find_first()
    assert best.schedule is not None
    assert best.time_ns is not None
    before_ns = best.time_ns
    best.improve_from(best.schedule.computations, GRAPH.base_time_ns)
    assert best.time_ns <= before_ns
    replay = best.schedule.replay(GRAPH)
    assert (replay.time_ns, replay.peak_bytes <= TIGHT.memory_bytes) == (best.time_ns, True)
