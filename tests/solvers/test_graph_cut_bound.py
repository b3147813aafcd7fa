"""The bound from cuts of a graph: it holds, says for what, and ends when it is told to."""

from __future__ import annotations

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
from jettison.solvers import graph_cut_search, graph_model_runs, highs_in_time
from jettison.solvers.bound import Evidence
from jettison.solvers.graph_cut_bound import bound_graph_cuts
from jettison.solvers.graph_incumbent import GraphIncumbent
from jettison.solvers.highs import solve_model
from jettison.solvers.highs_options import HighsOptions
from jettison.solvers.model_solution import ModelSolution
from jettison.solvers.outcome import Outcome, Progress, SolveOptions
from jettison.solvers.solve import compare_with
from jettison.solvers.status import Answer, Termination
from tests.oracles.graph_brute_force import least_in_order_time_ns, least_staged_time_ns
from tests.strategies import graphs
from tests.tight_graphs import tight_remat_graphs

EXACT = SolveOptions(time_limit_s=None, gap=0)
# a, b and c together take 8 bytes; in 7, a (2 ns) must be computed again for d.
SKIP = Graph(
    "skip",
    (
        Node(name="a", duration_ns=2, output_bytes=3),
        Node(name="b", duration_ns=1, output_bytes=4, inputs=("a",)),
        Node(name="c", duration_ns=1, output_bytes=1, inputs=("b",)),
        Node(name="d", duration_ns=1, output_bytes=1, inputs=("a", "c")),
    ),
)
# In 6 bytes d and c must be computed again before e, d first; staged schedules cannot do that, and
# need 7. See tests/oracles/test_graph_brute_force.py.
BACKWARDS = Graph(
    "backwards",
    (
        Node(name="a", duration_ns=1, output_bytes=4),
        Node(name="c", duration_ns=1, output_bytes=2),
        Node(name="d", duration_ns=1, output_bytes=1, inputs=("a",)),
        Node(name="b", duration_ns=1, output_bytes=6),
        Node(name="e", duration_ns=1, output_bytes=0, inputs=("c", "d")),
    ),
)


