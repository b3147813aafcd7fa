"""The lower bound on µ-TWO's problem: below every schedule, by hand, at its limits."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from jettison.formulations.multi_model.bound import tensor_path
from jettison.formulations.multi_model.bound.columns import BoundRows
from jettison.formulations.multi_model.bound.model import MultiModelUnitBound
from jettison.instances.generators.random_models import RandomModels
from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.multi_model.bound.unit import UnitBound
from jettison.solvers.multi_model.decisions import Fate, UnitDecisions
from jettison.solvers.multi_model.executor.executed_units import UnitExecutor
from jettison.solvers.multi_model.least_division import Sizes, best_division
from tests.multi_model.test_unit_exact import unit_of
from tests.multi_model.units import drawn_units, offloaded_late, two_layers

TIGHT = SolveOptions(time_limit_s=20, gap=0)


def bounded(
    problem: MultiModelTraining,
    sizes: Sizes,
    formulation: MultiModelUnitBound | None = None,
) -> UnitBound:
    """Return the bound of the relaxation and of the model."""
    bound = UnitBound.of_operators(problem, sizes)
    if not bound.is_relaxed:
        bound.relax(problem, formulation or MultiModelUnitBound(), TIGHT, Clock(20))
    if not bound.is_solved:
        bound.solve(TIGHT, Clock(2))
    return bound


@pytest.mark.parametrize(
    ("operators", "tensors", "units", "count"),
    [(4, 2, ((1,), (2,)), 60), (10, 4, ((1,), (3,)), 20), (4, 1, ((1, 1), (1, 2), (2, 3)), 60)],
)
def test_it_is_not_above_the_least_time_of_a_unit(
    operators: int, tensors: int, units: tuple[Sizes, ...], count: int
) -> None:
    unexplained = waited = 0
    for problem, sizes in drawn_units(operators, tensors, count, units, share=0.5):
        bound = bounded(problem, sizes)
        unit = unit_of(problem, sizes)
        unit.run(bound.exact_ns, Clock(60))
        assert unit.is_proved
        assert bound.exact_ns <= bound.solver_ns <= unit.time_ns
        unexplained += unit.time_ns - bound.solver_ns
        waited += unit.time_ns - UnitBound.of_operators(problem, sizes).exact_ns
    # It says where at least a part of the waiting comes from.
    assert unexplained < waited


@pytest.mark.parametrize("sizes", [(2,), (1, 1), (1, 2)])
@pytest.mark.parametrize("milestones", [2, 5, 12])
def test_no_executed_decisions_are_faster(sizes: Sizes, milestones: int) -> None:
    chance = random.Random(milestones)
    for problem, _ in drawn_units(20, 8, 5, (sizes,), share=0.6):
        bound = bounded(problem, sizes, MultiModelUnitBound(milestones))
        arrays = [problem.sub_array(size) for size in sizes]
        executor = UnitExecutor(problem, sizes)
        for _ in range(40):
            fates = tuple(
                tuple(chance.choice(list(Fate)) for _ in array.tensors) for array in arrays
            )
            before = tuple(
                tuple(sorted(chance.randint(0, 10) for _ in array.backward)) for array in arrays
            )
            decisions = UnitDecisions(fates, before if len(sizes) == 2 else ())
            executed = executor.execute(decisions)
            assert executed is None or executed.time_ns >= bound.solver_ns


@pytest.mark.parametrize(
    ("swap_ns", "recompute_ns", "bound_ns"),
    # As the least times that are counted by hand in the tests of the exact method.
    [(3, 100, 46), (15, 7, 47)],
)
def test_two_layers_are_bounded_by_their_least_time(
    swap_ns: int, recompute_ns: int, bound_ns: int
) -> None:
    problem = MultiModelTraining(two_layers(swap_ns, recompute_ns), 4)
    assert bounded(problem, (1,)).solver_ns == bound_ns


def test_without_late_offloads_it_is_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    # 140 ns is the least time. If feature maps were offloaded in the round of their forward pass
    # only, each round would be 10 ns longer: with f1 last, the copy follows; with f1 before b2, the
    # prefetch lies between the two, as f1 needs all memory.
    problem = MultiModelTraining(offloaded_late(), 8)
    assert bounded(problem, (1, 1)).solver_ns == 140
    monkeypatch.setattr(tensor_path, "OF_A_PAIR", tensor_path.OF_ONE)
    assert bounded(problem, (1, 1)).solver_ns == 160


def test_every_family_of_rows_only_raises_it() -> None:
    raised = dict.fromkeys(BoundRows, 0)
    for problem, sizes in drawn_units(8, 4, 24, ((1,), (1, 1)), share=0.2):
        whole = relaxed_ns(problem, sizes, frozenset(BoundRows))
        for family in BoundRows:
            part = relaxed_ns(problem, sizes, frozenset(BoundRows) - {family})
            assert part <= whole
            raised[family] += whole - part
    assert max(raised.values()) > 0


def relaxed_ns(problem: MultiModelTraining, sizes: Sizes, rows: frozenset[BoundRows]) -> int:
    bound = UnitBound.of_operators(problem, sizes)
    if not bound.is_relaxed:
        bound.relax(problem, MultiModelUnitBound(rows=rows), TIGHT, Clock(20))
    return bound.exact_ns


def test_more_memory_never_raises_it() -> None:
    models = RandomModels(operators=40, tensors=16, models=3).draw(2)
    shares = [solve_with(MultiModelTraining(models, f"{p}%"), "bound", TIGHT) for p in (40, 60, 90)]
    times = [result.lower_bound_ns or 0 for result in shares]
    assert all(a >= b for a, b in pairwise(times))
    assert times[0] > times[-1]


def test_where_everything_fits_the_operators_are_the_bound() -> None:
    models = RandomModels(operators=12, tensors=4, models=2).draw(1)
    problem = MultiModelTraining(models, 10**12)
    result = solve_with(problem, "bound", TIGHT)
    assert result.lower_bound_ns == problem.base_time_ns
    assert result.bound is not None
    assert result.bound.evidence is Evidence.EXACT


def test_what_does_not_fit_is_refused() -> None:
    result = solve_with(MultiModelTraining(two_layers(3, 100), 3), "bound", TIGHT)
    assert result.answer is Answer.INFEASIBLE


def test_the_time_limit_leaves_what_is_proved() -> None:
    models = RandomModels(operators=2000, tensors=1000, models=8).draw(1)
    problem = MultiModelTraining(models, "20%")
    result = solve_with(problem, "bound", SolveOptions(time_limit_s=0.05, gap=0))
    assert result.termination is Termination.TIME_LIMIT
    assert (result.lower_bound_ns or 0) >= problem.base_time_ns


def test_the_best_division_has_the_least_sum() -> None:
    # 5 models: 2 + 3 takes 7 + 9, a pair of 1 and 2 beside 2 takes 8 + 7.
    values = {(1,): 6, (2,): 7, (3,): 9, (1, 2): 8}
    division = best_division(5, values)
    assert division is not None
    assert division.value == 15
    assert sorted(map(sum, division.units)) == [2, 3]
    assert best_division(5, {(2,): 1}) is None
