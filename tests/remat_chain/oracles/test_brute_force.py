"""Hand-derived answers for the brute force, so that what is checked against it stands on paper."""

from __future__ import annotations

from dataclasses import replace

from jettison.instances.remat_chain.chain import Chain
from tests.drawing.chains import stage_of
from tests.remat_chain.oracles.brute_force import (
    NEVER_SAVED,
    Held,
    fastest,
    fastest_in,
    fastest_persistent,
    least_memory,
    least_memory_persistent,
    moves,
    persistent_front,
    start,
    table_1_front,
)

TWO_STAGES = Chain(
    name="two stages",
    input_bytes=1,
    stages=(
        stage_of(
            "first",
            forward_ns=5,
            backward_ns=7,
            output_bytes=2,
            saved_bytes=3,
            forward_overhead_bytes=1,
        ),
        stage_of("loss", forward_ns=1, backward_ns=1, saved_bytes=4),
    ),
)

# Dropping a checkpoint early saves time: the tests below derive 5 ns and 4 ns within 3 bytes.
SLOWER_IF_PERSISTENT = Chain(
    name="slower if persistent",
    input_bytes=0,
    stages=(
        stage_of("first", forward_ns=1, output_bytes=1, saved_bytes=2),
        stage_of("second", forward_ns=1, forward_overhead_bytes=2),
        stage_of("loss", saved_bytes=3),
    ),
    backward_overhead_holds_gradient=True,
)

# Dropping a checkpoint early saves memory: 4 bytes and 3 bytes.
LARGER_IF_PERSISTENT = Chain(
    name="larger if persistent",
    input_bytes=0,
    stages=(
        stage_of("first", forward_ns=1, output_bytes=1, saved_bytes=2, forward_overhead_bytes=1),
        stage_of("second", forward_ns=1, forward_overhead_bytes=2),
        stage_of("loss"),
    ),
    backward_overhead_holds_gradient=True,
)


def test_a_loss_alone_has_one_schedule() -> None:
    chain = Chain(
        name="loss only",
        input_bytes=3,
        stages=(stage_of("loss", forward_ns=2, backward_ns=4, saved_bytes=5),),
    )
    # F_all 1 holds 3 + 5; B 1 holds 3 + 5 and writes the gradient of the input, 3.
    assert persistent_front(chain) == table_1_front(chain) == ((11, 6),)


def test_two_stages_trade_one_byte_for_one_forward() -> None:
    # Saving all: F_all 1 1+3+1 = 5, F_all 2 4+4 = 8, B 2 8+2 = 10, B 1 1+3+2+1 = 7; 14 ns.
    # Restarting: F_ck 1 1+2+1 = 4, F_all 2 3+4 = 7, B 2 7+2 = 9, then beside the gradient of 2
    # F_all 1 3+3+1 = 7 and B 1 6+1 = 7; 14+5 = 19 ns.
    assert persistent_front(TWO_STAGES) == ((10, 14), (9, 19))


def test_an_overhead_that_holds_the_gradient_makes_room_for_it() -> None:
    # As above without what the backwards write: saving all 8 (F_all 2), restarting 7.
    chain = replace(TWO_STAGES, backward_overhead_holds_gradient=True)
    assert persistent_front(chain) == ((8, 14), (7, 19))


def test_what_a_backward_writes_counts_even_where_no_overhead_makes_room_for_it() -> None:
    # a^1 = 5, and the loss saves nothing. F_all 1 5, F_all 2 5, B 2 5; after it a-bar^1 and the
    # gradient of a^1 are in memory, 10 bytes. Restarting drops a^1 as its gradient comes (5), but
    # then F_all 1 writes 5 beside that gradient: 10 again.
    chain = Chain(
        name="no room",
        input_bytes=0,
        stages=(stage_of("first", output_bytes=5, saved_bytes=5), stage_of("loss")),
        backward_overhead_holds_gradient=True,
    )
    assert persistent_front(chain) == ((10, 0),)


def test_the_fastest_schedule_is_read_off_the_trade_off() -> None:
    front = persistent_front(TWO_STAGES)
    assert [fastest_in(front, memory) for memory in (8, 9, 10, 11)] == [None, 19, 14, 14]
    assert [fastest_persistent(TWO_STAGES, memory) for memory in (8, 9, 10)] == [None, 19, 14]
    assert [fastest(TWO_STAGES, memory) for memory in (8, 9, 10)] == [None, 19, 14]


def test_dropping_a_checkpoint_early_can_save_time() -> None:
    # Within 3 bytes the loss, which saves 3, runs with nothing else of any size in memory.
    # Persistent: F_ck 1, F_none 2, F_all 3 (3), B 3; F_ck 1, F_all 2 (1+2 = 3), B 2 drops a^1;
    # F_all 1 beside the gradient of a^1 (1+2 = 3). Five forwards of 1 ns.
    assert fastest_persistent(SLOWER_IF_PERSISTENT, 3) == 5
    # Otherwise: F_ck 1, F_all 2 keeps a-bar^2, which has no size, and F_none 2 drops a^1, which
    # F_all 2 had saved; F_all 3, B 3, F_all 1, B 2 (2, then 1 for the gradient), B 1. Four.
    assert fastest(SLOWER_IF_PERSISTENT, 3) == 4


def test_dropping_a_checkpoint_early_can_save_memory() -> None:
    # F 2 needs 2 beside its input. If the input is a-bar^1, 2+2 = 4. If it is a^1, B 2 turns it
    # into its gradient, 1, and F_all 1 adds 2+1 to that: 4 again.
    assert least_memory_persistent(LARGER_IF_PERSISTENT) == 4
    # F_ck 1 (2), F_all 2 (3), F_none 2 (3) drops a^1, F_all 1 (3), B 2 (2+1 = 3), B 1.
    assert least_memory(LARGER_IF_PERSISTENT) == 3


def test_a_saved_value_is_consumed_by_nothing_in_a_persistent_schedule() -> None:
    # After F_ck 1, F_ck 2 has read a^1: F_none 2 may not consume it any more.
    state = start(LARGER_IF_PERSISTENT)
    for wanted in (("F_ck", 1), ("F_ck", 2)):
        state = next(
            move.after
            for move in moves(LARGER_IF_PERSISTENT, state, NEVER_SAVED)
            if (move.kind, move.stage) == wanted
        )
    assert state == (3, (Held.CHECKPOINTED, Held.CHECKPOINTED, Held.PLAIN, Held.NOT))
    offered = {(move.kind, move.stage) for move in moves(LARGER_IF_PERSISTENT, state, NEVER_SAVED)}
    assert ("F_none", 2) not in offered
    assert ("F_none", 3) in offered
