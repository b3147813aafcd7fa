"""The executor of gaps: by hand, against the replay, and against a referee of times."""

from __future__ import annotations

import pytest

from jettison.instances.chain import Chain, Stage
from jettison.instances.link import Link
from jettison.instances.remat_offload_chain import Transfers
from jettison.schedules.chain_contents import Tensor, TensorKind
from jettison.schedules.offload_schedule import OffloadSchedule
from jettison.schedules.replay import Replay
from jettison.solvers.offload_executor import Execution, execute_gaps
from jettison.solvers.tensor_lifetimes import Gap, TensorLifetimes
from tests.oracles.transfer_referee import Referee
from tests.schedules.offload_sequences import sequence
from tests.solvers.offload_cases import BYTE_PER_NS, offload_cases

INPUT = Tensor(TensorKind.PLAIN, 0)
SAVED_1 = Tensor(TensorKind.SAVED, 1)


def _stage(name: str, forward_ns: int, backward_ns: int, output: int, saved: int) -> Stage:
    return Stage(
        name=name,
        forward_ns=forward_ns,
        backward_ns=backward_ns,
        output_bytes=output,
        saved_bytes=saved,
    )


# Forwards of 4, 3, 2 ns, backwards twice as long; needs of 7, 12, 13, 15, 16, 10 bytes.
CHAIN = Chain(
    "three",
    1,
    (_stage("one", 4, 8, 2, 6), _stage("two", 3, 6, 2, 5), _stage("loss", 2, 4, 0, 1)),
)
SAVING = TensorLifetimes(CHAIN, sequence("F_all 1, F_all 2, F_all 3, B 3, B 2, B 1").computations)
# a0 is not used from the end of F 1 to B 1, ā1 not from the end of F 2 to B 2.
INPUT_GAP, SAVED_GAP = SAVING.gaps


def _execute(
    lifetimes: TensorLifetimes, gaps: list[Gap], memory_bytes: int, link: Link = BYTE_PER_NS
) -> Execution:
    execution = execute_gaps(lifetimes, gaps, link, memory_bytes)
    assert execution is not None
    return execution


def _text(schedule: OffloadSchedule) -> str:
    return ", ".join(str(item) for item in schedule.operations)


def _times(replay: Replay) -> dict[str, int]:
    return {item.operation: item.start_ns for item in (*replay.steps, *replay.transfers)}


def test_a_tensor_comes_back_when_its_memory_is_free() -> None:
    # 15 bytes: one less than B 2 needs. a0, 1 byte, cannot be back before B 2 has ended: F 0-9,
    # B 3 9-13, B 2 13-19, P 0 19-20, B 1 20-28.
    found = _execute(SAVING, [INPUT_GAP], 15)
    assert _text(found.schedule) == ("O 0, F_all 1, D 0, F_all 2, F_all 3, B 3, B 2, P 0, B 1")
    replay = found.schedule.replay(CHAIN, BYTE_PER_NS, Transfers.AT_ONCE, 15)
    assert replay.valid
    assert found.time_ns == replay.time_ns == 28
    assert _times(replay)["P 0"] == 19


def test_a_tensor_comes_back_as_early_as_the_needs_allow() -> None:
    # 16 bytes: ā1 leaves from 4 to 10. B 3 needs 15 with it, so that it may come back before B 3,
    # but B 3 can start at 9 already. P 10-16, B 2 16-22, B 1 22-30.
    found = _execute(SAVING, [SAVED_GAP], 16)
    # The drop stands where it takes effect: after B 3 has started.
    assert _text(found.schedule) == (
        "F_all 1, O_all 1, F_all 2, F_all 3, B 3, D_all 1, P_all 1, B 2, B 1"
    )
    assert found.time_ns == 30
    assert _times(found.schedule.replay(CHAIN, BYTE_PER_NS))["P_all 1"] == 10


def test_copies_leave_in_the_order_in_which_they_were_made() -> None:
    # 15 bytes. O 0 0-1, O_all 1 4-10. Prefetches by trigger: ā1 for B 3, where 14 bytes are needed
    # with it, at 10; it is back at 16, and B 2 runs until 22. Then a0 22-23, and B 1.
    found = _execute(SAVING, [SAVED_GAP, INPUT_GAP], 15)
    assert found.time_ns == 31
    times = _times(found.schedule.replay(CHAIN, BYTE_PER_NS, Transfers.AT_ONCE, 15))
    assert [times[name] for name in ("O 0", "O_all 1", "P_all 1", "P 0")] == [0, 4, 10, 22]


