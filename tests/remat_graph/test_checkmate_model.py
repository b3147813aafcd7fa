"""Checkmate's model is the one that its docstring states, and its wrong readings are wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

import jettison.formulations.remat_graph.checkmate as module
from jettison import Graph, RematGraph
from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.remat_graph.checkmate import Checkmate, Peak
from jettison.formulations.remat_graph.checkmate_writer import Aggregated, Disaggregated
from jettison.remat_graph import GraphSchedule, Node
from jettison.solvers.core.status import Answer
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from tests.drawing.graphs import tight_remat_graphs
from tests.remat_graph.model_rows import label_of, labels_of, row, stated_labels, without_rows
from tests.tiny import DIAMOND, LADDER, ONE_NODE

FORMS = pytest.mark.parametrize("form", [Disaggregated(), Aggregated()], ids=repr)


def _graph(*nodes: Node) -> Graph:
    return Graph("by hand", nodes)


# a, b and c together take 3 + 4 + 1 = 8 bytes; in 7 bytes a (2 ns) is computed twice.
SKIP = _graph(
    Node(name="a", duration_ns=2, output_bytes=3),
    Node(name="b", duration_ns=1, output_bytes=4, inputs=("a",)),
    Node(name="c", duration_ns=1, output_bytes=1, inputs=("b",)),
    Node(name="d", duration_ns=1, output_bytes=1, inputs=("a", "c")),
)


def build(graph: Graph, memory_bytes: int, options: Checkmate | None = None) -> ArrayModel:
    return from_pulp((options or Checkmate()).build(RematGraph(graph, memory_bytes)).problem).model


def optimum_ns(model: ArrayModel, graph: Graph) -> int | None:
    """Optimum of the model as nanoseconds of recomputation; None if it has no point."""
    solution = solve_model(model, HighsOptions(gap=0, feasibility_tolerance=1e-9))
    if solution.answer is Answer.INFEASIBLE:
        return None
    assert solution.answer is Answer.OPTIMAL
    assert solution.objective is not None
    scale = Checkmate().build(RematGraph(graph, 0)).time_scale
    return scale.from_model(solution.objective)


@FORMS
def test_rows_have_the_labels_of_the_docstring_in_its_order(
    form: Disaggregated | Aggregated,
) -> None:
    labels = stated_labels(module.__doc__)
    assert labels[0] == "objective"
    others = (
        {"free_if", "free_only_if"}
        if form == Disaggregated()
        else {"free_computed", "free_stored", "free_used"}
    )
    assert others < set(labels)
    expected = [text for text in labels[1:] if text not in others]
    model = build(LADDER, 20, Checkmate(form))
    assert labels_of(model) == expected


def test_columns_have_the_names_of_the_docstring() -> None:
    model = build(LADDER, 20, Checkmate(objective=Peak()))
    assert {label_of(name) for name in model.column_names} == {"R", "S", "FREE", "U", "B"}


def test_the_model_of_two_nodes_is_the_one_on_paper() -> None:
    graph = _graph(
        Node(name="a", duration_ns=3, output_bytes=5, workspace_bytes=2),
        Node(name="b", duration_ns=4, output_bytes=7, inputs=("a",), keep=True),
    )
    model = build(graph, 13)
    infinity = float("inf")
    expected = {
        "frontier_0": ({"R_0_0": 1}, 1, 1),
        "frontier_1": ({"R_1_1": 1}, 1, 1),
        "dependency_1_1_0": ({"R_1_1": 1, "R_1_0": -1, "S_1_0": -1}, -infinity, 0),
        "checkpoint_1_0": ({"S_1_0": 1, "R_0_0": -1}, -infinity, 0),
        "checkpoint_2_1": ({"S_2_1": 1, "R_1_1": -1}, -infinity, 0),
        "keep_1": ({"S_2_1": 1}, 1, 1),
        "free_computed_1_0_0": ({"FREE_1_0_0": 1, "R_1_0": -1}, -infinity, 0),
        "free_used_1_0_0_1": ({"FREE_1_0_0": 1, "R_1_1": 1}, -infinity, 1),
        "start_0": ({"U_0_0": 1, "R_0_0": -5}, 0, 0),
        "start_1": ({"U_1_0": 1, "S_1_0": -5, "R_1_0": -5}, 0, 0),
        "step_1_0": ({"U_1_1": 1, "U_1_0": -1, "R_1_1": -7, "FREE_1_0_0": 5}, 0, 0),
        "memory_0_0": ({"U_0_0": 1, "R_0_0": 2}, -infinity, 13),
        "memory_1_0": ({"U_1_0": 1, "R_1_0": 2}, -infinity, 13),
        "memory_1_1": ({"U_1_1": 1}, -infinity, 13),
    }
    assert {name: row(model, name) for name in model.row_names} == expected
    # Only a can be computed twice; 3 ns are one unit.
    costs = dict(zip(model.column_names, model.objective.tolist(), strict=True))
    assert {name: cost for name, cost in costs.items() if cost} == {"R_1_0": 1}
    assert model.offset == 0


def test_the_aggregated_form_counts_the_reasons_to_stay() -> None:
    model = build(SKIP, 8, Checkmate(Aggregated()))
    # h of a after b, in stage 2: 1 - R[2,b] + S[3,a] + nothing, for d comes later still.
    assert row(model, "free_if_2_0_1") == (
        {"FREE_2_0_1": -1, "R_2_1": 1, "S_3_0": -1},
        -float("inf"),
        0,
    )
    # Two terms: h <= 2 (1 - FREE).
    assert row(model, "free_only_if_2_0_1") == (
        {"FREE_2_0_1": 2, "R_2_1": -1, "S_3_0": 1},
        -float("inf"),
        1,
    )


@FORMS
def test_a_step_may_fill_the_memory(form: Disaggregated | Aggregated) -> None:
    assert optimum_ns(build(SKIP, 8, Checkmate(form)), SKIP) == 0
    assert optimum_ns(build(SKIP, 7, Checkmate(form)), SKIP) == 2


@FORMS
def test_an_output_counts_before_the_inputs_are_freed(form: Disaggregated | Aggregated) -> None:
    # b (4 bytes) is computed from a (3 bytes).
    assert optimum_ns(build(SKIP, 6, Checkmate(form)), SKIP) is None


def test_memory_is_rounded_down_to_the_unit_of_the_sizes() -> None:
    sizes = _graph(*(replace(node, output_bytes=1000 * node.output_bytes) for node in SKIP.nodes))
    assert optimum_ns(build(sizes, 8000), sizes) == 0
    # Rounded up, or to the nearest, it would be 8 units, enough for everything.
    assert optimum_ns(build(sizes, 7999), sizes) == 2


@FORMS
def test_workspace_counts_only_while_a_node_runs(form: Disaggregated | Aggregated) -> None:
    graph = _graph(
        Node(name="a", duration_ns=1, output_bytes=1, workspace_bytes=10),
        Node(name="b", duration_ns=1, output_bytes=4, inputs=("a",), workspace_bytes=2),
    )
    # a: 1 + 10 bytes; b: 1 + 4 + 2 bytes.
    assert optimum_ns(build(graph, 11, Checkmate(form)), graph) == 0
    assert optimum_ns(build(graph, 10, Checkmate(form)), graph) is None


def test_without_the_row_free_computed_the_optimum_is_too_low() -> None:
    # A leaf z before a: in the stage of c it is not computed, and "freeing" it makes the byte of
    # room that c needs to stand beside a and b.
    leaf = Node(name="z", duration_ns=1, output_bytes=1)
    graph = _graph(leaf, *SKIP.nodes)
    model = build(graph, 7)
    assert optimum_ns(model, graph) == 2
    assert optimum_ns(without_rows(model, "free_computed"), graph) == 0


@FORMS
def test_without_the_kept_nodes_of_the_last_stage_the_optimum_is_too_low(
    form: Disaggregated | Aggregated,
) -> None:
    # b and c take 1 + 8 bytes, which leaves 4 of 13 for a (5 bytes): it is recomputed for the end,
    # when b is gone. Without the rows it is dropped for good.
    graph = _graph(
        Node(name="a", duration_ns=2, output_bytes=5, keep=True),
        Node(name="b", duration_ns=1, output_bytes=1),
        Node(name="c", duration_ns=1, output_bytes=8, inputs=("b",)),
        Node(name="d", duration_ns=1, output_bytes=0, inputs=("c",)),
    )
    model = build(graph, 13, Checkmate(form))
    assert optimum_ns(model, graph) == 2
    assert optimum_ns(without_rows(model, "keep"), graph) == 0


def test_without_a_row_for_later_users_a_value_is_freed_too_early() -> None:
    # In the stage of c, a could go as soon as b is recomputed, although c reads it.
    graph = _graph(
        Node(name="a", duration_ns=1, output_bytes=2),
        Node(name="b", duration_ns=1, output_bytes=2, inputs=("a",)),
        Node(name="c", duration_ns=1, output_bytes=2, inputs=("a", "b")),
    )
    model = build(graph, 5)
    # a, b and c take 6 bytes at once, whatever is recomputed.
    assert optimum_ns(model, graph) is None
    assert optimum_ns(without_rows(model, "free_used"), graph) is not None


def test_the_least_peak_is_that_of_the_fullest_operation() -> None:
    built = Checkmate(objective=Peak()).build(RematGraph(SKIP, 8))
    solution = solve_model(from_pulp(built.problem).model, HighsOptions(gap=0))
    assert solution.objective is not None
    # a and b, whatever is recomputed.
    assert built.memory_scale.from_model(solution.objective) == 7


def test_a_known_bound_on_the_peak_is_a_bound_of_the_column() -> None:
    model = build(SKIP, 8, Checkmate(objective=Peak(at_least_bytes=5)))
    place = model.column_names.index("B")
    assert (model.column_lower[place], model.column_upper[place]) == (5, 8)


def test_computations_are_read_stage_by_stage_from_the_columns_r() -> None:
    built = Checkmate().build(RematGraph(SKIP, 7))
    model = from_pulp(built.problem).model
    values = solve_model(model, HighsOptions(gap=0)).by_name(model)
    # a is recomputed in the stage of d.
    assert built.computations(values) == (0, 1, 2, 0, 3)


def test_a_single_node_is_a_model_without_recomputation() -> None:
    assert optimum_ns(build(ONE_NODE, 2), ONE_NODE) == 0
    assert optimum_ns(build(ONE_NODE, 1), ONE_NODE) is None


@pytest.mark.parametrize("graph", [ONE_NODE, LADDER, DIAMOND, SKIP], ids=lambda graph: graph.name)
def test_the_coefficients_are_estimated_from_above_and_closely(graph: Graph) -> None:
    model = build(graph, graph.store_all_peak_bytes)
    estimate = Checkmate().estimated_coefficients(graph)
    # Absent workspaces, and the last stages, make the difference.
    assert model.num_nonzeros <= estimate <= 1.4 * model.num_nonzeros


@given(tight_remat_graphs())
@settings(max_examples=60)
def test_both_forms_have_the_same_optimum_and_its_schedule_fits(problem: RematGraph) -> None:
    graph = problem.instance
    found: list[int | None] = []
    for form in (Disaggregated(), Aggregated()):
        built = Checkmate(form).build(problem)
        model = from_pulp(built.problem).model
        solution = solve_model(model, HighsOptions(gap=0, feasibility_tolerance=1e-9))
        if solution.answer is Answer.INFEASIBLE:
            found.append(None)
            continue
        assert solution.objective is not None
        extra_ns = built.time_scale.from_model(solution.objective)
        found.append(extra_ns)
        computations = built.computations(solution.by_name(model))
        schedule = GraphSchedule.from_computations(graph, computations)
        replay = schedule.replay(graph, problem.memory_bytes)
        assert replay.valid
        # Recomputations that take no time may have been left out: nothing else may.
        assert replay.time_ns == graph.base_time_ns + extra_ns
    assert found[0] == found[1]
