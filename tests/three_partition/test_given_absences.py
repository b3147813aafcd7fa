"""Scheduling when the absences are given: as hard as 3-PARTITION, on all small items."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement

import pytest

from jettison import ThreePartition
from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.weight_offload.timed_events.frame import Prefetch
from jettison.formulations.weight_offload.timed_events.least_period import (
    AnySelection,
    EventMilp,
    Exactly,
    ValidRow,
    Within,
    WithoutIdle,
)
from jettison.instances.three_partition.offload_chain import (
    absences_without_idle,
    shortest_period_ns,
    weight_offload_of,
)
from jettison.schedules.three_partition.partition_schedule import (
    partition_of_schedule,
    schedule_of_partition,
)
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.weight_offload.events.event_order import EventOrder
from jettison.solvers.weight_offload.events.order_of_schedule import order_of_schedule
from tests.three_partition.oracles.brute_force import has_three_partition

Selection = AnySelection | Within | Exactly


def all_items(groups: int, target: int) -> Iterator[ThreePartition]:
    """All multisets of 3m items between a quarter and half of V that sum to mV."""
    sizes = [size for size in range(1, target) if target < 4 * size and 2 * size < target]
    for items in combinations_with_replacement(sizes, 3 * groups):
        if sum(items) == groups * target:
            yield ThreePartition("small", items, target)


def given(groups: int) -> frozenset[Prefetch]:
    return frozenset(Prefetch(*absence) for absence in absences_without_idle(groups))


def without_idle(instance: ThreePartition, selection: Selection) -> CyclicSchedule | None:
    """A valid step without idle time, if HiGHS says that there is one."""
    problem = weight_offload_of(instance)
    milp = EventMilp(WithoutIdle(), selection, frozenset(ValidRow))
    built = milp.build(problem)
    model = from_pulp(built.problem).model
    solution = solve_model(model, HighsOptions(gap=0, feasibility_tolerance=1e-9))
    if solution.values is None:
        return None
    schedule = EventOrder.from_point(built.frame, solution.by_name(model)).schedule()
    assert schedule is not None
    assert schedule.period_ns == shortest_period_ns(instance)
    assert schedule.replay(problem.cycle, problem.link, problem.memory_bytes).valid
    return schedule


# How many multisets have a partition and how many have none is counted by the brute force; for
# V = 13, say, four to six are the sizes allowed, and 4, 4, 4, 4, 4, 6 has none. The same with
# V = 18, 21 and 22, for 42 multisets in all, was run once.
@pytest.mark.parametrize(
    ("groups", "target", "yes", "no"),
    [(1, 10, 1, 0), (1, 16, 1, 0), (2, 9, 1, 0), (2, 13, 1, 1), (2, 14, 3, 0), (2, 17, 3, 1)],
)
def test_with_the_absences_given_the_answer_is_that_of_the_items(
    groups: int, target: int, yes: int, no: int
) -> None:
    answers = []
    for instance in all_items(groups, target):
        answer = has_three_partition(instance.values, target)
        answers.append(answer)
        for selection in (AnySelection(), Exactly(given(groups)), Within(given(groups))):
            schedule = without_idle(instance, selection)
            assert (schedule is not None) == answer, (instance.values, selection)
            if schedule is not None:
                partition = partition_of_schedule(instance, schedule)
                sums = [sum(instance.values[item] for item in group) for group in partition]
                assert sums == [target] * groups
                found = order_of_schedule(weight_offload_of(instance), schedule).prefetches
                assert frozenset(found) == given(groups), instance.values
    assert (answers.count(True), answers.count(False)) == (yes, no)


def test_the_known_schedule_has_these_absences() -> None:
    # 26 + 33 + 41, 30 + 34 + 36.
    instance = ThreePartition("two", (26, 33, 41, 30, 34, 36), 100)
    schedule = schedule_of_partition(instance, ((0, 1, 2), (3, 4, 5)))
    order = order_of_schedule(weight_offload_of(instance), schedule)
    assert frozenset(order.prefetches) == given(2)
    again = order.schedule()
    assert again is not None
    assert again.period_ns == shortest_period_ns(instance)


def test_without_one_of_these_absences_there_is_no_step_without_idle_time() -> None:
    instance = ThreePartition("two", (26, 33, 41, 30, 34, 36), 100)
    for absence in sorted(given(2)):
        assert without_idle(instance, Within(given(2) - {absence})) is None
