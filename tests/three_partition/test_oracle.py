from __future__ import annotations

import random

from jettison.instances.generators.three_partition_family import (
    FAMILIES,
    generate_three_partition,
)
from jettison.instances.three_partition.certificate import Answer, check_partition
from jettison.instances.three_partition.instance import ThreePartition
from jettison.solvers.milp.highs import HighsOptions
from tests.three_partition.oracles.brute_force import has_three_partition
from tests.three_partition.oracles.milp_oracle import decide_three_partition
from tests.three_partition.test_certificate import random_items


def test_decisions_are_those_of_a_brute_force() -> None:
    generator = random.Random(10)
    answers = []
    for _ in range(60):
        groups, target = generator.randint(1, 6), generator.choice([20, 47, 90, 150])
        instance = ThreePartition("drawn", tuple(random_items(generator, groups, target)), target)
        decision = decide_three_partition(instance)
        answers.append(has_three_partition(instance.values, target))
        assert decision.answer is (Answer.YES if answers[-1] else Answer.NO)
        assert (decision.partition is None) == (not answers[-1])
        if decision.partition is not None:
            check_partition(decision.partition, instance.values, target)
    assert 10 < sum(answers) < 50


def test_generated_instances_of_thirty_groups_have_their_known_answer() -> None:
    for family in FAMILIES.values():
        target = 4500 if family.name == "farkas" else 999
        instance = generate_three_partition(family, 30, target, seed=1)
        assert decide_three_partition(instance).answer is instance.answer


def test_a_limit_leaves_the_answer_open() -> None:
    instance = generate_three_partition(FAMILIES["planted"], 40, 999, seed=1)
    decision = decide_three_partition(instance, HighsOptions(time_limit_s=0))
    assert (decision.answer, decision.partition) == (None, None)
