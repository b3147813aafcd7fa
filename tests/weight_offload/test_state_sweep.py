"""The sweep over events: what it answers, and what its kernel refuses."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from jettison.instances.three_partition.instance import ThreePartition
from jettison.instances.three_partition.offload_chain import weight_offload_of
from jettison.solvers import _kernels
from jettison.solvers.core.clock import Clock
from jettison.solvers.weight_offload.exact.beginnings import CutCycle, best_cut
from jettison.solvers.weight_offload.exact.params import WEIGHT_EXACT
from jettison.solvers.weight_offload.exact.state_sweep import SweepEnd, seek_step
from jettison.solvers.weight_offload.layer_to_layer import layer_to_layer
from tests.weight_offload.oracles.brute_force import least_period_ns
from tests.weight_offload.oracles.samples import sample


def test_every_cut_gives_the_same_answer_for_every_period() -> None:
    chance = random.Random(0)
    for number in range(25):
        problem = sample(chance, chance.choice((2, 3)))
        least_ns = least_period_ns(problem)
        assert least_ns is not None
        for first in range(len(problem.cycle)):
            cut = CutCycle(problem, first)
            for period_ns in range(problem.base_time_ns, least_ns + 1):
                listed = cut.beginnings(period_ns, 10_000)
                assert listed is not None
                sweep = seek_step(
                    cut,
                    listed.states,
                    period_ns,
                    Clock(None),
                    most_labels=10**6,
                    most_rounds=10 * WEIGHT_EXACT.most_rounds,
                )
                if period_ns == least_ns:
                    assert sweep.end is SweepEnd.FOUND, (number, first)
                    continue
                assert sweep.end is SweepEnd.REFUTED, (number, first, period_ns)
                next_ns = min(sweep.next_ns, listed.next_ns)
                assert period_ns < next_ns <= least_ns, (number, first, period_ns)


def test_a_step_of_a_longer_period_can_be_in_no_fewer_states() -> None:
    chance = random.Random(1)
    fewer = 0
    for _ in range(10):
        problem = sample(chance, 3)
        longest_ns = layer_to_layer(problem).period_ns
        for first in range(len(problem.cycle)):
            counts = []
            for period_ns in range(problem.base_time_ns, longest_ns + 1):
                listed = CutCycle(problem, first).beginnings(period_ns, 10_000)
                assert listed is not None
                counts.append(len(listed.states))
            assert counts == sorted(counts)
            fewer += counts[0] < counts[-1]
    assert fewer > 0


def test_limits_end_a_sweep_without_an_answer() -> None:
    chance = random.Random(4)
    tried = 0
    for _ in range(40):
        problem = sample(chance, 2)
        least_ns = least_period_ns(problem)
        assert least_ns is not None
        # One below the optimum, but no less than the operations take: there are labels to make.
        if least_ns == problem.instance.base_time_ns:
            continue
        found = best_cut(problem, least_ns - 1, 10_000, Clock(None))
        cut, beginnings = found or pytest.fail("no cut")
        if not beginnings.states:
            continue
        ends = [
            seek_step(
                cut,
                beginnings.states,
                least_ns - 1,
                Clock(None),
                most_labels=most_labels,
                most_rounds=most_rounds,
            ).end
            for most_labels, most_rounds in ((0, 5), (10**6, 0))
        ]
        tried += ends == [SweepEnd.LIMIT, SweepEnd.ROUNDS]
    assert tried > 0


def test_more_beginnings_than_asked_for_are_none() -> None:
    problem = sample(random.Random(4), 4)
    period_ns = layer_to_layer(problem).period_ns
    found = best_cut(problem, period_ns, 10_000, Clock(None))
    cut, beginnings = found or pytest.fail("no cut")
    most = len(beginnings.states)
    assert cut.beginnings(period_ns, most) == beginnings
    assert cut.beginnings(period_ns, most - 1) is None
    assert best_cut(problem, period_ns, most - 1, Clock(None)) is None


def test_layers_without_weights_are_in_no_state() -> None:
    # 16 layers with weights and four without: the sets of a state have 16 bits.
    items = (35, 28, 40, 48, 33, 35, 41, 26, 33, 26, 29, 26)
    cut = CutCycle(weight_offload_of(ThreePartition("four", items, 100)), 0)
    assert cut.moving == (1, 3, 5, 7, *range(9, 21))
    listed = cut.beginnings(800, 1_000)
    assert listed is not None
    assert all(state.resident < 1 << 16 for state in listed.states)


@pytest.mark.parametrize(
    ("column", "value"), [(0, -1), (0, 1 << 16), (3, 5), (4, 30), (5, -1)], ids=str
)
def test_the_kernel_refuses_beginnings_out_of_range(column: int, value: int) -> None:
    cut = CutCycle(sample(random.Random(0), 2), 0)
    row = np.array([[3, 0, 0, _kernels.IDLE_LINK, _kernels.IDLE_LINK, 0, 0]], dtype=np.int64)
    _kernels.sweep_weight_cycle(*cut.arrays, row, 10**6, 10**6, 2**62)
    row[0, column] = value
    with pytest.raises(ValueError, match="beginnings"):
        _kernels.sweep_weight_cycle(*cut.arrays, row, 10**6, 10**6, 2**62, math.inf)
