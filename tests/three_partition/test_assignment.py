from __future__ import annotations

import random

import numpy as np
import pytest

from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.three_partition.assignment import (
    AnyGroup,
    LedByLargest,
    ThreePartitionAssignment,
)
from jettison.instances.generators.three_partition_family import (
    FAMILIES,
    generate_three_partition,
)
from jettison.instances.three_partition.certificate import PlantedTriples, check_partition
from jettison.instances.three_partition.instance import ThreePartition
from jettison.solvers.core.status import Answer
from jettison.solvers.milp.highs import solve_model
from tests.three_partition.oracles.brute_force import has_three_partition
from tests.three_partition.test_certificate import random_items

TWO = ThreePartition("two", (26, 33, 41, 30, 34, 36), 100)
VARIANTS = (AnyGroup(), LedByLargest())


@pytest.mark.parametrize("groups", VARIANTS)
def test_a_model_has_a_point_exactly_where_there_is_a_partition(
    groups: AnyGroup | LedByLargest,
) -> None:
    generator = random.Random(7)
    answers = []
    for _ in range(60):
        count, target = generator.randint(1, 4), generator.choice([20, 30, 47])
        instance = ThreePartition("drawn", tuple(random_items(generator, count, target)), target)
        built = ThreePartitionAssignment(groups).build(instance)
        model = from_pulp(built.problem).model
        solution = solve_model(model)
        answers.append(has_three_partition(instance.values, target))
        assert (solution.answer is Answer.OPTIMAL) == answers[-1]
        if answers[-1]:
            found = built.partition(solution.by_name(model))
            check_partition(found, instance.values, target)
        else:
            assert solution.answer is Answer.INFEASIBLE
    assert 10 < sum(answers) < 50


@pytest.mark.parametrize("groups", VARIANTS)
def test_a_planted_partition_is_a_point(groups: AnyGroup | LedByLargest) -> None:
    instance = generate_three_partition(FAMILIES["planted"], 6, 200, seed=2)
    assert isinstance(instance.certificate, PlantedTriples)
    model = from_pulp(ThreePartitionAssignment(groups).build(instance).problem).model
    point = np.zeros(model.num_columns)
    for number, triple in enumerate(instance.certificate.triples):
        # The leader is the largest item, and of equal ones the first.
        leader = min(triple, key=lambda item: (-instance.values[item], item))
        for item in triple:
            group = number if groups == AnyGroup() else leader
            point[model.column_names.index(f"y_{item}_{group}")] = 1
    assert model.violations(point) == {}


def test_the_sizes_are_those_of_the_docstring() -> None:
    # m = 2: 3 * 4 columns, 6 + 2 + 2 rows, 9 * 4 coefficients.
    any_group = from_pulp(ThreePartitionAssignment().build(TWO).problem).model
    assert (any_group.num_columns, any_group.num_rows, any_group.num_nonzeros) == (12, 10, 36)
    # 6 * 7 / 2 columns; 6 + 6 + 6 rows and one for each of the 15 pairs.
    led = from_pulp(ThreePartitionAssignment(LedByLargest()).build(TWO).problem).model
    assert (led.num_columns, led.num_rows) == (21, 33)


def test_numbered_groups_have_a_relaxed_point_whatever_the_answer() -> None:
    instance = generate_three_partition(FAMILIES["residue"], 6, 200, seed=2)
    model = from_pulp(ThreePartitionAssignment().build(instance).problem).model.relaxed()
    assert model.violations(np.full(model.num_columns, 1 / 6)) == {}


def test_groups_that_are_led_can_not_be_permuted() -> None:
    # Of two equal items the first leads: exactly one of the two ways to swap them is a point.
    instance = ThreePartition("equal", (30, 30, 30, 30, 30, 30), 90)
    model = from_pulp(ThreePartitionAssignment(LedByLargest()).build(instance).problem).model
    names = model.column_names
    assert "y_1_0" in names
    assert "y_0_1" not in names
