"""Conversion between bounds on a model's objective and bounds on the time."""

from __future__ import annotations

import math

from jettison.certificates.integer_model import IntegerModel


class Objective:
    """Objective of a model as a measure of time.

    Where all columns with costs are integer its values are multiples of `unit`, the greatest common
    divisor of the costs; else `unit` is 1.
    """

    def __init__(self, model: IntegerModel) -> None:
        self._offset_ns, self._cost_per_ns = model.time_offset_ns, model.cost_per_ns
        columns = zip(model.is_integer, model.costs, strict=True)
        is_whole = all(is_integer for is_integer, cost in columns if cost)
        self.unit = (math.gcd(*model.costs) or 1) if is_whole else 1

    def to_beat(self, time_ns: int) -> int:
        """Return the value that every point must exceed for no schedule to beat a time."""
        return self._at_most(self._cost_per_ns * (time_ns - 1 - self._offset_ns))

    def proved_ns(self, value: int, bits: int) -> int:
        """Return the largest time that `value`, a bound multiplied by :math:`2^k`, proves."""
        below = -(-value >> bits) - 1
        return self._offset_ns + 1 + (self._at_most(below) + self.unit - 1) // self._cost_per_ns

    def _at_most(self, value: int) -> int:
        """Return the largest possible value of the objective up to a given one."""
        return value // self.unit * self.unit
