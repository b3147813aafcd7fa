"""Each correction of RR-9302's print, on a tiny chain where the print gives a wrong answer.

Every wrong reading is put into the recurrence by itself, and the wrong answer that it gives stands
beside the right one of the brute force, of the corrected recurrence, and of rotor.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from jettison import Chain, RematChain
from jettison.remat_chain import ChainOperation, ChainOperationKind, ChainSchedule
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.remat_chain.rotor import solve_rotor
from tests.drawing.chains import unit_chain
from tests.remat_chain.oracles.brute_force import fastest_in, fastest_persistent
from tests.remat_chain.oracles.judged_chains import judged_chains
from tests.remat_chain.oracles.recurrence import Pairs, Recurrence, need_all

RIGHT = Recurrence()


def _solved_ns(chain: Chain, memory_bytes: int) -> int | None:
    schedule = solve_rotor(RematChain(chain, memory_bytes), SolveOptions()).schedule
    if schedule is None:
        return None
    assert isinstance(schedule, ChainSchedule)
    return schedule.replay(chain, memory_bytes).time_ns


def test_the_corrected_recurrence_gives_the_answers_of_the_brute_force() -> None:
    for item in judged_chains()[::10]:
        for memory in item.memories():
            assert RIGHT.fastest(item.chain, memory) == fastest_in(item.persistent, memory)


def test_saving_all_needs_room_for_all_that_is_saved_and_not_only_for_the_output() -> None:
    # Correction 1, in m_all. a^0 = 1, ā^1 = 3, a^1 = 0. F_all 1 holds 1 + 3, and B 1 writes the
    # gradient of the input on top: 5 bytes. With a^1 in place of ā^1, m_all is 1, and 1 + 1 = 2
    # bytes seem to do.
    def need_with_outputs(chain: Chain, s: int, t: int) -> int:
        stages = tuple(replace(item, saved_bytes=item.output_bytes) for item in chain.stages)
        return need_all(replace(chain, stages=stages), s, t)

    chain = unit_chain(1, {"saved_bytes": 3})
    wrong = Recurrence(need_all=need_with_outputs)
    assert [wrong.fastest(chain, memory) for memory in (1, 2, 4)] == [None, 2, 2]
    for memory, time_ns in ((4, None), (5, 2)):
        assert fastest_persistent(chain, memory) == time_ns
        assert RIGHT.fastest(chain, memory) == time_ns
        assert _solved_ns(chain, memory) == time_ns


def test_what_is_saved_takes_all_of_its_memory_from_the_rest_of_the_chain() -> None:
    # Correction 1, in C_all. ā^1 = 4 and ā^2 = 1, nothing else has a size. In 4 bytes the two
    # cannot be held together, so that F 1 runs twice: 4 + 1 ns. Subtracting a^1 = 0 leaves all 4
    # bytes for stage 2, and 4 ns seem to do.
    def output_bytes(chain: Chain, s: int) -> int:
        return chain.stage(s).output_bytes

    chain = unit_chain(0, {"saved_bytes": 4}, {"saved_bytes": 1})
    assert Recurrence(subtracted_bytes=output_bytes).fastest(chain, 4) == 4
    for memory, time_ns in ((3, None), (4, 5), (5, 4)):
        assert fastest_persistent(chain, memory) == time_ns
        assert RIGHT.fastest(chain, memory) == time_ns
        assert _solved_ns(chain, memory) == time_ns


def test_a_backward_needs_room_for_the_gradient_that_it_writes() -> None:
    # Correction 2. a^0 = 2 and ā^1 = 1: B 1 holds 2 + 1 and writes 2, which makes 5. Without what
    # it writes, 3 seem to do.
    def need_without_gradient(chain: Chain, s: int, t: int) -> int:
        return need_all(replace(chain, backward_overhead_holds_gradient=True), s, t)

    chain = unit_chain(2, {"saved_bytes": 1})
    assert Recurrence(need_all=need_without_gradient).fastest(chain, 3) == 2
    for memory, time_ns in ((3, None), (4, None), (5, 2)):
        assert fastest_persistent(chain, memory) == time_ns
        assert RIGHT.fastest(chain, memory) == time_ns
        assert _solved_ns(chain, memory) == time_ns


def test_an_overhead_that_was_measured_as_a_full_peak_holds_that_gradient_already() -> None:
    # The other convention, on the same chain: 2 + 1 bytes do, and counting the gradient again
    # would ask for 5.
    chain = replace(unit_chain(2, {"saved_bytes": 1}), backward_overhead_holds_gradient=True)
    for memory, time_ns in ((2, None), (3, 2)):
        assert fastest_persistent(chain, memory) == time_ns
        assert RIGHT.fastest(chain, memory) == time_ns
        assert _solved_ns(chain, memory) == time_ns


@pytest.mark.parametrize("output_bytes", [0, 1])
def test_a_sub_chain_is_ready_before_it_is_read(output_bytes: int) -> None:
    # Correction 3. Three stages that save 2 each, and a^1 = a^2. In the order of Algorithm 1, s
    # ascending, C(2, 3) is not there yet when C(1, 3) reads it, and what is left is to split at 3.
    def starts_ascending(count: int) -> Pairs:
        return ((s, t) for s in range(1, count) for t in range(s + 1, count + 1))

    sizes = {"output_bytes": output_bytes, "saved_bytes": 2}
    chain = unit_chain(0, sizes, sizes, {"saved_bytes": 2})
    memory = chain.store_all_peak_bytes
    # Saving everything takes 6 ns. After a split at 3, F 1 and F 2 run twice: 8 ns.
    assert Recurrence(order=starts_ascending).fastest(chain, memory) == 8
    assert fastest_persistent(chain, memory) == RIGHT.fastest(chain, memory) == 6
    assert _solved_ns(chain, memory) == 6


def test_passing_through_stops_before_the_stage_whose_input_is_kept() -> None:
    # Correction 4. The chain of C_all above: in 4 bytes the split is at s' = 2. Algorithm 2 as
    # printed goes on with F_none up to 2, which consumes the a^1 that was to be kept.
    chain = unit_chain(0, {"saved_bytes": 4}, {"saved_bytes": 1})
    solved = solve_rotor(RematChain(chain, 4), SolveOptions()).schedule
    assert isinstance(solved, ChainSchedule)
    assert [str(operation) for operation in solved.operations] == [
        "F_ck 1",
        "F_all 2",
        "B 2",
        "F_all 1",
        "B 1",
    ]
    assert solved.replay(chain, 4).valid
    extra = ChainOperation(ChainOperationKind.FORWARD_NONE, 2)
    printed = ChainSchedule((solved.operations[0], extra, *solved.operations[1:]))
    assert [str(item) for item in printed.replay(chain, 4).violations] == [
        "operation 2 (F_all 2): input missing: a^1",
        "operation 3 (B 2): input missing: a^1",
    ]


def _need_all_of_one_stage(chain: Chain, s: int, t: int) -> int:
    del t
    return need_all(chain, s, s)


def test_saving_all_does_not_need_room_for_a_gradient_that_is_not_there_yet() -> None:
    # Correction 5, where m_all(s, s) asks for too much. a^1 = ā^1 = 2 and of^1 = 3. At the start
    # the gradient of the loss, which has no size, is in memory: F_all 1 takes 2 + 3 = 5, F_all 2
    # 2, B 2 2 + 2 = 4, B 1 2 + 2 = 4. In 5 bytes everything is saved: 4 ns. m_all(1, 1) counts
    # the gradient of a^1 as well, 2 + 2 + 3 = 7, and nothing seems to fit below.
    chain = unit_chain(0, {"output_bytes": 2, "saved_bytes": 2, "forward_overhead_bytes": 3}, {})
    wrong = Recurrence(need_all=_need_all_of_one_stage)
    assert [wrong.fastest(chain, memory) for memory in (5, 6, 7)] == [None, None, 4]
    for memory, time_ns in ((4, None), (5, 4), (6, 4)):
        assert fastest_persistent(chain, memory) == time_ns
        assert RIGHT.fastest(chain, memory) == time_ns
        assert _solved_ns(chain, memory) == time_ns


def test_saving_and_passing_need_room_for_their_own_overheads() -> None:
    # a^1 = 1 and ā^1 = 3; F 1 has an overhead of 4, where it saves of 2. Overheads hold gradients.
    # F_all 1 takes 3 + 2 = 5 bytes, F_ck 1 takes 1 + 4 = 5, the loss saves 2 beside 3 and then fits
    # in 5 as well: all is saved in 4 ns. One overhead for both, the larger one, would ask for 7.
    sizes = {"output_bytes": 1, "saved_bytes": 3, "forward_overhead_bytes": 4}
    chain = replace(
        unit_chain(0, sizes | {"saving_overhead_bytes": 2}, {"saved_bytes": 2}),
        backward_overhead_holds_gradient=True,
    )
    shared = replace(
        chain, stages=(replace(chain.stages[0], saving_overhead_bytes=None), chain.stages[1])
    )
    assert [RIGHT.fastest(shared, memory) for memory in (5, 6, 7)] == [None, None, 4]
    for memory, time_ns in ((4, None), (5, 4), (6, 4)):
        assert fastest_persistent(chain, memory) == time_ns
        assert RIGHT.fastest(chain, memory) == time_ns
        assert _solved_ns(chain, memory) == time_ns
    # With overheads of 6 and 4 and a loss that saves 5, F_all 1 takes 7 bytes and the loss 3 + 5.
    # In 7 there is F_ck 1 (1 + 6) and then the loss (1 + 5), but F_all 1 beside the gradient of a^1
    # takes 1 + 3 + 4.
    wide = {"output_bytes": 1, "saved_bytes": 3, "forward_overhead_bytes": 6}
    chain = replace(
        unit_chain(0, wide | {"saving_overhead_bytes": 4}, {"saved_bytes": 5}),
        backward_overhead_holds_gradient=True,
    )
    for memory, time_ns in ((7, None), (8, 4)):
        assert fastest_persistent(chain, memory) == time_ns
        assert RIGHT.fastest(chain, memory) == time_ns
        assert _solved_ns(chain, memory) == time_ns


def test_saving_all_needs_room_for_the_gradient_that_is_there() -> None:
    # Correction 5, where m_all(s, s) asks for too little. a^1 = ā^1 = 2, of^1 = 5, a^2 = ā^2 = 3,
    # ā^3 = 5; overheads hold the gradients. In 9 bytes only the loss runs first: F_ck 1 (2 + 5),
    # F_none 2 (2 + 3), F_all 3 (3 + 5), B 3 (8), after which the gradient of a^2, 3, is there.
    # F 1 beside it takes 3 + 2 + 5 = 10, whether it saves all or not. m_all(1, 1) has the
    # gradient of a^1 in its place: 2 + 2 + 5 = 9.
    chain = replace(
        unit_chain(
            0,
            {"output_bytes": 2, "saved_bytes": 2, "forward_overhead_bytes": 5},
            {"output_bytes": 3, "saved_bytes": 3},
            {"saved_bytes": 5},
        ),
        backward_overhead_holds_gradient=True,
    )
    # Six operations of 1 ns, and F 1 and F 2 a second time.
    assert Recurrence(need_all=_need_all_of_one_stage).fastest(chain, 9) == 8
    for memory, time_ns in ((9, None), (10, 6)):
        assert fastest_persistent(chain, memory) == time_ns
        assert RIGHT.fastest(chain, memory) == time_ns
        assert _solved_ns(chain, memory) == time_ns
