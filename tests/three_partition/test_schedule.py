from __future__ import annotations

import random
from dataclasses import replace

import pytest

from jettison import Chain, InputError, ThreePartition, WeightOffload
from jettison.instances.generators.three_partition_family import (
    FAMILIES,
    generate_three_partition,
)
from jettison.instances.three_partition.certificate import PlantedTriples
from jettison.instances.three_partition.instance import Partition
from jettison.instances.three_partition.offload_chain import weight_offload_of
from jettison.remat_chain import Stage
from jettison.schedules.three_partition.partition_schedule import (
    partition_of_schedule,
    schedule_of_partition,
)
from jettison.weight_offload import CyclicEvent, CyclicEventKind, CyclicSchedule
from tests.three_partition.oracles.brute_force import has_three_partition


def yes_instance(groups: int, target: int, seed: int) -> tuple[ThreePartition, Partition]:
    instance = generate_three_partition(FAMILIES["planted"], groups, target, seed=seed)
    assert isinstance(instance.certificate, PlantedTriples)
    return instance, instance.certificate.triples


def small() -> tuple[ThreePartition, CyclicSchedule]:
    instance = ThreePartition("two", (26, 33, 41, 30, 34, 36), 100)
    return instance, schedule_of_partition(instance, ((0, 1, 2), (3, 4, 5)))


def test_hundreds_of_partitions_become_valid_schedules_of_exactly_the_memory_and_come_back() -> (
    None
):
    generator = random.Random(3)
    for seed in range(200):
        groups = generator.randint(1, 9)
        instance, partition = yes_instance(groups, generator.randint(9, 3000), seed)
        schedule = schedule_of_partition(instance, partition)
        problem = weight_offload_of(instance)
        replay = schedule.replay(problem.cycle, problem.link, problem.memory_bytes)
        assert replay.violations == ()
        # Theorem 1: the period is 2m units of V ns, and the peak is all of M = (m + 1) V.
        assert schedule.period_ns == 2 * groups * instance.target
        assert replay.peak_bytes == problem.memory_bytes == (groups + 1) * instance.target
        assert partition_of_schedule(instance, schedule) == partition


def test_the_order_of_groups_and_items_is_free() -> None:
    instance, partition = yes_instance(5, 100, 1)
    other = tuple((third, first, second) for first, second, third in reversed(partition))
    assert partition_of_schedule(instance, schedule_of_partition(instance, other)) == partition


def test_the_link_is_never_idle() -> None:
    instance, schedule = small()
    problem = weight_offload_of(instance)
    replay = schedule.replay(problem.cycle, problem.link, problem.memory_bytes)
    # m V bytes of items and m V bytes of the first layers leave, and come back: 400 each.
    for to_host in (True, False):
        moved = [item for item in replay.transfers if item.to_host == to_host]
        assert sum(item.end_ns - item.start_ns for item in moved) == schedule.period_ns == 400


def test_groups_that_are_no_partition_make_no_schedule() -> None:
    instance, _ = small()
    for groups in (((0, 1, 3), (2, 4, 5)), ((0, 1, 2),), ((0, 1, 2), (0, 1, 2))):
        with pytest.raises(InputError, match="triples"):
            schedule_of_partition(instance, groups)


def test_a_schedule_of_another_period_contains_no_partition() -> None:
    instance, schedule = small()
    with pytest.raises(InputError, match="period_ns: 401 ns; give a schedule of 400 ns"):
        partition_of_schedule(instance, replace(schedule, period_ns=401))


def test_a_schedule_with_an_event_left_out_is_refused_with_the_broken_rule() -> None:
    instance, schedule = small()
    for position, event in enumerate(schedule.events):
        left = schedule.events[:position] + schedule.events[position + 1 :]
        with pytest.raises(InputError, match="the schedule is not valid"):
            partition_of_schedule(instance, replace(schedule, events=left))
        assert event not in left


def test_a_schedule_with_an_upload_at_another_time_is_refused() -> None:
    instance, schedule = small()
    generator = random.Random(4)
    uploads = [
        position
        for position, event in enumerate(schedule.events)
        if event.kind is CyclicEventKind.UPLOAD
    ]
    for position in uploads:
        event = schedule.events[position]
        others = [item for item in schedule.events if item is not event]
        start_ns = generator.choice([ns for ns in range(400) if ns != event.start_ns])
        moved = CyclicEvent(event.kind, event.layer, start_ns)
        events = sorted([*others, moved], key=lambda item: item.start_ns)
        with pytest.raises(InputError, match="is not valid"):
            partition_of_schedule(instance, replace(schedule, events=tuple(events)))


def test_items_outside_the_interval_have_a_schedule_of_2m_without_any_partition() -> None:
    # Theorem 1 as printed, for V = 5 and the items 1, 1, 1, 1, 1, 5, which are layers 5 to 10. The
    # groups {1, 1, 1, 1, 1} and {5} are uploaded in B_4 and B_2; there are no two triples of sum 5.
    weights = (5, 0, 5, 0, 1, 1, 1, 1, 1, 5)
    stages = tuple(
        Stage(
            name=f"layer {layer}",
            forward_ns=10 if layer == 4 else 0,
            backward_ns=5 if layer in {2, 4} else 0,
            output_bytes=0,
            saved_bytes=0,
            weight_bytes=weight,
        )
        for layer, weight in enumerate(weights, start=1)
    )
    problem = WeightOffload(Chain("printed", 0, stages), 15, 10**9)
    kinds = {kind.value: kind for kind in CyclicEventKind}
    text = """
        0 B 10, 0 B 9, 0 B 8, 0 B 7, 0 B 6, 0 B 5, 0 B 4, 0 prefetch 3, 0 upload 5, 1 upload 6,
        2 upload 7, 3 upload 8, 4 upload 9, 5 delete 5, 5 delete 6, 5 delete 7, 5 delete 8,
        5 delete 9, 5 B 3, 5 B 2, 5 prefetch 1, 5 upload 10, 10 delete 10, 10 B 1, 10 F 1, 10 F 2,
        10 F 3, 10 F 4, 10 upload 1, 10 prefetch 5, 11 prefetch 6, 12 prefetch 7, 13 prefetch 8,
        14 prefetch 9, 15 delete 1, 15 upload 3, 15 prefetch 10, 20 delete 3, 20 F 5, 20 F 6,
        20 F 7, 20 F 8, 20 F 9, 20 F 10
    """
    words = [entry.split() for entry in text.split(",")]
    events = tuple(CyclicEvent(kinds[kind], int(layer), int(ns)) for ns, kind, layer in words)
    replay = CyclicSchedule(20, events).replay(problem.cycle, problem.link, problem.memory_bytes)
    assert replay.violations == ()
    assert replay.peak_bytes == 15
    assert not has_three_partition(weights[4:], 5)


def test_one_byte_less_of_memory_breaks_the_schedule() -> None:
    instance, schedule = small()
    problem = weight_offload_of(instance)
    replay = schedule.replay(problem.cycle, problem.link, problem.memory_bytes - 1)
    assert replay.violations[0].bytes_over == 1
