"""The replay of fluid transfers, worked out by hand on a chain with a loss of no time."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from jettison import Chain, Link, ScheduleClass
from jettison.core import Replay
from jettison.remat_chain import Stage
from jettison.remat_offload import OffloadSchedule, Transfers
from jettison.schedules.remat_offload.fluid_replay import has_two_phases
from tests.drawing.chains import stage_of
from tests.remat_offload.sequences import sequence

# Every operation of a layer takes 4 ns.
CHAIN = Chain(
    "three",
    1,
    (stage_of("one", 4, 4, 2, 10), stage_of("two", 4, 4, 2, 4), stage_of("loss", 0, 0, 0, 0)),
)
OFFLOAD = "F_all 1, O_all 1, D_all 1, F_all 2, F_all 3, B 3, B 2, P_all 1, B 1"
# F 2 reads ā1, which hence is dropped after it, and B 2 reads it as well.
LATER = "F_all 1, O_all 1, F_all 2, D_all 1, F_all 3, B 3, P_all 1, B 2, B 1"
BYTE_PER_NS = Link(10**9)


def _replay(text: str, memory_bytes: int | None, link: Link = BYTE_PER_NS) -> Replay:
    return sequence(text).replay(CHAIN, link, Transfers.FLUID, memory_bytes)


def test_an_offload_shrinks_what_is_stored_byte_by_byte() -> None:
    replay = _replay(LATER, 15)
    # Forward: F 1 0-4, F 2 4-8 in 1 + 10 + 4 = 15 bytes. ā1 leaves from 4 to 14, and F 3 takes
    # nothing: 8-8. The loss may start when all has left, at 14.
    # Backward, from the end: B 1 takes 1 + 10 + 2 + 1 = 14 bytes, B 2 1 + 10 + 4 + 2 + 2 = 19:
    # more than there are.
    assert [str(item) for item in replay.violations] == [
        "operation 7 (B 2): out of memory: δ^1, 4 bytes over the limit"
    ]
    assert (replay.transfers[0].start_ns, replay.transfers[0].end_ns) == (4, 14)


def test_nothing_but_the_memory_of_the_second_phase_is_checked_at_the_end_of_operations() -> None:
    # 19 bytes hold B 2 with ā1 in full. B 3 takes 1 + 4 + 2 = 7 and what has arrived by its end.
    replay = _replay(LATER, 19)
    assert replay.valid
    # The loss turns at 14. ā1 has to be there when B 2 starts, 10 ns later: 24. Then 4 and 4.
    assert replay.time_ns == 32
    assert [(item.operation, item.start_ns, item.end_ns) for item in replay.transfers] == [
        ("O_all 1", 4, 14),
        ("P_all 1", 14, 24),
    ]
    assert replay.schedule_class is ScheduleClass.POFO


def test_a_prefetch_comes_as_late_as_it_may() -> None:
    # At 4 bytes per ns ā1 takes 2.5 ns. B 3 has no duration: it ends when B 2 starts, at 10.5.
    replay = _replay(LATER, None, Link(4 * 10**9))
    # Forward 8, the copy has left at 6.5; backward 2.5 + 8.
    assert replay.time_ns == 19
    # 18.5 in full: nanoseconds are rounded up.
    assert [(item.start_ns, item.end_ns) for item in replay.transfers] == [(4, 7), (8, 11)]


WIDE = Chain(
    "wide",
    0,
    (
        stage_of("one", 4, 4, 6, 6),
        stage_of("two", 2, 2, 1, 1),
        stage_of("three", 2, 2, 8, 8),
        stage_of("loss", 0, 0, 0, 0),
    ),
)
WIDE_OFFLOAD = "F_all 1, O_all 1, F_all 2, D_all 1, F_all 3, F_all 4, B 4, B 3, P_all 1, B 2, B 1"


def test_an_operation_waits_until_enough_has_left_and_enough_may_arrive() -> None:
    # F 1 0-4. ā1, 6, leaves from 4 to 10. F 2 4-6 stores 1. F 3 takes 8 beside 1 and what is left
    # of ā1: in 11 bytes only 2 of it, which is at 8. F 3 8-10; the turn is at 10.
    # From the end: B 1 (its output has no size) 6 + 6: 4; B 2 takes 6 + 1 + 1 + 6 = 14.
    replay = sequence(WIDE_OFFLOAD).replay(WIDE, BYTE_PER_NS, Transfers.FLUID, 14)
    # In 14 bytes F 3 waits for 6 - 5 = 1 byte, until 5, and does not have to: F 2 ends at 6.
    # B 4 takes 1 + 8 + 8 = 17 bytes by itself, B 3 1 + 8 + 8 + 1 = 18.
    assert [str(item) for item in replay.violations] == [
        "operation 6 (B 4): out of memory: δ^3, 3 bytes over the limit",
        "operation 7 (B 3): out of memory: δ^2, 4 bytes over the limit",
    ]
    forward = [(step.operation, step.start_ns) for step in replay.steps[:3]]
    assert forward == [("F_all 1", 0), ("F_all 2", 4), ("F_all 3", 6)]
    tight = sequence(WIDE_OFFLOAD).replay(WIDE, BYTE_PER_NS, Transfers.FLUID, 11)
    assert [(step.operation, step.start_ns) for step in tight.steps[2:3]] == [("F_all 3", 8)]


def test_a_backward_that_adds_nothing_needs_its_memory_as_well() -> None:
    # The overhead, none, holds the gradient: B 2 takes no memory beside a1 3 and ā2 11, in 20
    # bytes. Of a0, 8, at most 6 may have arrived when it ends: the other 2, at half a byte per ns,
    # make B 1 wait for 4 ns. Forwards 0 and 10, during which 5 bytes of a0 leave; 3 more bytes, 6
    # ns, before the turn; 23, 4.
    layer = replace(stage_of("one", 0, 0, 3, 3), forward_overhead_bytes=2)
    loss = Stage(name="loss", forward_ns=10, backward_ns=23, output_bytes=0, saved_bytes=11)
    chain = Chain("two", 8, (layer, loss), backward_overhead_holds_gradient=True)
    schedule = sequence("O 0, F_ck 1, D 0, F_all 2, B 2, P 0, F_all 1, B 1")
    replay = schedule.replay(chain, Link(5 * 10**8), Transfers.FLUID, 20)
    assert replay.valid
    assert replay.time_ns == 10 + 6 + 23 + 4


# Every tensor has 5 bytes, and the gradients are part of overheads of none.
FIVES = Chain(
    "fives",
    5,
    (stage_of("one", 5, 5, 5, 5), stage_of("loss", 5, 5, 0, 0)),
    backward_overhead_holds_gradient=True,
)


def test_a_prefetch_before_a_backward_that_adds_nothing_is_to_blame() -> None:
    # B 1 writes into its overhead, of 0 bytes; beside it are a0, ā1 and the gradient of a1.
    schedule = sequence("O 0, F_all 1, D 0, F_all 2, B 2, P 0, B 1")
    replay = schedule.replay(FIVES, Link(5 * 10**8), Transfers.FLUID, 14)
    assert replay.peak_bytes == 15
    assert [str(item) for item in replay.violations] == [
        "operation 6 (B 1): out of memory: δ^0, 1 bytes over the limit"
    ]
    assert schedule.replay(FIVES, Link(5 * 10**8), Transfers.FLUID, 15).valid


@pytest.mark.parametrize(
    "text",
    [
        "F_all 1, O_all 1, F_all 2, D_all 1, F_all 3, B 3, B 2, B 1",
        "F_all 1, F_all 2, F_all 3, O_all 1, B 3, D_all 1, P_all 1, B 2, B 1",
        "F_all 1, O_all 1, O_all 1, D_all 1, F_all 2, F_all 3, B 3, P_all 1, B 2, B 1",
        "F_all 1, O_all 1, D_all 1, F_all 2, P_all 1, F_all 3, O_all 2, B 3, B 2, B 1",
        "F_all 1, O_all 1, F_all 2, D_all 1, F_all 1, F_all 3, B 3, B 2, B 1, P_all 1",
    ],
)
def test_other_sequences_are_replayed_with_transfers_at_once(text: str) -> None:
    schedule = sequence(text)
    assert not has_two_phases(schedule.operations)
    fluid = schedule.replay(CHAIN, BYTE_PER_NS, Transfers.FLUID, 30)
    assert fluid == schedule.replay(CHAIN, BYTE_PER_NS, Transfers.AT_ONCE, 30)


def test_a_prefetch_before_the_forward_of_the_loss_is_not_of_pofos_class() -> None:
    text = "F_all 1, O_all 1, F_all 2, D_all 1, {}, B 3, B 2, B 1"
    early = _replay(text.format("P_all 1, F_all 3"), 30)
    late = _replay(text.format("F_all 3, P_all 1"), 30)
    assert early.valid
    assert late.valid
    assert early.schedule_class is ScheduleClass.ALL
    assert late.schedule_class is ScheduleClass.POFO


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1, 2), Fraction(7, 5), Fraction(50)])
def test_fluid_is_never_slower_and_never_needs_more_than_at_once(rate: Fraction) -> None:
    link = Link(int(rate * 10**9))
    for memory_bytes in (19, 20, 25):
        fluid = _replay(LATER, memory_bytes, link)
        at_once = sequence(LATER).replay(CHAIN, link, Transfers.AT_ONCE, memory_bytes)
        assert fluid.valid
        if at_once.valid and at_once.schedule_class is ScheduleClass.POFO:
            assert fluid.time_ns <= at_once.time_ns


def test_what_is_missing_is_named() -> None:
    text = "F_all 1, O_all 2, D_all 2, F_all 3, B 3, P_all 2, B 2, B 1"
    names = [str(item) for item in _replay(text, None).violations]
    assert "operation 1 (O_all 2): not in memory: ā^2" in names
    assert "operation 3 (F_all 3): input missing: a^2" in names


def test_an_empty_schedule_lacks_its_backwards() -> None:
    names = [
        str(item)
        for item in OffloadSchedule(()).replay(CHAIN, BYTE_PER_NS, Transfers.FLUID, 30).violations
    ]
    assert names == [f"at the end: unfinished: B {number} is missing" for number in (3, 2, 1)]
