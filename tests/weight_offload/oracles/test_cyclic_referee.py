"""Two judges of cyclic schedules, which share no code, say the same of good and spoilt ones."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from jettison import WeightOffload
from jettison.solvers.weight_offload.layer_to_layer import layer_to_layer
from jettison.weight_offload import CyclicEvent, CyclicEventKind, CyclicSchedule
from tests.weight_offload.oracles.brute_force import fastest_step
from tests.weight_offload.oracles.cyclic_referee import CyclicReferee
from tests.weight_offload.oracles.samples import as_schedule, sample


def good_schedules(
    chance: random.Random, layers: int
) -> Iterator[tuple[WeightOffload, CyclicSchedule]]:
    """A random problem with the schedules of L2L and of the brute force."""
    problem = sample(chance, layers)
    yield problem, layer_to_layer(problem)
    found = fastest_step(problem)
    assert found is not None
    yield problem, as_schedule(*found)


def spoilt(chance: random.Random, schedule: CyclicSchedule, layers: int) -> CyclicSchedule:
    """Change one to three things: a time, a place among equals, a kind, a layer, what is there."""
    period_ns, events = schedule.period_ns, list(schedule.events)
    kinds = list(CyclicEventKind)
    for _ in range(chance.randint(1, 3)):
        change = chance.randrange(7)
        place = chance.randrange(len(events))
        event = events[place]
        if change == 0:
            period_ns = max(0, period_ns + chance.randint(-2, 2))
        elif change == 1:
            events[place] = replace(event, start_ns=event.start_ns + chance.randint(-2, 2))
        elif change == 2:
            other = chance.randrange(len(events))
            events[place], events[other] = events[other], event
        elif change == 3:
            events[place] = replace(event, kind=chance.choice(kinds))
        elif change == 4:
            events[place] = replace(event, layer=chance.randint(1, layers))
        elif change == 5 and len(events) > 1:
            del events[place]
        else:
            when = chance.randint(0, period_ns)
            drawn = CyclicEvent(chance.choice(kinds[2:]), chance.randint(1, layers), when)
            events.insert(place, drawn)
    inside = [replace(event, start_ns=min(max(event.start_ns, 0), period_ns)) for event in events]
    # A stable sort: of equal times the order of the list remains.
    return CyclicSchedule(period_ns, tuple(sorted(inside, key=lambda event: event.start_ns)))


def assert_same_verdict(problem: WeightOffload, schedule: CyclicSchedule) -> bool:
    replay = schedule.replay(problem.cycle, problem.link, problem.memory_bytes)
    verdict = CyclicReferee(problem).judge(schedule)
    assert replay.valid == verdict.is_valid, (problem, schedule, replay.violations)
    if replay.valid:
        assert replay.peak_bytes == verdict.peak_bytes, (problem, schedule)
    return replay.valid


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_the_replay_and_the_referee_say_the_same(layers: int) -> None:
    chance = random.Random(layers)
    valid = invalid = 0
    for _ in range((40, 25, 10)[layers - 1]):
        for problem, schedule in good_schedules(chance, layers):
            assert assert_same_verdict(problem, schedule)
            # Half of them without a limit that binds.
            roomy = replace(problem, memory=problem.cycle.no_offload_peak_bytes + 9)
            for number in range(20):
                judged = roomy if number % 2 else problem
                if assert_same_verdict(judged, spoilt(chance, schedule, layers)):
                    valid += 1
                else:
                    invalid += 1
    assert min(valid, invalid) > 50
