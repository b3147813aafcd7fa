"""Sequences on a chain that drop values for nothing: their replay, and their class."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jettison import Chain, ScheduleClass
from jettison.core import Replay
from jettison.remat_chain import ChainOperation, ChainOperationKind, ChainSchedule
from jettison.schedules.core.replay import Rule
from jettison.solvers.remat_chain.least_memory import chain_schedule
from tests.drawing.chains import chain_of, chains, random_chain
from tests.remat_chain.oracles.drop_referee import Referee
from tests.remat_chain.random_sequences import random_sequence_with_drops
from tests.remat_chain.sequences import LOSS, layer, sequence

PERSISTENT = ScheduleClass.PERSISTENT
WITH_DROPS = ScheduleClass.PERSISTENT_WITH_DROPS


THREE = Chain(name="three", input_bytes=1, stages=(layer("1"), layer("2"), LOSS))
FOUR = Chain(name="four", input_bytes=1, stages=(layer("1"), layer("2"), layer("3"), LOSS))

# a^1 is dropped under ā^2 and computed again right before B 2.
UNDER_SAVED = "F_ck 1, F_all 2, D 1, F_all 3, B 3, F_all 1, B 2, B 1"


def test_a_dropped_input_that_is_made_again_is_worked_out_by_hand() -> None:
    replay = sequence(UNDER_SAVED).replay(THREE)
    assert replay.valid
    # Four forwards of 1 and three backwards of 10; the drop takes no time.
    assert replay.time_ns == 34
    # During and after each operation; in brackets what is in memory after it.
    assert [(step.during_bytes, step.after_bytes) for step in replay.steps] == [
        (1 + 2, 3),  # F_ck 1  (a0, a1)
        (3 + 3, 6),  # F_all 2 (a0, a1, ā2)
        (6, 4),  # D 1     (a0, ā2)
        (4 + 1, 5),  # F_all 3 (a0, ā2, ā3)
        (5 + 2, 6),  # B 3     (a0, ā2, δ2)
        (6 + 3, 9),  # F_all 1 (a0, ā1, ā2, δ2)
        (9 + 2, 6),  # B 2     (a0, ā1, δ1)
        (6 + 1, 1),  # B 1     (δ0)
    ]
    assert replay.peak_bytes == 11
    assert replay.schedule_class is WITH_DROPS
    # Without the drop B 3 starts from 7 bytes, and B 2 does not run F_all 1 beside ā2 and δ2.
    assert [step.repeated for step in replay.steps] == [False] * 5 + [True, False, False]


def test_a_drop_frees_what_was_saved_where_that_is_there() -> None:
    # a0 1, ā1 3: the drop leaves 1.
    step = sequence("F_all 1, D 1").replay(THREE).steps[1]
    assert (step.operation, step.start_ns, step.end_ns, step.after_bytes) == ("D 1", 1, 1, 1)


def test_a_drop_takes_no_memory_and_is_not_to_blame_for_too_little() -> None:
    replay = sequence("F_all 1, D 1").replay(THREE, 2)
    assert [str(item) for item in replay.violations[:1]] == [
        "operation 0 (F_all 1): out of memory: ā^1, 2 bytes over the limit"
    ]
    assert all(item.position != 1 for item in replay.violations)


def test_a_drop_of_what_is_not_there_is_named() -> None:
    messages = [str(item) for item in sequence("D 1, F_ck 1, D 1, D 1").replay(THREE).violations]
    assert messages[:2] == [
        "operation 0 (D 1): not in memory: a^1",
        "operation 3 (D 1): not in memory: a^1",
    ]


def test_dropping_the_input_of_the_chain_leaves_the_first_backward_without_it() -> None:
    messages = [
        str(item)
        for item in sequence("F_all 1, D 0, F_all 2, F_all 3, B 3, B 2, B 1")
        .replay(THREE)
        .violations
    ]
    assert messages == ["operation 6 (B 1): input missing: a^0"]


@pytest.mark.parametrize("stage", [-1, 4])
def test_a_stage_that_the_chain_does_not_have_is_named(stage: int) -> None:
    (violation, *_) = sequence(f"D {stage}").replay(THREE).violations
    assert (violation.rule, violation.tensor) == (Rule.UNKNOWN_OPERATION, f"stage {stage}")


@pytest.mark.parametrize(
    ("text", "schedule_class"),
    [
        (UNDER_SAVED, WITH_DROPS),
        # F_ck 2 and D 1 are F_none 2 in two words; what kept no checkpoint is no checkpoint.
        ("F_ck 1, F_ck 2, D 1, F_all 3, B 3, F_all 1, F_all 2, B 2, B 1", WITH_DROPS),
        # Rule 1: ā^2 goes before B 2.
        ("F_ck 1, F_all 2, D 2, F_all 2, F_all 3, B 3, B 2, F_all 1, B 1", ScheduleClass.ALL),
        # Rule 2: F_ck 2 has kept a^1 twice, and ā^2 is not there when it goes.
        ("F_ck 1, F_ck 2, F_ck 2, D 1, F_all 3, B 3, F_all 1, F_all 2, B 2, B 1", "all schedules"),
        # Rule 3: F_none 2 consumes a^1, from which F_all 2 has run.
        ("F_ck 1, F_all 2, F_none 2, F_all 3, B 3, F_all 1, B 2, B 1", ScheduleClass.TABLE_1),
        # Rule 4: F_all 1 runs before B 3, with ā^2 in memory.
        ("F_ck 1, F_all 2, D 1, F_all 3, F_all 1, B 3, B 2, B 1", ScheduleClass.ALL),
        # F_ck 2 kept a^1, which F_none 2 consumes: not persistent, and nothing is dropped.
        ("F_ck 1, F_ck 2, F_none 2, F_all 3, B 3, F_all 1, F_all 2, B 2, B 1", "table-1"),
        # Without a drop rule 4 may be broken: F_ck 1 makes a^1 again, beside ā^2.
        ("F_ck 1, F_all 2, F_all 3, F_ck 1, B 3, B 2, F_all 1, B 1", PERSISTENT),
    ],
)
def test_the_class_of_a_sequence_follows_its_rules(
    text: str, schedule_class: ScheduleClass | str
) -> None:
    replay = sequence(text).replay(THREE)
    assert replay.valid
    assert replay.schedule_class == schedule_class


def test_two_drops_may_be_nested() -> None:
    # a^2 comes back through F_all 2, whose own input a^1 is dropped and comes back through F_all 1.
    text = "F_ck 1, F_none 2, F_all 3, D 2, F_all 4, B 4, F_ck 1, F_all 2, D 1, B 3, F_all 1, B 2"
    replay = sequence(f"{text}, B 1").replay(FOUR)
    assert replay.valid
    assert replay.schedule_class is WITH_DROPS


def test_the_smallest_chain_on_which_a_drop_lowers_the_least_memory() -> None:
    # a = 0 10 10 0, ā = 10 10 0, of = 0 20 0, ob = 0 0 15: 40 bytes with a drop, and
    # drop-dp's search finds no schedule of Table 1 in 41.
    chain = chain_of(0, (1, 10, 10, 0, 0), (1, 10, 10, 20, 0), (1, 0, 0, 0, 15))
    with_drop = sequence("F_ck 1, F_all 2, D 1, F_all 3, B 3, F_all 1, B 2, B 1")
    replay = with_drop.replay(chain, 40)
    # F_all 2 takes 10 + 10 + 20; after the drop B 3 takes 10 + 0 + 15 + 10, B 2 40.
    assert replay.valid
    assert replay.peak_bytes == 40


def test_a_kernel_writes_a_drop_as_its_fifth_operation() -> None:
    assert [str(item) for item in chain_schedule([(1, 1), (0, 2), (4, 1), (3, 2)]).operations] == [
        "F_ck 1",
        "F_all 2",
        "D 1",
        "B 2",
    ]


def _judged(schedule: ChainSchedule, chain: Chain) -> Replay:
    """Replay a sequence, and let the second judge look at it."""
    replay = schedule.replay(chain)
    referee = Referee(chain, [(str(item.kind), item.stage) for item in schedule.operations])
    assert (replay.time_ns, replay.peak_bytes) == (referee.time_ns, referee.peak_bytes)
    found = [(item.position, str(item.rule), item.tensor) for item in replay.violations]
    assert found == referee.broken
    if replay.valid:
        assert replay.schedule_class == referee.schedule_class
    return replay


def test_random_walks_are_judged_as_a_second_judge_does() -> None:
    generator = random.Random(19)
    classes: Counter[ScheduleClass] = Counter()
    dropped = 0
    for place in range(600):
        stages = generator.randint(1, 6)
        chain = random_chain(generator, stages)
        walk = random_sequence_with_drops(stages, generator, orderly=place % 3 > 0)
        replay = _judged(ChainSchedule(tuple(walk)), chain)
        assert replay.valid
        classes[replay.schedule_class] += 1
        dropped += any(item.kind is ChainOperationKind.DROP for item in walk)
    # Walks of every class came up often.
    assert min(classes.values()) > 20
    assert len(classes) == 4
    assert dropped > 250


_OPERATIONS = st.builds(
    ChainOperation, st.sampled_from(list(ChainOperationKind)), st.integers(-1, 5)
)


@settings(max_examples=150)
@given(chains(), st.lists(_OPERATIONS, max_size=14))
def test_any_sequence_is_judged_as_a_second_judge_does(
    chain: Chain, operations: list[ChainOperation]
) -> None:
    _judged(ChainSchedule(tuple(operations)), chain)
