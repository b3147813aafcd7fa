"""Knapsacks of torch's memory budget: what they choose, and that no budget is left out."""

from __future__ import annotations

import random
from itertools import chain, combinations

import pytest

from jettison.solvers.remat_graph.planners.knapsacks import (
    DynamicKnapsack,
    GreedyKnapsack,
    IntegerKnapsack,
    KnapsackItems,
)


def drawn(chance: random.Random, count: int) -> KnapsackItems:
    """Draw items whose sizes are multiples of a thousandth, as are the capacities below."""
    return KnapsackItems(
        positions=tuple(range(count)),
        memory=tuple(chance.randint(1, 600) / 1000 for _ in range(count)),
        runtime=tuple(float(chance.randint(1, 50)) for _ in range(count)),
    )


def best_runtime(items: KnapsackItems, capacity: float) -> float:
    """Return the most time of any choice that fits."""
    numbers = range(len(items.memory))
    choices = chain.from_iterable(combinations(numbers, size) for size in range(len(numbers) + 1))
    return max(
        sum(items.runtime[number] for number in choice)
        for choice in choices
        if sum(items.memory[number] for number in choice) <= capacity + 1e-9
    )


@pytest.mark.parametrize("knapsack", [DynamicKnapsack(), IntegerKnapsack(1)], ids=["dp", "ilp"])
def test_optimal_ones_are_optimal(knapsack: DynamicKnapsack | IntegerKnapsack) -> None:
    chance = random.Random(2)
    for case in range(20):
        items, capacity = drawn(chance, chance.randint(1, 8)), chance.randint(1, 999) / 1000
        chosen = knapsack.chosen(items, capacity)
        assert sum(items.memory[number] for number in chosen) <= capacity + 1e-9, case
        found = sum(items.runtime[number] for number in chosen)
        assert found == best_runtime(items, capacity), case


def test_greedy_takes_the_most_time_for_each_byte_that_still_fits() -> None:
    items = KnapsackItems((0, 1, 2), (0.5, 0.4, 0.1), (10.0, 9.0, 1.0))
    # By 22.5, 20 and 10 for a unit: the second, then the first does not fit, and the third does.
    assert GreedyKnapsack(9).chosen(items, 0.6) == {1, 2}
    assert GreedyKnapsack(9).chosen(items, 0.9) == {0, 1}


def test_no_capacity_of_the_greedy_choice_is_left_out() -> None:
    chance = random.Random(3)
    for case in range(30):
        items = drawn(chance, chance.randint(1, 7))
        largest = chance.randint(100, 1000) / 1000
        found = set(GreedyKnapsack(1000).all_choices(items, largest))
        for step in range(1, 400):
            capacity = largest * step / 400
            assert GreedyKnapsack(1).chosen(items, capacity) in found, (case, capacity)


def test_no_capacity_of_the_dynamic_program_is_left_out() -> None:
    chance = random.Random(4)
    for case in range(4):
        items = drawn(chance, 5)
        found = set(DynamicKnapsack().all_choices(items, 0.8))
        for step in range(1, 100):
            assert DynamicKnapsack().chosen(items, 0.8 * step / 100) in found, (case, step)


def test_where_there_are_too_many_choices_budgets_of_equal_distances_are_looked_at() -> None:
    items = drawn(random.Random(5), 12)
    assert len(list(GreedyKnapsack(5).all_choices(items, 1.0))) == 5
    assert len(list(IntegerKnapsack(3).all_choices(items, 1.0))) == 3
