r"""Falkenauer's triplets: planted triples of one large and two small items.

The bin packing instances of E. Falkenauer (A Hybrid Grouping Genetic Algorithm for Bin Packing,
Journal of Heuristics 2, 1996) fill bins of capacity :math:`c = 1000` exactly with three items: the
first from 380 to 490, the second from 250 to below half of the rest, the third the rest. They are
yes-instances of 3-PARTITION with :math:`V = c`, but for a second item of 250, a quarter of
:math:`c`: four of these would fill a bin. Here the second item is above a quarter. Another target
scales the bounds.
"""

from __future__ import annotations

from jettison.instances.core.errors import InputError
from jettison.instances.generators.planted import shuffled
from jettison.instances.generators.splitmix64 import SplitMix64
from jettison.instances.three_partition.certificate import PlantedTriples


def triplets(random: SplitMix64, groups: int, target: int) -> tuple[list[int], PlantedTriples]:
    """Return items and their partition.

    Raises
    ------
    InputError
        If the target is below 300: a large first item might leave no second one above a quarter.
    """
    if target < 300:
        raise InputError(
            f"{target} is too small for triplets",
            field="target",
            expected="write 1000, as Falkenauer, or at least 300",
        )
    least_first, most_first = -(-380 * target // 1000), 490 * target // 1000
    found = []
    for _ in range(groups):
        first = random.between(least_first, most_first)
        second = random.between(target // 4 + 1, (target - first - 1) // 2)
        found.append((first, second, target - first - second))
    return shuffled(found, random)
