"""Joined search over orders and recomputations, against brute force; and unrolled schedules."""

from __future__ import annotations

import random
from dataclasses import replace

from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.remat_graph.orders.joined_method import JOINED
from jettison.solvers.remat_graph.orders.unrolled import Resequencing, unrolled
from tests.drawing.graphs import random_graph, tight
from tests.remat_graph.oracles.brute_force import least_time_ns
from tests.remat_graph.order_graphs import ONE_RESULT, THREE, TWO, interleaved

OPTIONS = SolveOptions(time_limit_s=None)
QUICK = replace(JOINED, rounds=2, steps=10, moves=500)


def test_the_bracket_holds_the_least_time_of_all_schedules() -> None:
    met = closed = 0
    for seed in range(6):
        problem = tight(random.Random(seed), 6)
        best_ns = least_time_ns(problem.instance, problem.memory_bytes)
        result = solve_with(problem, "any-order", OPTIONS, QUICK)
        for bound in result.bounds:
            assert bound.valid_for is ScheduleClass.ALL
            assert best_ns is None or bound.time_ns <= best_ns, seed
        if best_ns is None:
            assert result.schedule is None
            continue
        assert result.time_ns is None or result.time_ns >= best_ns, seed
        met += result.time_ns == best_ns
        closed += result.status == "optimal"
    assert met >= 5
    assert closed >= 4


def test_orders_that_beat_the_given_one_are_found_and_proved() -> None:
    for graph, memory_bytes, time_ns in (
        (THREE, 1, 3),
        (TWO, 2, 2),
        (ONE_RESULT, 2, 4),
        (interleaved(2), 2, 104),
    ):
        result = solve_with(RematGraph(graph, memory_bytes), "any-order", OPTIONS, QUICK)
        assert result.time_ns == time_ns, graph.name
        assert result.status == "optimal", graph.name


def test_an_unrolled_schedule_has_its_time_and_its_peak_in_its_own_order() -> None:
    for seed in range(30):
        chance = random.Random(seed)
        graph = random_graph(chance, 8)
        computed: list[int] = []
        for node in range(len(graph)):
            computed += [other for other in range(node) if chance.random() < 0.3]
            computed.append(node)
        schedule = GraphSchedule.from_computations(graph, computed)
        replay = schedule.replay(graph)
        flat = unrolled(graph, schedule.computations)
        assert flat.base_time_ns == replay.time_ns
        # An older copy may stay until its last reader, never longer than in the schedule.
        assert flat.store_all_peak_bytes <= replay.peak_bytes, seed
        # Any order of it is a schedule in no more memory.
        order = _any_order(flat, chance)
        other = GraphSchedule.from_computations(flat, order).replay(flat)
        again = GraphSchedule.from_computations(
            graph, [schedule.computations[i] for i in order]
        ).replay(graph)
        assert again.valid, seed
        assert again.peak_bytes <= other.peak_bytes, seed
        assert again.time_ns <= replay.time_ns


def _any_order(graph: Graph, chance: random.Random) -> list[int]:
    left = {i: set(inputs) for i, inputs in enumerate(graph.inputs)}
    order: list[int] = []
    while left:
        node = chance.choice([i for i, inputs in left.items() if not inputs])
        del left[node]
        order.append(node)
        for inputs in left.values():
            inputs.discard(node)
    return order


def test_a_recomputation_is_spared_where_another_sequence_needs_none() -> None:
    # p, q, p, r in 1 byte: p is computed again only since q runs in between.
    schedule = GraphSchedule.from_computations(THREE, [0, 1, 0, 2])
    search = Resequencing(RematGraph(THREE, 1), schedule, seed=0)
    found = search.step(1000, 1000, Clock(None))
    assert found is not None
    replay = found.replay(THREE, 1)
    assert replay.valid
    assert replay.time_ns == 3
    # Nothing is computed twice any more.
    assert search.step(1000, 1000, Clock(None)) is None
