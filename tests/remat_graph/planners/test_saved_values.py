"""Torch's choice of saved values on programs drawn by hand."""

from __future__ import annotations

import pytest

from jettison.instances.remat_graph.graph import Graph, Node
from jettison.solvers.remat_graph.planners.joint_program import Role, program_of_graph
from jettison.solvers.remat_graph.planners.knapsacks import DynamicKnapsack, GreedyKnapsack
from jettison.solvers.remat_graph.planners.operator_lists import packet_name
from jettison.solvers.remat_graph.planners.recomputation_bans import (
    AGGRESSIVE,
    DEFAULT,
    MORE_AGGRESSIVE,
    RecomputationBans,
)
from jettison.solvers.remat_graph.planners.saved_values import SavedValues


def step(*nodes: tuple[str, str, int, tuple[str, ...]], kept: tuple[str, ...] = ()) -> Graph:
    """Build a graph of names, operators, sizes and inputs; names of gradients begin with d."""
    return Graph(
        "by hand",
        tuple(
            Node(
                name=name,
                duration_ns=10,
                output_bytes=size,
                inputs=read,
                backward=name.startswith("d"),
                keep=name in kept,
                operator_name=operator,
            )
            for name, operator, size, read in nodes
        ),
    )


# Two products with a function after each. The backward pass reads both functions, and the loss.
TWO = step(
    ("p1", "aten.mm.default", 100, ()),
    ("f1", "aten.relu.default", 100, ("p1",)),
    ("p2", "aten.mm.default", 100, ("f1",)),
    ("f2", "aten.relu.default", 100, ("p2",)),
    ("loss", "aten.sum.default", 4, ("f2",)),
    ("d2", "aten.threshold_backward.default", 100, ("f2",)),
    ("dw2", "aten.mm.default", 100, ("d2", "f1")),
    ("d1", "aten.threshold_backward.default", 100, ("d2", "f1")),
    kept=("loss",),
)


def names(graph: Graph, positions: object) -> list[str]:
    program = program_of_graph(graph)
    assert isinstance(positions, tuple | list | dict)
    return [program.values[position].name for position in positions]


def test_packets_have_no_overload() -> None:
    assert packet_name("aten.mm.default") == "aten.mm"
    assert packet_name("prims.convert_element_type.default") == "prims.convert_element_type"
    assert packet_name("operator.getitem") == "operator.getitem"


def test_values_have_the_distance_of_the_nearest_gradient_and_outputs_are_far() -> None:
    program = program_of_graph(TWO)
    found = dict(zip((value.name for value in program.values), program.distances, strict=True))
    # f1 and f2 are read by gradients; p2 is before f2, p1 before f1.
    assert [found[name] for name in ("p1", "f1", "p2", "f2")] == [2, 1, 2, 1]
    assert found["loss"] > 1000
    assert found["d2"] == 0


def test_products_and_what_a_product_of_the_backward_pass_reads_are_banned() -> None:
    bans = RecomputationBans(program_of_graph(TWO))
    # f1 is read by dw2, which is not fusible; the loss is smaller than a fourth of what it reads.
    assert names(TWO, bans.banned(DEFAULT)) == ["p1", "f1", "p2", "loss"]
    assert names(TWO, bans.banned(MORE_AGGRESSIVE)) == ["p1", "p2", "loss"]
    assert names(TWO, bans.banned(AGGRESSIVE)) == ["p1", "p2", "loss"]


def test_weights_rise_with_the_distance_and_double_where_all_users_are_fused() -> None:
    program = program_of_graph(TWO)
    bans = RecomputationBans(program)
    place = {value.name: position for position, value in enumerate(program.values)}
    # A product is materialised, two steps away: 100 times 1.21. f2 is fused with its users.
    assert bans.weight(place["p1"]) == 121
    assert bans.weight(place["f2"]) == 220
    # dw2 cannot be fused with f1.
    assert bans.weight(place["f1"]) == 110


def test_the_cut_takes_the_lighter_of_a_value_and_what_it_is_made_of() -> None:
    saved = SavedValues(program_of_graph(TWO), GreedyKnapsack(10))
    # f1 (110) may not be recomputed; p2 (121) is lighter than f2 (220), which is recomputed.
    assert names(TWO, saved.at(1.0)) == ["f1", "p2"]
    assert saved.at(0.0) == ()


@pytest.mark.parametrize("knapsack", [GreedyKnapsack(100), DynamicKnapsack()])
def test_every_budget_is_among_all_choices(knapsack: GreedyKnapsack | DynamicKnapsack) -> None:
    saved = SavedValues(program_of_graph(TWO), knapsack)
    choices = set(saved.all_choices())
    for step_of in range(0, 101):
        assert saved.at(step_of / 100) in choices
    # Both saved, one of them, none.
    assert len(choices) >= 3


def test_results_of_an_operator_are_saved_for_themselves() -> None:
    graph = Graph(
        "norm",
        (
            Node(
                name="n",
                duration_ns=10,
                output_bytes=0,
                workspace_bytes=110,
                has_value=False,
                operator_name="aten.native_layer_norm.default",
            ),
            Node(name="y", duration_ns=0, output_bytes=100, inputs=("n",), result_of="n"),
            Node(name="s", duration_ns=0, output_bytes=10, inputs=("n",), result_of="n"),
            Node(
                name="loss",
                duration_ns=10,
                output_bytes=50,
                inputs=("y",),
                keep=True,
                operator_name="aten.relu.default",
            ),
            Node(name="d", duration_ns=10, output_bytes=1, inputs=("s", "loss"), backward=True),
        ),
    )
    program = program_of_graph(graph)
    assert [value.role for value in program.values[:4]] == [Role.OPERATION] * 4
    assert program.values[0].is_tuple
    # The operator is banned, and of its results the backward pass reads one; the loss is an output.
    assert names(graph, SavedValues(program, GreedyKnapsack(10)).at(1.0)) == ["s", "loss"]
