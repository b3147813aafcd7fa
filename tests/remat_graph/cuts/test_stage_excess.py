"""Stages in which a schedule of a graph is above a memory."""

from __future__ import annotations

from jettison.instances.remat_graph.graph import Graph, Node
from jettison.solvers.remat_graph.cuts.stage_excess import StageExcess
from tests.tiny import SKIP


def test_first_computations_above_the_limit_are_named_worst_first() -> None:
    excess = StageExcess(SKIP, 4, range(4))
    # a 3; b beside a 7; c beside a and b 8; d beside a and c 5.
    assert excess.first_bytes == {1: 3, 2: 4, 3: 1}
    assert excess.worst_stages() == [2, 1, 3]
    # They are so close that only the worst becomes a cut.
    assert excess.new_cuts(set(), 5, 3) == [2]
    assert excess.new_cuts({2}, 5, 3) == [1]
    assert excess.new_cuts({1, 2}, 5, 3) == [3]
    assert excess.again_bytes == {}


def test_recomputations_above_the_limit_ask_for_their_stage() -> None:
    # c stays while a and b are computed again before d: b is read by nobody and left out.
    excess = StageExcess(SKIP, 3, (0, 1, 2, 0, 3))
    # a again beside c takes 4 bytes.
    assert excess.again_bytes == {(3, 0): 1}
    assert excess.new_slots(set(), 4) == [(3, 0)]
    assert excess.new_slots({(3, 0)}, 4) == []


def test_peaks_far_from_each_other_are_cuts_at_once() -> None:
    # Values of 2 bytes that the last node reads, and two larger ones that nobody does.
    sizes = {4: 7, 9: 5}
    nodes = [Node(name=str(i), duration_ns=1, output_bytes=sizes.get(i, 2)) for i in range(11)]
    readers = tuple(str(i) for i in range(11) if i not in sizes)
    nodes.append(Node(name="all", duration_ns=1, output_bytes=1, inputs=readers))
    excess = StageExcess(Graph("two peaks", tuple(nodes)), 12, range(12))
    # 8 and 7 bytes at 4; then 10, 12, 14, 16, and 21 at 9; 18 at 10 and 19 at the last.
    assert excess.first_bytes == {4: 3, 7: 2, 8: 4, 9: 9, 10: 6, 11: 7}
    assert excess.new_cuts(set(), 5, 3) == [9, 4]
    assert excess.new_cuts(set(), 1, 3) == [9]
    # A byte at 4 is worth more: 3 bytes at 7 ns beside 9 at 2 ns, and 7 at the mean, 4.5 ns.
    assert excess.new_cuts(set(), 5, 3, {4: 7.0, 9: 2.0}) == [11, 4]


def test_what_comes_after_the_last_first_computation_has_no_stage() -> None:
    graph = Graph(
        "kept",
        (
            Node(name="a", duration_ns=2, output_bytes=5, keep=True),
            Node(name="b", duration_ns=1, output_bytes=1),
        ),
    )
    excess = StageExcess(graph, 4, (0, 1, 0))
    assert excess.again_bytes == {(2, 0): 1}
    assert excess.worst_slots() == []
    assert excess.new_slots(set(), 4) == []
