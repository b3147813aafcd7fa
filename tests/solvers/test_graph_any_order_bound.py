"""The bound for any order: it holds, meets most optima, and ends when it is told to."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jettison.formulations.array_model import ArrayModel
from jettison.instances.graph import Graph, Node
from jettison.instances.remat_graph import RematGraph
from jettison.schedules.schedule_class import ScheduleClass
from jettison.solvers import graph_any_order_bound, graph_model_runs, highs_in_time
from jettison.solvers.bound import Evidence
from jettison.solvers.clock import Clock
from jettison.solvers.graph_any_order_bound import MilestoneSearch, bound_any_order
from jettison.solvers.graph_cut_bound import bound_graph_cuts
from jettison.solvers.highs import solve_model
from jettison.solvers.highs_options import HighsOptions
from jettison.solvers.model_solution import ModelSolution
from jettison.solvers.outcome import Outcome, Progress, SolveOptions
from jettison.solvers.solve import compare_with
from jettison.solvers.status import Answer, Termination
from tests.oracles.graph_brute_force import least_time_ns
from tests.order_graphs import ONE_RESULT, THREE, TWO, interleaved, tight
from tests.strategies import graphs

EXACT = SolveOptions(time_limit_s=None, gap=0)
# a, b and c together take 8 bytes; in 7, a (2 ns) must be computed again for d. There is one order.
SKIP = Graph(
    "skip",
    (
        Node(name="a", duration_ns=2, output_bytes=3),
        Node(name="b", duration_ns=1, output_bytes=4, inputs=("a",)),
        Node(name="c", duration_ns=1, output_bytes=1, inputs=("b",)),
        Node(name="d", duration_ns=1, output_bytes=1, inputs=("a", "c")),
    ),
)


def watched(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[int, ModelSolution], ModelSolution]
) -> None:
    """Let HiGHS answer, in silence, what `change` makes of its answer and the number of the run."""
    runs = 0

    def changed(model: ArrayModel, options: HighsOptions, *_: Any, **__: Any) -> ModelSolution:
        nonlocal runs
        runs += 1
        return change(runs, solve_model(model, options))

    for name in ("solve_model", "solve_in_time"):
        monkeypatch.setattr(graph_model_runs, name, changed)


def largest_ns(outcome: Outcome) -> int:
    return max(bound.time_ns for bound in outcome.bounds)


@settings(deadline=None, max_examples=60)
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
        search = MilestoneSearch(problem, EXACT, Clock(None))
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


def test_where_everything_fits_nothing_is_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_model_runs, "solve_model", None)
    outcome = bound_any_order(RematGraph(SKIP, 8), EXACT)
    assert (outcome.termination, largest_ns(outcome)) == (Termination.COMPLETED, 5)


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


def test_ctrl_c_keeps_what_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(run: int, solution: ModelSolution) -> ModelSolution:
        if run == 2:
            raise KeyboardInterrupt
        return solution

    # The first run is a relaxation: 5 ns, and a part of a again, rounded up.
    watched(monkeypatch, pressed)
    outcome = bound_any_order(RematGraph(SKIP, 7), EXACT)
    assert outcome.termination is Termination.INTERRUPTED
    assert largest_ns(outcome) > SKIP.base_time_ns


@pytest.mark.parametrize("run", [1, 2, 3, 4])
def test_ctrl_c_within_a_run_ends_all(monkeypatch: pytest.MonkeyPatch, run: int) -> None:
    def interrupted(number: int, solution: ModelSolution) -> ModelSolution:
        assert number <= run
        if number == run:
            return replace(solution, termination=Termination.INTERRUPTED)
        return solution

    watched(monkeypatch, interrupted)
    outcome = bound_any_order(RematGraph(SKIP, 7), EXACT)
    assert outcome.termination is Termination.INTERRUPTED


def test_the_time_limit_ends_it_with_a_bound() -> None:
    outcome = bound_any_order(RematGraph(SKIP, 7), replace(EXACT, time_limit_s=1e-9))
    assert (outcome.termination, largest_ns(outcome)) == (Termination.TIME_LIMIT, 5)


def test_a_run_without_a_point_is_given_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = ModelSolution(
        termination=Termination.TIME_LIMIT, answer=Answer.UNKNOWN, dual_bound=0.5, seconds=1.0
    )
    watched(monkeypatch, lambda run, solution: nothing if run < 8 else solution)
    outcome = bound_any_order(RematGraph(SKIP, 7), EXACT)
    assert (outcome.termination, largest_ns(outcome)) == (Termination.COMPLETED, 7)


def test_too_large_a_model_is_not_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_any_order_bound, "_MOST_COLUMNS", 1)
    outcome = bound_any_order(RematGraph(SKIP, 7), EXACT)
    assert outcome.termination is Termination.MEMORY_LIMIT
    assert outcome.note == "a model of more than 1 columns was not solved"
    assert largest_ns(outcome) == 7


def test_a_large_model_is_solved_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highs_in_time, "_COLUMNS_FOR_A_CHILD", 1)

    def never(*_: Any, **__: Any) -> ModelSolution:
        raise AssertionError

    monkeypatch.setattr(highs_in_time, "solve_model", never)
    outcome = bound_any_order(RematGraph(SKIP, 7), replace(EXACT, time_limit_s=60))
    assert (outcome.termination, largest_ns(outcome)) == (Termination.COMPLETED, 7)


def test_progress_never_falls() -> None:
    seen: list[Progress] = []
    outcome = bound_any_order(RematGraph(SKIP, 7), replace(EXACT, on_progress=seen.append))
    bounds = [progress.lower_bound_ns or 0 for progress in seen]
    assert all(earlier <= later for earlier, later in pairwise(bounds))
    assert bounds[-1] == largest_ns(outcome)


def test_a_schedule_that_meets_it_is_optimal_among_all() -> None:
    results = compare_with(RematGraph(SKIP, 7), ["checkmate", "any-order-bound"], EXACT)
    assert [result.status for result in results] == ["optimal", "bounded"]