@st.composite
def any_graphs(draw: st.DrawFn) -> RematGraph:
    """Draw a graph of any shape and a memory that may be too small."""
    graph = draw(graphs(max_nodes=5))
    peak = graph.store_all_peak_bytes
    return RematGraph(graph, draw(st.integers(peak // 2, peak)))


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


@settings(deadline=None, max_examples=150)
@given(st.one_of(tight_remat_graphs(max_nodes=6), any_graphs()))
def test_every_bound_holds_for_its_class(problem: RematGraph) -> None:
    graph, memory_bytes = problem.instance, problem.memory_bytes
    outcome = bound_graph_cuts(problem, EXACT)
    assert outcome.termination is Termination.COMPLETED
    least_ns = {
        ScheduleClass.IN_ORDER: least_in_order_time_ns(graph, memory_bytes),
        ScheduleClass.STAGED: least_staged_time_ns(graph, memory_bytes),
    }
    for bound in outcome.bounds:
        best_ns = least_ns[bound.valid_for]
        assert best_ns is None or bound.time_ns <= best_ns
    proof = outcome.infeasibility
    if proof is not None:
        for valid_for, best_ns in least_ns.items():
            assert best_ns is None or not proof.valid_for.covers(valid_for)
    elif least_ns[ScheduleClass.IN_ORDER] is not None:
        # The rounds end with a schedule that fits, or with every slot in the model that matters.
        assert largest_ns(outcome) >= least_ns[ScheduleClass.IN_ORDER]


def test_one_cut_says_what_must_be_computed_again() -> None:
    outcome = bound_graph_cuts(RematGraph(SKIP, 7), EXACT)
    # 5 ns, and a again: 2 ns. While b runs with a, c has not been computed; the cut is at c.
    assert largest_ns(outcome) == 7
    assert outcome.bounds[0].evidence is Evidence.EXACT
    assert {bound.valid_for for bound in outcome.bounds} == {ScheduleClass.IN_ORDER}
    assert outcome.work["cuts"] == 1


def test_slots_prove_more_for_staged_schedules_only() -> None:
    outcome = bound_graph_cuts(RematGraph(BACKWARDS, 6), EXACT)
    assert outcome.infeasibility is not None
    assert outcome.infeasibility.valid_for is ScheduleClass.STAGED
    assert outcome.infeasibility.evidence is Evidence.SOLVER
    assert outcome.infeasibility.least_memory_bytes == 7
    # a and c or d, or all three: 8 ns is the fastest in this order.
    assert largest_ns(outcome) == 8
    assert {bound.valid_for for bound in outcome.bounds} == {ScheduleClass.IN_ORDER}


def test_where_everything_fits_nothing_is_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_model_runs, "solve_model", None)
    outcome = bound_graph_cuts(RematGraph(SKIP, 8), EXACT)
    assert (outcome.termination, largest_ns(outcome)) == (Termination.COMPLETED, 5)


def test_memory_below_one_operation_is_a_proof_for_all_schedules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(graph_model_runs, "solve_model", None)
    proof = bound_graph_cuts(RematGraph(SKIP, 6), EXACT).infeasibility
    assert proof is not None
    assert (proof.valid_for, proof.least_memory_bytes) == (ScheduleClass.ALL, 7)


def test_durations_are_rounded_up_to_their_divisor(monkeypatch: pytest.MonkeyPatch) -> None:
    # 700 ns of recomputation are 1000, of which every duration is a multiple.
    nodes = tuple(replace(node, duration_ns=1000 * node.duration_ns) for node in SKIP.nodes)

    watched(monkeypatch, lambda _, solution: replace(solution, dual_bound=0.7, row_duals=None))
    assert largest_ns(bound_graph_cuts(RematGraph(Graph("k", nodes), 7), EXACT)) == 6000


def test_ctrl_c_keeps_what_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(run: int, solution: ModelSolution) -> ModelSolution:
        if run == 2:
            raise KeyboardInterrupt
        return solution

    # The first run is a relaxation: 5 ns, and at least 2/3 of a again, rounded up.
    watched(monkeypatch, pressed)
    outcome = bound_graph_cuts(RematGraph(SKIP, 7), EXACT)
    assert outcome.termination is Termination.INTERRUPTED
    assert largest_ns(outcome) > SKIP.base_time_ns


# The second is the model with its integers, and what the schedule shows to be the optimum.
@pytest.mark.parametrize("run", [1, 2])
def test_ctrl_c_within_a_run_ends_all(monkeypatch: pytest.MonkeyPatch, run: int) -> None:
    def interrupted(number: int, solution: ModelSolution) -> ModelSolution:
        assert number <= run
        if number == run:
            return replace(solution, termination=Termination.INTERRUPTED)
        return solution

    watched(monkeypatch, interrupted)
    outcome = bound_graph_cuts(RematGraph(SKIP, 7), EXACT)
    assert outcome.termination is Termination.INTERRUPTED


def test_the_time_limit_ends_it_with_a_bound() -> None:
    outcome = bound_graph_cuts(RematGraph(SKIP, 7), replace(EXACT, time_limit_s=1e-9))
    assert (outcome.termination, largest_ns(outcome)) == (Termination.TIME_LIMIT, 5)


def test_a_run_without_a_point_is_given_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = ModelSolution(
        termination=Termination.TIME_LIMIT, answer=Answer.UNKNOWN, dual_bound=0.5, seconds=1.0
    )
    watched(monkeypatch, lambda run, solution: nothing if run < 6 else solution)
    outcome = bound_graph_cuts(RematGraph(SKIP, 7), EXACT)
    assert (outcome.termination, largest_ns(outcome)) == (Termination.COMPLETED, 7)


def test_too_large_a_model_is_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_cut_search, "_MOST_COLUMNS", 1)
    # With a schedule the bound of the first cut, which is solved before, would settle it.
    monkeypatch.setattr(GraphIncumbent, "find_first", lambda _: None)
    outcome = bound_graph_cuts(RematGraph(SKIP, 7), EXACT)
    assert outcome.termination is Termination.MEMORY_LIMIT
    assert outcome.note == "a model of more than 1 columns was not built"
    assert largest_ns(outcome) == 7


def test_a_model_that_has_a_point_is_not_believed_infeasible(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    none = ModelSolution(termination=Termination.COMPLETED, answer=Answer.INFEASIBLE, seconds=0.0)
    watched(monkeypatch, lambda *_: none)
    outcome = bound_graph_cuts(RematGraph(SKIP, 7), EXACT)
    assert outcome.termination is Termination.ERROR
    assert outcome.infeasibility is None
    assert outcome.note == "HiGHS calls a model infeasible that has a point"


def test_a_large_model_is_solved_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highs_in_time, "_COLUMNS_FOR_A_CHILD", 1)

    def never(*_: Any, **__: Any) -> ModelSolution:
        raise AssertionError

    monkeypatch.setattr(highs_in_time, "solve_model", never)
    outcome = bound_graph_cuts(RematGraph(SKIP, 7), replace(EXACT, time_limit_s=60))
    assert (outcome.termination, largest_ns(outcome)) == (Termination.COMPLETED, 7)


def test_progress_never_falls() -> None:
    seen: list[Progress] = []
    outcome = bound_graph_cuts(RematGraph(SKIP, 7), replace(EXACT, on_progress=seen.append))
    bounds = [progress.lower_bound_ns or 0 for progress in seen]
    assert all(earlier <= later for earlier, later in pairwise(bounds))
    assert bounds[-1] == largest_ns(outcome)


def test_a_staged_schedule_is_judged_by_the_bound() -> None:
    results = compare_with(RematGraph(SKIP, 7), ["checkmate", "cut-bound"], EXACT)
    assert results[0].status.startswith("optimal")
    assert results[1].status == "bounded"
    assert results[1].lower_bound_ns == results[0].time_ns == 7
