"""The replay of units of sub-arrays, rule by rule; times and bytes are derived by hand.

`mirrored_models`: four layers; forward operators take 2 ns and backward operators 3 ns, so that a
round computes for 20 ns; feature maps have 10 bytes, passes carry 2, operators need 12.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from jettison import MultiModel, MultiModelTraining
from jettison.multi_model import FeatureMap, MultiModelSchedule, TrainingUnit
from jettison.schedules.core.replay import Rule
from jettison.schedules.multi_model.training_replay import TrainingReplay
from tests.multi_model.unit_text import alone, twins, unit_of
from tests.tiny_models import mirrored_models, operator, random_models

LARGE = 1000
FORWARD = "F1.0 F1.1 F1.2 F1.3"
BACKWARD = "B1.0 B1.1 B1.2 B1.3"


def replay(
    schedule: MultiModelSchedule, instance: MultiModel | None = None, memory: int = LARGE
) -> TrainingReplay:
    instance = instance or mirrored_models()
    models = sum(sum(unit.sizes) for unit in schedule.units)
    return schedule.replay(MultiModelTraining(instance, memory, models=models))


def broken(
    schedule: MultiModelSchedule, instance: MultiModel | None = None, memory: int = LARGE
) -> list[tuple[Rule, int | None, str]]:
    """Return rule, position and tensor of each violation."""
    found = replay(schedule, instance, memory).violations
    return [(item.rule, item.position, item.tensor) for item in found]


def test_a_sub_array_alone_without_transfers_takes_the_time_of_its_operators() -> None:
    found = replay(alone(f"{FORWARD} {BACKWARD}"))
    assert found.valid
    # 4 * 2 + 4 * 3.
    assert (found.time_ns, found.stall_ns, found.recompute_ns) == (20, 0, 0)
    # The last forward operator: 12, beside three idle feature maps.
    assert found.peak_bytes == 42


def test_with_everything_kept_the_peak_is_that_of_the_profile() -> None:
    for seed in range(60):
        instance = random_models(random.Random(seed), models=2, sizes=(2,))
        array = instance.sub_array(2)
        text = [f"F1.{place}" for place in range(len(array.forward))]
        text += [f"B1.{place}" for place in range(len(array.backward))]
        found = replay(MultiModelSchedule((unit_of((2,), " ".join(text)),)), instance)
        assert found.valid
        assert found.peak_bytes == array.store_all_peak_bytes
        assert found.time_ns == array.compute_ns


def test_the_first_round_of_a_pair_finds_what_the_second_leaves() -> None:
    found = replay(twins(f"{BACKWARD} F2.0 F2.1 F2.2 F2.3"))
    assert found.valid
    # Four feature maps and the 2 bytes that the first sub-array carries.
    assert found.memory_profile[0] == (0, 42)
    # Its backward pass ends at 12 with nothing left.
    assert (12, 12) in found.memory_profile
    assert found.memory_profile[-1] == (40, 42)
    assert (found.round_ends_ns, found.unit_ends_ns) == ((20, 40), (40,))


def test_what_a_pair_has_moved_at_the_end_of_its_second_round_is_away_in_the_first() -> None:
    # z0 of both leaves in the forward pass, and comes back for the last backward operator.
    found = replay(twins("F2.0 O2.0 F2.1 F2.2 F2.3 B1.0 B1.1 P1.0 B1.2 B1.3"))
    assert found.valid
    # Three feature maps and 2 bytes; the first forward operator takes 12.
    assert found.memory_profile[0] == (0, 32 + 12)
    assert [item.to_host for item in found.transfers] == [True, False] * 2


def test_case_1a_a_swap_in_the_peak_interval_stalls_for_all_of_its_time() -> None:
    # Figure 6g. Before b2: 44 bytes, of which it uses 12; with its peak of 42 it fills 74. So z0
    # can come back from its end at 17 on: 17 to 23, and b3 runs from 23.
    instance = mirrored_models(peaks={"b2": 42})
    found = replay(twins("F2.0 O2.0 F2.1 F2.2 F2.3 B1.0 B1.1 B1.2 P1.0 B1.3"), instance, 74)
    assert found.valid
    assert (found.time_ns, found.stall_ns) == (2 * 26, 2 * 6)
    assert found.peak_bytes == 74


def test_case_1b_a_swap_waits_for_the_one_on_the_link_and_stalls_for_its_own_time() -> None:
    # z0 comes back from 11, the start of b1, to 17. z1 is wanted at 14: 3 ns are left of z0's copy,
    # and its own takes 6. So b2 runs from 23 instead of 14.
    found = replay(twins("F2.0 O2.0 F2.1 O2.1 F2.2 F2.3 B1.0 B1.1 P1.0 P1.1 B1.2 B1.3"))
    assert found.valid
    assert (found.time_ns, found.stall_ns) == (2 * 29, 2 * (3 + 6))


def test_case_2a_forward_operators_alone_hide_a_swap() -> None:
    # Figure 6d. z0 comes back while f2 and f3 run, 4 ns.
    instance = mirrored_models(swap_ns=4)
    found = replay(twins("F2.0 O2.0 F2.1 B1.0 B1.1 B1.2 F2.2 P1.0 F2.3 B1.3"), instance)
    assert found.valid
    assert (found.time_ns, found.stall_ns) == (40, 0)
    back = found.transfers[1]
    assert (back.start_ns, back.end_ns) == (13, 17)
    last = next(step for step in found.steps if step.operation == "B1 3")
    assert last.start_ns == 17


def test_case_2b_forward_and_backward_operators_together_hide_a_swap() -> None:
    # Figure 6e. b2 takes 3 ns and f3 takes 2.
    instance = mirrored_models(swap_ns=5)
    found = replay(twins("F2.0 O2.0 F2.1 F2.2 B1.0 B1.1 B1.2 P1.0 F2.3 B1.3"), instance)
    assert found.valid
    assert (found.time_ns, found.stall_ns) == (40, 0)


def test_case_3_a_swap_that_the_peak_interval_holds_up_stalls_for_what_is_left_of_it() -> None:
    # Figure 6f. Before b1: 54 bytes, of which it uses 12; with its peak of 32 it fills 74. So z0
    # comes back from 14 on; b2 hides 3 ns of 6.
    instance = mirrored_models(peaks={"b1": 32})
    found = replay(twins("F2.0 O2.0 F2.1 F2.2 F2.3 B1.0 B1.1 P1.0 B1.2 B1.3"), instance, 74)
    assert found.valid
    assert (found.time_ns, found.stall_ns) == (2 * 23, 2 * 3)


def test_a_chain_of_three_recomputations_takes_the_time_of_each() -> None:
    instance = mirrored_models(chained=True, recompute_ns=5)
    # z0, z1 and z2 are dropped, and all are computed again for b1; z1 and z0 wait for their use.
    found = replay(
        alone("F1.0 F1.1 D1.0 F1.2 D1.1 F1.3 D1.2 B1.0 R1.0 R1.1 R1.2 B1.1 B1.2 B1.3"), instance
    )
    assert found.valid
    assert (found.time_ns, found.recompute_ns, found.stall_ns) == (20 + 15, 15, 0)
    # The three of them beside the 2 bytes of the pass.
    assert found.peak_bytes == 32


def test_sources_that_are_dropped_again_are_computed_more_often() -> None:
    instance = mirrored_models(chained=True, recompute_ns=5)
    found = replay(
        alone(
            "F1.0 F1.1 D1.0 F1.2 D1.1 F1.3 D1.2 B1.0 "
            "R1.0 R1.1 D1.0 R1.2 D1.1 B1.1 R1.0 R1.1 D1.0 B1.2 R1.0 B1.3"
        ),
        instance,
    )
    assert found.valid
    # z2 once, z1 twice, z0 three times.
    assert found.recompute_ns == 6 * 5
    # At most two at a time.
    assert found.peak_bytes == 22


def test_memory_short_for_a_moment_is_waited_for() -> None:
    # f2 needs 12 beside z1 and, until its copy ends at 8, z0: 32 bytes. In 30 it starts at 8.
    found = replay(
        alone("F1.0 O1.0 F1.1 O1.1 F1.2 O1.2 F1.3 O1.3 P1.3 B1.0 P1.2 B1.1 P1.1 B1.2 P1.0 B1.3"),
        memory=30,
    )
    assert found.valid
    starts = {step.operation: step.start_ns for step in found.steps}
    assert (starts["F1 1"], starts["F1 2"]) == (2, 8)
    assert found.peak_bytes <= 30


def test_memory_is_given_out_in_the_order_of_issue() -> None:
    # z0 leaves from 2 to 8. Issued before f1, its return holds f1 up until it starts at 8.
    found = replay(alone(f"F1.0 O1.0 P1.0 F1.1 F1.2 F1.3 {BACKWARD}"))
    assert found.valid
    starts = {step.operation: step.start_ns for step in found.steps}
    assert starts["F1 1"] == 8


def test_a_round_ends_with_its_last_transfer() -> None:
    # z3 leaves from 20 to 26, after the last forward operator.
    found = replay(twins(f"P1.3 {BACKWARD} F2.0 F2.1 F2.2 F2.3 O2.3"))
    assert found.valid
    # b0 waits 6 ns for z3, and the round 6 ns for the other z3.
    assert found.round_ends_ns == (32, 64)
    assert found.stall_ns == 2 * 12


def test_a_unit_starts_when_the_one_before_it_is_done() -> None:
    unit = unit_of((1,), f"{FORWARD} {BACKWARD}")
    found = replay(MultiModelSchedule((unit, unit)))
    assert found.valid
    assert found.unit_ends_ns == (20, 40)
    assert found.steps[8].start_ns == 20
    # The second finds nothing of the first.
    assert found.peak_bytes == 42


def test_what_does_not_fit_is_named_with_the_bytes_over_the_limit() -> None:
    found = replay(alone(f"{FORWARD} {BACKWARD}"), memory=41)
    assert [str(item) for item in found.violations] == [
        "operation 3 (F1 3): out of memory: f3, 1 bytes over the limit"
    ]


def test_static_memory_that_does_not_fit_is_named_before_the_first_operation() -> None:
    instance = replace(mirrored_models(), static_bytes=(5,))
    found = replay(alone("F1.0"), instance, 3).violations[0]
    assert (found.rule, found.operation) == (Rule.OUT_OF_MEMORY, "start of unit 1")
    assert found.bytes_over == 2


def test_operators_missing_repeated_or_out_of_order_are_named() -> None:
    assert broken(alone(f"F1.0 F1.2 F1.1 F1.3 {BACKWARD}")) == [
        (Rule.OUT_OF_ORDER, 1, "expected f1"),
        (Rule.OUT_OF_ORDER, 2, "expected f3"),
    ]
    assert broken(alone(f"{FORWARD} B1.0 B1.1 B1.1 B1.2 B1.3"))[0] == (
        Rule.COMPUTED_TWICE,
        6,
        "b1",
    )
    assert (Rule.UNFINISHED, 6, "b3 is missing") in broken(alone(f"{FORWARD} B1.0 B1.1 B1.2"))
    assert broken(alone(f"B1.0 {FORWARD} B1.1 B1.2 B1.3"))[0] == (
        Rule.OUT_OF_ORDER,
        0,
        "the forward pass is not over",
    )


def test_an_operator_of_the_other_round_is_named() -> None:
    text = f"{BACKWARD} F2.0 F2.1 F2.2 F2.3"
    found = broken(twins(f"{text} B2.0"))
    assert (Rule.OUT_OF_ORDER, 8, "it belongs to the other round") in found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # z0 is on the host when b3 reads it.
        (f"F1.0 O1.0 F1.1 F1.2 F1.3 {BACKWARD}", (Rule.INPUT_MISSING, 8, "z0")),
        # Nothing of it is on the host.
        (f"F1.0 D1.0 P1.0 F1.1 F1.2 F1.3 {BACKWARD}", (Rule.NO_COPY, 2, "z0")),
        # It has not left.
        (f"F1.0 R1.0 F1.1 F1.2 F1.3 {BACKWARD}", (Rule.IN_MEMORY_ALREADY, 1, "z0")),
        (f"F1.0 O1.0 P1.0 P1.0 F1.1 F1.2 F1.3 {BACKWARD}", (Rule.IN_MEMORY_ALREADY, 3, "z0")),
        # It is not made yet; it has left.
        (f"O1.0 {FORWARD} {BACKWARD}", (Rule.NOT_IN_MEMORY, 0, "z0")),
        (f"F1.0 D1.0 D1.0 R1.0 F1.1 F1.2 F1.3 {BACKWARD}", (Rule.NOT_IN_MEMORY, 2, "z0")),
        # The forward pass has yet to make it.
        (f"F1.0 R1.1 F1.1 F1.2 F1.3 {BACKWARD}", (Rule.OUT_OF_ORDER, 1, "z1 is not idle yet")),
        # It is there no more when z1 is computed from it.
        (
            f"F1.0 F1.1 D1.0 D1.1 R1.1 R1.0 F1.2 F1.3 {BACKWARD}",
            (Rule.INPUT_MISSING, 4, "z0"),
        ),
        # It is computed again after its last use, and stays.
        (
            f"{FORWARD} {BACKWARD} R1.0",
            (Rule.NOT_PERIODIC, 8, "z0 is left in memory"),
        ),
        # There are four operators and four feature maps, and one sub-array.
        (f"{FORWARD} B1.4 {BACKWARD}", (Rule.UNKNOWN_OPERATION, 4, "not in unit 1")),
        (f"{FORWARD} D1.4 {BACKWARD}", (Rule.UNKNOWN_OPERATION, 4, "not in unit 1")),
        (f"{FORWARD} D2.0 {BACKWARD}", (Rule.UNKNOWN_OPERATION, 4, "not in unit 1")),
    ],
)
def test_each_rule_about_feature_maps_is_named_once(
    text: str, expected: tuple[Rule, int, str]
) -> None:
    assert broken(alone(text), mirrored_models(chained=True)) == [expected]


def test_a_source_in_backward_use_is_read_and_after_its_last_use_it_is_not() -> None:
    # z0 is in use from b0 to b1; z1, which comes from it, is read by b2.
    instance = MultiModel(
        name="held",
        models=1,
        sizes=(1,),
        static_bytes=(0,),
        forward=(operator("f0", 1, 20, 0),),
        backward=(
            operator("b0", 1, 10, 10),
            operator("b1", 1, 10, 0),
            operator("b2", 1, 10, 0),
        ),
        feature_maps=tuple(
            FeatureMap(
                name=f"z{number}",
                size_bytes=(10,),
                made_by="f0",
                last_forward="f0",
                first_backward=f"b{2 * number}",
                last_backward=f"b{number + 1}",
                recompute_ns=(4,),
                recompute_bytes=(3,),
                sources=("z0",) if number else (),
            )
            for number in range(2)
        ),
        bandwidth=10**9,
    )
    good = replay(alone("F1.0 D1.1 B1.0 R1.1 B1.1 B1.2"), instance)
    assert good.valid
    # The pass has 10; z1 and the workspace of its recomputation take 13.
    assert max(size for when, size in good.memory_profile if when >= 2) == 23
    for text in ("F1.0 D1.1 B1.0 B1.1 R1.1 B1.2", "F1.0 D1.1 D1.0 R1.1 R1.0 B1.0 B1.1 B1.2"):
        assert [rule for rule, _, _ in broken(alone(text), instance)] == [Rule.INPUT_MISSING]


def test_units_that_the_problem_does_not_know_are_named() -> None:
    whole = f"{FORWARD} {BACKWARD}"
    assert broken(MultiModelSchedule((unit_of((2,), whole),))) == [
        (Rule.UNKNOWN_OPERATION, 0, "unit 1 fuses 2 models")
    ]
    assert broken(MultiModelSchedule((TrainingUnit((1, 1), ()),))) == [
        (Rule.UNKNOWN_OPERATION, 0, "unit 1 has 2 sub-arrays and 0 rounds")
    ]


def test_every_model_has_to_be_trained() -> None:
    problem = MultiModelTraining(mirrored_models(), LARGE)
    found = alone(f"{FORWARD} {BACKWARD}").replay(problem).violations
    assert [str(item) for item in found] == ["at the end: unfinished: 1 models are trained, not 2"]


def test_a_discarded_feature_map_returns_when_all_that_reads_it_has_ended() -> None:
    # R z1 runs from 8 to 13 and reads z0, which is dropped in the meantime and computed again.
    instance = mirrored_models(chained=True, recompute_ns=5)
    found = replay(alone("F1.0 F1.1 D1.1 F1.2 F1.3 R1.1 D1.0 R1.0 B1.0 B1.1 B1.2 B1.3"), instance)
    assert found.valid
    sizes = dict(found.memory_profile)
    # At 8: z0, z2, z3, 2 bytes and z1 being made; at 13 z0 returns, and is made anew.
    assert (sizes[8], sizes[13]) == (42, 42)
    assert found.recompute_ns == 10
