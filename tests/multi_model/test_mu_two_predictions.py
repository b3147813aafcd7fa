"""Plans of µ-TWO's policy wait no longer than it predicts.

Memory is unlimited, so that nothing but prefetches waits, and copies to the host, which the policy
counts as free, are put where they cost nothing: a sub-array alone gets one more forward operator
that is longer than all of them, and of a pair, what is still copied after the last computation of a
round is left out.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

import jettison as jt
from jettison import MultiModel, MultiModelTraining
from jettison.multi_model import MultiModelSchedule
from jettison.solvers.multi_model.executor.executed_units import UnitExecutor
from jettison.solvers.multi_model.mu_two.policy import OutOfMemoryStrategy, unit_decisions
from tests.multi_model.random_units import random_problem

UNLIMITED = 10**15
LONG_NS = 10**12


def with_long_end(models: MultiModel) -> MultiModel:
    """Return the models with a long last forward operator, beside which all copies end."""
    last = models.forward[-1]
    end = replace(
        last,
        name="end",
        run_ns=(LONG_NS,) * len(models.sizes),
        peak_bytes=last.active_bytes,
    )
    return replace(models, forward=(*models.forward, end))


def predicted_and_paid(
    problem: MultiModelTraining, sizes: tuple[int, ...], strategy: OutOfMemoryStrategy
) -> tuple[int, int] | None:
    """Return how long a plan waits, by the policy and in the replay.

    Where a source that was computed again stays for its own use, there is less recomputation than
    the policy counts on to hide copies; what is saved so far is counted as predicted.
    """
    decisions = unit_decisions(problem, sizes, problem.memory_bytes, strategy)
    if decisions is None:
        return None
    models = problem.instance if len(sizes) == 2 else with_long_end(problem.instance)
    free = MultiModelTraining(models, UNLIMITED, models=problem.models)
    executed = UnitExecutor(free, sizes).execute(decisions)
    assert executed is not None
    replay = MultiModelSchedule((executed.unit,)).replay(free)
    begun_ns = paid_ns = 0
    for ended_ns in replay.round_ends_ns:
        steps = [step for step in replay.steps if begun_ns <= step.start_ns < ended_ns]
        paid_ns += max((step.end_ns for step in steps), default=begun_ns) - begun_ns
        begun_ns = ended_ns
    compute_ns = sum(free.sub_array(size).compute_ns for size in sizes)
    saved_ns = max(sum(decisions.recompute_ns) - replay.recompute_ns, 0)
    return sum(decisions.waiting_ns) + saved_ns, paid_ns - compute_ns - replay.recompute_ns


@pytest.mark.parametrize("strategy", list(OutOfMemoryStrategy))
def test_random_plans_wait_no_longer_than_predicted(strategy: OutOfMemoryStrategy) -> None:
    draw = random.Random(strategy.value)
    waiting = 0
    for _ in range(250):
        problem, sizes = random_problem(draw)
        found = predicted_and_paid(problem, sizes, strategy)
        if found is not None:
            predicted_ns, paid_ns = found
            assert paid_ns <= predicted_ns, (problem, sizes)
            waiting += predicted_ns > 0
    assert waiting > 5 or strategy is OutOfMemoryStrategy.RECOMPUTE


@pytest.mark.parametrize("network", ["bert", "gpt2", "vit", "resnet101", "mobilenet", "dlrm"])
def test_plans_of_the_networks_wait_no_longer_than_predicted(network: str) -> None:
    models = jt.load(f"{network}-x8")
    assert isinstance(models, MultiModel)
    problem = MultiModelTraining(models, "40GiB")
    for sizes in ((8,), (4, 4)):
        found = predicted_and_paid(problem, sizes, OutOfMemoryStrategy.HYBRID)
        assert found is not None
        predicted_ns, paid_ns = found
        assert paid_ns <= predicted_ns


def test_eight_vision_transformers_fused_never_wait() -> None:
    # 10.8 ms of waiting were predicted, and 1049 paid, when the peak that had been reached was
    # forgotten. Operators alone take 2031 ms.
    models = jt.load("vit-x8")
    assert isinstance(models, MultiModel)
    found = jt.solve(MultiModelTraining(models, "40GiB"), method="hfta-capuchin")
    assert found.replay is not None
    assert found.replay.stall_ns == 0
    assert found.time_ns is not None
    assert found.time_ns <= 2_100_000_000
