"""The exact method over all divisions: above the bound, below every heuristic, and stopped."""

from __future__ import annotations

import random

import pytest

from jettison.instances.generators.random_models import RandomModels
from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.solvers.core.method import Promise
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.registry import methods_of
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.multi_model.exact import method as multi_model_exact
from jettison.solvers.multi_model.least_division import units_that_fit
from tests.multi_model.units import drawn_units, two_layers

EXACT = SolveOptions(time_limit_s=30, gap=0)
SOON = SolveOptions(time_limit_s=0.1, gap=0)


@pytest.mark.parametrize("models", [1, 2, 3])
def test_no_heuristic_is_faster_and_no_bound_is_above(models: int) -> None:
    heuristics = [
        method.name for method in methods_of("multi-model") if method.promise is Promise.HEURISTIC
    ]
    for problem, _ in drawn_units(4, 2, 6, ((models,),), share=0.4):
        exact = solve_with(problem, "exact", EXACT)
        assert exact.status == "optimal"
        bound = solve_with(problem, "bound", EXACT)
        assert bound.lower_bound_ns is not None
        assert exact.time_ns is not None
        assert bound.lower_bound_ns <= exact.time_ns
        for name in heuristics:
            time_ns = solve_with(problem, name, SOON).time_ns
            assert time_ns is None or time_ns >= exact.time_ns


def test_an_odd_number_of_models_is_divided_too() -> None:
    chance = random.Random(3)
    for seed in range(10):
        models = RandomModels(operators=4, tensors=2, models=3, reach=1, most_ns=9).draw(seed)
        largest = models.sub_array(3).store_all_peak_bytes
        problem = MultiModelTraining(models, largest * chance.randint(50, 90) // 100)
        result = solve_with(problem, "exact", EXACT)
        assert result.answer in {Answer.OPTIMAL, Answer.INFEASIBLE}
        fits = any(sum(unit) <= 3 for unit in units_that_fit(problem))
        assert (result.answer is Answer.OPTIMAL) == fits


def test_what_does_not_fit_is_refused_with_the_least_memory() -> None:
    # Every operator has one feature map of 4 bytes.
    result = solve_with(MultiModelTraining(two_layers(3, 100), 3), "exact", EXACT)
    assert result.answer is Answer.INFEASIBLE
    assert result.infeasibility is not None
    assert result.infeasibility.least_memory_bytes == 4


@pytest.mark.parametrize(
    ("tensors", "limit_s", "termination"),
    [(9, 0.5, Termination.TIME_LIMIT), (25, 60.0, Termination.NODE_LIMIT)],
)
def test_the_limits_leave_a_schedule_and_a_bound(
    tensors: int, limit_s: float, termination: Termination
) -> None:
    # Nine feature maps take longer than half a second. Of 25 there are too many states, which is
    # known when local search has ended.
    models = RandomModels(operators=30, tensors=tensors, models=2).draw(1)
    result = solve_with(
        MultiModelTraining(models, "30%"), "exact", SolveOptions(time_limit_s=limit_s, gap=0)
    )
    assert result.termination is termination
    assert result.time_ns is not None
    assert result.lower_bound_ns is not None
    assert result.problem.base_time_ns <= result.lower_bound_ns <= result.time_ns


def test_ctrl_c_leaves_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(multi_model_exact.ExactUnit, "run", interrupted)
    result = solve_with(MultiModelTraining(two_layers(3, 100), 4), "exact", EXACT)
    assert result.termination is Termination.INTERRUPTED
    assert result.time_ns is not None
