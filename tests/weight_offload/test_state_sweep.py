"""The sweep over events: what it answers, and what its kernel refuses."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from jettison.solvers import _kernels
from jettison.solvers.core.clock import Clock
from jettison.solvers.weight_offload.exact.beginnings import CutCycle, best_cut
from jettison.solvers.weight_offload.exact.params import WEIGHT_EXACT
from jettison.solvers.weight_offload.exact.state_sweep import SweepEnd, seek_step
from tests.weight_offload.oracles.brute_force import least_period_ns
from tests.weight_offload.oracles.samples import sample


def test_every_cut_gives_the_same_answer() -> None:
    chance = random.Random(0)
    for _ in range(15):
        problem = sample(chance, chance.choice((2, 3)))
        least_ns = least_period_ns(problem)
        assert least_ns is not None
        for first in range(len(problem.cycle)):
            cut = CutCycle(problem, first)
            beginnings = cut.beginnings(10_000)
            assert beginnings is not None
            for period_ns, end in ((least_ns - 1, SweepEnd.REFUTED), (least_ns, SweepEnd.FOUND)):
                sweep = seek_step(
                    cut,
                    beginnings,
                    period_ns,
                    Clock(None),
                    most_labels=10**6,
                    most_rounds=10 * WEIGHT_EXACT.most_rounds,
                )
                assert sweep.end is end
                if end is SweepEnd.REFUTED:
                    assert period_ns < sweep.next_ns
                    assert sweep.next_ns <= least_ns


def test_limits_end_a_sweep_without_an_answer() -> None:
    chance = random.Random(4)
    tried = 0
    for _ in range(20):
        problem = sample(chance, 2)
        least_ns = least_period_ns(problem)
        assert least_ns is not None
        # One below the optimum, but no less than the operations take: there are labels to make.
        if least_ns == problem.instance.base_time_ns:
            continue
        cut, beginnings = best_cut(problem, 10_000) or pytest.fail("no cut")
        ends = [
            seek_step(
                cut,
                beginnings,
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
    cut, beginnings = best_cut(problem, 10_000) or pytest.fail("no cut")
    assert cut.beginnings(len(beginnings)) == beginnings
    assert cut.beginnings(len(beginnings) - 1) is None


@pytest.mark.parametrize(
    ("column", "value"), [(0, -1), (0, 1 << 15), (3, 5), (4, 30), (5, -1)], ids=str
)
def test_the_kernel_refuses_beginnings_out_of_range(column: int, value: int) -> None:
    cut = CutCycle(sample(random.Random(0), 2), 0)
    row = np.array([[3, 0, 0, _kernels.IDLE_LINK, _kernels.IDLE_LINK, 0, 0]], dtype=np.int64)
    _kernels.sweep_weight_cycle(*cut.arrays, row, 10**6, 10**6, 2**62)
    row[0, column] = value
    with pytest.raises(ValueError, match="beginnings"):
        _kernels.sweep_weight_cycle(*cut.arrays, row, 10**6, 10**6, 2**62, math.inf)
