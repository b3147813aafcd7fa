"""The bound from cuts of a graph: it holds, says for what, and ends when it is told to."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jettison import Graph, RematGraph, ScheduleClass
from jettison.remat_graph import Node
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.solve import compare_with
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.remat_graph.cuts import model_runs as graph_model_runs
from jettison.solvers.remat_graph.cuts.bound_method import bound_graph_cuts
from jettison.solvers.remat_graph.cuts.params import ExactParams
from tests.core.bound_runs import EXACT, largest_ns, watched
from tests.drawing.graphs import graphs, tight_remat_graphs
from tests.remat_graph.oracles.brute_force import least_in_order_time_ns, least_staged_time_ns
from tests.tiny import SKIP

# In 6 bytes d and c must be computed again before e, d first; staged schedules cannot do that, and
# need 7. See tests/remat_graph/oracles/test_brute_force.py.
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


@settings(max_examples=150)
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


def test_too_large_a_model_is_not_built() -> None:
    outcome = bound_graph_cuts(RematGraph(SKIP, 7), EXACT, ExactParams(most_columns=1))
    assert outcome.termination is Termination.MEMORY_LIMIT
    assert outcome.note == "a model of more than 1 columns was not built"
    # The relaxation of the cut at c: of the 3 bytes and 2 ns of a one byte is too much; 5 2/3 is 6.
    assert largest_ns(outcome) == 6


def test_a_model_that_has_a_point_is_not_believed_infeasible(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    none = ModelSolution(termination=Termination.COMPLETED, answer=Answer.INFEASIBLE, seconds=0.0)
    watched(monkeypatch, lambda *_: none)
    outcome = bound_graph_cuts(RematGraph(SKIP, 7), EXACT)
    assert outcome.termination is Termination.ERROR
    assert outcome.infeasibility is None
    assert outcome.note == "HiGHS calls a model infeasible that has a point"


def test_a_staged_schedule_is_judged_by_the_bound() -> None:
    results = compare_with(RematGraph(SKIP, 7), ["checkmate", "cut-bound"], EXACT)
    assert results[0].status.startswith("optimal")
    assert results[1].status == "bounded"
    assert results[1].lower_bound_ns == results[0].time_ns == 7
