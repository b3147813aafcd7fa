from __future__ import annotations

import itertools
import random

from jettison.instances.three_partition.value_triples import value_triples


def test_the_triples_are_those_of_all_sets_of_three_items() -> None:
    generator = random.Random(1)
    for _ in range(100):
        values = [generator.randint(1, 12) for _ in range(generator.randint(0, 12))]
        target = generator.randint(3, 30)
        expected = {
            tuple(sorted(part)) for part in itertools.combinations(values, 3) if sum(part) == target
        }
        assert value_triples(values, target) == tuple(sorted(expected))


def test_a_value_is_taken_as_often_as_there_are_items() -> None:
    assert value_triples([4, 4], 12) == ()
    assert value_triples([4, 4, 4], 12) == ((4, 4, 4),)
