"""Operators that are computed once, in every schedule (`Node.again`)."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from jettison import RematGraph
from jettison.formulations.remat_graph.checkmate import Checkmate
from jettison.formulations.remat_graph.checkmate_unpartitioned import UnpartitionedCheckmate
from jettison.formulations.remat_graph.retention_intervals import RetentionIntervals
from jettison.formulations.remat_graph.windows.presets import Frontier, Residency
from jettison.instances.remat_graph.graph import Graph, Node
from jettison.schedules.core.replay import Rule
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.schedule import (
    GraphOperation,
    GraphOperationKind,
    GraphSchedule,
)
from jettison.solvers.core.method import Promise
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.remat_graph.annealing.method import annealing_of
from jettison.solvers.remat_graph.methods import METHODS
from tests.drawing.graphs import random_graph
from tests.remat_graph.oracles import brute_force
from tests.remat_graph.result_graphs import some_computed_once
from tests.remat_graph.test_operators import optimum_ns

# a is read twice, far apart; without the mark it is dropped and computed again: 3 ns for 4 bytes.
NODES = (
    Node(name="a", duration_ns=3, output_bytes=4),
    Node(name="b", duration_ns=1, output_bytes=4, inputs=("a",)),
    Node(name="c", duration_ns=1, output_bytes=4, inputs=("b",)),
    Node(name="d", duration_ns=1, output_bytes=1, inputs=("c",)),
    Node(name="e", duration_ns=1, output_bytes=1, inputs=("a", "d"), keep=True),
)
FREE = Graph("free", NODES)
ONCE = Graph("once", (replace(NODES[0], again=False), *NODES[1:]))


def test_a_file_says_which_operators_are_computed_once() -> None:
    document = ONCE.to_json()
    nodes = document["nodes"]
    assert isinstance(nodes, list)
    assert [node.get("again") for node in nodes] == [False, *[None] * 4]
    assert Graph.from_json(document) == ONCE
    assert ONCE.sha256 != FREE.sha256
    assert (ONCE.computed_once, FREE.computed_once) == ({0}, frozenset())


def test_the_replay_refuses_a_second_computation() -> None:
    computations = [0, 1, 2, 3, 0, 4]
    schedule = GraphSchedule.from_computations(FREE, computations)
    assert schedule.replay(FREE, 8).valid
    assert schedule.replay(FREE).time_ns == 10
    violations = schedule.replay(ONCE, 8).violations
    assert [(item.rule, item.tensor) for item in violations] == [(Rule.COMPUTED_TWICE, "a")]


def test_a_value_stays_where_a_plan_computes_it_a_second_time() -> None:
    schedule = GraphSchedule.from_computations(ONCE, [0, 1, 2, 3, 0, 4])
    assert schedule.computations == (0, 1, 2, 3, 4)
    # a, b and c stand beside each other.
    assert schedule.replay(ONCE).peak_bytes == 12
    freed = [item.node for item in schedule.operations if item.kind is GraphOperationKind.FREE]
    assert freed == [1, 2, 0, 3]


def test_a_value_that_was_freed_is_missing() -> None:
    compute, free = GraphOperationKind.COMPUTE, GraphOperationKind.FREE
    steps = [(compute, 0), (compute, 1), (free, 0), (compute, 2), (compute, 3), (compute, 4)]
    schedule = GraphSchedule(tuple(GraphOperation(*step) for step in steps))
    assert [item.rule for item in schedule.replay(ONCE).violations] == [Rule.INPUT_MISSING]


def test_the_kernel_refuses_a_start_that_computes_it_twice() -> None:
    import numpy as np

    start = np.array([0, 1, 2, 3, 0, 4], np.int32)
    annealing_of(RematGraph(FREE, 8), 0, 0).start_from(start)
    with pytest.raises(ValueError, match="a node is computed twice"):
        annealing_of(RematGraph(ONCE, 8), 0, 0).start_from(start)


def drawn(seed: int) -> RematGraph:
    """Draw a graph of which some operators are computed once, and a memory for it."""
    chance = random.Random(seed)
    count = chance.randint(3, 6)
    graph = random_graph(chance, count, first_backward=chance.choice((None, count // 2)))
    graph = some_computed_once(graph, chance)
    least, most = graph.least_peak_bound_bytes, graph.store_all_peak_bytes
    return RematGraph(graph, chance.randint(least, most))


def test_exact_models_have_the_optimum_of_the_brute_force() -> None:
    hard = infeasible = 0
    for seed in range(8, 14):
        problem = drawn(seed)
        graph, memory_bytes = problem.instance, problem.memory_bytes
        expected = brute_force.least_staged_time_ns(graph, memory_bytes)
        hard += expected is not None and expected > graph.base_time_ns
        infeasible += expected is None
        for choice in (Checkmate(), Residency(), RetentionIntervals(len(graph))):
            assert optimum_ns(problem, choice.build(problem)) == expected, (choice, seed)
        below = optimum_ns(problem, Frontier().build(problem))
        assert expected is None or (below is not None and below <= expected), seed
        in_rounds = brute_force.least_time_in_rounds_ns(graph, memory_bytes, len(graph))
        built = UnpartitionedCheckmate().build(problem)
        found = optimum_ns(problem, built)
        assert found == (None if in_rounds is None else in_rounds + graph.base_time_ns), seed
    assert min(hard, infeasible) > 0


METHODS_IN_TIME = tuple(
    method.with_params({"rounds": 1, "starts": 1, "steps": 1})
    if method.name == "orders"
    else method.with_params({"rounds": 4})
    if method.name == "anneal"
    else method
    for method in METHODS
)


def test_bounds_are_below_the_brute_force_and_schedules_are_not() -> None:
    hard = 0
    least = {
        ScheduleClass.ALL: brute_force.least_time_ns,
        ScheduleClass.IN_ORDER: brute_force.least_in_order_time_ns,
        ScheduleClass.STAGED: brute_force.least_staged_time_ns,
    }
    for seed in range(100, 103):
        problem = drawn(seed)
        graph, memory_bytes = problem.instance, problem.memory_bytes
        best = {name: find(graph, memory_bytes) for name, find in least.items()}
        staged = best[ScheduleClass.STAGED]
        hard += staged is not None and staged > graph.base_time_ns
        for method in METHODS_IN_TIME:
            outcome = method.run(problem, SolveOptions(time_limit_s=20))
            where = (method.name, seed)
            for bound in outcome.bounds:
                limit = best.get(bound.valid_for)
                assert limit is None or bound.time_ns <= limit, where
            proof = outcome.infeasibility
            if proof is not None and proof.valid_for in best:
                assert best[proof.valid_for] is None, where
            if outcome.schedule is None:
                assert method.promise is not Promise.EXACT_STAGED or staged is None, where
                continue
            replay = outcome.schedule.replay(graph, memory_bytes)
            assert replay.valid, where
            floor = best[ScheduleClass.ALL]
            assert floor is not None
            assert replay.time_ns >= floor, where
            if method.promise is Promise.EXACT_STAGED and staged is not None:
                assert replay.time_ns <= staged, where
    assert hard > 0
