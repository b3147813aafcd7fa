"""One column for what exists around an operation changes nothing but the size of the model."""

from __future__ import annotations

import random

import pytest

import jettison as jt
from jettison.formulations.training_chain.activation_rows import Existing
from jettison.formulations.training_chain.cycle_bound import build_cycle_bound
from jettison.instances.training_chain.problem import TrainingChain
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.solution import ModelSolution
from tests.drawing.training_chains import random_training_chain


def optimum(problem: TrainingChain, existing: Existing) -> ModelSolution:
    return solve_model(build_cycle_bound(problem, existing=existing).model)


def test_the_smaller_model_has_the_optimum_of_that_of_certificates() -> None:
    solved = 0
    for seed in range(30):
        chance = random.Random(seed)
        chain = random_training_chain(chance, chance.randint(2, 5))
        peak = TrainingChain(chain, "100%", "1GB/s").memory_bytes
        problem = TrainingChain(chain, chance.randint(peak // 2, peak), "1GB/s")
        small = optimum(problem, Existing.AT_STARTS)
        large = optimum(problem, Existing.AT_ALL_CUTS)
        assert (small.objective is None) == (large.objective is None), seed
        if small.objective is not None:
            assert small.objective == pytest.approx(large.objective, rel=1e-6), seed
            solved += 1
    assert solved > 10


def test_bounds_alone_are_asked_of_the_methods_that_prove_them() -> None:
    chain = random_training_chain(random.Random(1), 3, {1})
    problem = TrainingChain(chain, "90%", "1GB/s")
    verdict = jt.bound(problem)
    assert {"cycle", "cut-bound", "weights-bound", "exact"} == {
        result.method for result in verdict.results
    }
    found = jt.solve(problem, "local-search", params={"rounds": 1}, time_limit=None)
    assert verdict.bound is not None
    assert found.bound is not None
    assert found.bound.time_ns <= verdict.bound.time_ns
