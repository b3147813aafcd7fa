r"""Division of models into units of least total value, by dynamic programming.

The models are alike, so that a division is a multiset of units, and the least sum over all
divisions follows by dynamic programming over the number of models: with :math:`v(u)` the value of
unit u and :math:`|u|` its models,

.. math:: V(n) = \min_{u : |u| \le n} V(n - |u|) + v(u), \qquad V(0) = 0 .
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jettison.instances.multi_model.problem import MultiModelTraining

# The models in each sub-array of a unit: two that are interleaved, or one alone.
Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Division:
    """Units that contain every model once, and the sum of their values."""

    value: int
    units: tuple[Sizes, ...]


def units_that_fit(problem: MultiModelTraining) -> list[Sizes]:
    """Return the pairs and the sub-arrays alone for which some schedule exists.

    With every feature map swapped and each backward pass before the forward pass, a unit needs its
    static memory and the largest peak of an operator: no schedule needs less.
    """
    sizes = [size for size in problem.instance.sizes if size <= problem.count]
    units: list[Sizes] = [(size,) for size in sizes]
    units += [(a, b) for a in sizes for b in sizes if a <= b and a + b <= problem.count]
    return [unit for unit in units if unit_need_bytes(problem, unit) <= problem.memory_bytes]


def unit_need_bytes(problem: MultiModelTraining, unit: Sizes) -> int:
    """Return the least memory in which a unit can run."""
    arrays = [problem.sub_array(size) for size in unit]
    static_bytes = sum(array.static_bytes for array in arrays)
    return static_bytes + max(array.largest_peak_bytes for array in arrays)


def best_division(count: int, values: Mapping[Sizes, int]) -> Division | None:
    """Return the division of `count` models with the least sum of values; None if there is none.

    O(n u) for n models and u units.
    """
    best: list[Division | None] = [Division(0, ())]
    for total in range(1, count + 1):
        found: Division | None = None
        for unit, value in values.items():
            rest = best[total - sum(unit)] if sum(unit) <= total else None
            if rest is not None and (found is None or rest.value + value < found.value):
                found = Division(rest.value + value, (*rest.units, unit))
        best.append(found)
    return best[count]
