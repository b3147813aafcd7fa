"""Least memory of fixed computations, and strategies of least size, beside every choice."""

from __future__ import annotations

from jettison.formulations.remat_sharding.least_size import sharding_least_size
from jettison.formulations.remat_sharding.strategy_columns import num_choice_columns
from jettison.instances.remat_sharding.chosen_strategies import with_strategies
from jettison.remat_sharding import Role, ShardedSchedule
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.remat_sharding.baselines import recomputing
from jettison.solvers.remat_sharding.least_memory import (
    floor_of_computations,
    strategies_of_least_size,
    with_smallest_strategies,
)
from tests.remat_sharding.oracles.brute_force import priced_choices
from tests.remat_sharding.samples import any_order, training_steps

# No model is built, and what comes before the models runs at once.
NO_MODELS = {"most_columns": 1, "many_columns": 1}


def test_no_choice_takes_less_than_the_floor_and_one_may_take_as_much() -> None:
    met = total = 0
    for problem in (*training_steps(61, 60), *any_order(62, 40)):
        graph = problem.instance
        forward = {i for i, item in enumerate(graph.operators) if item.role is Role.FORWARD}
        choices = priced_choices(graph)
        for dropped in (set(), forward):
            computations = recomputing(graph, dropped)
            floor_bytes = floor_of_computations(graph, computations)
            peaks = [
                ShardedSchedule.from_computations(graph, choice.strategies, computations)
                .replay(graph)
                .peak_bytes
                for choice in choices
            ]
            assert all(peak >= floor_bytes for peak in peaks)
            total += bool(peaks)
            met += bool(peaks) and min(peaks) == floor_bytes
    # Where pairs are forbidden, or moments want different strategies, it is lower.
    assert met > total / 2


def test_strategies_of_least_size_are_those_of_the_smallest_sum() -> None:
    for problem in (*training_steps(63, 40), *any_order(64, 40)):
        graph = problem.instance
        found = strategies_of_least_size(graph, HighsOptions(gap=0))
        sums = [sum(choice.sizes_bytes) for choice in priced_choices(graph)]
        if found is None:
            assert not sums
            continue
        assert sum(node.output_bytes for node in with_strategies(graph, found).nodes) == min(sums)


def test_exact_finds_plans_before_any_model_where_no_baseline_fits() -> None:
    options = SolveOptions(time_limit_s=20)
    found = 0
    for problem in training_steps(65, 80):
        others = ("alpa", "alpa-recompute-all", "kiwi-reduced")
        if any(solve_with(problem, name, options).schedule is not None for name in others):
            continue
        result = solve_with(problem, "exact", options, NO_MODELS)
        found += result.time_ns is not None
    assert found


def test_columns_of_a_choice_are_counted_as_they_are_written() -> None:
    for problem in training_steps(66, 40):
        built = sharding_least_size(problem.instance)
        assert num_choice_columns(problem.instance) == built.model.num_columns


def test_no_plan_takes_less_than_the_same_one_with_the_smallest_strategies() -> None:
    for problem in (*training_steps(67, 40), *any_order(68, 40)):
        graph = problem.instance
        smallest = with_smallest_strategies(graph)
        forward = {i for i, item in enumerate(graph.operators) if item.role is Role.FORWARD}
        for dropped in (set(), forward):
            computations = recomputing(graph, dropped)
            least = ShardedSchedule.from_computations(smallest, [0] * len(graph), computations)
            for choice in priced_choices(graph):
                plan = ShardedSchedule.from_computations(graph, choice.strategies, computations)
                taken = [step.during_bytes for step in plan.replay(graph).steps]
                floors = [step.during_bytes for step in least.replay(smallest).steps]
                assert all(one >= other for one, other in zip(taken, floors, strict=True))
