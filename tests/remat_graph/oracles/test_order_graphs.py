"""The optimum of one order is not that of all: counterexamples, by brute force and by hand."""

from __future__ import annotations

from itertools import product

import pytest

from jettison import Graph, ScheduleClass
from jettison.remat_graph import GraphSchedule, Node
from tests.remat_graph.oracles.brute_force import (
    least_in_order_time_ns,
    least_staged_time_ns,
    least_time_ns,
)
from tests.remat_graph.order_graphs import ONE_RESULT, THREE, TWO, interleaved


@pytest.mark.parametrize(
    ("graph", "memory_bytes", "in_order", "any_order"),
    [
        # p, q, p again, r; and q, p, r.
        (THREE, 1, (0, 1, 0, 2), (1, 0, 2)),
        # a, b, a again; and b, a.
        (TWO, 2, (0, 1, 0), (1, 0)),
        # p, q, then without q r, and q again; and p, r, q, s.
        (ONE_RESULT, 2, (0, 1, 2, 1, 3), (0, 2, 1, 3)),
    ],
)
def test_another_order_saves_the_recomputation(
    graph: Graph, memory_bytes: int, in_order: tuple[int, ...], any_order: tuple[int, ...]
) -> None:
    assert least_in_order_time_ns(graph, memory_bytes) == len(in_order)
    assert least_time_ns(graph, memory_bytes) == len(any_order) == len(graph)
    for computations, valid_for in (
        (in_order, {ScheduleClass.STAGED, ScheduleClass.IN_ORDER}),
        (any_order, {ScheduleClass.ALL}),
    ):
        schedule = GraphSchedule.from_computations(graph, computations)
        replay = schedule.replay(graph, memory_bytes)
        assert replay.valid
        assert replay.time_ns == len(computations)
        assert replay.schedule_class in valid_for


def test_with_two_nodes_of_which_none_is_kept_the_order_does_not_matter() -> None:
    for first, second, workspace, reads in product(range(3), range(3), range(3), (True, False)):
        graph = Graph(
            "two",
            (
                Node(name="a", duration_ns=1, output_bytes=first),
                Node(
                    name="b",
                    duration_ns=1,
                    output_bytes=second,
                    workspace_bytes=workspace,
                    inputs=("a",) if reads else (),
                ),
            ),
        )
        for memory_bytes in range(graph.store_all_peak_bytes + 1):
            best_ns = least_time_ns(graph, memory_bytes)
            assert least_in_order_time_ns(graph, memory_bytes) == best_ns


@pytest.mark.parametrize("users", [1, 2, 3])
def test_no_constant_bounds_what_an_order_can_cost(users: int) -> None:
    # q once more for every user, and 100 ns each time.
    graph = interleaved(users)
    once_ns = 100 + 2 * users
    assert least_time_ns(graph, 2) == once_ns
    assert least_staged_time_ns(graph, 2) == once_ns + 100 * users
    assert least_in_order_time_ns(graph, 2) == once_ns + 100 * users
