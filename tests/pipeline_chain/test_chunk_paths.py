"""Paths through interleaved steps: none is longer than a timeline, and the longest is found."""

from __future__ import annotations

import random
from functools import cache

import numpy as np

from jettison.schedules.pipeline_chain.phase_order import Turn, device_turns
from jettison.schedules.pipeline_chain.phase_timeline import PhaseTimes, run_phases
from jettison.solvers.pipeline_chain.chunk_paths import Counts, PhasePaths

PIPELINES = [(2, 1, 3), (2, 2, 2), (2, 2, 4), (3, 2, 3), (2, 3, 4), (4, 2, 8)]


def drawn_times(chance: random.Random, parts: int) -> list[PhaseTimes]:
    return [
        PhaseTimes(
            chance.randint(0, 9),
            chance.randint(0, 9),
            chance.randint(0, 3) if part < parts - 1 else 0,
            chance.randint(0, 3) if part else 0,
        )
        for part in range(parts)
    ]


def with_sends(times: list[PhaseTimes]) -> tuple[np.ndarray, np.ndarray]:
    return (
        np.array([float(part.forward_ns + part.send_forward_ns) for part in times]),
        np.array([float(part.backward_ns + part.send_backward_ns) for part in times]),
    )


def length(path: Counts, forward: np.ndarray, backward: np.ndarray) -> float:
    return float(path.forward @ forward + path.backward @ backward)


def longest_by_recursion(
    devices: int, chunks: int, microbatches: int, times: list[PhaseTimes]
) -> float:
    """Return the length of the longest chain of phases, each behind one that it waits for."""
    parts = devices * chunks
    orders = [device_turns(devices, device + 1, chunks, microbatches) for device in range(devices)]
    places = {turn: place for turns in orders for place, turn in enumerate(turns)}
    forward, backward = with_sends(times)

    @cache
    def end_of(turn: Turn) -> float:
        behind = []
        place = places[turn]
        if place:
            behind.append(orders[turn.part % devices][place - 1])
        if turn.is_backward:
            last = turn.part == parts - 1
            behind.append(Turn(not last, turn.part if last else turn.part + 1, turn.microbatch))
        elif turn.part:
            behind.append(Turn(False, turn.part - 1, turn.microbatch))
        own = backward[turn.part] if turn.is_backward else forward[turn.part]
        return float(own + max(map(end_of, behind), default=0.0))

    return max(end_of(turn) for turn in places)


def test_the_longest_path_is_that_of_a_recursion_and_no_longer_than_the_timeline() -> None:
    for devices, chunks, microbatches in PIPELINES:
        paths = PhasePaths(devices, chunks, microbatches)
        for seed in range(20):
            times = drawn_times(random.Random(seed), devices * chunks)
            forward, backward = with_sends(times)
            found = length(paths.longest(forward, backward), forward, backward)
            case = (devices, chunks, microbatches, seed)
            assert found == longest_by_recursion(devices, chunks, microbatches, times), case
            ran = run_phases(times, devices, microbatches)
            assert found <= max(run.sent_ns for runs in ran for run in runs), case


def test_the_first_paths_are_no_longer_than_the_longest() -> None:
    for devices, chunks, microbatches in PIPELINES:
        paths = PhasePaths(devices, chunks, microbatches)
        first = paths.first()
        assert len(first) == 2 * devices
        for seed in range(20):
            forward, backward = with_sends(drawn_times(random.Random(seed), devices * chunks))
            longest = length(paths.longest(forward, backward), forward, backward)
            for path in first:
                assert length(path, forward, backward) <= longest, (devices, chunks, seed)


def test_a_path_has_all_phases_of_a_device_that_alone_has_work() -> None:
    paths = PhasePaths(2, 2, 4)
    path = paths.longest(np.array([0.0, 2.0, 0.0, 3.0]), np.array([0.0, 4.0, 0.0, 5.0]))
    assert path.forward[[1, 3]].tolist() == [4, 4]
    assert path.backward[[1, 3]].tolist() == [4, 4]
