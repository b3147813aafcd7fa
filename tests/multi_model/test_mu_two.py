"""The method of µ-TWO and its policy, on the story of Figure 6 and on random models."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from jettison import MultiModel, MultiModelTraining
from jettison.multi_model import MultiModelSchedule
from jettison.schedules.multi_model.training_replay import TrainingReplay
from jettison.solvers.core.method import Method
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.registry import methods_of
from jettison.solvers.core.solve import solve_with
from jettison.solvers.multi_model.decisions import Fate
from jettison.solvers.multi_model.mu_two.method import scheduled_divisions, solve_mu_two
from jettison.solvers.multi_model.mu_two.policy import OutOfMemoryStrategy, unit_decisions
from tests.tiny_models import mirrored_models, random_models

HEURISTICS = [method for method in methods_of("multi-model") if method.promise.value == "heuristic"]


def replayed(problem: MultiModelTraining, method: str) -> TrainingReplay:
    found = solve_with(problem, method, SolveOptions(time_limit_s=20))
    assert isinstance(found.schedule, MultiModelSchedule)
    replay = found.schedule.replay(problem)
    assert replay.valid
    return replay


def cheap_z1(instance: MultiModel) -> MultiModel:
    """Return the models with a z1 that is much cheaper to recompute than the others."""
    maps = [
        replace(item, recompute_ns=(1,)) if item.name == "z1" else item
        for item in instance.feature_maps
    ]
    return replace(instance, feature_maps=tuple(maps))


def test_forward_operators_of_the_partner_hide_a_swap() -> None:
    # At the start of BW_1 four feature maps of 10 bytes are idle, and 2 bytes are carried: 42. In
    # 40 one has to leave; z0, which is idle longest, is copied in 6 ns, which two forward operators
    # of the partner hide, or backward operators. Nothing waits: 2 (4 * 2 + 4 * 3) = 40 ns.
    replay = replayed(MultiModelTraining(mirrored_models(), 40), "mu-two")
    assert (replay.time_ns, replay.stall_ns, replay.recompute_ns) == (40, 0, 0)
    assert replay.peak_bytes <= 40
    assert {str(item.operation) for item in replay.transfers} == {"O1 0", "O2 0", "P1 0", "P2 0"}


def test_alone_the_same_swap_makes_the_device_wait() -> None:
    # One model alone: z0 leaves from 2 to 22 ns, and until then f3 has no room beside z0, z1 and
    # z2: it runs to 24. While b0 runs, to 27, there is no room for z0, beside z1, z2 and 12 bytes;
    # then it comes back until 47, when b1 and b2 are long done, and b3 runs to 50. Operators take
    # 20.
    instance = mirrored_models(swap_ns=20, recompute_ns=100, models=1)
    replay = replayed(MultiModelTraining(instance, 40), "hfta-capuchin")
    assert (replay.time_ns, replay.stall_ns, replay.recompute_ns) == (50, 30, 0)


def test_after_a_recomputation_the_recomputed_one_is_decided() -> None:
    # Line 17 of Algorithm B prints cand = s_cand. In 30 bytes two of the four have to leave. A copy
    # of 40 ns hides nowhere, and z1 is recomputed in 1 ns; z0, idle longest, is offered as a swap
    # in the same iteration. Printed, z0 would be no candidate any more, and stay in memory.
    instance = cheap_z1(mirrored_models(swap_ns=40, recompute_ns=100))
    decisions = unit_decisions(MultiModelTraining(instance, 30), (1, 1), 30)
    assert decisions is not None
    assert decisions.fates[0] == (Fate.SWAP, Fate.RECOMPUTE, Fate.KEEP, Fate.KEEP)


def test_each_arm_of_the_policy_does_one_thing() -> None:
    problem = MultiModelTraining(mirrored_models(), 30)
    for strategy, fate in (
        (OutOfMemoryStrategy.SWAP, Fate.SWAP),
        (OutOfMemoryStrategy.RECOMPUTE, Fate.RECOMPUTE),
    ):
        decisions = unit_decisions(problem, (1, 1), 30, strategy)
        assert decisions is not None
        assert set(decisions.fates[0]) == {fate, Fate.KEEP}


def test_sub_arrays_of_one_size_are_decided_alike() -> None:
    decisions = unit_decisions(MultiModelTraining(mirrored_models(), 30), (1, 1), 30)
    assert decisions is not None
    assert decisions.fates[0] == decisions.fates[1]
    assert decisions.forward_before[0] == decisions.forward_before[1]


def test_nothing_is_decided_where_everything_fits() -> None:
    decisions = unit_decisions(MultiModelTraining(mirrored_models(), 60), (1, 1), 60)
    assert decisions is not None
    assert set(decisions.fates[0]) == {Fate.KEEP}
    assert set(decisions.forward_before[0]) == {0}


def test_every_division_is_reported_and_the_fastest_is_returned() -> None:
    draw = random.Random(2)
    for _ in range(20):
        instance = random_models(draw, sizes=(1, 2, 3), models=6)
        problem = MultiModelTraining(instance, "60%" if 6 in instance.sizes else 40)
        divisions = list(scheduled_divisions(problem))
        # 6 models: the partitions of 3, doubled.
        assert [item.units for item in divisions] == [
            ((3, 3),),
            ((2, 2), (1, 1)),
            ((1, 1), (1, 1), (1, 1)),
        ]
        times = [item.time_ns for item in divisions if item.time_ns is not None]
        outcome = solve_mu_two(problem, SolveOptions())
        if outcome.schedule is None:
            assert not times
        else:
            assert isinstance(outcome.schedule, MultiModelSchedule)
            assert outcome.schedule.replay(problem).time_ns == min(times)


@pytest.mark.parametrize("method", HEURISTICS, ids=lambda method: method.name)
def test_heuristics_are_never_below_the_bound(method: Method) -> None:
    draw = random.Random(method.name)
    schedules = 0
    for _ in range(40):
        instance = random_models(draw)
        problem = MultiModelTraining(instance, draw.randint(5, 60))
        found = solve_with(problem, method.name, SolveOptions(time_limit_s=5))
        if found.time_ns is None:
            continue
        schedules += 1
        bound = solve_with(problem, "bound", SolveOptions(time_limit_s=5))
        assert bound.lower_bound_ns is not None
        assert bound.lower_bound_ns <= found.time_ns
    assert schedules > 5
