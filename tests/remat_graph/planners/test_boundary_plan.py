"""Plans from what is saved between the passes."""

from __future__ import annotations

from jettison.instances.remat_graph.graph import Graph, Node
from jettison.solvers.remat_graph.planners.boundary_plan import PlanBoundary


def graph(*nodes: tuple[str, tuple[str, ...]], kept: tuple[str, ...] = ()) -> Graph:
    """Build a graph; backward nodes are those whose name begins with d."""
    return Graph(
        "by hand",
        tuple(
            Node(
                name=name,
                duration_ns=1,
                output_bytes=1,
                inputs=read,
                backward=name.startswith("d"),
                keep=name in kept,
            )
            for name, read in nodes
        ),
    )


# 0 a, 1 b, 2 c, 3 loss; 4 dc reads c, 5 db reads b, 6 da reads a and b.
CHAIN = graph(
    ("a", ()),
    ("b", ("a",)),
    ("c", ("b",)),
    ("loss", ("c",)),
    ("dc", ("c",)),
    ("db", ("dc", "b")),
    ("da", ("db", "a", "b")),
    kept=("loss",),
)


def test_what_is_missing_comes_right_before_it_is_needed_once() -> None:
    boundary = PlanBoundary(CHAIN)
    assert boundary.computations({0, 1, 2}) == [0, 1, 2, 3, 4, 5, 6]
    assert boundary.computations({0, 2}) == [0, 1, 2, 3, 4, 1, 5, 6]
    # a and b stay from the first time that they are needed.
    assert boundary.computations({2}) == [0, 1, 2, 3, 4, 0, 1, 5, 6]
    assert boundary.computations(set()) == [0, 1, 2, 3, 0, 1, 2, 4, 5, 6]


def test_what_no_output_needs_is_computed_in_the_backward_pass_unless_it_is_saved() -> None:
    # Only db reads the mask.
    step = graph(
        ("a", ()),
        ("mask", ("a",)),
        ("loss", ("a",)),
        ("dc", ("loss",)),
        ("db", ("dc", "mask")),
        kept=("loss",),
    )
    boundary = PlanBoundary(step)
    assert boundary.late == {1}
    assert boundary.computations({0}) == [0, 2, 3, 1, 4]
    assert boundary.computations({1}) == [0, 1, 2, 3, 4]


def test_all_results_of_an_operator_come_with_it() -> None:
    operator = Node(
        name="n", duration_ns=1, output_bytes=0, inputs=("a",), workspace_bytes=2, has_value=False
    )
    results = tuple(
        Node(name=name, duration_ns=0, output_bytes=1, inputs=("n",), result_of="n")
        for name in ("y", "s")
    )
    plain = graph(("a", ()), ("loss", ()), ("d1", ()), ("d2", ()), kept=("loss",))
    a, loss, first, second = plain.nodes
    nodes = (
        a,
        operator,
        *results,
        _reading(loss, "y"),
        _reading(first, "loss", "y"),
        _reading(second, "d1", "s"),
    )
    step = Graph("results", nodes)
    # n, y and s again before d1, though d1 does not read s.
    assert PlanBoundary(step).computations({0}) == [0, 1, 2, 3, 4, 1, 2, 3, 5, 6]
    assert PlanBoundary(step).computations({0, 3}) == [0, 1, 2, 3, 4, 1, 2, 5, 6]


def _reading(node: Node, *names: str) -> Node:
    from dataclasses import replace

    return replace(node, inputs=names)
