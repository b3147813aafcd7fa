"""Replay of training schedules: rules one by one, and cycles of weights as a special case."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

import jettison as jt
from jettison.instances.core.link import Link
from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.schedules.core.replay import Rule
from jettison.schedules.training_chain.event import StageTensor, TrainingEvent, TrainingEventKind
from jettison.schedules.training_chain.schedule import TrainingSchedule
from jettison.schedules.training_chain.training_verdict import MemoryKind, TrainingVerdict
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from tests.training_chain.converted import training_schedule
from tests.weight_offload.oracles.samples import sample

# A byte takes a nanosecond.
LINK = Link(10**9)
# Two stages. The first has 4 bytes of weights, 3 of gradient, 2 of states, an update of 2 ns on the
# device and of 5 on the host; the second is the loss and has none.
CHAIN = Chain(
    "two",
    1,
    (
        Stage(
            name="layer",
            forward_ns=3,
            backward_ns=4,
            output_bytes=2,
            saved_bytes=5,
            weight_bytes=4,
            weight_gradient_bytes=3,
            optimizer_state_bytes=2,
            update_ns=2,
            host_update_ns=5,
        ),
        Stage(name="loss", forward_ns=1, backward_ns=1, output_bytes=0, saved_bytes=1),
    ),
)


def schedule(period_ns: int, *lines: str) -> TrainingSchedule:
    """Return a schedule written as lines of a time and an event."""
    events = []
    for line in lines:
        start, kind, *tensor, stage = line.split()
        events.append(
            TrainingEvent(
                TrainingEventKind(kind),
                int(stage),
                int(start),
                StageTensor(tensor[0]) if tensor else None,
            )
        )
    return TrainingSchedule(period_ns, tuple(events))


def judged(period_ns: int, *lines: str, memory: int | None = None) -> TrainingVerdict:
    return schedule(period_ns, *lines).replay(CHAIN, LINK, memory)


def broken(verdict: TrainingVerdict) -> set[tuple[Rule, str]]:
    return {(found.rule, found.tensor) for found in verdict.violations}


PLAIN = ("0 F_all 1", "3 F_all 2", "4 B 2", "5 B 1", "9 U 1")


def test_everything_on_the_device_takes_the_sum_of_all_operations() -> None:
    # While B 1 runs: weights 4, states 2, input 1, saved 5, gradient of the output 2, of the input
    # 1, of the weights 3.
    verdict = judged(11, *PLAIN, memory=18)
    assert (verdict.valid, verdict.time_ns, verdict.peak_bytes) == (True, 11, 18)
    assert verdict.host_peak_bytes == 0


def test_one_byte_less_is_out_of_memory_in_the_first_backward_operation() -> None:
    verdict = judged(11, *PLAIN, memory=17)
    assert broken(verdict) == {(Rule.OUT_OF_MEMORY, "B 1")}


def test_memory_by_kind_adds_up_to_the_profile() -> None:
    verdict = judged(11, *PLAIN)
    assert [when for when, _ in verdict.kinds_profile] == [
        when for when, _ in verdict.memory_profile
    ]
    for (_, kinds), (_, total) in zip(verdict.kinds_profile, verdict.memory_profile, strict=True):
        assert sum(kinds) == total
    kinds = dict(verdict.kinds_profile)[5]
    assert dict(zip(MemoryKind, kinds, strict=True)) == {
        MemoryKind.WEIGHTS: 4,
        MemoryKind.STATES: 2,
        MemoryKind.GRADIENTS: 3,
        MemoryKind.ACTIVATIONS: 6,
        MemoryKind.ACTIVATION_GRADIENTS: 3,
        MemoryKind.WORKING: 0,
    }


def test_an_update_may_run_in_the_next_step_and_its_gradient_stays_until_then() -> None:
    loss = Stage(
        name="loss",
        forward_ns=1,
        backward_ns=1,
        output_bytes=0,
        saved_bytes=1,
        weight_bytes=4,
        update_ns=2,
    )
    first = Stage(name="first", forward_ns=3, backward_ns=4, output_bytes=1, saved_bytes=1)
    chain = Chain("updated late", 1, (first, loss))
    late = schedule(11, "0 F_all 1", "3 U 2", "5 F_all 2", "6 B 2", "7 B 1").replay(chain, LINK)
    soon = schedule(11, "0 F_all 1", "3 F_all 2", "4 B 2", "5 U 2", "7 B 1").replay(chain, LINK)
    assert late.valid
    assert soon.valid
    # The gradient of 4 bytes is there while B 1 runs, beside 8 of the rest, and not without it.
    assert (dict(late.memory_profile)[7], dict(soon.memory_profile)[7]) == (12, 8)


def test_the_host_updates_while_the_device_waits_and_its_weights_come_back_in_place() -> None:
    # Gradient down from 9 to 12, update from 12 to 17, weights up from 17 to 21.
    verdict = judged(
        21,
        "0 F_all 1",
        "3 F_all 2",
        "4 B 2",
        "5 B 1",
        "9 offload g 1",
        "12 drop g 1",
        "12 H 1",
        "17 prefetch w 1",
    )
    assert verdict.valid
    # No states, and the weights once; the peak is that of B 1.
    assert verdict.peak_bytes == 16
    # Weights and states for ever, and the gradient.
    assert verdict.host_peak_bytes == 9


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("0 F_all 1", "3 F_all 2", "4 B 2", "5 B 1"), (Rule.UNFINISHED, "U 1 is missing")),
        (("0 F_all 1", "3 F_all 2", "4 B 2", "9 U 1"), (Rule.UNFINISHED, "B 1 is missing")),
        (("0 F 1", "3 F_all 2", "4 B 2", "5 B 1", "9 U 1"), (Rule.INPUT_MISSING, "saved 1")),
        ((*PLAIN[:4], "8 U 1"), (Rule.BUSY, "the device")),
        (("0 F_all 2", "1 F_all 1", *PLAIN[2:]), (Rule.INPUT_MISSING, "output 1")),
        ((*PLAIN, "11 drop w 1"), (Rule.NOT_IN_MEMORY, "w 1")),
        (
            ("0 F_all 1", "0 offload w 1", *PLAIN[1:], "11 drop w 1", "11 prefetch w 1"),
            (Rule.NO_COPY, "w 1"),
        ),
        ((*PLAIN, "11 drop g 1"), (Rule.NOT_IN_MEMORY, "g 1")),
        ((*PLAIN[:3], "4 drop saved 1", *PLAIN[3:]), (Rule.IN_USE, "saved 1")),
        (
            ("0 F_all 1", "0 offload w 1", *PLAIN[1:4], "5 drop w 1", "5 prefetch w 1", "9 U 1"),
            (Rule.IN_USE, "w 1"),
        ),
        ((*PLAIN[:4], "6 offload w 1", PLAIN[4]), (Rule.IN_USE, "w 1")),
        ((*PLAIN[:4], "9 offload g 1", PLAIN[4]), (Rule.IN_USE, "g 1")),
        ((*PLAIN[:4], "9 U 1", "11 U 1"), (Rule.COMPUTED_TWICE, "U 1")),
        ((*PLAIN[:4], "5 F 2", PLAIN[4]), (Rule.OUT_OF_ORDER, "B 2 has run in this step")),
        ((*PLAIN[:3], "4 offload saved 1", *PLAIN[3:]), (Rule.NOT_IN_MEMORY, "none")),
        (("0 F_all 1", "3 prefetch w 1", *PLAIN[1:]), (Rule.IN_MEMORY_ALREADY, "w 1")),
        ((*PLAIN[:4], "9 H 1"), (Rule.NO_COPY, "g 1")),
        (("0 F_all 3", *PLAIN), (Rule.UNKNOWN_OPERATION, "stage 3")),
    ],
)
def test_each_broken_rule_is_named(lines: Sequence[str], expected: tuple[Rule, str]) -> None:
    period = 14
    verdict = judged(period, *lines)
    if expected[1] == "none":
        # The copy ends with the operation that reads it, after 5 ns; nothing is broken.
        assert verdict.valid
    else:
        assert expected in broken(verdict), verdict.violations


def test_an_activation_that_is_offloaded_and_dropped_comes_back_for_its_backward() -> None:
    verdict = judged(
        21,
        "0 F_all 1",
        "3 offload saved 1",
        "3 F_all 2",
        "8 drop saved 1",
        "8 prefetch saved 1",
        "13 B 2",
        "14 B 1",
        "18 U 1",
    )
    assert verdict.valid
    assert verdict.host_peak_bytes == 5


def test_a_period_that_does_not_end_as_it_began_is_named() -> None:
    verdict = judged(20, *PLAIN, "11 offload w 1", "15 drop w 1")
    assert (Rule.NOT_PERIODIC, "stage 1") in broken(verdict) or (
        Rule.NOT_IN_MEMORY,
        "w 1",
    ) in broken(verdict)


@pytest.mark.parametrize("seed", range(20))
def test_cycles_of_weights_are_training_schedules_with_the_same_time_and_peak(seed: int) -> None:
    chance = random.Random(seed)
    problem = sample(chance, chance.randint(2, 5))
    result = jt.solve(problem, chance.choice(["l2l", "exact", "margin-sweep"]))
    schedule = result.schedule
    assert isinstance(schedule, CyclicSchedule)
    verdict = training_schedule(schedule, problem.instance).replay(
        problem.instance, problem.link, problem.memory_bytes
    )
    assert not verdict.violations
    assert (verdict.time_ns, verdict.peak_bytes) == (result.time_ns, result.peak_bytes)
