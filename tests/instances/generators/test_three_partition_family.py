from __future__ import annotations

import hashlib
import random

import pytest

from jettison import InputError, ThreePartition
from jettison.instances.core.json_file import json_text
from jettison.instances.generators.three_partition_family import (
    FAMILIES,
    family_of,
    generate_three_partition,
)
from jettison.instances.three_partition.certificate import Answer
from jettison.instances.three_partition.triple_relaxation import farkas_vector
from tests.three_partition.oracles.brute_force import has_three_partition


def drawn(family: str, groups: int, target: int, seed: int) -> ThreePartition | None:
    try:
        return generate_three_partition(FAMILIES[family], groups, target, seed=seed)
    except InputError:
        return None


@pytest.mark.parametrize(
    ("family", "groups", "targets"),
    [
        ("planted", (1, 6), (9, 400)),
        ("triplets", (1, 6), (300, 1000)),
        ("residue", (3, 6), (80, 400)),
        ("parity", (2, 6), (20, 400)),
        ("farkas", (4, 6), (60, 100)),
        ("split", (7, 8), (430, 999)),
    ],
)
def test_answers_are_those_of_a_brute_force(
    family: str, groups: tuple[int, int], targets: tuple[int, int]
) -> None:
    generator = random.Random(11)
    checked = 0
    for seed in range(60):
        instance = drawn(family, generator.randint(*groups), generator.randint(*targets), seed)
        if instance is None:
            continue
        checked += 1
        instance.proof()
        found = has_three_partition(instance.values, instance.target)
        assert found == (instance.answer is Answer.YES)
    # Family split needs a multiple of 3.
    assert checked >= 15


def test_the_relaxation_of_split_is_feasible_and_that_of_residues_is_not() -> None:
    for seed in range(10):
        for family, infeasible in (("split", False), ("residue", True), ("parity", True)):
            instance = generate_three_partition(FAMILIES[family], 8, 498, seed=seed)
            vector = farkas_vector(instance.values, instance.target)
            assert (vector is not None) == infeasible


@pytest.mark.parametrize("moduli", [(5, 7), (7, 5), (7, 11), (5, 13), (25, 7)])
@pytest.mark.parametrize("groups", [7, 8, 9, 10, 20])
def test_split_takes_other_moduli_and_sizes(moduli: tuple[int, int], groups: int) -> None:
    instance = generate_three_partition(FAMILIES["split"], groups, 3000, seed=groups, moduli=moduli)
    assert instance.groups == groups
    assert "no 3-partition" in instance.proof()


def test_large_instances_and_targets_are_made_and_proved() -> None:
    for family, groups, target in (
        ("planted", 1000, 2**50),
        ("residue", 1000, 2**50),
        ("parity", 1000, 10_001),
        ("split", 300, 3 * 10**12),
        ("triplets", 500, 1000),
        ("farkas", 20, 1200),
    ):
        instance = generate_three_partition(FAMILIES[family], groups, target, seed=1)
        assert len(instance) == 3 * groups
        instance.proof()


def test_the_same_words_give_the_same_instance_and_others_another() -> None:
    words = {"seed": 1, "number": 0}
    first = generate_three_partition(FAMILIES["planted"], 10, 1000, **words)
    assert generate_three_partition(FAMILIES["planted"], 10, 1000, **words) == first
    for changed in ({"seed": 2, "number": 0}, {"seed": 1, "number": 1}):
        assert generate_three_partition(FAMILIES["planted"], 10, 1000, **changed) != first


