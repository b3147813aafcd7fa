"""The thresholds of the chain programs, against their definition written out as loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings

from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.solvers.remat_chain.needs import ChainNeeds
from tests.drawing.chains import chains
from tests.drawing.overheads import saving_overhead

THREE_STAGES = Chain(
    name="three stages",
    input_bytes=1,
    stages=(
        Stage(
            name="first",
            forward_ns=1,
            backward_ns=1,
            output_bytes=4,
            saved_bytes=6,
            forward_overhead_bytes=2,
            backward_overhead_bytes=3,
        ),
        Stage(
            name="second",
            forward_ns=1,
            backward_ns=1,
            output_bytes=3,
            saved_bytes=5,
            forward_overhead_bytes=7,
        ),
        Stage(
            name="loss",
            forward_ns=1,
            backward_ns=1,
            output_bytes=0,
            saved_bytes=2,
            backward_overhead_bytes=1,
        ),
    ),
)


def test_the_sizes_are_those_of_the_chain() -> None:
    needs = ChainNeeds(THREE_STAGES)
    assert needs.input_bytes.tolist() == [1, 4, 3]
    assert needs.output_bytes.tolist() == [4, 3, 0]
    assert needs.saved_bytes.tolist() == [6, 5, 2]


def test_saving_all_needs_what_its_forward_or_its_backward_needs() -> None:
    needs = ChainNeeds(THREE_STAGES).forward_all
    # Stage 1: forward a^t + 6 + 2, that is 12, 11, 8 for t = 1, 2, 3; backward 4 + 6 + 1 + 3 = 14.
    assert needs[0].tolist() == [14, 14, 14]
    # Stage 2: forward 3 + 5 + 7 = 15 for t = 2, 12 for t = 3; backward 3 + 5 + 4 = 12.
    assert needs[1, 1:].tolist() == [15, 12]
    # The loss: forward 2; backward 0 + 2 + 3 + 1 = 6.
    assert needs[2, 2] == 6


def test_a_backward_overhead_that_holds_the_gradient_lowers_the_backward_only() -> None:
    needs = ChainNeeds(replace(THREE_STAGES, backward_overhead_holds_gradient=True)).forward_all
    # Stage 1: backward 4 + 6 + 3 = 13, above each of its forwards 12, 11, 8.
    assert needs[0].tolist() == [13, 13, 13]
    # Stage 2: forward 15 and 12 as before, backward 3 + 5 = 8. The loss: backward 2 + 1 = 3.
    assert needs[1, 1:].tolist() == [15, 12]
    assert needs[2, 2] == 3


def test_passing_through_needs_what_its_widest_forward_needs() -> None:
    needs = ChainNeeds(THREE_STAGES).forward_none
    # F 1 takes 4 + 2 = 6 without its input, F 2 4 + 3 + 7 = 14 with it.
    # (1, 2): F 1 beside the gradient of 3. (1, 3): F 1 and F 2 beside that of the loss, 0.
    # (2, 3): F 2 without its input, 3 + 7.
    assert [needs[0, 1], needs[0, 2], needs[1, 2]] == [9, 14, 10]


def test_a_loss_alone_has_one_threshold() -> None:
    chain = replace(THREE_STAGES, stages=THREE_STAGES.stages[-1:])
    needs = ChainNeeds(chain)
    # 0 + 2 + 1 (the gradient of the input) + 1.
    assert needs.forward_all.tolist() == [[4]]
    assert needs.forward_none.tolist() == [[0]]


def test_the_thresholds_are_64_bit_integers() -> None:
    needs = ChainNeeds(THREE_STAGES)
    for array in (needs.input_bytes, needs.saved_bytes, needs.forward_all, needs.forward_none):
        assert array.dtype == np.int64


@settings(max_examples=200)
@given(chains(max_stages=6))
def test_the_thresholds_are_those_of_the_recurrence(chain: Chain) -> None:
    needs = ChainNeeds(chain)
    a = [chain.input_bytes, *(stage.output_bytes for stage in chain)]
    d = [chain.input_bytes, *(stage.gradient_bytes for stage in chain)]
    for s, stage in enumerate(chain, start=1):
        written = 0 if chain.backward_overhead_holds_gradient else d[s - 1]
        backward = d[s] + stage.saved_bytes + written + stage.backward_overhead_bytes
        for t in range(s, len(chain) + 1):
            forward = d[t] + stage.saved_bytes + saving_overhead(stage)
            assert needs.forward_all[s - 1, t - 1] == max(forward, backward)
            if t > s:
                passing = [a[s] + stage.forward_overhead_bytes]
                passing += [
                    a[j - 1] + a[j] + chain.stage(j).forward_overhead_bytes for j in range(s + 1, t)
                ]
                assert needs.forward_none[s - 1, t - 1] == d[t] + max(passing)


def test_sizes_near_the_largest_amount_do_not_overflow() -> None:
    largest = 2**52
    stage = replace(THREE_STAGES.stages[0], output_bytes=largest, saved_bytes=largest)
    chain = replace(THREE_STAGES, stages=(stage, THREE_STAGES.stages[-1]))
    # Backward of stage 1: a^1 + ā^1 + a^0 + ob = 2 * 2**52 + 1 + 3.
    assert ChainNeeds(chain).forward_all[0, 0] == 2 * largest + 4
