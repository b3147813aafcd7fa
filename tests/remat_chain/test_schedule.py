"""The replay of rotor sequences: time, memory, every rule, and the class of the schedule."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jettison import Chain, ScheduleClass
from jettison.remat_chain import ChainOperation, ChainOperationKind, ChainSchedule
from jettison.schedules.core.replay import Rule
from tests.drawing.chains import chains, random_chain
from tests.remat_chain.oracles.brute_force import ANYTHING, Held, Move, moves, start
from tests.remat_chain.sequences import LOSS, layer, sequence


def _violations(text: str, chain: Chain, memory_bytes: int | None = None) -> list[str]:
    return [str(item) for item in sequence(text).replay(chain, memory_bytes).violations]


# The chain with L = 4 for which RR-9302 gives a sequence in Section 3.1.
FOUR_LAYERS = Chain(
    name="four layers",
    input_bytes=1,
    stages=(
        layer("1"),
        layer("2"),
        layer("3", forward_overhead_bytes=4),
        layer("4"),
        LOSS,
    ),
)
EXAMPLE = (
    "F_ck 1, F_none 2, F_ck 3, F_all 4, F_all 5, B 5, B 4, F_all 3, B 3, F_all 1, F_all 2, B 2, B 1"
)
ONE_LAYER = Chain(name="one layer", input_bytes=1, stages=(layer("1"), LOSS))
TWO_LAYERS = Chain(name="two layers", input_bytes=1, stages=(layer("1"), layer("2"), LOSS))


def test_each_kind_of_forward_takes_its_own_overhead() -> None:
    wide = layer("1", forward_overhead_bytes=6, saving_overhead_bytes=5)
    chain = Chain(name="one layer", input_bytes=1, stages=(wide, LOSS))
    replay = sequence("F_ck 1, F_all 2, B 2, F_all 1, B 1").replay(chain)
    # An input of 1, a^1 of 2, which is also its gradient, a-bar^1 of 3; the loss saves 1.
    assert [step.during_bytes for step in replay.steps] == [
        1 + 2 + 6,  # F_ck 1
        3 + 1,  # F_all 2
        4 + 2,  # B 2
        3 + 3 + 5,  # F_all 1, beside the gradient
        6 + 1,  # B 1
    ]
    # With one overhead for both, the larger one, F_all 1 would take a byte more.
    assert replay.peak_bytes == 11


def test_the_example_of_the_report_is_worked_out_by_hand() -> None:
    replay = sequence(EXAMPLE).replay(FOUR_LAYERS)
    assert replay.valid
    # Eight forwards of 1 and five backwards of 10.
    assert replay.time_ns == 58
    # During and after each operation; in brackets what is in memory after it.
    assert [(step.during_bytes, step.after_bytes) for step in replay.steps] == [
        (1 + 2, 3),  # F_ck 1    (a0, a1)
        (3 + 2, 3),  # F_none 2  (a0, a2)
        (3 + 2 + 4, 5),  # F_ck 3    (a0, a2, a3), with an overhead of 4
        (5 + 3, 8),  # F_all 4   (a0, a2, a3, ā4)
        (8 + 1, 9),  # F_all 5   (a0, a2, a3, ā4, ā5)
        (9 + 2, 10),  # B 5       (a0, a2, a3, ā4, δ4): a4 is a part of ā4, which stays
        (10 + 2, 5),  # B 4       (a0, a2, δ3): a3 is dropped
        (5 + 3 + 4, 8),  # F_all 3   (a0, a2, δ3, ā3)
        (8 + 2, 3),  # B 3       (a0, δ2)
        (3 + 3, 6),  # F_all 1   (a0, δ2, ā1)
        (6 + 3, 9),  # F_all 2   (a0, δ2, ā1, ā2)
        (9 + 2, 6),  # B 2       (a0, ā1, δ1)
        (6 + 1, 1),  # B 1       (δ0)
    ]
    assert replay.peak_bytes == 12


def test_the_example_of_the_report_repeats_three_forwards() -> None:
    steps = sequence(EXAMPLE).replay(FOUR_LAYERS).steps
    assert [step.operation for step in steps if step.repeated] == ["F_all 3", "F_all 1", "F_all 2"]


def test_an_overhead_that_holds_the_gradient_is_not_counted_twice() -> None:
    chain = replace(FOUR_LAYERS, backward_overhead_holds_gradient=True)
    replay = sequence(EXAMPLE).replay(chain)
    # The backwards lose what they write: 9, 10, 8, 9 and 6 in place of 11, 12, 10, 11 and 7.
    # After B 5 there are 10 bytes, which no operation had needed during it.
    backwards = [step for step in replay.steps if step.operation.startswith("B")]
    assert [step.during_bytes for step in backwards] == [9, 10, 8, 9, 6]
    assert backwards[0].after_bytes == 10
    # F_all 3 is the peak still.
    assert replay.peak_bytes == 12


def test_what_stays_after_a_backward_counts_where_its_overhead_is_smaller() -> None:
    chain = replace(ONE_LAYER, backward_overhead_holds_gradient=True)
    # F_all 1 1+3, F_all 2 4+1 = 5, B 2 5 while it runs; ā2, 1, goes and δ1, 2, comes: 6 after it.
    replay = sequence("F_all 1, F_all 2, B 2, B 1").replay(chain, 5)
    assert replay.peak_bytes == 6
    assert [str(item) for item in replay.violations] == [
        "operation 2 (B 2): out of memory: δ^1, 1 bytes over the limit",
        # B 1 starts from those 6, adds nothing to them, and is not to blame.
    ]


def test_an_operation_over_the_limit_is_named_with_its_output_and_its_excess() -> None:
    # In 11 bytes only B 4 and F_all 3 of the example, 12 each, do not fit.
    assert _violations(EXAMPLE, FOUR_LAYERS, 11) == [
        "operation 6 (B 4): out of memory: δ^3, 1 bytes over the limit",
        "operation 7 (F_all 3): out of memory: ā^3, 1 bytes over the limit",
    ]
    assert sequence(EXAMPLE).replay(FOUR_LAYERS, 12).valid


def test_a_forward_that_keeps_its_input_names_its_plain_output() -> None:
    # F_ck 3 takes 9 in the example, F_ck 1 3.
    messages = _violations("F_ck 1, F_none 2, F_ck 3", FOUR_LAYERS, 2)
    assert messages[0] == "operation 0 (F_ck 1): out of memory: a^1, 1 bytes over the limit"
    assert messages[2] == "operation 2 (F_ck 3): out of memory: a^3, 7 bytes over the limit"


def test_a_forward_needs_the_output_of_the_stage_before() -> None:
    assert _violations("F_ck 2", TWO_LAYERS)[0] == "operation 0 (F_ck 2): input missing: a^1"


def test_what_has_been_consumed_is_missing() -> None:
    # F_none 2 consumed a^1, so that the second one finds none.
    messages = _violations("F_ck 1, F_none 2, F_none 2", TWO_LAYERS)
    assert messages[0] == "operation 2 (F_none 2): input missing: a^1"


def test_consuming_the_input_of_the_chain_leaves_the_last_backward_without_it() -> None:
    messages = _violations("F_none 1, F_all 2, B 2, F_all 1, B 1", ONE_LAYER)
    assert messages == [
        "operation 3 (F_all 1): input missing: a^0",
        "operation 4 (B 1): input missing: a^0",
    ]


def test_a_backward_needs_all_that_was_to_be_saved() -> None:
    # F_ck 2 leaves a^2 of the loss, but not its ā.
    messages = _violations("F_ck 1, F_ck 2, B 2, F_all 1, B 1", ONE_LAYER)
    assert messages == ["operation 2 (B 2): input missing: ā^2"]


def test_a_backward_needs_the_input_of_its_stage() -> None:
    # F_none 2 consumes a^1 after F_all 2 has saved the loss.
    messages = _violations("F_ck 1, F_all 2, F_none 2, B 2, F_all 1, B 1", ONE_LAYER)
    assert messages == ["operation 3 (B 2): input missing: a^1"]


def test_a_saved_output_stands_in_for_a_plain_one() -> None:
    # F_all 2 and B 2 read a^1 from ā^1, and B 2 leaves ā^1 in memory for B 1.
    assert _violations("F_all 1, F_all 2, B 2, B 1", ONE_LAYER) == []


def test_backwards_run_from_the_loss_to_the_first_stage() -> None:
    messages = _violations("F_all 1, F_all 2, F_all 3, B 3, B 1, B 2", TWO_LAYERS)
    assert messages[0] == "operation 4 (B 1): wrong gradient: δ^1"


def test_every_backward_that_is_left_out_is_named() -> None:
    messages = _violations("F_all 1, F_all 2, F_all 3, B 3", TWO_LAYERS)
    assert messages == [
        "at the end: unfinished: B 2 is missing",
        "at the end: unfinished: B 1 is missing",
    ]


def test_an_empty_sequence_is_unfinished() -> None:
    replay = ChainSchedule(()).replay(ONE_LAYER)
    assert [item.rule for item in replay.violations] == [Rule.UNFINISHED, Rule.UNFINISHED]
    assert (replay.time_ns, replay.peak_bytes) == (0, 1)


@pytest.mark.parametrize("stage", [0, 3, -1])
def test_a_stage_that_the_chain_does_not_have_is_named(stage: int) -> None:
    operation = ChainOperation(ChainOperationKind.FORWARD_ALL, stage)
    replay = ChainSchedule((operation, *sequence("F_all 1, F_all 2, B 2, B 1").operations)).replay(
        ONE_LAYER
    )
    assert [str(item) for item in replay.violations] == [
        f"operation 0 (F_all {stage}): unknown operation: stage {stage}"
    ]
    # The rest is judged as if it were not there: 2 forwards of 1 and 2 backwards of 10.
    assert replay.time_ns == 22


def test_an_input_above_the_limit_does_not_fit_from_the_start() -> None:
    violation = sequence("F_all 1, F_all 2, B 2, B 1").replay(ONE_LAYER, 0).violations[0]
    assert (violation.rule, violation.operation, violation.tensor, violation.bytes_over) == (
        Rule.OUT_OF_MEMORY,
        "start",
        "the input",
        1,
    )


def test_an_output_that_is_in_memory_already_is_written_beside_the_old_copy() -> None:
    # a0 1, a1 2: the second F_ck 1 writes 2 more bytes, and 3 stay.
    plain = sequence("F_ck 1, F_ck 1").replay(ONE_LAYER).steps[1]
    assert (plain.during_bytes, plain.after_bytes) == (5, 3)
    # a0 1, a1 2: F_all 1 writes ā1, 3, and a1 goes: 4 stay.
    whole = sequence("F_ck 1, F_all 1").replay(ONE_LAYER).steps[1]
    assert (whole.during_bytes, whole.after_bytes) == (6, 4)
    # a0 1, ā1 3: the second F_all 1 writes 3 more, and 4 stay.
    again = sequence("F_all 1, F_all 1").replay(ONE_LAYER).steps[1]
    assert (again.during_bytes, again.after_bytes) == (7, 4)
    # a0 1, ā1 3: F_ck 1 writes 2, of which nothing stays: ā1 holds a1.
    part = sequence("F_all 1, F_ck 1").replay(ONE_LAYER).steps[1]
    assert (part.during_bytes, part.after_bytes) == (6, 4)


@pytest.mark.parametrize(
    ("text", "schedule_class"),
    [
        ("F_all 1, F_all 2, F_all 3, B 3, B 2, B 1", ScheduleClass.PERSISTENT),
        # F_none 2 consumes a^1, which no operation had kept.
        ("F_ck 1, F_none 2, F_all 3, B 3, F_all 1, F_all 2, B 2, B 1", ScheduleClass.PERSISTENT),
        # F_ck 2 kept a^1 before F_none 2 consumes it.
        (
            "F_ck 1, F_ck 2, F_none 2, F_all 3, B 3, F_all 1, F_all 2, B 2, B 1",
            ScheduleClass.TABLE_1,
        ),
        # F_all 2 kept a^1 before F_none 2 consumes it.
        ("F_ck 1, F_all 2, F_none 2, F_all 3, B 3, F_all 1, B 2, B 1", ScheduleClass.TABLE_1),
        # F_none 2 consumes ā^1.
        ("F_all 1, F_none 2, F_all 3, B 3, F_all 1, F_all 2, B 2, B 1", ScheduleClass.TABLE_1),
        # The a^1 that F_none 2 consumes was never kept; the second a^1 is, until B 2.
        (
            "F_ck 1, F_none 2, F_all 3, B 3, F_ck 1, F_all 2, B 2, F_all 1, B 1",
            ScheduleClass.PERSISTENT,
        ),
    ],
)
def test_a_schedule_is_persistent_if_it_consumes_nothing_that_was_saved(
    text: str, schedule_class: ScheduleClass
) -> None:
    replay = sequence(text).replay(TWO_LAYERS)
    assert replay.valid
    assert replay.schedule_class is schedule_class


def test_random_walks_cost_what_the_brute_force_says() -> None:
    generator = random.Random(7)
    finished = persistent = 0
    for _ in range(600):
        chain = random_chain(generator, generator.randint(1, 4))
        walk = _random_walk(chain, generator)
        text = ", ".join(f"{move.kind} {move.stage}" for move in walk)
        replay = sequence(text).replay(chain)
        assert replay.time_ns == sum(move.duration_ns for move in walk)
        assert replay.peak_bytes == max(chain.input_bytes, *(move.needed_bytes for move in walk))
        left = walk[-1].after[0]
        assert [item.rule for item in replay.violations] == [Rule.UNFINISHED] * left
        assert (replay.schedule_class is ScheduleClass.PERSISTENT) == _is_persistent(chain, walk)
        finished += not left
        persistent += replay.schedule_class is ScheduleClass.PERSISTENT
    # Walks of every sort came up: 428 to the end, 173 persistent ones.
    assert 0 < finished < 600
    assert 0 < persistent < 600


def _random_walk(chain: Chain, generator: random.Random) -> list[Move]:
    """Take random operations until the last backward, 40 at most; backwards go first by chance."""
    walk: list[Move] = []
    state = start(chain)
    while state[0] > 0 and len(walk) < 40:
        offered = list(moves(chain, state, ANYTHING))
        move = offered[-1] if generator.random() < 0.3 else generator.choice(offered)
        walk.append(move)
        state = move.after
    return walk


def _is_persistent(chain: Chain, walk: list[Move]) -> bool:
    before = [start(chain), *(move.after for move in walk)]
    consumed = [
        state[1][move.stage - 1]
        for state, move in zip(before, walk, strict=False)
        if move.kind == "F_none"
    ]
    return all(held is Held.PLAIN for held in consumed)


_OPERATIONS = st.builds(
    ChainOperation, st.sampled_from(list(ChainOperationKind)), st.integers(-1, 5)
)


@settings(max_examples=200)
@given(chains(), st.lists(_OPERATIONS, max_size=12), st.integers(0, 60))
def test_any_sequence_is_judged_without_an_error(
    chain: Chain, operations: list[ChainOperation], memory_bytes: int
) -> None:
    schedule = ChainSchedule(tuple(operations))
    free, limited = schedule.replay(chain), schedule.replay(chain, memory_bytes)
    assert len(free.steps) == len(operations)
    assert limited.steps == free.steps
    # A limit adds violations of that limit, and takes none away.
    over = [item for item in limited.violations if item.rule is Rule.OUT_OF_MEMORY]
    others = [item for item in limited.violations if item.rule is not Rule.OUT_OF_MEMORY]
    assert tuple(others) == free.violations
    assert max((item.bytes_over for item in over), default=0) == max(
        free.peak_bytes - memory_bytes, 0
    )
