from __future__ import annotations

import random
from collections import Counter

import numpy as np
from scipy.optimize import linprog

from jettison.instances.three_partition.certificate import TripleWeights
from jettison.instances.three_partition.triple_relaxation import farkas_vector
from tests.three_partition.test_certificate import random_items


def relaxation_is_feasible(values: list[int], target: int) -> bool:
    """Cover every item by triples of items, not of values, in floating point."""
    count = Counter(values)
    distinct = sorted(count)
    columns = [
        [(value == first) + (value == second) + (value == third) for value in distinct]
        for first in distinct
        for second in distinct
        for third in distinct
        if first <= second <= third
        and first + second + third == target
        and not Counter((first, second, third)) - count
    ]
    if not columns:
        return False
    found = linprog(
        np.zeros(len(columns)),
        A_eq=np.array(columns).T,
        b_eq=[count[value] for value in distinct],
        method="highs",
    )
    return bool(found.status == 0)


def test_the_exact_simplex_agrees_with_a_solver_and_proves_what_it_says() -> None:
    generator = random.Random(8)
    answers = Counter[bool]()
    for _ in range(250):
        groups, target = generator.randint(1, 8), generator.choice([20, 47, 90, 150])
        values = random_items(generator, groups, target)
        vector = farkas_vector(values, target)
        assert (vector is None) == relaxation_is_feasible(values, target)
        answers[vector is None] += 1
        if vector is not None:
            assert "no 3-partition" in TripleWeights(tuple(vector.items())).check(values, target)
    assert min(answers.values()) > 30


def test_one_triple_is_covered() -> None:
    assert farkas_vector([3, 3, 4], 10) is None
