"""Drops beside transfers: what has no copy on the host is lost, for nothing."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from jettison import Link, ScheduleClass
from jettison.core import Replay
from jettison.remat_chain import ChainOperation, ChainOperationKind, ChainSchedule
from jettison.remat_offload import OffloadSchedule, TransferOperation, Transfers
from jettison.schedules.core.replay import Step
from jettison.schedules.remat_chain.contents import Tensor, TensorKind
from jettison.schedules.remat_offload.fluid_replay import has_two_phases
from tests.drawing.chains import random_chain
from tests.remat_chain.random_sequences import random_sequence, random_sequence_with_drops
from tests.remat_offload.cases import BYTE_PER_NS, CHAIN
from tests.remat_offload.sequences import sequence

Operations = list[ChainOperation | TransferOperation]


# ā^2 moves, and a^1 is dropped under it and made again before B 2.
MIXED = "F_ck 1, F_all 2, D 1, O_all 2, F_all 3, D_all 2, B 3, P_all 2, F_all 1, B 2, B 1"


@pytest.mark.parametrize("transfers", list(Transfers))
def test_a_drop_beside_a_transfer_is_worked_out_by_hand(transfers: Transfers) -> None:
    # a0 1, and ā2 with its copy 5, ā1 6, δ of 2 bytes. F_all 3 needs the a^2 of ā^2 until 9, when
    # B 3 would read it too: it stays until B 3 has started in this order, so that D_all 2 is wrong.
    replay = sequence(MIXED).replay(CHAIN, BYTE_PER_NS, transfers)
    assert [str(item) for item in replay.violations] == [
        "operation 6 (B 3): input missing: a^2",
    ]
    # Without the transfers: F_ck 1 0-4, F_all 2 4-7, F_all 3 7-9, B 3 9-13, F_all 1 13-17, B 2
    # 17-23, B 1 23-31. Stored: a0 and a1, 3; a0, a1 and ā2, 8; after the drop 6.
    text = "F_ck 1, F_all 2, D 1, F_all 3, B 3, F_all 1, B 2, B 1"
    replay = sequence(text).replay(CHAIN, BYTE_PER_NS, transfers)
    assert replay.valid
    assert [(step.start_ns, step.end_ns) for step in replay.steps] == [
        *((0, 4), (4, 7), (7, 9), (9, 13), (13, 17), (17, 23), (23, 31))
    ]
    # During: 1+2, 3+5, 6+1, 7+2, 8+6 (a0, ā2, δ2 are 8), 14+2, 9+1.
    assert [step.during_bytes for step in replay.steps] == [3, 8, 7, 9, 14, 16, 10]
    assert replay.schedule_class is ScheduleClass.ALL


def test_a_dropped_value_makes_room_for_a_prefetch() -> None:
    # ā1, 6, leaves from 4 to 10, and a1 has to be made again from a0 for B 2: the plain copy of it
    # that F_ck 1 makes is dropped once F_all 2 has run.
    text = "F_all 1, O_all 1, F_all 2, D_all 1, F_all 3, B 3, F_ck 1, D 1, P_all 1, B 2, B 1"
    for transfers in Transfers:
        schedule = sequence(text)
        assert has_two_phases(schedule.operations)
        replay = schedule.replay(CHAIN, BYTE_PER_NS, transfers)
        assert replay.valid
        assert replay.schedule_class is ScheduleClass.ALL
    lost = schedule.computations.operations
    assert [str(item) for item in lost if item.kind is ChainOperationKind.DROP] == ["D 1"]


def test_the_drop_of_a_chain_becomes_that_of_the_tensor_that_is_there() -> None:
    chain = [("F_all", 1), ("D", 1), ("F_ck", 1), ("D", 1), ("D", 0)]
    operations = tuple(ChainOperation(ChainOperationKind(kind), stage) for kind, stage in chain)
    named = OffloadSchedule(operations)
    assert [str(item) for item in named.operations] == [
        "F_all 1",
        "D_all 1",
        "F_ck 1",
        "D 1",
        "D 0",
    ]
    assert named.computations == ChainSchedule(operations)


@pytest.mark.parametrize(
    "text",
    [
        # Dropped before it is copied; dropped in the second phase.
        "F_ck 1, D 1, F_all 1, O_all 1, F_all 2, D_all 1, F_all 3, B 3, P_all 1, B 2, B 1",
        "F_ck 1, F_all 2, F_all 3, B 3, D 1, F_all 1, B 2, B 1",
    ],
)
def test_what_has_no_copy_may_be_dropped_in_either_phase(text: str) -> None:
    assert has_two_phases(sequence(text).operations)
    assert sequence(text).replay(CHAIN, BYTE_PER_NS, Transfers.FLUID, 20).valid


@pytest.mark.parametrize(
    "text",
    [
        # What was copied is dropped twice: the second time after it has come back.
        "F_all 1, O_all 1, D_all 1, F_all 2, F_all 3, B 3, P_all 1, D_all 1, F_all 1, B 2, B 1",
        "F_all 1, O_all 1, F_all 2, F_all 3, B 3, D_all 1, F_all 1, B 2, B 1",
    ],
)
def test_what_was_copied_leaves_once_where_transfers_are_fluid(text: str) -> None:
    assert not has_two_phases(sequence(text).operations)


def _use(step: Step) -> tuple[str, int, int, int, int]:
    """A fluid replay counts, while an operation runs, what it leaves as well."""
    most_bytes = max(step.during_bytes, step.after_bytes)
    return (step.operation, step.start_ns, step.end_ns, most_bytes, step.after_bytes)


def test_sequences_without_transfers_replay_fluid_as_on_a_chain() -> None:
    generator = random.Random(6)
    for place in range(150):
        stages = generator.randint(1, 5)
        chain = random_chain(generator, stages)
        walk = random_sequence_with_drops(stages, generator, orderly=place % 2 > 0)
        alone = ChainSchedule(tuple(walk)).replay(chain)
        fluid = OffloadSchedule(tuple(walk)).replay(chain, BYTE_PER_NS, Transfers.FLUID)
        assert fluid.valid
        assert [_use(step) for step in fluid.steps] == [
            _use(step) for step in alone.steps if step.operation[0] != "D"
        ]
        assert fluid.peak_bytes == alone.peak_bytes


def _in_two_words(operations: Operations) -> Iterator[ChainOperation | TransferOperation]:
    """Write each ``F_none`` as ``F_ck`` and the drop of the tensor that is there."""
    saved: set[int] = set()
    for item in operations:
        if isinstance(item, TransferOperation):
            if item.tensor.kind is TensorKind.SAVED and not item.kind.is_offload:
                (saved.add if item.kind.is_prefetch else saved.discard)(item.stage)
            yield item
            continue
        if item.kind is not ChainOperationKind.FORWARD_NONE:
            yield item
        else:
            yield ChainOperation(ChainOperationKind.FORWARD_CHECKPOINT, item.stage)
            is_saved = item.stage - 1 in saved
            kind = TensorKind.SAVED if is_saved else TensorKind.PLAIN
            yield TransferOperation.drop(Tensor(kind, item.stage - 1))
            saved.discard(item.stage - 1)
        if item.kind is ChainOperationKind.FORWARD_ALL:
            saved.add(item.stage)
        elif item.kind is ChainOperationKind.BACKWARD:
            saved.discard(item.stage)


def _spans(replay: Replay) -> list[tuple[int, int]]:
    return [(item.start_ns, item.end_ns) for item in (*replay.steps, *replay.transfers)]


def test_a_forward_that_drops_its_input_is_one_that_keeps_it_and_a_drop() -> None:
    generator = random.Random(5)
    compared = 0
    for _ in range(400):
        stages = generator.randint(2, 5)
        chain = random_chain(generator, stages)
        link = Link(generator.choice((5 * 10**8, 10**9, 2 * 10**9)))
        operations = random_sequence(stages, generator, transfers=True, drops=True)
        in_two_words = list(_in_two_words(operations))
        free = OffloadSchedule(tuple(operations)).replay(chain, link)
        assert free.valid
        memory_bytes = generator.randint(free.peak_bytes * 2 // 3, free.peak_bytes)
        one = OffloadSchedule(tuple(operations)).replay(chain, link, memory_bytes=memory_bytes)
        two = OffloadSchedule(tuple(in_two_words)).replay(chain, link, memory_bytes=memory_bytes)
        assert _spans(one) == _spans(two)
        assert one.peak_bytes == two.peak_bytes
        assert len(one.violations) == len(two.violations)
        compared += len(in_two_words) > len(operations) and one.valid
    assert compared > 30
