"""Derived rows of proofs: they follow from the model, and the checker derives the same."""

from __future__ import annotations

import itertools
import random
import threading

import numpy as np

from jettison.certificates.derived_rows import cover, rounded
from jettison.certificates.integer_model import IntegerModel, Row
from jettison.solvers.core.clock import Clock
from jettison.solvers.proof.covers import useful_covers
from jettison.solvers.proof.new_rows import NewRow, Rounding
from tests.each import each
from tests.proof.proofs import drawn_model


def knapsack(chance: random.Random, items: int) -> tuple[IntegerModel, list[int], int]:
    """Draw a knapsack of binaries with profits about as large as the weights."""
    model = IntegerModel()
    weights = [chance.randint(2, 30) for _ in range(items)]
    for number, weight in enumerate(weights):
        model.add_column(f"x_{number}", 0, 1, cost=-weight - chance.randint(0, 5))
    capacity = sum(weights) // 2
    model.at_most("room", range(items), weights, capacity)
    # As the model has it, divided by the common divisor.
    return model, [-value for value in model.rows[0].coefficients], -model.rows[0].right


def of_checker(model: IntegerModel, new: NewRow) -> Row:
    """Return the row that the checker derives from a record."""
    letter, first, *rest = new.record.split(" ")
    if letter == "G":
        return rounded(model, int(first), pairs(rest))
    return cover(model, int(first), int(rest[0]), pairs(rest[1:]))


def pairs(parts: list[str]) -> list[tuple[int, int]]:
    found = []
    for part in parts:
        first, _, second = part.partition(":")
        found.append((int(first), int(second)))
    return found


@each(seed=range(40))
def test_lifted_covers_hold_at_every_point_of_the_knapsack(seed: int) -> None:
    model, weights, capacity = knapsack(random.Random(seed), 9)
    found = useful_covers(model, (), 0.0, Clock(None), threading.Event())
    for new in found:
        assert of_checker(model, new).right == new.right
        for point in itertools.product((0, 1), repeat=9):
            if sum(itertools.compress(weights, point)) <= capacity:
                value = sum(
                    a * point[j] for j, a in zip(new.columns, new.coefficients, strict=True)
                )
                assert value >= new.right


def test_a_cover_closes_three_items_of_which_two_fit() -> None:
    # 2 x1 + 2 x2 + 3 x3 <= 5 leaves room for two: x1 + x2 + x3 <= 2.
    model = IntegerModel()
    for number in range(3):
        model.add_column(f"x_{number}", 0, 1, cost=-1)
    model.at_most("room", range(3), (2, 2, 3), 5)
    [new] = useful_covers(model, (), 0.0, Clock(None), threading.Event())
    assert dict(zip(new.columns, new.coefficients, strict=True)) == {0: -1, 1: -1, 2: -1}
    assert new.right == -2


@each(seed=range(60))
def test_a_rounding_is_the_row_that_the_checker_derives(seed: int) -> None:
    chance = random.Random(seed)
    model = drawn_model(chance)
    model.add_column("y", -3, 4, is_integer=False)
    model.at_least("mixed", [0, len(model.costs) - 1], [3, chance.choice((-2, 2))], 1)
    chosen = chance.sample(range(len(model.rows)), 2)
    chosen = [number for number in chosen if not model.rows[number].is_equation]
    rounding = Rounding(chance.randint(1, 5), tuple((row, chance.randint(1, 4)) for row in chosen))
    new = rounding.row(model)
    row = of_checker(model, new)
    assert (row.columns, row.coefficients, row.right) == (new.columns, new.coefficients, new.right)


def test_a_row_with_other_columns_than_binaries_is_no_knapsack() -> None:
    model = IntegerModel()
    model.add_column("x", 0, 2, cost=-1)
    model.add_column("y", 0, 1, cost=-1)
    model.add_column("z", 0, 1, cost=-1)
    model.at_most("room", range(3), (2, 2, 3), 5)
    assert useful_covers(model, (), 0.0, Clock(None), threading.Event()) == []
    assert np.array_equal(model.rows[0].columns, (0, 1, 2))
