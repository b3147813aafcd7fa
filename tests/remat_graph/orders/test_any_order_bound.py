"""The bound for any order: it holds, meets most optima, and ends when it is told to."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jettison import Graph, RematGraph, ScheduleClass
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.solve import compare_with
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.remat_graph.cuts.bound_method import bound_graph_cuts
from jettison.solvers.remat_graph.orders.bound_method import (
    AnyOrderParams,
    MilestoneRounds,
    bound_any_order,
)
from tests.core.bound_runs import EXACT, largest_ns, watched
from tests.drawing.graphs import graphs, tight
from tests.remat_graph.oracles.brute_force import least_time_ns
from tests.remat_graph.order_graphs import ONE_RESULT, THREE, TWO, interleaved
from tests.tiny import SKIP


@settings(max_examples=60)
@given(graphs(max_nodes=5), st.data())
def test_no_bound_is_above_the_best_of_all_schedules(graph: Graph, data: st.DataObject) -> None:
    peak = graph.store_all_peak_bytes
    problem = RematGraph(graph, data.draw(st.integers(peak // 2, peak)))
    outcome = bound_any_order(problem, EXACT)
    best_ns = least_time_ns(graph, problem.memory_bytes)
    assert outcome.termination is Termination.COMPLETED
    if outcome.infeasibility is not None:
        assert best_ns is None
        assert outcome.infeasibility.valid_for is ScheduleClass.ALL
        return
    assert {bound.valid_for for bound in outcome.bounds} == {ScheduleClass.ALL}
    assert best_ns is None or largest_ns(outcome) <= best_ns


def test_most_optima_are_met_and_what_fits_is_one() -> None:
    # On 387 of another seed 385 were met.
    chance = random.Random(8)
    met = fitted = 0
    for _ in range(40):
        problem = tight(chance, 6)
        graph = problem.instance
        search = MilestoneRounds(problem, EXACT, Clock(None))
        outcome = search.outcome(search.run())
        best_ns = least_time_ns(graph, problem.memory_bytes)
        if best_ns is None:
            met += outcome.infeasibility is not None
            continue
        assert largest_ns(outcome) <= best_ns
        met += largest_ns(outcome) == best_ns
        if search.schedule is not None:
            fitted += 1
            replay = search.schedule.replay(graph, problem.memory_bytes)
            assert replay.valid
            assert replay.time_ns == best_ns == largest_ns(outcome)
    assert met >= 36
    assert fitted >= 32


def test_where_one_order_is_possible_it_is_the_bound_of_the_order() -> None:
    outcome = bound_any_order(RematGraph(SKIP, 7), EXACT)
    assert largest_ns(outcome) == 7
    assert outcome.bounds[0].evidence is Evidence.EXACT


@pytest.mark.parametrize(
    ("graph", "memory_bytes"), [(THREE, 1), (TWO, 2), (ONE_RESULT, 2), (interleaved(3), 2)]
)
def test_where_another_order_is_better_it_stays_below_the_bound_of_the_order(
    graph: Graph, memory_bytes: int
) -> None:
    problem = RematGraph(graph, memory_bytes)
    assert largest_ns(bound_any_order(problem, EXACT)) == graph.base_time_ns
    assert largest_ns(bound_graph_cuts(problem, EXACT)) > graph.base_time_ns


def test_memory_below_one_operation_is_a_proof() -> None:
    proof = bound_any_order(RematGraph(SKIP, 6), EXACT).infeasibility
    assert proof is not None
    assert (proof.valid_for, proof.least_memory_bytes) == (ScheduleClass.ALL, 7)


def test_a_model_without_a_point_is_a_proof_that_rests_on_the_solver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    none = ModelSolution(termination=Termination.COMPLETED, answer=Answer.INFEASIBLE, seconds=0.0)
    watched(monkeypatch, lambda *_: none)
    proof = bound_any_order(RematGraph(SKIP, 7), EXACT).infeasibility
    assert proof is not None
    assert (proof.evidence, proof.least_memory_bytes) == (Evidence.SOLVER, 8)


def test_too_large_a_model_is_not_solved() -> None:
    outcome = bound_any_order(RematGraph(SKIP, 7), EXACT, AnyOrderParams(most_columns=1))
    assert outcome.termination is Termination.MEMORY_LIMIT
    assert outcome.note == "a model of more than 1 columns was not solved"
    assert largest_ns(outcome) == 7


def test_a_schedule_that_meets_it_is_optimal_among_all() -> None:
    results = compare_with(RematGraph(SKIP, 7), ["checkmate", "any-order-bound"], EXACT)
    assert [result.status for result in results] == ["optimal", "bounded"]
