"""Least peak over orders without recomputation: bound, search and method against every order."""

from __future__ import annotations

import random
from dataclasses import replace

import jettison as jt
from jettison.instances.generators.layered_graph import LayeredGraphs
from jettison.instances.remat_graph.graph import Graph, Node
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.remat_graph.orders.ancestor_cuts import PeakBound
from jettison.solvers.remat_graph.orders.least_peak import LEAST_PEAK, least_peak_order
from jettison.solvers.remat_graph.orders.peak_search import PeakSearch
from jettison.solvers.remat_graph.orders.single_runs import SingleRuns
from tests.drawing.graphs import random_graph
from tests.remat_graph.oracles.peaks_of_orders import least_peak_bytes
from tests.remat_graph.result_graphs import graph_of_runs, graph_with_results

OPTIONS = SolveOptions(time_limit_s=None)
NO_CLOCK = Clock(None)


def sparse(chance: random.Random, count: int) -> Graph:
    """Return a graph of few inputs, which has many orders."""
    nodes = [
        Node(
            name=f"{place}",
            duration_ns=1,
            output_bytes=chance.randint(0, 9),
            inputs=tuple(f"{i}" for i in sorted(chance.sample(range(place), min(place, 2))))
            if chance.random() < 0.6
            else (),
            workspace_bytes=chance.choice((0, 0, 3)),
            keep=chance.random() < 0.1,
        )
        for place in range(count)
    ]
    return Graph("sparse", tuple(nodes))


def tiny(seed: int) -> Graph:
    chance = random.Random(seed)
    kind = seed % 4
    if kind == 0:
        return graph_of_runs(seed)
    if kind == 1:
        return graph_with_results(seed, most_operators=3)
    return sparse(chance, 6) if kind == 2 else random_graph(chance, 6)


def test_the_bracket_closes_at_the_least_peak_of_all_orders() -> None:
    below_the_given = 0
    for seed in range(80):
        graph = tiny(seed)
        if len(graph) > 8:
            continue
        expected = least_peak_bytes(graph)
        found = least_peak_order(graph, OPTIONS)
        assert found.is_optimal, seed
        assert found.peak_bytes == expected, seed
        schedule = GraphSchedule.from_computations(graph, found.order)
        replay = schedule.replay(graph, expected)
        assert replay.valid, seed
        assert replay.peak_bytes == expected
        assert replay.time_ns == graph.base_time_ns
        below_the_given += expected < graph.store_all_peak_bytes
    assert below_the_given > 10


def test_no_bound_is_above_the_least_peak_however_little_is_searched() -> None:
    for seed in range(80):
        graph = tiny(seed)
        if len(graph) > 8:
            continue
        expected = least_peak_bytes(graph)
        runs = SingleRuns(graph)
        given = list(range(len(runs)))
        assert runs.peak_bytes(given) == graph.store_all_peak_bytes
        assert PeakBound(runs).over([given], NO_CLOCK) <= expected, seed
        # Units that known orders rule out are skipped without loss.
        every = max(PeakBound(runs).at(unit) for unit in given)
        assert every <= PeakBound(runs).over([given], NO_CLOCK), seed
        for sets in (1, 3):
            hurried = least_peak_order(graph, OPTIONS, replace(LEAST_PEAK, sets=sets, questions=1))
            assert hurried.bound_bytes <= expected <= hurried.peak_bytes, seed


def test_the_cut_beside_an_operator_counts_what_may_run_before_or_after() -> None:
    # b reads a; c (4 bytes, kept) is free. While b runs, c may not have run yet: 2 + 1, and not 7.
    graph = Graph(
        "free",
        (
            Node(name="a", duration_ns=1, output_bytes=2),
            Node(name="c", duration_ns=1, output_bytes=4, keep=True),
            Node(name="b", duration_ns=1, output_bytes=1, inputs=("a",), keep=True),
        ),
    )
    bound = PeakBound(SingleRuns(graph))
    assert [bound.at(unit) for unit in range(3)] == [2, 4, 3]
    # Kept together at the end are 5; c last, after a has gone, is the least peak.
    assert bound.over([[0, 1, 2]], NO_CLOCK) == 5
    assert least_peak_order(graph, OPTIONS).peak_bytes == 5


def test_a_question_is_answered_by_an_order_or_by_the_next_peak_that_is_possible() -> None:
    for seed in range(40):
        graph = sparse(random.Random(seed), 6)
        expected = least_peak_bytes(graph)
        runs = SingleRuns(graph)
        for asked in range(max(runs.need_bytes) - 1, expected + 2):
            decision = PeakSearch(runs, NO_CLOCK, 10**6).decide(asked, 10**6)
            if asked >= expected:
                assert decision.order is not None
                assert runs.peak_bytes(decision.order) <= asked
            else:
                assert decision.order is None
                assert decision.least_bytes is not None
                assert asked < decision.least_bytes <= expected, seed


def test_forward_graphs_of_fifty_nodes_are_settled() -> None:
    graph = LayeredGraphs(nodes=50).draw(1)
    found = least_peak_order(graph, OPTIONS)
    assert found.is_optimal
    assert found.peak_bytes < graph.store_all_peak_bytes


def test_as_a_method_it_fits_or_proves_that_recomputation_is_needed() -> None:
    settled = {True: 0, False: 0}
    for seed in range(40):
        graph = sparse(random.Random(seed), 6)
        least = least_peak_bytes(graph)
        for memory_bytes in (least, least - 1):
            if memory_bytes < graph.least_peak_bound_bytes:
                continue
            problem = RematGraph(graph, memory_bytes)
            result = solve_with(problem, "least-peak-order", OPTIONS)
            settled[memory_bytes == least] += 1
            if memory_bytes == least:
                assert result.status == "optimal"
                assert result.time_ns == graph.base_time_ns
                continue
            assert result.schedule is None
            assert result.infeasibility is not None
            assert result.infeasibility.valid_for is ScheduleClass.ONCE
            assert result.infeasibility.least_memory_bytes == least
            assert result.infeasibility.is_exact
            assert result.note is not None
            assert str(least) in result.note
    assert min(settled.values()) > 5


def test_an_order_without_recomputation_that_is_not_the_given_one_has_a_class_of_its_own() -> None:
    graph = sparse(random.Random(3), 6)
    order = [*range(1, 6), 0] if not graph.users[0] else [1, 0, *range(2, 6)]
    schedule = GraphSchedule.from_computations(graph, order)
    assert schedule.replay(graph).schedule_class is ScheduleClass.ONCE
    assert ScheduleClass.ALL.covers(ScheduleClass.ONCE)
    assert not ScheduleClass.ONCE.covers(ScheduleClass.STAGED)


def test_the_public_name_returns_the_bracket() -> None:
    found = jt.remat_graph.least_peak_order(sparse(random.Random(1), 5))
    assert isinstance(found, jt.remat_graph.PeakBracket)
