"""Scaling of exact amounts to moderate numbers for a floating-point solver, and back."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

# Tolerances of solvers are absolute: coefficients should be neither far above nor far below 1.
_LARGEST_IN_MODEL = 2**10
# Then one unit is at least 2^-19 in the model, twice the tolerance below and far above what solvers
# drop. With much smaller ones HiGHS 1.15 has called feasible models infeasible.
_MOST_UNITS = 2**29
# HiGHS's absolute gap: what a dual bound claims beyond a multiple by less than this is rounding.
_SOLVER_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class IntegerScale:
    """Scale of a model's amounts: it counts bytes or nanoseconds in multiples of a unit.

    Amounts are rounded down to a multiple of `unit`. As a rule that is their greatest common
    divisor: the amounts are exact, everything that adds up from them is a multiple of it, and a
    limit loses nothing. Only where the largest amount has more than 2^29 divisors is `unit` more
    than one; the model then relaxes the problem, and its lower bounds still hold.

    Attributes
    ----------
    unit
        The unit: all amounts are multiples of it.
    factor
        The power of two that brings the largest amount down to 1024 in the model. Dividing by it
        is exact.
    """

    unit: int
    factor: int

    @classmethod
    def of(cls, amounts: Iterable[int]) -> Self:
        """Return the scale for these amounts; linear time."""
        given = list(amounts)
        divisor = math.gcd(*given) or 1
        largest = max(given, default=0) // divisor
        coarse = _power_of_two_from(largest, _MOST_UNITS)
        return cls(divisor * coarse, _power_of_two_from(largest // coarse, _LARGEST_IN_MODEL))

    def to_model(self, amount: int) -> float:
        """Return an amount as the model counts it, rounded down to a multiple of `unit`."""
        return amount // self.unit / self.factor

    def from_model(self, value: float) -> int:
        """Return the multiple of `unit` nearest to a value of the model."""
        return round(value * self.factor) * self.unit

    def bound_from_model(self, value: float) -> int:
        """Return the least multiple of `unit` that a lower bound of the model does not rule out.

        The bound is first lowered by the solver's tolerance, 1e-6, which is half a unit at most.
        """
        return math.ceil((value - _SOLVER_TOLERANCE) * self.factor) * self.unit


def _power_of_two_from(amount: int, most: int) -> int:
    """Return the least power of two that divides `amount` down to `most` or less."""
    return 1 << max(0, -(-amount // most) - 1).bit_length()
