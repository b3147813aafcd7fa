"""Bounds and heuristics of one budget beside the least time of the brute-force search."""

from __future__ import annotations

import random
from dataclasses import replace

import jettison as jt
from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.training_chain.problem import TrainingChain
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.training_chain.methods import METHODS
from tests.drawing.overheads import saving_overhead
from tests.training_chain.oracles.search import Given, least_time

QUICK = {"rounds": 2, "changes_per_stage": 20}
HEURISTICS = [method.name for method in METHODS if method.promise.value != "bound"]


def tiny_step(chance: random.Random, stages: int) -> Chain:
    """Return a chain of which the brute force knows the least time; each stage takes time."""
    found = []
    trained = chance.randint(1, stages)
    for number in range(1, stages + 1):
        output = chance.randint(1, 2) if number < stages else 0
        has_weights = number == trained
        found.append(
            Stage(
                name=f"s{number}",
                forward_ns=chance.randint(1, 3),
                backward_ns=chance.randint(1, 4),
                output_bytes=output,
                saved_bytes=output + chance.randint(0, 3),
                weight_bytes=chance.randint(1, 4) if has_weights else 0,
                weight_gradient_bytes=chance.randint(0, 3) if has_weights else None,
                optimizer_state_bytes=chance.choice([0, 2]) if has_weights else 0,
                update_ns=chance.randint(1, 2) if has_weights else 0,
                host_update_ns=chance.choice([None, 2]) if has_weights else None,
            )
        )
    return Chain("tiny", 0, tuple(found))


def given(stage: Stage) -> Given:
    return Given(
        forward=stage.forward_ns,
        backward=stage.backward_ns,
        output=stage.output_bytes,
        saved=stage.saved_bytes,
        forward_overhead=stage.forward_overhead_bytes,
        saving_overhead=saving_overhead(stage),
        backward_overhead=stage.backward_overhead_bytes,
        weights=stage.weight_bytes,
        gradient=stage.gradient_of_weights_bytes,
        states=stage.optimizer_state_bytes,
        update=stage.update_ns,
        host_update=stage.host_update_ns,
    )


def tiny_problem(chance: random.Random) -> TrainingChain:
    """Return a tiny step in a memory between what one operation and what all needs."""
    chain = tiny_step(chance, 2)
    peak = TrainingChain(chain, "100%", "1GB/s").memory_bytes
    return TrainingChain(chain, chance.randint(3 * peak // 4, peak), "1GB/s")


def check(problem: TrainingChain, seed: int) -> tuple[bool, bool]:
    """Check all methods beside the least time; tell if something fits, and if the best is found."""
    stages = tuple(given(stage) for stage in problem.instance)
    best = least_time(stages, problem.memory_bytes, 1)
    options = SolveOptions(time_limit_s=None)
    for name in ("cycle", "cut-bound"):
        found = solve_with(problem, name, options)
        if best is not None:
            assert found.infeasibility is None, (seed, name)
            assert found.lower_bound_ns is not None
            assert found.lower_bound_ns <= best.time, (seed, name)
    result = jt.solve(problem, params=QUICK, time_limit=None)
    if best is None:
        assert result.schedule is None, seed
        return False, False
    assert result.infeasibility is None, seed
    if result.time_ns is not None:
        assert result.time_ns >= best.time, seed
    return True, result.time_ns == best.time


def test_bounds_are_no_larger_and_schedules_no_faster_than_the_least_time() -> None:
    chance = random.Random(4)
    outcomes = [check(tiny_problem(chance), seed) for seed in range(6)]
    assert sum(fits for fits, _ in outcomes) >= 2
    assert any(is_best for _, is_best in outcomes)


def test_the_search_is_no_worse_than_any_baseline() -> None:
    chance = random.Random(5)
    for seed in range(8):
        chain = tiny_step(chance, 4)
        peak = TrainingChain(chain, "100%", "1GB/s").memory_bytes
        problem = TrainingChain(chain, chance.randint(peak // 2, peak), "1GB/s")
        options = SolveOptions(time_limit_s=None)
        times = {
            name: solve_with(problem, name, options).time_ns
            for name in HEURISTICS
            if name != "local-search"
        }
        result = jt.solve(problem, params=QUICK, time_limit=None)
        known = [time_ns for time_ns in times.values() if time_ns is not None]
        if known:
            assert result.time_ns is not None
            assert result.time_ns <= min(known), (seed, times)


def test_in_less_memory_than_one_operation_needs_nothing_fits() -> None:
    chance = random.Random(6)
    for _ in range(10):
        problem = tiny_problem(chance)
        refused = jt.solve(replace(problem, memory=1)).infeasibility
        assert refused is not None
        assert refused.least_memory_bytes is not None
        less = replace(problem, memory=refused.least_memory_bytes - 1)
        stages = tuple(given(stage) for stage in problem.instance)
        assert least_time(stages, less.memory_bytes, 1) is None
