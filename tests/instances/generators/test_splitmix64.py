from __future__ import annotations

from collections import Counter

import pytest

from jettison.instances.generators.splitmix64 import SplitMix64


def test_the_words_are_those_that_others_publish() -> None:
    # The first five outputs for the seed 1234567, as in the tests of other implementations.
    random = SplitMix64(1234567)
    assert [random.word() for _ in range(5)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 2**63 + 1, 2**64])
def test_numbers_stay_below_the_limit(limit: int) -> None:
    random = SplitMix64(1)
    assert all(0 <= random.below(limit) < limit for _ in range(200))


def test_both_ends_are_drawn_and_about_equally_often() -> None:
    random = SplitMix64(2)
    drawn = Counter(random.between(5, 9) for _ in range(5000))
    assert sorted(drawn) == [5, 6, 7, 8, 9]
    # 1000 of each are expected, with a standard deviation of 28.
    assert all(850 < times < 1150 for times in drawn.values())


def test_shuffling_keeps_the_items_and_reaches_every_order() -> None:
    random = SplitMix64(3)
    orders = set()
    for _ in range(200):
        items = [1, 2, 3]
        random.shuffle(items)
        orders.add(tuple(items))
    assert len(orders) == 6
    assert random.choice([4]) == 4
