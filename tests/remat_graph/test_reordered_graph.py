"""A graph in another order: the same operations, and a way back."""

from __future__ import annotations

import pytest

from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.reordered_graph import ReorderedGraph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from tests.tiny import ONLY_OUT_OF_ORDER as GRAPH

# n2 and n4 before n3.
ORDER = (0, 1, 2, 4, 3, 5)


def test_nodes_stand_in_the_order_given() -> None:
    reordered = ReorderedGraph(GRAPH, ORDER)
    assert [node.name for node in reordered.graph.nodes] == ["n0", "n1", "n2", "n4", "n3", "n5"]
    assert reordered.place_of == (0, 1, 2, 4, 3, 5)


def test_a_schedule_comes_back_with_its_time_and_peak() -> None:
    reordered = ReorderedGraph(GRAPH, ORDER)
    there = GraphSchedule.from_computations(reordered.graph, range(6)).replay(reordered.graph)
    back = reordered.to_original(range(6))
    assert back == ORDER
    replay = GraphSchedule.from_computations(GRAPH, back).replay(GRAPH)
    assert replay.valid
    assert (replay.time_ns, replay.peak_bytes) == (there.time_ns, there.peak_bytes)


def test_the_peak_of_an_order_is_that_of_the_graph_in_that_order() -> None:
    # n0 n1 n2 hold 11 + 7 + 11 bytes, and n0 stays for n5; n4 joins n0 and n2 (n3 needs n1 too).
    assert ReorderedGraph(GRAPH, ORDER).graph.store_all_peak_bytes == 30


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (0, 1, 2, 3, 4, 4), (0, 1, 4, 2, 3, 5)])
def test_what_is_no_topological_order_is_refused(order: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="order"):
        ReorderedGraph(GRAPH, order)
