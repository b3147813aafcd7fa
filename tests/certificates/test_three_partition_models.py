"""The models of 3-PARTITION that certificates are about."""

from __future__ import annotations

import random
from typing import Any

import pytest

from jettison.certificates.errors import CertificateError
from jettison.certificates.three_partition.partition_model import (
    three_partition_assignment,
    three_partition_triples,
)
from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.three_partition.assignment import LedByLargest, ThreePartitionAssignment
from jettison.formulations.three_partition.triples import (
    three_partition_triples as formulation_of_triples,
)
from jettison.instances.three_partition.instance import ThreePartition
from tests.certificates.as_arrays import as_arrays, optimum
from tests.three_partition.oracles.brute_force import has_three_partition
from tests.three_partition.test_certificate import random_items

SMALL = ThreePartition("small", (30, 30, 30, 29, 31, 30), 90)


def drawn(count: int) -> list[ThreePartition]:
    chance = random.Random(4)
    found = []
    for _ in range(count):
        groups, target = chance.randint(1, 5), chance.choice([20, 30, 47, 90])
        items = tuple(random_items(chance, groups, target))
        found.append(ThreePartition("drawn", items, target))
    return found


def test_both_models_have_a_point_exactly_where_there_is_a_partition() -> None:
    answers = []
    for instance in drawn(40):
        answers.append(has_three_partition(instance.values, instance.target))
        for build in (three_partition_triples, three_partition_assignment):
            model = build(instance.to_json(), {}, {}).model
            assert (optimum(as_arrays(model)) is not None) == answers[-1]
    assert 5 < sum(answers) < 35


def test_columns_and_rows_are_those_of_the_formulations() -> None:
    for instance in drawn(10):
        model = three_partition_triples(instance.to_json(), {}, {}).model
        known = formulation_of_triples(instance).model
        assert tuple(model.column_names) == known.column_names
        assert tuple(row.name for row in model.rows) == known.row_names
        assert model.upper == known.column_upper.tolist()
        model = three_partition_assignment(instance.to_json(), {}, {}).model
        built = ThreePartitionAssignment(LedByLargest()).build(instance)
        led = from_pulp(built.problem).model
        assert set(model.column_names) == set(led.column_names)
        assert {row.name for row in model.rows} == set(led.row_names)


def test_a_triple_of_equal_items_counts_them() -> None:
    model = three_partition_triples(SMALL.to_json(), {}, {}).model
    # 29 + 30 + 31 and 30 + 30 + 30, of which four items of 30 hold one.
    assert model.column_names == ["t_29_30_31", "t_30_30_30"]
    assert model.upper == [1, 1]
    [row] = [row for row in model.rows if row.name == "value_30"]
    assert (row.coefficients, row.right, row.is_equation) == ((1, 3), 4, True)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"kind": "chain"}, "not a three-partition"),
        ({"values": [30, 30]}, "come in threes"),
        ({"values": []}, "come in threes"),
        ({"values": [30, 30, 30.0]}, "names 30.0"),
        ({"values": [20, 35, 35]}, "a quarter and half"),
        ({"values": [30, 30, 31]}, "do not sum"),
        ({"target": 0}, "target"),
    ],
)
def test_what_is_no_three_partition_is_refused(changed: dict[str, Any], said: str) -> None:
    for build in (three_partition_triples, three_partition_assignment):
        with pytest.raises(CertificateError, match=said):
            build({**SMALL.to_json(), **changed}, {}, {})


def test_too_many_values_or_items_are_refused_before_any_work() -> None:
    # 3003 values around a mean, which sum to 1001 times three of it.
    mean = 3_000_000
    spread = [mean + offset for offset in range(-1501, 1502)]
    with pytest.raises(CertificateError, match="3003 values"):
        three_partition_triples({**SMALL.to_json(), "values": spread, "target": 3 * mean}, {}, {})
    with pytest.raises(CertificateError, match="603 items"):
        three_partition_assignment({**SMALL.to_json(), "values": [30] * 603, "target": 90}, {}, {})
