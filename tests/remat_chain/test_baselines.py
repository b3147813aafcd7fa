"""Store-all, recompute-all, periodic and square-root checkpointing."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jettison import Chain, InputError, RematChain, ScheduleClass
from jettison.remat_chain import ChainSchedule, Stage
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_chain import baselines as chain_baselines
from jettison.solvers.remat_chain.baselines import (
    chen_sqrt_schedule,
    periodic_schedule,
    recompute_all_schedule,
    segmented_schedule,
    solve_chen_sqrt,
    solve_periodic,
    solve_recompute_all,
    solve_store_all,
    store_all_schedule,
)
from tests.drawing.chains import chains


def _layers(count: int) -> Chain:
    """Build a chain of equal layers (1 ns each way, a 1 byte, ā 3 bytes) and a loss of nothing."""
    layers = [
        Stage(name=f"layer {n}", forward_ns=1, backward_ns=1, output_bytes=1, saved_bytes=3)
        for n in range(1, count + 1)
    ]
    loss = Stage(name="loss", forward_ns=0, backward_ns=0, output_bytes=0, saved_bytes=0)
    return Chain(name="layers", input_bytes=1, stages=(*layers, loss))


def _text(schedule: ChainSchedule) -> str:
    return ", ".join(str(operation) for operation in schedule.operations)


def _forward_counts(schedule: ChainSchedule) -> list[int]:
    """Return how often each stage runs forward."""
    counts = Counter(op.stage for op in schedule.operations if op.kind != "B")
    return [counts[stage] for stage in sorted(counts)]


def _segment_starts(schedule: ChainSchedule) -> list[int]:
    """Return the stages at which a segment starts: where F_all follows something else."""
    before = ["", *(str(op.kind) for op in schedule.operations)]
    return sorted(
        op.stage
        for kind, op in zip(before, schedule.operations, strict=False)
        if op.kind == "F_all" and kind != "F_all"
    )


def test_saving_everything_runs_forward_once_and_backward_once() -> None:
    assert _text(store_all_schedule(_layers(2))) == "F_all 1, F_all 2, F_all 3, B 3, B 2, B 1"


def test_recomputing_everything_restarts_from_the_input_for_every_backward() -> None:
    assert _text(recompute_all_schedule(_layers(2))) == (
        "F_ck 1, F_none 2, F_all 3, B 3, F_ck 1, F_all 2, B 2, F_all 1, B 1"
    )


def test_a_segment_keeps_its_input_and_saves_all_when_it_is_due() -> None:
    assert _text(segmented_schedule(_layers(4), [1, 3])) == (
        "F_ck 1, F_none 2, F_all 3, F_all 4, F_all 5, B 5, B 4, B 3, F_all 1, F_all 2, B 2, B 1"
    )


@settings(max_examples=200)
@given(chains(max_stages=8))
def test_the_closed_form_of_the_highest_memory_is_the_peak_of_saving_everything(
    chain: Chain,
) -> None:
    replay = store_all_schedule(chain).replay(chain)
    assert replay.valid
    assert replay.peak_bytes == chain.store_all_peak_bytes
    assert replay.time_ns == chain.base_time_ns


@settings(max_examples=200)
@given(chains(max_stages=8))
def test_the_closed_form_of_the_lowest_memory_is_the_peak_of_recomputing_everything(
    chain: Chain,
) -> None:
    replay = recompute_all_schedule(chain).replay(chain)
    assert replay.valid
    assert replay.peak_bytes == chain.recompute_all_peak_bytes
    # Stage l runs forward once for each backward from l on.
    again = [number * stage.forward_ns for number, stage in enumerate(reversed(chain.stages))]
    assert replay.time_ns == chain.base_time_ns + sum(again)


@settings(max_examples=200)
@given(chains(max_stages=8), st.data())
def test_any_segments_make_a_valid_persistent_schedule(chain: Chain, data: st.DataObject) -> None:
    later = data.draw(st.sets(st.integers(2, len(chain)) if len(chain) > 1 else st.nothing()))
    replay = segmented_schedule(chain, [1, *sorted(later)]).replay(chain)
    assert replay.valid
    assert replay.schedule_class is ScheduleClass.PERSISTENT


@pytest.mark.parametrize(
    ("layers", "segments", "lengths"),
    [
        # The last segment takes what is left over and the loss, as in checkpoint_sequential.
        (6, 3, [2, 2, 3]),
        (7, 3, [2, 2, 4]),
        (8, 3, [2, 2, 5]),
        (5, 5, [1, 1, 1, 1, 2]),
        (5, 1, [6]),
        (1, 1, [2]),
    ],
)
def test_periodic_segments_are_equal_but_for_the_last(
    layers: int, segments: int, lengths: list[int]
) -> None:
    schedule = periodic_schedule(_layers(layers), segments)
    starts = [*_segment_starts(schedule), layers + 2]
    assert [following - first for first, following in pairwise(starts)] == lengths


def test_a_periodic_schedule_runs_forward_twice_except_in_its_last_segment() -> None:
    # 7 layers and the loss in segments of 2, 2 and 4.
    schedule = periodic_schedule(_layers(7), 3)
    assert _forward_counts(schedule) == [2, 2, 2, 2, 1, 1, 1, 1]
    # Seven forwards, four of them again, and seven backwards.
    assert schedule.replay(_layers(7)).time_ns == 7 + 4 + 7


@pytest.mark.parametrize("segments", [0, 4, -1])
def test_there_are_at_most_as_many_segments_as_layers(segments: int) -> None:
    with pytest.raises(InputError, match=f"segments: {segments}; write 1 to 3"):
        periodic_schedule(_layers(3), segments)


def test_a_loss_alone_is_one_segment() -> None:
    assert _text(periodic_schedule(_layers(0), 1)) == "F_all 1, B 1"
    assert _text(chen_sqrt_schedule(_layers(0))) == "F_all 1, B 1"
    with pytest.raises(InputError, match="write 1 to 1"):
        periodic_schedule(_layers(0), 2)


@pytest.mark.parametrize(
    ("layers", "lengths"),
    [
        # The square root, rounded up, many segments; the loss is one more stage of the last.
        (1, [2]),
        (2, [1, 2]),
        (4, [2, 3]),
        (5, [2, 2, 2]),
        (9, [3, 3, 4]),
        (10, [3, 3, 2, 3]),
        (16, [4, 4, 4, 5]),
    ],
)
def test_square_root_segments_differ_by_one_at_most_the_longer_ones_first(
    layers: int, lengths: list[int]
) -> None:
    starts = [*_segment_starts(chen_sqrt_schedule(_layers(layers))), layers + 2]
    assert [following - first for first, following in pairwise(starts)] == lengths


def test_saving_everything_is_found_exactly_where_it_fits() -> None:
    chain = _layers(3)
    # a0 1, three ā 9; the loss writes the gradient of a3, 1; B 3 holds both and writes 1: 12.
    assert chain.store_all_peak_bytes == 12
    fits = solve_store_all(RematChain(chain, 12), SolveOptions())
    assert fits.schedule == store_all_schedule(chain)
    fails = solve_store_all(RematChain(chain, 11), SolveOptions())
    assert fails.schedule is None
    assert fails.note == "store-all needs 12 B (12 bytes) on this instance"
    # That it does not fit says nothing of other schedules.
    assert fails.infeasibility is None
    assert fails.termination is Termination.COMPLETED


def test_recomputing_everything_is_found_exactly_where_it_fits() -> None:
    chain = _layers(3)
    # B 3 and B 2 alike: a0 1, the input 1, ā 3, the gradient 1, and the gradient it writes 1.
    assert chain.recompute_all_peak_bytes == 7
    fits = solve_recompute_all(RematChain(chain, 7), SolveOptions())
    assert fits.schedule == recompute_all_schedule(chain)
    fails = solve_recompute_all(RematChain(chain, 6), SolveOptions())
    assert fails.note == "recompute-all needs 7 B (7 bytes) on this instance"


def test_the_best_number_of_segments_is_the_fastest_that_fits() -> None:
    chain = _layers(8)
    replays = {count: periodic_schedule(chain, count).replay(chain) for count in range(1, 9)}
    for memory in range(chain.store_all_peak_bytes + 1):
        times = [item.time_ns for item in replays.values() if item.peak_bytes <= memory]
        outcome = solve_periodic(RematChain(chain, memory), SolveOptions())
        if times:
            assert isinstance(outcome.schedule, ChainSchedule)
            assert outcome.schedule.replay(chain, memory).valid
            assert outcome.schedule.replay(chain).time_ns == min(times)
        else:
            least = min(item.peak_bytes for item in replays.values())
            assert outcome.note == f"periodic needs {least} B ({least} bytes) on this instance"


def test_the_time_limit_ends_the_search_for_segments_after_the_first() -> None:
    chain = _layers(8)
    options = SolveOptions(time_limit_s=1e-9)
    outcome = solve_periodic(RematChain(chain, chain.store_all_peak_bytes), options)
    assert outcome.termination is Termination.TIME_LIMIT
    assert outcome.schedule == periodic_schedule(chain, 1)
    # That one does not fit says nothing of those that were not looked at.
    outcome = solve_periodic(RematChain(chain, chain.store_all_peak_bytes - 1), options)
    assert outcome.note == "none of the schedules of periodic that were looked at fits"


def test_an_interrupt_leaves_the_best_number_of_segments_so_far(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(chain: Chain, segments: int) -> ChainSchedule:
        if segments == 3:
            raise KeyboardInterrupt
        return periodic_schedule(chain, segments)

    chain = _layers(8)
    monkeypatch.setattr(chain_baselines, "periodic_schedule", interrupted)
    memory_bytes = chain.store_all_peak_bytes - 1
    outcome = solve_periodic(RematChain(chain, memory_bytes), SolveOptions())
    assert outcome.termination is Termination.INTERRUPTED
    assert outcome.schedule == periodic_schedule(chain, 2)


@settings(max_examples=100)
@given(chains(max_stages=8))
def test_square_root_checkpointing_is_valid_within_its_own_peak(chain: Chain) -> None:
    peak = chen_sqrt_schedule(chain).replay(chain).peak_bytes
    outcome = solve_chen_sqrt(RematChain(chain, peak), SolveOptions())
    assert outcome.schedule == chen_sqrt_schedule(chain)
    assert chen_sqrt_schedule(chain).replay(chain, peak).valid
