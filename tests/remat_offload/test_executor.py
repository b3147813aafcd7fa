"""The executor of gaps: by hand, against the replay, and against a referee of times."""

from __future__ import annotations

from dataclasses import replace

from jettison import Chain, Link
from jettison.core import Replay
from jettison.remat_offload import OffloadSchedule, Transfers
from jettison.schedules.remat_chain.contents import Tensor, TensorKind
from jettison.solvers.remat_offload.executor import Execution, execute_gaps
from jettison.solvers.remat_offload.tensor_lifetimes import Gap, TensorLifetimes
from tests.drawing.chains import stage_of
from tests.each import each
from tests.remat_offload.cases import BYTE_PER_NS, CHAIN, offload_cases
from tests.remat_offload.oracles.transfer_referee import Referee
from tests.remat_offload.sequences import sequence

INPUT = Tensor(TensorKind.PLAIN, 0)
SAVED_1 = Tensor(TensorKind.SAVED, 1)


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


def test_a_tensor_that_would_come_back_as_it_leaves_stays() -> None:
    # ā1 would leave from 4 to 10. With it B 3 needs 15 of 16 bytes and starts at 9, so that ā1
    # would come back from 10 to 16, and B 2 wait for it.
    found = _execute(SAVING, [SAVED_GAP], 16)
    assert found.schedule.operations == SAVING.computations.operations
    # In 15 bytes the same is true of ā1 where a0 leaves.
    both, alone = (_execute(SAVING, gaps, 15) for gaps in ([SAVED_GAP, INPUT_GAP], [INPUT_GAP]))
    assert both == alone


def test_tensors_come_back_as_early_as_the_needs_allow() -> None:
    # Layers of 2 + 2 ns with outputs of 1 byte that save 2, an input of 1 byte, a free loss.
    layers = [stage_of(f"layer {number}", 2, 2, 1, 2) for number in range(1, 5)]
    chain = Chain("layers", 1, (*layers, stage_of("loss", 0, 0, 0, 0)))
    computations = sequence(
        "F_all 1, F_ck 2, F_all 3, F_all 4, F_all 5, B 5, B 4, B 3, F_all 2, B 2, B 1"
    ).computations
    lifetimes = TensorLifetimes(chain, computations)
    # Of 7 bytes the ten operations before B 1 need 3, 3, 3, 5, 5, 6, 7, 5, 5, 6 without a0 and ā1.
    # ā1 may come back for B 3, which needs 7 then, not for B 4. a0 may come back for F 2.
    found = _execute(lifetimes, [lifetimes.gap_at_turn(item) for item in (INPUT, SAVED_1)], 7)
    # a0 leaves at once, ā1 when it has been made, at 2. B 4 fills the memory from 8 to 10; ā1 comes
    # back 10-12, while B 3 runs, and then a0, while F 2 runs. B 2 14-16, B 1 16-18.
    assert _text(found.schedule) == (
        "O 0, F_all 1, O_all 1, D 0, F_ck 2, D_all 1, F_all 3, F_all 4, F_all 5, B 5, B 4, "
        "P_all 1, B 3, P 0, F_all 2, B 2, B 1"
    )
    assert found.time_ns == 18
    times = _times(found.schedule.replay(chain, BYTE_PER_NS, Transfers.AT_ONCE, 7))
    assert [times[name] for name in ("O 0", "O_all 1", "P_all 1", "P 0")] == [0, 2, 10, 12]


WIDE = Chain(
    "wide",
    0,
    (
        stage_of("one", 4, 4, 6, 6),
        stage_of("two", 2, 2, 1, 1),
        stage_of("three", 2, 2, 8, 8),
        stage_of("loss", 0, 0, 0, 0),
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
    # An input of 3 bytes, and 8 bytes of overhead in B 3.
    loss = replace(CHAIN.stages[-1], backward_overhead_bytes=8)
    chain = replace(CHAIN, input_bytes=3, stages=(*CHAIN.stages[:-1], loss))
    computations = sequence(
        "F_ck 1, F_ck 2, F_all 3, B 3, F_ck 1, F_none 2, F_none 3, F_all 1, F_all 2, B 2, B 1"
    ).computations
    lifetimes = TensorLifetimes(chain, computations)
    # B 3 and B 2 need 18 bytes with a0: a1 and a2, 2 + 2, ā3 1, δ2 2 and 8; ā1 6, ā2 5, δ2 2, δ1 2.
    assert lifetimes.needs_bytes == [5, 7, 8, 18, 9, 9, 7, 11, 16, 18, 14]
    # a0 is read by F 1 three times, and by B 1.
    gaps = [gap for gap in lifetimes.gaps if gap.tensor == INPUT]
    assert [(gap.start, gap.end) for gap in gaps] == [(0, 4), (4, 7), (7, 10)]
    found = _execute(lifetimes, gaps, 15)
    # In the second gap it stays. Forwards take 12 + 9 + 4 ns, backwards 18, and a0 3 ns, twice.
    assert _text(found.schedule) == (
        "O 0, F_ck 1, D 0, F_ck 2, F_all 3, B 3, P 0, F_ck 1, F_none 2, F_none 3, F_all 1, D 0, "
        "F_all 2, B 2, P 0, B 1"
    )
    assert found.time_ns == 49
    assert found.schedule.replay(chain, BYTE_PER_NS, Transfers.AT_ONCE, 15).valid


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


@each(seed=range(3))
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
