from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jettison import InputError, ThreePartition, load, save
from jettison.instances.generators.three_partition_family import (
    FAMILIES,
    generate_three_partition,
)
from jettison.instances.three_partition.certificate import PlantedTriples
from tests.three_partition.oracles.brute_force import has_group_partition, has_three_partition

ITEMS = (26, 33, 41, 30, 34, 36)


def test_the_example_of_two_groups_is_taken() -> None:
    instance = ThreePartition("two", ITEMS, 100)
    assert (instance.groups, len(instance), instance.answer) == (2, 6, None)


def test_items_outside_the_interval_are_refused_because_groups_need_not_be_triples() -> None:
    values = (1, 1, 1, 1, 1, 5)
    # The items sum to 2 * 5, but 5 = 5 and 1 + 1 + 1 + 1 + 1 = 5 are groups of one and of five.
    assert has_group_partition(values, 5)
    assert not has_three_partition(values, 5)
    with pytest.raises(InputError, match=r"values\[0\].*V/4 and V/2.*need not have three items"):
        ThreePartition("no triples", values, 5)


@pytest.mark.parametrize(
    "value",
    [
        25,  # a quarter of 100: four of them fill a group
        50,  # half of 100: two of them fill a group
    ],
)
def test_the_ends_of_the_interval_are_outside(value: int) -> None:
    with pytest.raises(InputError, match=f"{value} is not between"):
        ThreePartition("ends", (value, 37, 38, 33, 33, 34), 100)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((), "0 items"),
        (ITEMS[:5], "5 items"),
        ((*ITEMS[:5], 37), "the items sum to 201"),
        ((*ITEMS[:5], 36.0), "36.0 is not an integer"),
        ((*ITEMS[:5], -36), "-36 is negative"),
        ((34, 33, 33) * 1001, "3003 items"),
    ],
)
def test_other_bad_items_are_refused_with_the_reason(values: tuple[int, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ThreePartition("bad", values, 100)


def test_the_hash_is_that_of_the_items_and_the_target_only() -> None:
    instance = ThreePartition("two", ITEMS, 100)
    proved = replace(instance, name="2", certificate=PlantedTriples(((0, 1, 2), (3, 4, 5))))
    assert proved.sha256 == instance.sha256
    assert replace(instance, values=ITEMS[::-1]).sha256 != instance.sha256


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_saved_instance_comes_back_with_its_certificate(family: str, tmp_path: Path) -> None:
    instance = generate_three_partition(FAMILIES[family], 8, 438, seed=3)
    path = tmp_path / "instance.json"
    save(instance, path)
    found = load(path)
    assert isinstance(found, ThreePartition)
    assert found == instance
    assert (found.certificate, found.generated) == (instance.certificate, instance.generated)
    assert found.proof() == instance.proof()


def test_an_answer_that_is_not_the_certificates_is_refused(tmp_path: Path) -> None:
    instance = generate_three_partition(FAMILIES["planted"], 2, 100, seed=1)
    document = instance.to_json() | {"answer": "no"}
    with pytest.raises(InputError, match="answer: 'no'"):
        ThreePartition.from_json(document)
    del document["certificate"]
    with pytest.raises(InputError, match="answer: 'no'"):
        ThreePartition.from_json(document)


def test_an_instance_without_a_certificate_proves_nothing() -> None:
    with pytest.raises(InputError, match="has no certificate"):
        ThreePartition("two", ITEMS, 100).proof()
