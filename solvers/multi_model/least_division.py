r"""Division of models into units of least total value, by dynamic programming.

The models of an architecture are alike, so that a division is a multiset of units, and the least
sum over all divisions follows by dynamic programming over the number of models: with :math:`v(u)`
the value of unit u and :math:`|u|` its models,

.. math:: V(n) = \min_{u : |u| \le n} V(n - |u|) + v(u), \qquad V(0) = 0 .

Of several architectures n and :math:`|u|` are vectors, with an entry for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from operator import le, sub

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.instances.multi_model.sub_array_key import Key, models_taken

# The models in each sub-array of a unit, or the key of one of another architecture: two that are
# interleaved, or one alone.
Sizes = tuple[Key, ...]


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
    units: list[Sizes] = [(key,) for key in problem.keys]
    units += [
        (a, b)
        for a, b in combinations_with_replacement(problem.keys, 2)
        if all(map(le, models_taken((a, b), len(problem.counts)), problem.counts))
    ]
    return [unit for unit in units if unit_need_bytes(problem, unit) <= problem.memory_bytes]


def unit_need_bytes(problem: MultiModelTraining, unit: Sizes) -> int:
    """Return the least memory in which a unit can run."""
    arrays = [problem.sub_array(size) for size in unit]
    static_bytes = sum(array.static_bytes for array in arrays)
    return static_bytes + max(array.largest_peak_bytes for array in arrays)


def best_division(models: int | tuple[int, ...], values: Mapping[Sizes, int]) -> Division | None:
    """Return the division with the least sum of values; None if there is none.

    Parameters
    ----------
    models
        Models to divide: a number, or one for each architecture.
    values
        The value of each unit.

    Notes
    -----
    O(n u) for u units and n models; for several architectures n is the product of their numbers,
    each plus 1.
    """
    counts = (models,) if isinstance(models, int) else models
    units = [(models_taken(unit, len(counts)), unit, value) for unit, value in values.items()]
    best: dict[tuple[int, ...], Division] = {(0,) * len(counts): Division(0, ())}
    # In lexicographic order what is left of a state comes before it.
    for state in product(*(range(count + 1) for count in counts)):
        found = best.get(state)
        for taken, unit, value in units:
            rest = best.get(tuple(map(sub, state, taken)))
            if rest is not None and (found is None or rest.value + value < found.value):
                found = Division(rest.value + value, (*rest.units, unit))
        if found is not None:
            best[state] = found
    return best.get(counts)
