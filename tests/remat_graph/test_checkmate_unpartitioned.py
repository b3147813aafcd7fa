"""Checkmate's program without stages: its rows, its optimum, and how weak its relaxation is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

import jettison.formulations.remat_graph.checkmate_unpartitioned as module
from jettison import Graph, RematGraph, ScheduleClass
from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.remat_graph.checkmate import Checkmate
from jettison.formulations.remat_graph.checkmate_unpartitioned import UnpartitionedCheckmate
from jettison.formulations.remat_graph.checkmate_writer import Aggregated, Disaggregated
from jettison.instances.core.errors import InputError
from jettison.instances.generators.linear_network import linear_network
from jettison.remat_graph import GraphSchedule, Node
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from tests.drawing.graphs import tight_remat_graphs
from tests.remat_graph.model_rows import labels_of, row, stated_labels, without_rows
from tests.remat_graph.oracles.brute_force import (
    least_staged_time_ns,
    least_time_in_rounds_ns,
    least_time_ns,
)
from tests.tiny import DIAMOND, LADDER, ONLY_OUT_OF_ORDER, SKIP

EXACT = HighsOptions(gap=0, feasibility_tolerance=1e-9)
FORMS = pytest.mark.parametrize("form", [Disaggregated(), Aggregated()], ids=repr)


def build(
    graph: Graph, memory_bytes: int, form: Disaggregated | Aggregated | None = None
) -> ArrayModel:
    program = UnpartitionedCheckmate(form or Disaggregated())
    return from_pulp(program.build(RematGraph(graph, memory_bytes)).problem).model


def optimum_ns(model: ArrayModel, graph: Graph) -> int | None:
    """Optimum of the model in nanoseconds; None if it has no point."""
    solution = solve_model(model, EXACT)
    if solution.answer is Answer.INFEASIBLE:
        return None
    assert solution.answer is Answer.OPTIMAL
    assert solution.objective is not None
    return UnpartitionedCheckmate().build(RematGraph(graph, 0)).time_ns(solution.objective)


@FORMS
def test_rows_have_the_labels_of_the_docstring_in_its_order(
    form: Disaggregated | Aggregated,
) -> None:
    labels = stated_labels(module.__doc__)
    others = (
        {"free_if", "free_only_if"}
        if form == Disaggregated()
        else {"free_computed", "free_stored", "free_used"}
    )
    once = replace(LADDER, nodes=(replace(LADDER.nodes[0], again=False), *LADDER.nodes[1:]))
    model = build(once, 20, form)
    assert labels[0] == "objective"
    assert labels_of(model) == [text for text in labels[1:] if text not in others]


def test_the_rows_of_two_nodes_are_those_on_paper() -> None:
    graph = Graph(
        "by hand",
        (
            Node(name="a", duration_ns=3, output_bytes=5, workspace_bytes=2),
            Node(name="b", duration_ns=4, output_bytes=7, inputs=("a",), keep=True),
        ),
    )
    model = build(graph, 13)
    infinity = float("inf")
    expected = {
        "dependency_0_1_0": ({"R_0_1": 1, "R_0_0": -1, "S_0_0": -1}, -infinity, 0),
        "dependency_1_1_0": ({"R_1_1": 1, "R_1_0": -1, "S_1_0": -1}, -infinity, 0),
        "checkpoint_1_0": ({"S_1_0": 1, "R_0_0": -1, "S_0_0": -1}, -infinity, 0),
        "checkpoint_1_1": ({"S_1_1": 1, "R_0_1": -1, "S_0_1": -1}, -infinity, 0),
        "checkpoint_2_1": ({"S_2_1": 1, "R_1_1": -1, "S_1_1": -1}, -infinity, 0),
        "empty": ({"S_0_0": 1, "S_0_1": 1}, 0, 0),
        "terminal_1": ({"R_0_1": 1, "R_1_1": 1}, 1, infinity),
        "keep_1": ({"S_2_1": 1}, 1, 1),
        "free_computed_0_0_0": ({"FREE_0_0_0": 1, "R_0_0": -1}, -infinity, 0),
        "free_computed_1_0_0": ({"FREE_1_0_0": 1, "R_1_0": -1}, -infinity, 0),
        "free_stored_0_0_0": ({"FREE_0_0_0": 1, "S_1_0": 1}, -infinity, 1),
        "free_used_0_0_0_1": ({"FREE_0_0_0": 1, "R_0_1": 1}, -infinity, 1),
        "free_used_1_0_0_1": ({"FREE_1_0_0": 1, "R_1_1": 1}, -infinity, 1),
        "start_0": ({"U_0_0": 1, "S_0_0": -5, "S_0_1": -7, "R_0_0": -5}, 0, 0),
        "start_1": ({"U_1_0": 1, "S_1_0": -5, "S_1_1": -7, "R_1_0": -5}, 0, 0),
        "step_0_0": ({"U_0_1": 1, "U_0_0": -1, "R_0_1": -7, "FREE_0_0_0": 5}, 0, 0),
        "step_1_0": ({"U_1_1": 1, "U_1_0": -1, "R_1_1": -7, "FREE_1_0_0": 5}, 0, 0),
        "memory_0_0": ({"U_0_0": 1, "R_0_0": 2}, -infinity, 13),
        "memory_0_1": ({"U_0_1": 1}, -infinity, 13),
        "memory_1_0": ({"U_1_0": 1, "R_1_0": 2}, -infinity, 13),
        "memory_1_1": ({"U_1_1": 1}, -infinity, 13),
    }
    assert {name: row(model, name) for name in model.row_names} == expected
    costs = dict(zip(model.column_names, model.objective.tolist(), strict=True))
    assert {name: cost for name, cost in costs.items() if cost} == {
        "R_0_0": 3,
        "R_0_1": 4,
        "R_1_0": 3,
        "R_1_1": 4,
    }


@FORMS
def test_without_its_first_rows_the_optimum_is_too_low(form: Disaggregated | Aggregated) -> None:
    # 2 + 1 + 1 + 1 ns, and a again: it is computed twice in 7 bytes.
    model = build(SKIP, 7, form)
    assert optimum_ns(model, SKIP) == 7
    # Whatever is in memory at first need not be computed; nor what nobody asks for.
    assert optimum_ns(without_rows(model, "empty"), SKIP) == 1
    assert optimum_ns(without_rows(model, "terminal"), SKIP) == 0


def test_without_free_computed_the_optimum_is_too_low() -> None:
    # As of the program with stages: "freeing" what is not there makes room.
    leaf = Node(name="z", duration_ns=1, output_bytes=1)
    graph = Graph("leaf", (leaf, *SKIP.nodes))
    model = build(graph, 7)
    assert optimum_ns(model, graph) == least_time_ns(graph, 7)
    free = optimum_ns(without_rows(model, "free_computed"), graph)
    assert free is not None
    assert free < graph.base_time_ns + 2


@given(tight_remat_graphs(max_nodes=5))
@settings(max_examples=40, deadline=None)
def test_its_optimum_is_that_of_the_brute_force(problem: RematGraph) -> None:
    graph, memory_bytes = problem.instance, problem.memory_bytes
    best_ns = least_time_in_rounds_ns(graph, memory_bytes, len(graph))
    for form in (Disaggregated(), Aggregated()):
        built = UnpartitionedCheckmate(form).build(problem)
        model = from_pulp(built.problem).model
        solution = solve_model(model, EXACT)
        if best_ns is None:
            assert solution.answer is Answer.INFEASIBLE
            continue
        assert solution.answer is Answer.OPTIMAL
        assert solution.objective is not None
        assert built.time_ns(solution.objective) == best_ns
        computations = built.computations(solution.by_name(model))
        replay = GraphSchedule.from_computations(graph, computations).replay(graph, memory_bytes)
        assert replay.valid
        assert replay.time_ns == best_ns


@given(tight_remat_graphs(max_nodes=5))
@settings(max_examples=60, deadline=None)
def test_rounds_lie_between_all_schedules_and_staged_ones(problem: RematGraph) -> None:
    graph, memory_bytes = problem.instance, problem.memory_bytes
    infinite = float("inf")
    times = [
        infinite if time_ns is None else time_ns
        for time_ns in (
            least_time_ns(graph, memory_bytes),
            least_time_in_rounds_ns(graph, memory_bytes, len(graph)),
            least_staged_time_ns(graph, memory_bytes),
        )
    ]
    assert times == sorted(times)


def test_a_schedule_in_another_order_is_found_where_no_staged_one_fits() -> None:
    problem = RematGraph(ONLY_OUT_OF_ORDER, 19)
    assert least_staged_time_ns(ONLY_OUT_OF_ORDER, 19) is None
    result = solve_with(problem, "checkmate-unpartitioned", SolveOptions(time_limit_s=None, gap=0))
    # See tests/remat_graph/oracles/test_brute_force.py.
    assert result.time_ns == 35
    # The program's bound says nothing of schedules in more rounds, and so not of all of them.
    staged = [bound for bound in result.bounds if bound.valid_for is ScheduleClass.STAGED]
    assert [bound.time_ns for bound in staged] == [35]
    assert result.status != "optimal"


@given(tight_remat_graphs(max_nodes=5))
@settings(max_examples=40, deadline=None)
def test_its_bound_of_all_says_whether_something_is_computed_again(problem: RematGraph) -> None:
    graph = problem.instance
    best_ns = least_time_ns(graph, problem.memory_bytes)
    options = SolveOptions(time_limit_s=None, gap=0)
    result = solve_with(problem, "checkmate-unpartitioned", options)
    bound = result.bound_of_all
    if best_ns is not None and bound is not None:
        assert bound.time_ns <= best_ns
    if best_ns == graph.base_time_ns:
        assert result.time_ns == best_ns
    elif min(node.duration_ns for node in graph.nodes):
        refused = result.infeasibility
        assert (bound is not None and bound.time_ns > graph.base_time_ns) or (
            refused is not None and refused.valid_for is ScheduleClass.ALL
        )


def test_what_is_computed_again_at_least_is_the_shortest_node() -> None:
    # 2 + 1 + 1 + 1 ns, and a again, 2 ns; in more rounds something else might be, of 1 ns.
    result = solve_with(RematGraph(SKIP, 7), "checkmate-unpartitioned", SolveOptions(gap=0))
    bounds = {bound.valid_for: bound.time_ns for bound in result.bounds}
    assert bounds[ScheduleClass.STAGED] == 7
    assert bounds[ScheduleClass.ALL] == 6


def test_what_does_not_fit_and_what_fits_anyway_is_known_without_the_solver() -> None:
    for memory_bytes, status in ((6, "infeasible"), (8, "optimal")):
        problem = RematGraph(SKIP, memory_bytes)
        result = solve_with(problem, "checkmate-unpartitioned", SolveOptions())
        assert result.status == status


def test_a_model_too_large_is_declined() -> None:
    problem = RematGraph(linear_network(400), 30)
    result = solve_with(problem, "checkmate-unpartitioned", SolveOptions())
    assert result.termination is Termination.MEMORY_LIMIT
    assert result.schedule is None


@pytest.mark.parametrize("graph", [LADDER, DIAMOND, SKIP], ids=lambda graph: graph.name)
def test_the_coefficients_are_estimated_from_above_and_closely(graph: Graph) -> None:
    model = build(graph, graph.store_all_peak_bytes)
    estimate = UnpartitionedCheckmate().estimated_coefficients(graph)
    assert model.num_nonzeros <= estimate <= 1.6 * model.num_nonzeros


def test_on_a_linear_network_the_gaps_are_those_of_the_paper() -> None:
    # Checkmate, Section 4.6 and Appendix A: 17 nodes, a budget of 4, gaps of 21.56 and 1.18.
    graph = linear_network()
    problem = RematGraph(graph, 4)
    assert len(graph) == 17
    best = solve_with(problem, "checkmate", SolveOptions(time_limit_s=None, gap=0))
    assert (best.status, best.time_ns) == ("optimal-staged", 26)
    staged = Checkmate(Aggregated()).build(problem)
    relaxed = solve_model(from_pulp(staged.problem).model.relaxed(), EXACT)
    assert relaxed.objective is not None
    relaxed_ns = graph.base_time_ns + relaxed.objective * staged.time_scale.factor
    assert relaxed_ns == pytest.approx(22)
    assert round(26 / relaxed_ns, 2) == 1.18
    for form in (Aggregated(), Disaggregated()):
        relaxed = solve_model(build(graph, 4, form).relaxed(), EXACT)
        assert relaxed.objective is not None
        assert round(26 / relaxed.objective, 2) == 21.56


def test_no_order_makes_the_linear_network_faster() -> None:
    options = SolveOptions(time_limit_s=None, gap=0)
    bound = solve_with(RematGraph(linear_network(), 4), "any-order-bound", options)
    assert bound.bound_of_all is not None
    assert bound.bound_of_all.time_ns == 26


def test_a_linear_network_is_what_it_says() -> None:
    graph = linear_network(2)
    assert [(node.name, node.inputs) for node in graph.nodes] == [
        ("layer0", ()),
        ("layer1", ("layer0",)),
        ("loss", ("layer1",)),
        ("grad_layer1", ("loss", "layer1")),
        ("grad_layer0", ("grad_layer1", "layer0")),
    ]
    for layers in (0, -3, 10**6):
        with pytest.raises(InputError, match="layers"):
            linear_network(layers)
