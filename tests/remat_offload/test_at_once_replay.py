"""The replay of transfers at once: three queues, memory in order, and POFO's assumptions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jettison import Chain, Link, ScheduleClass
from jettison.core import Replay
from jettison.remat_chain import ChainOperation, ChainOperationKind, ChainSchedule
from jettison.remat_offload import OffloadSchedule, Transfers
from tests.drawing.chains import chains
from tests.remat_offload.cases import BYTE_PER_NS, CHAIN
from tests.remat_offload.sequences import sequence

PLAIN = "F_all 1, F_all 2, F_all 3, B 3, B 2, B 1"
OFFLOAD = "F_all 1, O_all 1, F_all 2, D_all 1, F_all 3, B 3, P_all 1, B 2, B 1"


def _replay(text: str, memory_bytes: int | None = None, link: Link = BYTE_PER_NS) -> Replay:
    return sequence(text).replay(CHAIN, link, Transfers.AT_ONCE, memory_bytes)


def _times(replay: Replay) -> list[tuple[str, int, int]]:
    return [(item.operation, item.start_ns, item.end_ns) for item in replay.steps]


def test_without_transfers_it_is_the_replay_of_a_chain() -> None:
    replay = _replay(PLAIN)
    alone = sequence(PLAIN).computations.replay(CHAIN)
    assert (replay.time_ns, replay.peak_bytes) == (alone.time_ns, alone.peak_bytes)
    assert replay.steps == alone.steps
    assert replay.schedule_class is ScheduleClass.POFO


def test_transfers_run_beside_computations() -> None:
    replay = _replay(OFFLOAD)
    assert replay.valid
    # F 0-4, 4-7, 7-9. O 1 copies 6 bytes from 4 to 10. B 3 9-13. P 1 may start once the copy is
    # complete, 10, and nothing before it in the sequence has yet to start: B 3 starts at 9. It
    # runs from 10 to 16, and B 2 reads it at 16: 16-22, B 1 22-30.
    assert [(item.operation, item.start_ns, item.end_ns) for item in replay.transfers] == [
        ("O_all 1", 4, 10),
        ("P_all 1", 10, 16),
    ]
    assert _times(replay) == [
        ("F_all 1", 0, 4),
        ("F_all 2", 4, 7),
        ("F_all 3", 7, 9),
        ("B 3", 9, 13),
        ("B 2", 16, 22),
        ("B 1", 22, 30),
    ]


def test_memory_is_in_use_from_the_start_of_a_prefetch_to_the_end_of_an_offload() -> None:
    steps = _replay(OFFLOAD).steps
    # a0 1. F 1 takes 6: 7. F 2 takes 5: 12. F 3 takes 1: 13; the copy ends at 10 only.
    assert [step.during_bytes for step in steps[:3]] == [7, 12, 13]
    # B 3 from 9 on takes δ2, 2: 15. At 10 ā1 leaves, 6, and comes back at once. After it, ā3, 1,
    # is gone: 14.
    assert (steps[3].during_bytes, steps[3].after_bytes) == (15, 14)


def test_an_operation_waits_for_its_memory_and_is_named_where_it_never_comes() -> None:
    replay = _replay(OFFLOAD, 12)
    # F 3 has to wait for ā1 to leave at 10.
    assert _times(replay)[2] == ("F_all 3", 10, 12)
    # After B 3 there are a0 1, ā2 5 and δ2 2, so that ā1, 6, lacks 2 bytes.
    assert [str(item) for item in replay.violations] == [
        "operation 6 (P_all 1): out of memory: ā^1, 2 bytes over the limit",
        # B 2 adds δ1, 2, to those 14.
        "operation 7 (B 2): out of memory: δ^1, 4 bytes over the limit",
    ]


def test_offloads_queue_behind_each_other_and_hold_up_nothing_else() -> None:
    slow = Link(10**8)
    # A byte takes 10 ns: O_all 1 from 4 to 64, O_all 2 from 64 to 114.
    replay = _replay("F_all 1, O_all 1, F_all 2, O_all 2, F_all 3, B 3, B 2, B 1", link=slow)
    assert [(item.start_ns, item.end_ns) for item in replay.transfers] == [(4, 64), (64, 114)]
    assert replay.time_ns == CHAIN.base_time_ns


def test_a_transfer_takes_whole_nanoseconds() -> None:
    # 6 bytes at 4 bytes per ns.
    replay = _replay(OFFLOAD, link=Link(4 * 10**9))
    assert [item.end_ns - item.start_ns for item in replay.transfers] == [2, 2]


@pytest.mark.parametrize(
    ("text", "violation"),
    [
        ("F_all 1, O_all 2", "operation 1 (O_all 2): not in memory: ā^2"),
        ("F_all 1, D 1", "operation 1 (D 1): not in memory: a^1"),
        # What has been dropped without a copy does not come back from the host.
        ("F_all 1, D_all 1, P_all 1", "operation 2 (P_all 1): no copy on the host: ā^1"),
        ("F_all 1, D_all 1, F_all 2", "operation 2 (F_all 2): input missing: a^1"),
        ("F_all 1, P_all 2", "operation 1 (P_all 2): no copy on the host: ā^2"),
        ("F_all 1, O_all 1, P_all 1", "operation 2 (P_all 1): in memory already: ā^1"),
        ("O_all 0", "operation 0 (O_all 0): unknown operation: stage 0"),
        ("F_all 1, O 4", "operation 1 (O 4): unknown operation: stage 4"),
        ("O 0, D 0, F_all 1", "operation 2 (F_all 1): input missing: a^0"),
    ],
)
def test_a_broken_rule_is_named(text: str, violation: str) -> None:
    assert violation in [str(item) for item in _replay(text).violations]


def test_the_input_can_leave_and_come_back() -> None:
    replay = _replay("F_ck 1, O 0, D 0, F_all 2, F_all 3, B 3, B 2, P 0, F_all 1, B 1")
    assert replay.valid
    assert replay.schedule_class is ScheduleClass.POFO


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # The copy ends at 10, after B 3 has started at 9.
        (OFFLOAD, ScheduleClass.ALL),
        # F 3 waits in this order for P, which ends at 16: B 3 starts after the copy has ended,
        # but the prefetch starts before the forward of the loss.
        (
            "F_all 1, O_all 1, F_all 2, D_all 1, P_all 1, F_all 3, B 3, B 2, B 1",
            ScheduleClass.ALL,
        ),
        # ā1 is made again although the host has it.
        ("F_all 1, O_all 1, D_all 1, F_all 2, F_all 3, B 3, F_all 1, B 2, B 1", ScheduleClass.ALL),
    ],
)
def test_the_class_of_a_schedule_follows_from_its_times(text: str, expected: ScheduleClass) -> None:
    assert _replay(text).schedule_class is expected


def test_a_prefetch_beside_an_offload_is_not_of_pofos_class() -> None:
    # With 3 bytes of overhead B 3 needs 18 bytes beside ā1 and, of 16, waits until ā1 has left, at
    # 10. F 3 fills the memory until 9, and a0 comes back then: both directions work until 10.
    loss = replace(CHAIN.stages[-1], forward_overhead_bytes=4, backward_overhead_bytes=3)
    chain = replace(CHAIN, stages=(*CHAIN.stages[:-1], loss))
    text = "F_all 1, O 0, O_all 1, D 0, F_all 2, D_all 1, F_all 3, {}, P_all 1, B 2, B 1"
    early = sequence(text.format("P 0, B 3")).replay(chain, BYTE_PER_NS, memory_bytes=16)
    late = sequence(text.format("B 3, P 0")).replay(chain, BYTE_PER_NS, memory_bytes=16)
    for replay, prefetched_ns in ((early, 9), (late, 10)):
        assert replay.valid
        assert [(item.start_ns, item.end_ns) for item in replay.transfers[1:3]] == [
            (4, 10),
            (prefetched_ns, prefetched_ns + 1),
        ]
        assert replay.steps[3].start_ns == 10
    assert early.schedule_class is ScheduleClass.ALL
    assert late.schedule_class is ScheduleClass.POFO


def test_what_leaves_after_the_loss_is_not_of_pofos_class() -> None:
    # The copy of ā1 is complete at 5, but ā1 is there until B 3 has started: what runs again in
    # between could read it.
    fast = Link(6 * 10**9)
    text = "F_all 1, O_all 1, F_all 2, F_all 3, B 3, D_all 1, P_all 1, B 2, B 1"
    replay = _replay(text, link=fast)
    assert replay.valid
    assert replay.transfers[0].end_ns == 5
    assert replay.schedule_class is ScheduleClass.ALL
    assert _replay(OFFLOAD, link=fast).schedule_class is ScheduleClass.POFO


def test_a_fast_link_keeps_offloads_before_the_loss() -> None:
    assert _replay(OFFLOAD, link=Link(6 * 10**9)).schedule_class is ScheduleClass.POFO


@given(chains(max_stages=4), st.data())
@settings(max_examples=200)
def test_any_sequence_without_transfers_replays_as_on_a_chain(
    chain: Chain, data: st.DataObject
) -> None:
    # Valid or not: what is missing is recorded by both in the same way.
    operation = st.builds(
        ChainOperation, st.sampled_from(ChainOperationKind), st.integers(1, len(chain))
    )
    operations = data.draw(st.lists(operation, max_size=12))
    limit = data.draw(st.integers(0, chain.store_all_peak_bytes))
    schedule = OffloadSchedule(tuple(operations))
    at_once = schedule.replay(chain, BYTE_PER_NS, Transfers.AT_ONCE, limit)
    assert schedule.computations == ChainSchedule(tuple(operations))
    alone = schedule.computations.replay(chain, limit)
    # A drop takes no time, and is no step where transfers drop things too.
    assert at_once.steps == tuple(step for step in alone.steps if step.operation[0] != "D")
    assert at_once.peak_bytes == alone.peak_bytes
    assert at_once.violations == alone.violations