@pytest.mark.parametrize(
    ("family", "sha256"),
    [
        ("planted", "e98c079bab491fe149660489e7644fd32d129fa75166472c4e3e48e34921ed12"),
        ("triplets", "11867e710676033e0c9136f04ccc04aa8ec51aac17645bf5cd128985ceaa5dca"),
        ("residue", "3544bcbf37595e52130299c770cc69550d411637ae0dafeef6fbd36b2e0a2cd5"),
        ("parity", "693e7261a6dee106f14bacf7918ecd72354bbdfe4771eb452fdda82884060a0f"),
        ("farkas", "d4ab304f35a5a57be379b1bbb3aeeb3d6f8a037aaa008a1c42decfbe23b9d6ca"),
        ("split", "546c0e1584f0a899a6cce5b983f8f76f051cd332a8cf66580af75701736da250"),
    ],
)
def test_a_file_of_each_family_has_the_bytes_that_it_had_on_other_machines(
    family: str, sha256: str
) -> None:
    # Another hash here means that GENERATOR_VERSION must be raised.
    instance = generate_three_partition(FAMILIES[family], 9, 501, seed=7, number=3)
    text = json_text(instance.to_json())
    assert hashlib.sha256(text.encode("ascii")).hexdigest() == sha256


def test_a_family_is_found_by_its_name_or_by_the_answer() -> None:
    assert family_of(None, "yes").name == "planted"
    assert family_of(None, "no").name == "residue"
    assert family_of("split", None).answer is Answer.NO
    assert family_of("split", "no").name == "split"


@pytest.mark.parametrize(
    ("name", "answer", "message"),
    [
        (None, None, "answer: neither an answer nor a family.*--answer yes or no"),
        (None, "maybe", "answer: 'maybe'; write yes or no"),
        ("knapsack", "no", "family: 'knapsack' is not a family; write planted, triplets"),
        ("residue", "yes", "answer: yes, but.*--family planted or triplets"),
        ("planted", "no", "answer: no, but.*--family split or residue or parity or farkas"),
    ],
)
def test_a_family_that_does_not_fit_is_refused(
    name: str | None, answer: str | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        family_of(name, answer)


@pytest.mark.parametrize(
    ("family", "groups", "target", "moduli", "message"),
    [
        ("planted", 0, 1000, (), "groups: 0; write 1 to 1000"),
        ("planted", 1001, 1000, (), "groups: 1001"),
        ("planted", 5, 8, (), "target: 8: no three integers between V/4 and V/2"),
        ("planted", 5, 2**53, (), "target: the value is too large"),
        ("planted", 5, 1000, (5,), "moduli: 5; family planted takes none"),
        ("residue", 1, 1000, (), "moduli: modulus 5 with 1 groups"),
        ("residue", 8, 1000, (17,), "twice the number of groups"),
        ("residue", 8, 1000, (6,), "modulus 6 is a multiple of 3"),
        ("residue", 8, 1000, (5, 7), "moduli: 5,7; family residue takes 1, such as 5"),
        ("residue", 8, 15, (16,), "target: 15 leaves 4 integers"),
        ("parity", 1, 1000, (), "groups: 1"),
        ("split", 6, 999, (), "groups: 6; .*at least 7"),
        ("split", 8, 1000, (), "target: 1000 is not a multiple of 3.*such as 999"),
        ("split", 8, 99, (), "moduli 5 and 7|moduli 7 and 5"),
        ("split", 8, 999, (4, 12), "leave no items"),
        ("split", 8, 999, (0, 5), "moduli: 0"),
        ("triplets", 8, 299, (), "target: 299 is too small"),
        ("farkas", 1, 1000, (), "no instance found with 1 groups"),
    ],
)
def test_a_parameter_out_of_range_is_named_with_what_would_be_right(
    family: str, groups: int, target: int, moduli: tuple[int, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        generate_three_partition(FAMILIES[family], groups, target, seed=1, moduli=moduli)


def test_triplets_of_1000_are_falkenauers() -> None:
    instance = generate_three_partition(FAMILIES["triplets"], 200, 1000, seed=1)
    certificate = instance.certificate
    assert certificate is not None
    for triple in certificate.to_json()["triples"]:  # type: ignore[attr-defined]
        small, middle, large = sorted(instance.values[item] for item in triple)
        assert 380 <= large <= 490
        assert 251 <= small < (1000 - large) / 2 < middle
