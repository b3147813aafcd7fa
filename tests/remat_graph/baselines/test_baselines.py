"""The baselines of a graph: what they compute, what they need, what they say when it is much."""

from __future__ import annotations

from hypothesis import given

from jettison.instances.remat_graph.graph import Graph, Node
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_graph.baselines.simple import (
    recompute_all_schedule,
    solve_recompute_all,
    solve_store_all,
    store_all_schedule,
)
from tests.drawing.graphs import graphs

# a feeds b and d, b feeds c, c feeds d.
SKIP = Graph(
    "by hand",
    (
        Node(name="a", duration_ns=2, output_bytes=3),
        Node(name="b", duration_ns=1, output_bytes=4, inputs=("a",)),
        Node(name="c", duration_ns=1, output_bytes=1, inputs=("b",)),
        Node(name="d", duration_ns=1, output_bytes=1, inputs=("a", "c")),
    ),
)
KEPT = Graph(
    "kept",
    (
        Node(name="a", duration_ns=2, output_bytes=3),
        Node(name="b", duration_ns=1, output_bytes=4, inputs=("a",), keep=True),
        Node(name="c", duration_ns=1, output_bytes=1, inputs=("b",)),
        Node(name="d", duration_ns=1, output_bytes=1, inputs=("a", "c")),
    ),
)


def test_store_all_computes_each_node_once() -> None:
    schedule = store_all_schedule(SKIP)
    assert schedule.computations == (0, 1, 2, 3)
    assert schedule.replay(SKIP).peak_bytes == 8  # a, b and c


def test_recompute_all_recomputes_every_ancestor() -> None:
    # a; a, b; a, b, c; a, b, c, d.
    schedule = recompute_all_schedule(SKIP)
    assert schedule.computations == (0, 0, 1, 0, 1, 2, 0, 1, 2, 3)
    # The last stage holds a, b and c together.
    assert schedule.replay(SKIP).peak_bytes == 8


def test_recompute_all_does_not_recompute_what_is_kept() -> None:
    # a; a, b; c from the kept b; a, c, d.
    assert recompute_all_schedule(KEPT).computations == (0, 0, 1, 2, 0, 2, 3)


def test_a_schedule_that_does_not_fit_is_withheld_and_its_need_is_stated() -> None:
    outcome = solve_store_all(RematGraph(SKIP, 7), SolveOptions())
    assert outcome.schedule is None
    assert outcome.termination is Termination.COMPLETED
    assert outcome.note is not None
    assert outcome.note.startswith("store-all needs")
    assert "(8 bytes)" in outcome.note
    assert solve_recompute_all(RematGraph(SKIP, 7), SolveOptions()).schedule is None


def test_a_schedule_that_just_fits_is_returned() -> None:
    problem = RematGraph(SKIP, 8)
    assert solve_store_all(problem, SolveOptions()).schedule == store_all_schedule(SKIP)
    assert solve_recompute_all(problem, SolveOptions()).schedule == recompute_all_schedule(SKIP)


@given(graphs(max_nodes=6))
def test_baselines_are_valid_and_store_all_is_what_the_graph_says(graph: Graph) -> None:
    replay = store_all_schedule(graph).replay(graph)
    assert replay.valid
    assert replay.time_ns == graph.base_time_ns
    assert replay.peak_bytes == graph.store_all_peak_bytes
    slower = recompute_all_schedule(graph).replay(graph)
    assert slower.valid
    assert slower.time_ns >= graph.base_time_ns
