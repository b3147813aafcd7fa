from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest

from jettison.instances.core.errors import InputError
from jettison.instances.generators.three_partition_family import (
    FAMILIES,
    generate_three_partition,
)
from jettison.instances.three_partition.certificate import (
    PlantedTriples,
    ResidueWeights,
    SplitModuli,
    TripleWeights,
    certificate_from_json,
)
from tests.three_partition.oracles.brute_force import has_three_partition

ITEMS = (26, 33, 41, 30, 34, 36)


def random_items(generator: random.Random, groups: int, target: int) -> list[int]:
    """Draw items of the interval until their sum is right."""
    while True:
        values = [
            generator.randint(target // 4 + 1, (target - 1) // 2) for _ in range(3 * groups - 1)
        ]
        last = groups * target - sum(values)
        if target < 4 * last < 2 * target:
            return [*values, last]


def test_planted_triples_prove_yes() -> None:
    # 26 + 33 + 41 = 30 + 34 + 36 = 100.
    assert "2 triples" in PlantedTriples(((0, 1, 2), (3, 4, 5))).check(ITEMS, 100)


@pytest.mark.parametrize(
    ("triples", "message"),
    [
        (((0, 1, 2),), "item 3 is in 0 groups"),
        (((0, 1, 2), (0, 1, 2)), "item 0 is in 2 groups"),
        (((0, 1, 3), (2, 4, 5)), r"items \[0, 1, 3\] sum to 89"),
        (((0, 1, 6), (2, 4, 5)), "write three of 6 items"),
        (((-6, 1, 2), (3, 4, 5)), "write three of 6 items"),
        (((0, 0, 2), (3, 4, 5)), "sum to 93"),
    ],
)
def test_other_triples_prove_nothing(
    triples: tuple[tuple[int, int, int], ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        PlantedTriples(triples).check(ITEMS, 100)


def test_residues_prove_no_by_parity() -> None:
    # V = 15 is odd, every triple has 1 or 3 odd items, and there are none in two groups.
    values = (4, 4, 4, 6, 6, 6)
    assert "mod 2" in ResidueWeights(2, ((0, -1),)).check(values, 15)
    # Both residues must be weighed only where both occur.
    with pytest.raises(InputError, match="weigh each residue that occurs once"):
        ResidueWeights(2, ((0, -1), (1, 2))).check(values, 15)


def test_no_weights_of_residues_or_values_refute_a_yes_instance() -> None:
    # Whatever the weights, the triples of a partition weigh at least 0 in all, if each does.
    generator = random.Random(5)
    proved = 0
    for _ in range(3000):
        groups = generator.randint(1, 3)
        target = generator.choice([12, 15, 17, 20])
        values = random_items(generator, groups, target)
        modulus = generator.randint(2, 4)
        present = sorted({value % modulus for value in values})
        by_residue = ResidueWeights(
            modulus, tuple((residue, generator.randint(-2, 2)) for residue in present)
        )
        by_value = TripleWeights(
            tuple((value, generator.randint(-2, 2)) for value in sorted(set(values)))
        )
        for certificate in (by_residue, by_value):
            try:
                certificate.check(values, target)
            except InputError:
                continue
            proved += 1
            assert not has_three_partition(values, target)
    assert proved > 100


def test_split_moduli_refute_no_yes_instance() -> None:
    generator = random.Random(6)
    refuted = 0
    for _ in range(4000):
        # Two classes of z = x - 60 for V = 180, of sizes that are not multiples of 3.
        sizes = generator.choice([(4, 5), (5, 4), (4, 2), (2, 4), (1, 2)])
        values = [60 + 2 * generator.choice([-5, -1, 1, 5, 7]) for _ in range(sizes[0])]
        values += [60 + 3 * generator.choice([-3, -1, 1, 3, 5]) for _ in range(sizes[1])]
        if sum(values) != 60 * len(values):
            continue
        certificate = SplitModuli((2, 3), 1, ())
        with pytest.raises(InputError, match="covered 0 times"):
            certificate.check(values, 180)
        refuted += 1
        assert not has_three_partition(values, 180)
    assert refuted > 50


@pytest.mark.parametrize(
    ("moduli", "message"),
    [
        ((1, 7), "write at least 2"),
        ((5, 5), "of both or of none"),
        ((35, 7), "of both or of none"),
        ((5, 11), "of both or of none"),
    ],
)
def test_moduli_that_do_not_split_the_items_are_refused(
    moduli: tuple[int, int], message: str
) -> None:
    instance = generate_three_partition(FAMILIES["split"], 8, 999, seed=1)
    certificate = instance.certificate
    assert isinstance(certificate, SplitModuli)
    with pytest.raises(InputError, match=message):
        replace(certificate, moduli=moduli).check(instance.values, instance.target)


def test_classes_whose_sizes_are_multiples_of_three_prove_nothing() -> None:
    # z = -10, 5, 5 and -14, 7, 7: two triples.
    values = (50, 65, 65, 46, 67, 67)
    assert has_three_partition(values, 180)
    with pytest.raises(InputError, match="3 and 3 items"):
        SplitModuli((5, 7), 1, (((50, 65, 65), 1), ((46, 67, 67), 1))).check(values, 180)


def test_a_target_that_is_no_multiple_of_three_has_no_split() -> None:
    with pytest.raises(InputError, match="not a multiple of 3"):
        SplitModuli((5, 7), 1, ()).check(ITEMS, 100)


def test_a_cover_is_of_triples_that_the_items_can_form() -> None:
    instance = generate_three_partition(FAMILIES["split"], 8, 999, seed=1)
    certificate = instance.certificate
    assert isinstance(certificate, SplitModuli)
    # One item of z = -10 cannot be in the triple -10, -10, 20 twice over.
    with pytest.raises(InputError, match=r"cover\[0\]"):
        replace(certificate, cover=(((333, 333, 333), 1), *certificate.cover)).check(
            instance.values, instance.target
        )
    triple, weight = certificate.cover[0]
    for changed in (weight + 1, weight + 3, 0, -1):
        with pytest.raises(InputError, match="cover"):
            replace(certificate, cover=((triple, changed), *certificate.cover[1:])).check(
                instance.values, instance.target
            )
    with pytest.raises(InputError, match="times"):
        replace(certificate, times=0).check(instance.values, instance.target)


@pytest.mark.parametrize("family", ["residue", "parity", "farkas"])
def test_a_weight_that_is_changed_never_turns_a_proof_wrong(family: str) -> None:
    # Some changed weights are still a proof. Multiplied by -1 they never are: all items together
    # weigh more than 0.
    instance = generate_three_partition(FAMILIES[family], 6, 109, seed=2)
    certificate = instance.certificate
    assert isinstance(certificate, ResidueWeights | TripleWeights)
    certificate.check(instance.values, instance.target)
    negative = tuple((key, -weight) for key, weight in certificate.weights)
    for weights, message in (
        (negative, "weighs -|weigh "),
        (certificate.weights[1:], "weigh each"),
        ((*certificate.weights, certificate.weights[0]), "weigh each"),
        (tuple((key, 0) for key, _ in certificate.weights), "all items together weigh 0"),
    ):
        with pytest.raises(InputError, match=message):
            replace(certificate, weights=weights).check(instance.values, instance.target)


def test_weights_written_as_fractions_are_refused() -> None:
    # As floating-point numbers 2**53 + 1 would be 2**53, and a sum could be rounded below 0.
    for document in (
        {"kind": "triple-weights", "weights": [[4, 2.0]]},
        {"kind": "residue-weights", "modulus": 2.0, "weights": [[0, 1]]},
    ):
        with pytest.raises(InputError, match="is not an integer"):
            certificate_from_json(document)


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_certificate_survives_json(family: str) -> None:
    certificate = generate_three_partition(FAMILIES[family], 8, 438, seed=4).certificate
    assert certificate is not None
    assert certificate_from_json(certificate.to_json()) == certificate


def test_a_triple_takes_a_value_only_as_often_as_it_occurs() -> None:
    # V = 30: the item 10 occurs twice, so 10 + 10 + 10 is no triple of these items, and the weight
    # of -1 on 10 breaks no rule; 9 + 10 + 11 would, and weighs 0.
    values = (10, 10, 9, 11, 8, 12)
    certificate = TripleWeights(((8, 0), (9, 0), (10, -1), (11, 1), (12, 1)))
    with pytest.raises(InputError, match="all items together weigh 0"):
        certificate.check(values, 30)
    assert 30 not in {sum(part) for part in itertools.combinations((10, 10), 3)}
