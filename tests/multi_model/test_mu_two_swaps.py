"""The swap calculator and the multiplexer of µ-TWO on the story of the paper's Figure 6.

Sub-array 1 has five backward operators of 10 ns, and feature maps Z1 to Z4, of which Zi is read by
the backward operator 4 - i and no other; sub-array 2 has five forward operators of 10 ns. A feature
map has 10 bytes, an operator needs 20 while it runs, of which 10 stay.
"""

from __future__ import annotations

import pytest

from jettison.instances.multi_model.sub_array import IdleTensor, SubArray, Work
from jettison.solvers.multi_model.mu_two.merged_graph import IdleMemory, MergedGraph
from jettison.solvers.multi_model.mu_two.swaps import SwapCalculator, SwapChoice


def figure6() -> MergedGraph:
    """Return BW_1 followed by FW_2, with every feature map kept."""
    forward = tuple(Work(f"Z{i + 1}", 10, 20, 10) for i in range(5))
    backward = tuple(Work(f"W{5 - i}", 10, 20, 10 if i < 4 else 0) for i in range(5))
    array = SubArray(
        models=1,
        static_bytes=0,
        forward=forward,
        backward=backward,
        tensors=tuple(
            IdleTensor(
                name=f"Z{i + 1}",
                size_bytes=10,
                made_by=i,
                last_forward=i + 1,
                first_backward=3 - i + 1,
                last_backward=3 - i + 1,
                recompute_ns=10,
                recompute_bytes=0,
                sources=(),
                swap_ns=None,
            )
            for i in range(4)
        ),
    )
    idle = IdleMemory.all_kept(array)
    return MergedGraph(array, array, idle, IdleMemory.all_kept(array), 0)


def calculator(limit_bytes: int, swap_ns: int) -> tuple[MergedGraph, SwapCalculator]:
    """Return the graph and its calculator where each copy takes so long."""
    graph = figure6()
    return graph, SwapCalculator(graph, (swap_ns,) * 4, limit_bytes)


def test_memory_of_the_backward_pass_falls_and_of_the_forward_pass_rises() -> None:
    graph = figure6()
    # Four are kept at first; operator 1 reads Z4, operator 4 reads Z1. Each takes 20 itself.
    assert graph.backward_bytes().tolist() == [60, 50, 40, 30, 20]
    # After it, Z1 becomes idle at the end of the second forward operator.
    assert graph.forward_bytes().tolist() == [20, 20, 30, 40, 50]
    assert graph.peak_bytes() == 60


def test_forward_operators_alone_hide_a_swap() -> None:
    # Case 2a. Z1 is read by backward operator 4. Two forward operators of 10 ns before it hide a
    # copy of 20 ns: the prefetch is issued before them.
    graph, swaps = calculator(limit_bytes=60, swap_ns=20)
    assert swaps.choice(0, 4) == SwapChoice(0, 4)
    assert graph.forward_done.tolist() == [0, 0, 0, 0, 2]


def test_the_next_swap_takes_the_first_forward_operators_and_the_others_move_on() -> None:
    # Figure 6d to 6e: Z1 is hidden by the first two, then Z2, which is read earlier, gets these and
    # Z1 the next ones.
    graph, swaps = calculator(limit_bytes=80, swap_ns=20)
    swaps.swap(0, 4, swaps.choice(0, 4))
    assert swaps.choice(1, 3) == SwapChoice(0, 3)
    assert graph.forward_done.tolist() == [0, 0, 0, 2, 4]


def test_backward_operators_hide_what_forward_operators_do_not() -> None:
    # Case 2b. With 50 bytes no forward operator fits before operator 1 and after: there 30 bytes
    # of feature maps are idle beside 10 of the waiting pass, and it takes 20. Z3 is read by
    # operator 2; operator 1 before it hides 10 ns, and has room: 20 + 30 idle.
    graph, swaps = calculator(limit_bytes=50, swap_ns=10)
    assert swaps.choice(2, 2) == SwapChoice(0, 1)
    assert graph.forward_done.tolist() == [0, 0, 0, 0, 0]


def test_a_mix_of_both_hides_a_swap() -> None:
    # Z2 is read by operator 3. A forward operator before it takes 20, while 10 bytes are held and
    # Z1, Z2 are idle: 50 in all, and so does a second one. A third would take 20, with 10 of the
    # waiting pass, Z1 and Z2, and Z1 of its own idle: 60. So 20 of 40 ns are left, for the
    # operators 2 and 1, which take 40 and 50.
    graph, swaps = calculator(limit_bytes=50, swap_ns=40)
    assert swaps.choice(1, 3) == SwapChoice(0, 1)
    assert graph.forward_done.tolist() == [0, 0, 0, 2, 2]


