"""Exact pipelines: equal to the enumeration, and between bounds and baselines."""

from __future__ import annotations

import jettison as jt
from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.pipeline_chain.step_replay import PipelineReplay
from jettison.solvers.core.bound import best_bound
from jettison.solvers.core.method import Promise
from jettison.solvers.core.outcome import SILENT, SolveOptions
from jettison.solvers.core.registry import find_method, methods_of
from jettison.solvers.core.solve import solve_with
from jettison.solvers.pipeline_chain.exact import bound_step, solve_bottleneck, solve_exact
from jettison.solvers.pipeline_chain.pipeline_params import PipelineParams
from tests.drawing.chains import stage_of
from tests.drawing.pipelines import drawn_pipeline
from tests.pipeline_chain.oracles.by_enumeration import best_pipeline

SEEDS = range(60)
GRADIENT_SEEDS = range(2000, 2040)


def test_step_and_bottleneck_are_those_of_the_enumeration() -> None:
    refused = 0
    for seed in SEEDS:
        problem = drawn_pipeline(seed)
        best = best_pipeline(problem)
        found = solve_exact(problem, SILENT)
        narrow = solve_bottleneck(problem, SILENT)
        bounded = bound_step(problem, SILENT)
        if best is None:
            refused += 1
            assert found.schedule is narrow.schedule is None, seed
            assert found.infeasibility, seed
            assert narrow.infeasibility, seed
            assert bounded.infeasibility, seed
            continue
        bottleneck_ns, step_ns = best
        assert found.schedule is not None, seed
        assert narrow.schedule is not None, seed
        replay, other = (item.schedule.replay(problem) for item in (found, narrow))
        assert replay.valid, seed
        assert replay.time_ns == step_ns, seed
        assert isinstance(other, PipelineReplay)
        assert other.bottleneck_ns == bottleneck_ns, seed
        for outcome in (found, narrow, bounded):
            assert all(bound.time_ns <= step_ns for bound in outcome.bounds), seed
        closed = best_bound(found.bounds, ScheduleClass.PERSISTENT)
        assert step_ns == 0 or (closed is not None and closed.time_ns == step_ns), seed
    assert 10 < refused < 50


def test_no_method_is_faster_than_exact_and_no_bound_is_above_it() -> None:
    for seed in SEEDS:
        problem = drawn_pipeline(seed, most_stages=8)
        best = solve_exact(problem, SILENT)
        if best.schedule is None:
            continue
        step_ns = best.schedule.replay(problem).time_ns
        for method in methods_of("pipeline-chain"):
            # Making the result replays the schedule, and compares it to its bounds.
            result = solve_with(problem, method.name, SILENT)
            assert result.time_ns is None or result.time_ns >= step_ns, (seed, method.name)
            if method.promise is Promise.BOUND:
                assert all(bound.time_ns <= step_ns for bound in result.bounds), seed


def test_on_a_coarse_grid_the_bracket_holds_the_optimum() -> None:
    coarse = PipelineParams(first_slots=7, most_slots=14, most_exact_slots=1, most_cuts=3)
    open_ = 0
    for seed in SEEDS:
        problem = drawn_pipeline(seed)
        best = best_pipeline(problem)
        found = solve_exact(problem, SILENT, coarse)
        if best is None:
            assert found.schedule is None, seed
            continue
        assert found.infeasibility is None, seed
        assert all(bound.time_ns <= best[1] for bound in found.bounds), seed
        if found.schedule is not None:
            assert found.schedule.replay(problem).valid, seed
            assert found.schedule.replay(problem).time_ns >= best[1], seed
        open_ += found.schedule is None or found.schedule.replay(problem).time_ns > best[1]
    # The grid is so coarse that it loses something.
    assert open_ > 0


def test_bounds_hold_where_gradients_are_larger_than_outputs() -> None:
    for seed in GRADIENT_SEEDS:
        problem = drawn_pipeline(seed, gradients_up_to=9)
        best = best_pipeline(problem)
        found = solve_exact(problem, SILENT)
        if best is None:
            assert found.schedule is None, seed
            continue
        assert found.infeasibility is None, seed
        assert all(bound.time_ns <= best[1] for bound in found.bounds), seed


def test_few_micro_batches_want_other_cuts_than_the_bottleneck() -> None:
    # Forward and backward of 1, 5, 5 and 1 ns each. With one micro-batch every cut takes 24 ns.
    # With ten, each device has 12 ns of every one, and the last one begins and ends within the
    # first: 12 ns of the first one, and 120 on device 2 less what they share, 12 + 10 * 12.
    chain = Chain(
        "uneven",
        0,
        tuple(stage_of(f"s{k}", time, time) for k, time in enumerate((1, 5, 5, 1))),
    )
    one = jt.solve(PipelineChain(chain, 100, 2, 1))
    many = jt.solve(PipelineChain(chain, 100, 2, 10))
    assert one.time_ns == 24
    assert isinstance(many.replay, PipelineReplay)
    assert many.replay.bottleneck_ns == 12
    assert many.time_ns == many.lower_bound_ns == 132


def test_at_any_limit_exact_is_no_slower_than_what_stands_beside_it() -> None:
    others = find_method("pipeline-chain", "exact").baselines
    for seed in range(3000, 3015):
        problem = drawn_pipeline(seed, most_stages=8)
        for limit_s in (1e-9, 0.05):
            options = SolveOptions(time_limit_s=limit_s)
            best = solve_with(problem, "exact", options).time_ns
            for name in others:
                time_ns = solve_with(problem, name, options).time_ns
                assert time_ns is None or (best is not None and best <= time_ns), (seed, name)
