"""Replay of pipelines: 1F1B times, memory of devices, and broken rules, derived by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from jettison import InputError, load_schedule, save_schedule
from jettison.instances.core.link import Link
from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.replay import Rule
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.pipeline_chain.device_table import table_of_devices
from jettison.schedules.pipeline_chain.phase_order import device_turns
from jettison.schedules.pipeline_chain.phase_timeline import PhaseTimes, run_1f1b
from jettison.schedules.pipeline_chain.schedule import DevicePlan, PipelineSchedule
from jettison.schedules.remat_chain.schedule import ChainOperation, ChainOperationKind
from tests.drawing.chains import stage_of

KINDS = {str(kind): kind for kind in ChainOperationKind}
# Outputs of 2 and 3 bytes, 5 and 7 saved, weights of 10 and 20.
CHAIN = Chain(
    "two",
    4,
    (
        stage_of("first", 3, 5, 2, 5, weight_bytes=10),
        stage_of("second", 4, 6, 3, 7, 1, 2, weight_bytes=20),
        stage_of("loss", 1, 1, 0, 1),
    ),
)


def words(text: str) -> tuple[ChainOperation, ...]:
    items = (word.split() for word in text.split(",") if word)
    return tuple(ChainOperation(KINDS[kind], int(stage)) for kind, stage in items)


def two_devices(
    forward: str = "F_all 1", backward: str = "B 1", behind: str = "B 3, B 2"
) -> PipelineSchedule:
    return PipelineSchedule(
        (
            DevicePlan(1, 1, words(forward), words(backward)),
            DevicePlan(2, 3, words("F_all 2, F_all 3"), words(behind)),
        )
    )


def problem(microbatches: int = 3, memory: int = 1000, **fields: object) -> PipelineChain:
    return replace(PipelineChain(CHAIN, memory, 2, microbatches), **fields)


def test_the_order_is_warm_up_then_one_each_then_drain() -> None:
    turns = device_turns(3, 1, 1, 5)
    text = ["FB"[turn.is_backward] + str(turn.microbatch) for turn in turns]
    assert text == ["F1", "F2", "F3", "B1", "F4", "B2", "F5", "B3", "B4", "B5"]


def test_a_step_takes_the_time_of_its_longest_path() -> None:
    # Device 2: F1 3-8, B1 8-15, F2 15-20, B2 20-27, F3 27-32, B3 32-39. Device 1: F1 0-3, F2 3-6,
    # B1 15-20, F3 20-23, B2 27-32, B3 39-44.
    replay = two_devices().replay(problem())
    assert replay.valid
    assert replay.time_ns == 44
    assert replay.bottleneck_ns == 12
    spans = [(item.start_ns, item.end_ns) for item in replay.devices[0].phases]
    assert spans == [(0, 3), (3, 6), (15, 20), (20, 23), (27, 32), (39, 44)]
    assert replay.schedule_class is ScheduleClass.PERSISTENT


def test_a_sender_waits_for_the_buffer_and_for_the_transfer() -> None:
    # A transfer of the output, 2 bytes, takes 2 ns, of its gradient as well. Device 1 sends F1 at
    # 3-5, F2 at 8-10 (F1 has left the buffer at 5). Device 2: F1 5-10, B1 10-17, sent by 19.
    replay = two_devices().replay(problem(bandwidth=Link(10**9)))
    first, second = replay.devices
    assert [(item.start_ns, item.sent_ns) for item in first.phases[:2]] == [(0, 5), (5, 10)]
    assert [(item.start_ns, item.sent_ns) for item in second.phases[:2]] == [(5, 10), (10, 19)]
    # A slow second device: the third result finds the second one in the buffer.
    ran = run_1f1b([PhaseTimes(1, 1), PhaseTimes(9, 1), PhaseTimes(1, 1)], 3)
    assert [(item.end_ns, item.sent_ns) for item in ran[0][:3]] == [(1, 1), (2, 2), (3, 10)]


def test_the_memory_of_a_device_counts_all_that_is_in_flight() -> None:
    # Device 1 holds 2 * 10 for its weights, and a buffer of 2 for a gradient. Two micro-batches:
    # one between its phases, a^0 and saved 4 + 5, and one before B 1 with the gradient and that of
    # the input: 9 + 2 + 4. Device 2 holds 40 and a buffer of 2; B 2 has a^1, saved, the gradients
    # of 3 and 2, and an overhead of 2: 2 + 7 + 3 + 2 + 2.
    replay = two_devices().replay(problem())
    assert [run.peak_bytes for run in replay.devices] == [22 + 9 + 15, 42 + 16]
    assert replay.peak_bytes == 58
    assert [run.resident_bytes for run in replay.devices] == [22, 42]
    # With one micro-batch nothing else is in flight.
    alone = two_devices().replay(problem(1))
    assert [run.peak_bytes for run in alone.devices] == [22 + 15, 42 + 16]
    assert table_of_devices(replay)["in_flight"].tolist() == [2, 1]
    assert table_of_devices(replay)["saved_stages"].tolist() == [1, 2]


def test_recomputation_costs_time_and_keeps_the_input_only() -> None:
    replay = two_devices("F_ck 1", "F_all 1, B 1").replay(problem())
    assert replay.valid
    assert replay.devices[0].parts[0].microbatch.kept_bytes == 4
    assert replay.recompute_ns == 3
    assert replay.devices[0].busy_ns == 3 + 3 + 5


@pytest.mark.parametrize(
    ("schedule", "rule"),
    [
        (two_devices(backward=""), Rule.UNFINISHED),
        (two_devices("F_ck 1"), Rule.INPUT_MISSING),
        (two_devices("F_all 1, B 1", ""), Rule.OUT_OF_ORDER),
        (two_devices("F_all 2"), Rule.UNKNOWN_OPERATION),
        (two_devices("", "F_all 1, B 1"), Rule.INPUT_MISSING),
        (two_devices(behind="B 2, B 3"), Rule.WRONG_GRADIENT),
        (two_devices(behind="B 3, F_ck 3, B 2"), Rule.NOT_PERIODIC),
        (PipelineSchedule(two_devices().devices[:1]), Rule.UNFINISHED),
    ],
)
def test_each_broken_rule_is_named(schedule: PipelineSchedule, rule: Rule) -> None:
    replay = schedule.replay(problem())
    assert rule in {found.rule for found in replay.violations}


def test_too_little_memory_names_the_device() -> None:
    replay = two_devices().replay(problem(memory=57))
    (found,) = replay.violations
    assert (found.rule, found.bytes_over) == (Rule.OUT_OF_MEMORY, 1)
    assert found.operation == "device 2"


def test_the_profile_of_memory_has_the_peak() -> None:
    for run in two_devices().replay(problem()).devices:
        assert max(used for _, _, used in run.memory_profile) == run.peak_bytes
        assert all(before[1] <= after[0] for before, after in pairwise(run.memory_profile))


def test_a_file_gives_the_schedule_back(tmp_path: Path) -> None:
    schedule = two_devices("F_ck 1", "F_all 1, B 1")
    save_schedule(schedule, CHAIN, tmp_path / "s.json")
    assert load_schedule(tmp_path / "s.json", CHAIN) == schedule


def test_devices_follow_each_other() -> None:
    first, second = two_devices().devices
    with pytest.raises(InputError, match=r"devices\[1\].first: stage 3 follows stage 1"):
        PipelineSchedule((first, replace(second, first=3)))
    with pytest.raises(InputError, match="stage 1 is on no first device"):
        PipelineSchedule((second,))
    with pytest.raises(InputError, match="at least one stage"):
        DevicePlan(2, 1, (), ())


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"devices": 4}, "devices: 4; write 1 to 3"),
        ({"devices": 0}, "devices: 0"),
        ({"microbatches": 0}, "microbatches: 0; write 1 to 4096"),
        ({"memory": "50%"}, "memory: 50% of a pipeline; write an amount"),
        ({"weight_copies": -1}, "weight_copies: -1 is negative"),
        ({"bandwidth": "fast"}, "bandwidth"),
    ],
)
def test_a_problem_that_makes_no_sense_is_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        problem(**fields)


def test_the_base_time_is_that_of_the_least_bottleneck() -> None:
    # 8, 10 and 2 ns on two devices: 8 and 12 are the best.
    assert problem(5).least_bottleneck_ns == 12
    assert problem(5).base_time_ns == 60
