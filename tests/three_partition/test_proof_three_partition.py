"""Certificates that items have no 3-partition."""

from __future__ import annotations

import random

import pytest

from jettison.certificates.errors import CertificateError
from jettison.instances.generators.three_partition_family import FAMILIES, generate_three_partition
from jettison.instances.three_partition.certificate import Answer, TripleWeights
from jettison.instances.three_partition.instance import ThreePartition
from jettison.solvers.core.clock import Clock
from jettison.solvers.three_partition.certifier import certificate_of_argument, certify_no_partition
from tests.three_partition.oracles.brute_force import has_three_partition
from tests.three_partition.test_certificate import random_items

NO = [name for name, family in FAMILIES.items() if family.answer is Answer.NO]


@pytest.mark.parametrize("family", NO)
def test_every_argument_of_a_generated_instance_is_one_leaf(family: str) -> None:
    # Random items have a Farkas vector where the target is about 3 times the square of the groups.
    target = 192 if family == "farkas" else 999
    instance = generate_three_partition(FAMILIES[family], 8, target, seed=3, number=0)
    certificate = certificate_of_argument(instance)
    assert certificate is not None
    proved = certificate.checked()
    assert proved.size.leaves == 1
    assert proved.claim.time_ns is None
    # The instance of the certificate is the one of the argument, by its hash.
    assert proved.claim.instance_sha256 == instance.sha256


def test_an_argument_for_yes_is_no_certificate() -> None:
    instance = generate_three_partition(FAMILIES["planted"], 4, 999, seed=3, number=0)
    assert certificate_of_argument(instance) is None
    assert certify_no_partition(instance, Clock(5)) is None


def test_wrong_weights_are_found_by_the_checker() -> None:
    # 30, 30, 30 is a partition: no weights can prove that there is none.
    wrong = TripleWeights(((30, -1),))
    instance = ThreePartition("wrong", (30, 30, 30), 90, certificate=wrong)
    with pytest.raises(CertificateError, match="the leaf proves"):
        certificate_of_argument(instance)


def test_without_an_argument_exactly_the_no_answers_have_a_certificate() -> None:
    chance = random.Random(12)
    answers = []
    for _ in range(25):
        groups, target = chance.randint(1, 5), chance.choice([30, 47, 90])
        items = tuple(random_items(chance, groups, target))
        instance = ThreePartition("drawn", items, target)
        answers.append(has_three_partition(items, target))
        certificate = certify_no_partition(instance, Clock(20))
        assert (certificate is None) == answers[-1]
    assert 3 < sum(answers) < 22


def test_where_the_triple_relaxation_is_feasible_a_tree_closes() -> None:
    split = generate_three_partition(FAMILIES["split"], 12, 300, seed=1, number=0)
    bare = ThreePartition(split.name, split.values, split.target)
    certificate = certify_no_partition(bare, Clock(60))
    assert certificate is not None
    assert certificate.checked().size.leaves > 1
