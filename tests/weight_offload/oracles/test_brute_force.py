"""The brute force for weight offloading: derived by hand, counted in another way, and replayed."""

from __future__ import annotations

import random

import pytest

from jettison.instances.weight_offload.problem import WeightOffload
from jettison.solvers.weight_offload.layer_to_layer import layer_to_layer
from tests.weight_offload.layers import layers_in
from tests.weight_offload.oracles.brute_force import fastest_step, least_period_ns
from tests.weight_offload.oracles.by_enumeration import least_period_by_enumeration
from tests.weight_offload.oracles.samples import as_schedule, sample


@pytest.mark.parametrize(
    ("problem", "period_ns"),
    [
        # One layer: its weights never need to leave.
        (layers_in(4, (1, 2, 0, 2)), 3),
        # 2 + 2 of gradients do not fit in 3.
        (layers_in(3, (1, 2, 0, 2)), None),
        # All weights and the larger gradient: 2 + 3 + 3.
        (layers_in(8, (1, 1, 0, 2), (1, 1, 0, 3)), 4),
        # One byte less. B_2 needs 6 of 7: w_1 (2 bytes) is absent, and comes only after B_2: B_1
        # waits 2 ns for it. F_1 and F_2 hide its upload, after which it leaves: 4 + 2.
        (layers_in(7, (1, 1, 0, 2), (1, 1, 0, 3)), 6),
        # No time but that of the link. B_2 needs all 8 bytes for w_2 and its gradient. Then w_2 is
        # uploaded while w_1 comes (4 ns), w_2 leaves, and B_1 needs all 8 bytes. Then w_1 is
        # uploaded while w_2 comes (4 ns); F_1 runs, w_1 leaves, F_2 runs. L2L takes 16.
        (layers_in(8, (0, 0, 0, 4), (0, 0, 0, 4)), 8),
        # Weights of no bytes and operations of no time take nothing.
        (layers_in(0, (0, 0, 0, 0), (0, 0, 0, 0)), 0),
    ],
)
def test_least_periods_derived_by_hand(problem: WeightOffload, period_ns: int | None) -> None:
    assert least_period_ns(problem) == period_ns


@pytest.mark.parametrize("count", [1, 2])
def test_counting_slots_finds_the_same_least_period(count: int) -> None:
    chance = random.Random(count)
    for _ in range(20):
        problem = sample(chance, count, longest_ns=3, most_bytes=3, least=1)
        found = least_period_ns(problem)
        longest_ns = layer_to_layer(problem).period_ns
        assert least_period_by_enumeration(problem, longest_ns) == found


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_replay_accepts_the_fastest_step(count: int) -> None:
    chance = random.Random(count)
    for _ in range((40, 25, 6)[count - 1]):
        problem = sample(chance, count)
        found = fastest_step(problem)
        assert found is not None
        period_ns, steps = found
        schedule = as_schedule(period_ns, steps)
        replay = schedule.replay(problem.cycle, problem.link, problem.memory_bytes)
        assert replay.valid
        assert period_ns == least_period_ns(problem)
        assert problem.instance.base_time_ns <= period_ns <= layer_to_layer(problem).period_ns
