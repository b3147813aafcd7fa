"""Fixings in the model of windows: what they take from it, and what they add."""

from __future__ import annotations

from jettison.formulations.remat_graph.windows.fixings import WindowFixings
from jettison.formulations.remat_graph.windows.frontier import WindowedFrontier
from jettison.formulations.remat_graph.windows.needed_sets import needed_sets
from jettison.instances.remat_graph.graph import Graph, Node
from jettison.instances.remat_graph.problem import RematGraph

# Beyond the cut at d something reads b and c; b needs a, and only b does.
GRAPH = Graph(
    "fixed",
    (
        Node(name="a", duration_ns=2, output_bytes=3),
        Node(name="b", duration_ns=1, output_bytes=4, inputs=("a",)),
        Node(name="c", duration_ns=1, output_bytes=4, inputs=("a",)),
        Node(name="d", duration_ns=1, output_bytes=1, inputs=("b",)),
        Node(name="e", duration_ns=1, output_bytes=1, inputs=("b", "c", "d")),
        Node(name="f", duration_ns=1, output_bytes=1, inputs=("b", "c", "e")),
    ),
)
PROBLEM = RematGraph(GRAPH, 12)


def test_a_node_that_is_computed_once_needs_no_inputs_again() -> None:
    fixings = WindowFixings(computed_once=frozenset({1, 2}))
    assert needed_sets(GRAPH, (3,)) == [{0, 1, 2, 3}]
    assert needed_sets(GRAPH, (3,), fixings.computed_once) == [{1, 2, 3}]
    frontier = WindowedFrontier((3, 4), fixings=fixings)
    model = frontier.build(PROBLEM).model
    # b, c, d after d; b, c, e after e, whose inputs are b, c and d.
    assert frontier.num_columns(GRAPH) == 2 * (3 + 4)
    upper = dict(zip(model.column_names, model.column_upper, strict=True))
    assert upper["R_3_1"] == upper["R_4_2"] == 0
    assert upper["R_3_3"] == upper["S_3_1"] == 1
    assert not {"R_3_0", "S_3_0"} & set(upper)
    # Only d and e can be computed again.
    again = {name for name in model.row_names if name.startswith(("again", "path"))}
    assert again == {
        "again_3_3_1",
        "path_3_3_1",
        "again_4_3_1",
        "again_4_4_1",
        "again_4_4_2",
        "again_4_4_3",
    }


def test_of_twins_the_earlier_one_is_stored_if_the_later_one_is() -> None:
    model = WindowedFrontier((1, 2, 3), fixings=WindowFixings(twins=((1, 2),))).build(PROBLEM).model
    rows = [name for name in model.row_names if name.startswith("twin")]
    # Not at the cut after b, when c has not had its turn.
    assert rows == ["twin_2_1_2", "twin_3_1_2"]
    point = dict.fromkeys(model.column_names, 0.0)
    point["S_3_1"] = 1.0
    assert "twin_3_1_2" in model.violations(list(point.values()))
    point["S_3_2"] = 1.0
    assert "twin_3_1_2" not in model.violations(list(point.values()))


def test_without_fixings_the_model_is_what_it_was() -> None:
    frontier = WindowedFrontier((3, 4))
    assert frontier.fixings == WindowFixings()
    model = frontier.build(PROBLEM).model
    assert not any(name.startswith("twin") for name in model.row_names)
    assert set(model.column_upper) == {1.0}
