"""Hand-derived answers for the brute force, so that what is checked against it stands on paper."""

from __future__ import annotations

from jettison.instances.remat_graph.graph import Graph, Node
from tests.remat_graph.oracles.brute_force import (
    least_in_order_time_ns,
    least_memory_bytes,
    least_staged_memory_bytes,
    least_staged_time_ns,
    least_time_ns,
)
from tests.tiny import ONLY_OUT_OF_ORDER


def _graph(*nodes: Node) -> Graph:
    return Graph("by hand", nodes)


# a, b and c together take 3 + 4 + 1 = 8 bytes; a and b, without which there is no b, take 7.
SKIP = _graph(
    Node(name="a", duration_ns=2, output_bytes=3),
    Node(name="b", duration_ns=1, output_bytes=4, inputs=("a",)),
    Node(name="c", duration_ns=1, output_bytes=1, inputs=("b",)),
    Node(name="d", duration_ns=1, output_bytes=1, inputs=("a", "c")),
)

# Nothing reads q, so that it can run before p; as a staged schedule it runs between p and r.
BETWEEN = _graph(
    Node(name="p", duration_ns=6, output_bytes=8),
    Node(name="q", duration_ns=4, output_bytes=7),
    Node(name="r", duration_ns=9, output_bytes=1, inputs=("p",)),
)

# The value of a must be there at the end, but nothing between a and the end reads it.
KEPT = _graph(
    Node(name="a", duration_ns=2, output_bytes=5, keep=True),
    Node(name="b", duration_ns=1, output_bytes=1),
    Node(name="c", duration_ns=1, output_bytes=8, inputs=("b",)),
)


def test_every_node_runs_once_where_all_values_fit() -> None:
    assert least_time_ns(SKIP, 8) == 5
    assert least_staged_time_ns(SKIP, 8) == 5


def test_a_value_that_does_not_fit_beside_the_others_is_recomputed() -> None:
    # a, b; drop a; c; drop b; a again (2 ns), d.
    assert least_time_ns(SKIP, 7) == 7
    assert least_staged_time_ns(SKIP, 7) == 7


def test_below_the_need_of_one_node_there_is_no_schedule() -> None:
    assert least_time_ns(SKIP, 6) is None
    assert least_staged_time_ns(SKIP, 6) is None
    assert least_memory_bytes(SKIP) == 7
    assert least_staged_memory_bytes(SKIP) == 7


def test_only_staged_schedules_follow_the_order_of_the_graph() -> None:
    # In less than 8 + 7 bytes: q, p, r takes 19 ns; p, q, p, r takes 6 more.
    assert least_time_ns(BETWEEN, 14) == 19
    assert least_staged_time_ns(BETWEEN, 14) == 25
    assert least_staged_time_ns(BETWEEN, 15) == 19
    # r and its input p: 9 bytes.
    assert least_memory_bytes(BETWEEN) == least_staged_memory_bytes(BETWEEN) == 9


def test_a_kept_value_is_in_memory_at_the_end() -> None:
    # c and its input take 9 bytes, 14 with a. Any schedule can compute a after c (5 bytes); a
    # staged one ends with c.
    assert least_memory_bytes(KEPT) == 9
    assert least_time_ns(KEPT, 9) == 4
    assert least_staged_memory_bytes(KEPT) == 14
    assert least_staged_time_ns(KEPT, 14) == 4


def test_workspace_counts_only_while_the_node_runs() -> None:
    graph = _graph(
        Node(name="a", duration_ns=1, output_bytes=1, workspace_bytes=10),
        Node(name="b", duration_ns=1, output_bytes=4, inputs=("a",), workspace_bytes=2),
    )
    # a: 1 + 10 bytes; b: 1 + 4 + 2 bytes.
    assert least_memory_bytes(graph) == 11
    assert least_time_ns(graph, 11) == 2
    assert least_time_ns(graph, 10) is None


def test_recomputations_of_one_stage_follow_the_order_of_the_graph() -> None:
    # Before e, which reads c and d, both must be recomputed, since b fills the memory of 6. For d
    # the large input a must be there, which leaves no room for c (2 + 4 + 1 = 7): d must come
    # first, and c after it; within a stage c comes first.
    graph = _graph(
        Node(name="a", duration_ns=1, output_bytes=4),
        Node(name="c", duration_ns=1, output_bytes=2),
        Node(name="d", duration_ns=1, output_bytes=1, inputs=("a",)),
        Node(name="b", duration_ns=1, output_bytes=6),
        Node(name="e", duration_ns=1, output_bytes=0, inputs=("c", "d")),
    )
    # b first, then a, d, c, e: nothing is computed twice.
    assert least_time_ns(graph, 6) == 5
    assert least_staged_time_ns(graph, 6) is None
    # In order: a, c (6 bytes), c goes, d, a goes, b cannot be beside d; then a, d, c again and e.
    assert least_in_order_time_ns(graph, 6) == 8
    # In 7 bytes a and c fit beside d; d (1) stays while b (6) runs, and c is recomputed.
    assert least_staged_time_ns(graph, 7) == 6


def test_a_memory_can_suffice_for_some_schedule_and_for_no_staged_one() -> None:
    graph = ONLY_OUT_OF_ORDER
    # n0 n1, n0 goes, n2 n4 (7 + 11 + 1 = 19 bytes), n2 goes, n3, n1 goes, n0 n5: 5+9+6+7+2+5+1 ns.
    # A staged schedule has n3 before n4, and n4 needs n2. n3 made beside n1 and n2 takes 2 + 7 + 11
    # bytes; if n2 is not there, it is made later beside n1 and n3, which takes 20 bytes again.
    assert least_time_ns(graph, 19) == 35
    assert least_memory_bytes(graph) == 19
    assert least_staged_time_ns(graph, 19) is None
    assert least_staged_memory_bytes(graph) == 20
