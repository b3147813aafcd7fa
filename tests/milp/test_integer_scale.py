"""Amounts in and out of a model: exact where they can be, on the safe side where they cannot."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jettison.formulations.milp.integer_scale import IntegerScale

AMOUNTS = st.lists(st.integers(0, 2**60), min_size=1, max_size=6)


def test_amounts_are_counted_in_their_greatest_common_divisor() -> None:
    scale = IntegerScale.of([6, 0, 15])
    assert scale == IntegerScale(unit=3, factor=1)
    assert [scale.to_model(amount) for amount in (6, 0, 15)] == [2, 0, 5]


def test_a_power_of_two_brings_the_largest_amount_down_to_1024() -> None:
    # 3 * 2049 / 3 / 4 = 512.25; with a factor of 2 it would be 1024.5.
    scale = IntegerScale.of([3 * 2049, 3])
    assert scale == IntegerScale(unit=3, factor=4)
    assert scale.to_model(3 * 2049) == 512.25
    assert IntegerScale.of([1024]) == IntegerScale(unit=1024, factor=1)
    assert IntegerScale.of([1024, 1]) == IntegerScale(unit=1, factor=1)


def test_a_limit_is_rounded_down_to_a_multiple() -> None:
    scale = IntegerScale(unit=3, factor=1)
    assert scale.to_model(14) == 4
    assert scale.to_model(15) == 5


def test_nothing_but_zeros_has_a_scale() -> None:
    assert IntegerScale.of([0, 0]) == IntegerScale(unit=1, factor=1)
    assert IntegerScale.of([]) == IntegerScale(unit=1, factor=1)


def test_amounts_more_than_nine_digits_apart_are_rounded_down() -> None:
    # 2^40 has 2^40 divisors of 1: counted in 2^11, of which it has 2^29.
    scale = IntegerScale.of([2**40, 1])
    assert scale == IntegerScale(unit=2**11, factor=2**19)
    assert scale.to_model(2**40) == 1024
    assert scale.to_model(1) == 0


@pytest.mark.parametrize(
    ("value", "bound"),
    [
        (5.0, 15),  # 5 is 5 units of 3
        (5.0 + 5e-7, 15),  # as near to 5 as the solver can tell
        (5.0 - 1e-3, 15),  # no multiple lies between 4.999 and 5
        (5.0 + 1e-3, 18),
        (0.0, 0),
    ],
)
def test_a_bound_is_rounded_up_to_the_next_multiple(value: float, bound: int) -> None:
    assert IntegerScale(unit=3, factor=1).bound_from_model(value) == bound


@given(AMOUNTS)
def test_sums_survive_the_way_into_the_model_and_back(amounts: list[int]) -> None:
    scale = IntegerScale.of(amounts)
    total = sum(amounts)
    in_model = sum(scale.to_model(amount) for amount in amounts)
    assert max(scale.to_model(amount) for amount in amounts) <= 1024
    # Rounded down, by less than a unit each, and with it the bound.
    assert 0 <= total - scale.from_model(in_model) < len(amounts) * scale.unit
    assert scale.bound_from_model(in_model) == scale.from_model(in_model)
    # A sum that fits into a limit still fits in the model.
    assert in_model <= scale.to_model(total)
