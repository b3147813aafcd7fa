"""Windows of the full problem: with every cut and slot they are exact."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from jettison import InputError, RematSharding, ScheduleClass
from jettison.formulations.remat_sharding import windows as windowed_sharding
from jettison.formulations.remat_sharding.windows import WindowedSharding
from jettison.remat_sharding import Role, ShardedSchedule
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from tests.remat_sharding.oracles.brute_force import best_staged_plan
from tests.remat_sharding.samples import any_order, training_steps
from tests.remat_sharding.tiny_sharded import LAYERS, TWO_LAYERS

EXACT = HighsOptions(gap=0, feasibility_tolerance=1e-9)


def with_every_row(problem: RematSharding) -> WindowedSharding:
    """Return all cuts and slots."""
    count = len(problem.instance)
    slots = tuple((t, q) for t in range(1, count) for q in range(t))
    return WindowedSharding(tuple(range(count)), slots, ScheduleClass.STAGED)


@pytest.mark.parametrize("problems", [training_steps(51, 60), any_order(52, 60)])
def test_with_every_cut_and_slot_the_optimum_is_that_of_brute_force(
    problems: list[RematSharding],
) -> None:
    for problem in problems:
        built = with_every_row(problem).build(problem)
        solution = solve_model(built.model, EXACT)
        best = best_staged_plan(problem.instance, problem.memory_bytes)
        if best is None:
            assert solution.values is None
            continue
        assert solution.objective is not None
        assert built.time_scale.from_model(solution.objective) == best.time_ns


def test_the_plan_of_a_point_takes_its_objective() -> None:
    for problem in training_steps(53, 40):
        built = with_every_row(problem).build(problem)
        solution = solve_model(built.model, EXACT)
        if solution.values is None or solution.objective is None:
            continue
        plan = ShardedSchedule.from_computations(
            problem.instance,
            built.chosen(solution.values),
            built.computations(solution.values),
        )
        replay = plan.replay(problem.instance, problem.memory_bytes)
        assert replay.valid
        assert replay.time_ns == built.time_scale.from_model(solution.objective)


def test_a_plan_is_a_point() -> None:
    for problem in training_steps(54, 40):
        best = best_staged_plan(problem.instance, problem.memory_bytes)
        if best is None:
            continue
        plan = ShardedSchedule.from_computations(
            problem.instance, best.strategies, best.computations
        )
        for window in (WindowedSharding((2,)), with_every_row(problem)):
            built = window.build(problem)
            point = built.point(plan.strategies, plan.computations)
            known = ~np.isnan(point)
            model = built.model
            fixed = solve_model(
                replace(
                    model,
                    column_lower=np.where(known, point, model.column_lower),
                    column_upper=np.where(known, point, model.column_upper),
                ),
                EXACT,
            )
            assert fixed.objective is not None
            assert built.time_scale.from_model(fixed.objective) <= best.time_ns


def labels(names: tuple[str, ...]) -> set[str]:
    return {re.split(r"_(?=\d|end)", name)[0] for name in names}


def test_rows_and_columns_are_named_as_in_the_docstring() -> None:
    problem = RematSharding(LAYERS, 16)
    model = with_every_row(problem).build(problem).model
    assert windowed_sharding.__doc__ is not None
    equations = re.findall(r"\\text\{\((\w+)\)\}", windowed_sharding.__doc__)
    assert equations[0] == "objective"
    assert labels(model.row_names) <= set(equations[1:])
    tight = RematSharding(TWO_LAYERS, 17)
    other = WindowedSharding((4, 6)).build(tight).model
    assert labels(model.row_names) | labels(other.row_names) == set(equations[1:])
    columns = labels(model.column_names)
    assert columns == {"s", "e", "R", "S", "r", "q", "f", "Z", "l"}


def test_parameters_and_inputs_are_not_computed_again() -> None:
    problem = RematSharding(TWO_LAYERS, 100)
    built = with_every_row(problem).build(problem)
    once = {i for i, item in enumerate(TWO_LAYERS.operators) if item.role is not Role.FORWARD}
    for window in built.recomputed:
        for i, column in window.items():
            assert TWO_LAYERS.operators[i].role is not Role.PARAMETER
            if i in once and TWO_LAYERS.operators[i].role is Role.INPUT:
                assert built.model.column_upper[column] == 0


@pytest.mark.parametrize(
    ("cuts", "slots", "message"),
    [
        ((3, 2), (), "in order"),
        ((9,), (), "0 to 8"),
        ((1, 2), ((3, 1),), "make 2 and 3 cuts"),
    ],
)
def test_cuts_and_slots_that_mean_nothing_are_refused(
    cuts: tuple[int, ...], slots: tuple[tuple[int, int], ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        WindowedSharding(cuts, slots, ScheduleClass.STAGED).build(RematSharding(TWO_LAYERS, 20))
