"""Bound on the time of a whole step from a solver's dual bound, with its rounding allowed for."""

from __future__ import annotations

from jettison.formulations.milp.integer_scale import IntegerScale

# The objective is the time of the whole step, thousands of the largest cost, and a sum of so many
# terms has an error in proportion.
_RELATIVE_TOLERANCE = 1e-9


def proved_ns(scale: IntegerScale, dual_bound: float) -> int:
    """Return the least time that a dual bound does not rule out, allowing for rounding."""
    return max(0, scale.bound_from_model(dual_bound - _RELATIVE_TOLERANCE * abs(dual_bound)))