def test_a_swap_is_hidden_in_part_where_the_peak_interval_begins() -> None:
    # Case 3. With 40 bytes operators 0 and 1 are over the limit. Z3 is read by operator 2: no room
    # before it, and no forward operator fits there either (20 + 10 + 20 idle). All 30 ns are lost.
    graph, swaps = calculator(limit_bytes=40, swap_ns=30)
    assert swaps.choice(2, 2) == SwapChoice(30, 2)
    # Z2 is read by operator 3, and operator 2 has room: of 30 ns it hides 10; no forward operator
    # fits before operator 3: 20 + 10 + 20 idle.
    assert swaps.choice(1, 3) == SwapChoice(20, 2)
    assert graph.forward_done.tolist() == [0, 0, 0, 0, 0]


def test_in_the_peak_interval_all_of_a_swap_is_lost() -> None:
    # Case 1a, Figure 6g. Z2's copy is issued before operator 2, at the end of the interval: ten
    # more bytes are idle before it, so that operators 0 and 1 stay over the limit of 40. Z4 is
    # read by operator 1, and the link is free there.
    graph, swaps = calculator(limit_bytes=40, swap_ns=30)
    graph.backing_idle.before_backward[:2] += 10
    swaps.swap(1, 3, SwapChoice(20, 2))
    assert swaps.reached_peak
    assert swaps.choice(3, 1) == SwapChoice(30, 1)


def test_a_busy_link_adds_what_is_left_of_the_other_copy() -> None:
    # Case 1b. As before; of the 30 ns of Z2's copy 10 pass while operator 2 runs, so 20 are left
    # when operator 3 is due. If Z1 is to be there by then, it waits for them, and for its own 30.
    graph, swaps = calculator(limit_bytes=40, swap_ns=30)
    graph.backing_idle.before_backward[:2] += 10
    swaps.swap(1, 3, SwapChoice(20, 2))
    assert swaps.choice(0, 3) == SwapChoice(30 + 20, 3)


def test_after_case_1b_the_peak_stays_reached() -> None:
    # As before, and Z1 is chosen: the last prompt moves later, from operator 2 to operator 3, and
    # before that one, in operator 2, there is room within 40 bytes. Asked anew, the flag would be
    # false there: operator 2 would hide 10 of the 30 ns of a third copy, though Z2's copy has the
    # link beside it. In print the flag is an input: all 30 are lost, and the 20 left of Z2's copy.
    graph, swaps = calculator(limit_bytes=40, swap_ns=30)
    graph.backing_idle.before_backward[:2] += 10
    swaps.swap(1, 3, SwapChoice(20, 2))
    swaps.swap(0, 3, swaps.choice(0, 3))
    assert graph.backward_bytes()[2] <= 40
    assert swaps.choice(2, 3) == SwapChoice(30 + 20, 3)
    assert swaps.overhead_ns == 20 + 50


@pytest.mark.parametrize("recompute_ns", [0, 7, 30])
def test_recomputation_before_the_reader_hides_a_swap(recompute_ns: int) -> None:
    # Nothing else does: the reader is operator 0, before which there is none, and 60 bytes leave
    # no room for a forward operator there: 20 + 10 + 40.
    _, swaps = calculator(limit_bytes=60, swap_ns=30)
    assert swaps.choice(3, 0, recompute_ns).overhead_ns == 30 - recompute_ns


def test_recomputation_hides_no_more_copies_than_it_takes() -> None:
    # 40 ns of recomputation before operator 1, and copies of 30. In the peak interval the first
    # copy is hidden by it; of the second, the other 10 ns are; of a third one nothing is.
    graph, swaps = calculator(limit_bytes=40, swap_ns=30)
    graph.backing_idle.before_backward[:2] += 30
    swaps.swap(0, 4, SwapChoice(0, 2))
    assert swaps.reached_peak
    for tensor, overhead_ns in ((1, 0), (2, 20), (3, 30)):
        choice = swaps.choice(tensor, 1, 40)
        assert choice == SwapChoice(overhead_ns, 1)
        swaps.swap(tensor, 1, choice)


def test_forward_operators_are_not_promised_twice() -> None:
    # Five forward operators of 10 ns, and Z1 has asked for all of them before operator 4. Z2 comes
    # before them, and would take two away: it is hidden by backward operators instead.
    graph, swaps = calculator(limit_bytes=200, swap_ns=50)
    swaps.swap(0, 4, swaps.choice(0, 4))
    assert graph.forward_done.tolist() == [0, 0, 0, 0, 5]
    assert swaps.choice(1, 3) == SwapChoice(20, 0)
    assert graph.forward_done.tolist() == [0, 0, 0, 0, 5]