WIDE = Chain(
    "wide",
    0,
    (
        _stage("one", 4, 4, 6, 6),
        _stage("two", 2, 2, 1, 1),
        _stage("three", 2, 2, 8, 8),
        _stage("loss", 0, 0, 0, 0),
    ),
)


def test_a_computation_waits_for_the_memory_of_a_copy() -> None:
    lifetimes = TensorLifetimes(
        WIDE, sequence("F_all 1, F_all 2, F_all 3, F_all 4, B 4, B 3, B 2, B 1").computations
    )
    gap = lifetimes.gap_at_turn(SAVED_1)
    # ā1, 6 bytes, leaves from 4 to 10. 18 bytes: F 3 needs 15 with it and runs 6-8, the loss at 8.
    # B 4 needs 23 with it and waits until 10. B 3 needs 18 without it, 10-12. Then it comes back,
    # 12-18, for B 2 18-20, and B 1 20-24.
    found = _execute(lifetimes, [gap], 18)
    assert found.time_ns == 24
    times = _times(found.schedule.replay(WIDE, BYTE_PER_NS, Transfers.AT_ONCE, 18))
    assert [times[name] for name in ("F_all 3", "B 4", "B 3", "P_all 1", "B 2")] == [
        6,
        10,
        10,
        12,
        18,
    ]
    assert execute_gaps(lifetimes, [gap], BYTE_PER_NS, 17) is None


def test_a_second_gap_needs_no_second_copy() -> None:
    # a0 is read by F 1 three times, and by B 1: operations 0, 4, 7, 10.
    again = sequence(
        "F_ck 1, F_ck 2, F_all 3, B 3, F_ck 1, F_none 2, F_none 3, F_all 1, F_all 2, B 2, B 1"
    )
    lifetimes = TensorLifetimes(CHAIN, again.computations)
    gaps = [gap for gap in lifetimes.gaps if gap.tensor == INPUT]
    assert [(gap.start, gap.end) for gap in gaps] == [(0, 4), (4, 7), (7, 10)]
    found = _execute(lifetimes, gaps, 20)
    operations = _text(found.schedule)
    assert (operations.count("O 0"), operations.count("P 0")) == (1, 3)
    assert found.schedule.replay(CHAIN, BYTE_PER_NS, Transfers.AT_ONCE, 20).valid


def test_nothing_is_moved_where_no_gap_is_given() -> None:
    found = _execute(SAVING, [], 16)
    assert found.schedule.operations == SAVING.computations.operations
    assert found.time_ns == CHAIN.base_time_ns
    assert execute_gaps(SAVING, [], BYTE_PER_NS, 15) is None


def test_tensors_without_a_size_stay() -> None:
    chain = Chain("empty", 0, CHAIN.stages)
    lifetimes = TensorLifetimes(chain, SAVING.computations)
    found = _execute(lifetimes, [lifetimes.gap_at_turn(INPUT)], 20)
    assert found.schedule.operations == SAVING.computations.operations


@pytest.mark.parametrize("seed", range(3))
def test_the_replay_confirms_every_execution_and_a_referee_its_times(seed: int) -> None:
    executed = 0
    for generator, case in offload_cases(seed, count=100):
        chosen = [gap for gap in case.lifetimes.gaps if generator.random() < 0.6]
        found = execute_gaps(case.lifetimes, chosen, case.link, case.memory_bytes)
        if found is None:
            continue
        executed += 1
        replay = found.schedule.replay(case.chain, case.link, Transfers.AT_ONCE, case.memory_bytes)
        assert replay.valid
        assert found.time_ns == replay.time_ns >= case.chain.base_time_ns
        # A tensor of an operation of no time is in the replay's peak and not in the referee's.
        peak_bytes = Referee(case.chain, case.link).peak_bytes(found.schedule, replay)
        assert peak_bytes <= replay.peak_bytes <= case.memory_bytes
    assert executed > 20
