"""Gaps and needs of sequences of computations, worked out by hand and compared with the replay."""

from __future__ import annotations

import pytest

from jettison.instances.core.errors import InputError
from jettison.schedules.remat_chain.contents import Tensor, TensorKind
from jettison.solvers.remat_offload.tensor_lifetimes import Gap, TensorLifetimes
from tests.drawing.chains import chain_of
from tests.remat_offload.cases import offload_cases
from tests.remat_offload.sequences import sequence

INPUT, A1, A2 = (Tensor(TensorKind.PLAIN, number) for number in range(3))
SAVED_1, SAVED_2 = (Tensor(TensorKind.SAVED, number) for number in (1, 2))

# Input 1 byte; (time, a, ā, overheads) of two stages and the loss.
CHAIN = chain_of(1, (4, 2, 6, 0, 0), (3, 2, 5, 0, 0), (2, 0, 1, 0, 0))


def _lifetimes(text: str) -> TensorLifetimes:
    return TensorLifetimes(CHAIN, sequence(text).computations)


def test_a_need_is_what_is_stored_and_the_most_that_is_added() -> None:
    lifetimes = _lifetimes("F_all 1, F_all 2, F_all 3, B 3, B 2, B 1")
    # a0 1, and ā1 6: 7; ā2 5: 12; ā3 1: 13; δ2 2: 15. Without ā3, 14, and with δ1 2: 16. Without
    # ā2 and δ2, 9, and with δ0 1: 10.
    assert lifetimes.needs_bytes == [7, 12, 13, 15, 16, 10]
    assert lifetimes.turn == 3


def test_a_gap_lies_between_two_uses_with_an_operation_between_them() -> None:
    lifetimes = _lifetimes("F_all 1, F_all 2, F_all 3, B 3, B 2, B 1")
    # a0 is read by F 1 and B 1. ā1 is read by F 2 and B 2. ā2, of F 3 and B 3, has no gap.
    assert lifetimes.gaps == (Gap(INPUT, 0, 5), Gap(SAVED_1, 1, 4))
    assert [lifetimes.maker(gap) for gap in lifetimes.gaps] == [-1, 0]


def test_a_value_that_is_computed_again_has_a_gap_of_its_own() -> None:
    lifetimes = _lifetimes("F_ck 1, F_ck 2, F_all 3, B 3, F_all 2, B 2, F_all 1, B 1")
    # a1 is made by F 1 and read by both forwards of stage 2, and by its backward. a0 is read by
    # both of stage 1.
    assert lifetimes.gaps == (Gap(INPUT, 0, 6), Gap(A1, 1, 4))
    assert lifetimes.gap_at_turn(A1) == Gap(A1, 1, 4)
    # a2 is read by the loss, 2, and dropped by its backward, 3.
    assert lifetimes.gap_at_turn(A2) == Gap(A2, 2, 3)


def test_a_tensor_that_is_made_after_the_turn_has_no_gap_at_it() -> None:
    lifetimes = _lifetimes("F_ck 1, F_none 2, F_all 3, B 3, F_ck 1, F_all 2, B 2, F_all 1, B 1")
    with pytest.raises(InputError, match=r"ā\^2 is not in memory at the first backward"):
        lifetimes.gap_at_turn(SAVED_2)
    with pytest.raises(InputError, match=r"a\^1 is not in memory at the first backward"):
        lifetimes.gap_at_turn(A1)


def test_computations_that_miss_an_input_are_refused() -> None:
    with pytest.raises(InputError, match=r"input missing: a\^1"):
        _lifetimes("F_all 2")


def test_the_largest_need_is_the_peak_of_the_replay() -> None:
    for _, case in offload_cases(seed=1, count=200):
        replay = case.lifetimes.computations.replay(case.chain)
        assert replay.valid
        assert max(case.lifetimes.needs_bytes) == replay.peak_bytes
        for gap in case.lifetimes.gaps:
            assert gap.start + 1 < gap.end
            assert case.lifetimes.maker(gap) <= gap.start
