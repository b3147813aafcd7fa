"""The fastest schedule of one unit: against every operation list, by hand, and stopped."""

from __future__ import annotations

import pytest

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.schedules.multi_model.schedule import MultiModelSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.multi_model.decisions import least_memory_decisions
from jettison.solvers.multi_model.exact.unit import ExactUnit
from jettison.solvers.multi_model.executor.executed_units import UnitExecutor
from jettison.solvers.multi_model.least_division import Sizes
from tests.multi_model.oracles.brute_force import least_unit_ns
from tests.multi_model.units import drawn_units, offloaded_late, two_layers


def unit_of(problem: MultiModelTraining, sizes: Sizes) -> ExactUnit:
    """Return the unit with everything swapped, not searched yet."""
    arrays = tuple(problem.sub_array(size) for size in sizes)
    executed = UnitExecutor(problem, sizes).execute(least_memory_decisions(arrays))
    assert executed is not None
    return ExactUnit(problem, executed.unit, executed.time_ns)


def solved(problem: MultiModelTraining, sizes: Sizes) -> ExactUnit:
    """Return the unit with its fastest schedule, replayed."""
    unit = unit_of(problem, sizes)
    unit.run(0, Clock(60))
    assert unit.is_proved
    replay = MultiModelSchedule((unit.unit,)).replay(problem)
    assert replay.valid
    assert replay.time_ns == unit.time_ns
    return unit


def compute_ns(problem: MultiModelTraining, sizes: Sizes) -> int:
    return sum(problem.sub_array(size).compute_ns for size in sizes)


@pytest.mark.parametrize(
    ("operators", "tensors", "units", "count"),
    [(4, 2, ((1,), (2,)), 100), (5, 2, ((1,), (3,)), 16), (4, 1, ((1, 1), (1, 2)), 20)],
)
def test_no_list_of_operations_is_faster(
    operators: int, tensors: int, units: tuple[Sizes, ...], count: int
) -> None:
    waiting = 0
    for problem, sizes in drawn_units(operators, tensors, count, units, share=0.6):
        unit = solved(problem, sizes)
        if unit.time_ns > compute_ns(problem, sizes):
            waiting += 1
            least_ns = least_unit_ns(
                problem, sizes, unit.time_ns, most_arrivals=2 if len(sizes) == 1 else 1
            )
            assert least_ns == unit.time_ns
    assert waiting > count // 8


@pytest.mark.parametrize(
    ("swap_ns", "recompute_ns", "memory_bytes", "time_ns"),
    [
        # The first feature map leaves while the second operator waits, and comes back while the
        # last one waits: 40 + 3 + 3.
        (3, 100, 4, 46),
        # Both fit.
        (3, 100, 8, 40),
        # It is recomputed right before the last operator: 40 + 7, and not 40 + 15 + 15.
        (15, 7, 4, 47),
    ],
)
def test_two_layers_take_what_is_counted_by_hand(
    swap_ns: int, recompute_ns: int, memory_bytes: int, time_ns: int
) -> None:
    problem = MultiModelTraining(two_layers(swap_ns, recompute_ns), memory_bytes)
    assert solved(problem, (1,)).time_ns == time_ns


def test_a_feature_map_may_be_offloaded_in_the_round_that_uses_it() -> None:
    # Each round computes for 20 + 20 + 10 + 10 + 10 = 70 ns. The feature map is copied out beside
    # b0, and back beside f0, which runs between b1 and b2; f1 comes last. No queue ever waits.
    problem = MultiModelTraining(offloaded_late(), 8)
    assert solved(problem, (1, 1)).time_ns == 140


def test_a_bound_that_is_met_ends_the_search() -> None:
    problem = MultiModelTraining(offloaded_late(), 8)
    unit, other = unit_of(problem, (1, 1)), unit_of(problem, (1, 1))
    unit.run(140, Clock(60))
    other.run(0, Clock(60))
    assert unit.is_proved
    assert unit.time_ns == other.time_ns == 140
    assert unit.labels <= other.labels


@pytest.mark.parametrize("sizes", [(1,), (1, 1)])
def test_a_search_without_time_keeps_the_schedule_that_it_was_given(sizes: Sizes) -> None:
    problem = MultiModelTraining(offloaded_late(), 8, models=len(sizes))
    unit = unit_of(problem, sizes)
    given = unit.unit
    unit.run(0, Clock(0.0))
    assert not unit.is_proved
    assert unit.unit is given
