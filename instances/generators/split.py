r"""No-instances of 3-PARTITION whose triple relaxation is feasible.

Let :math:`V` be a multiple of 3 and :math:`z_i = x_i - V/3`, so that triples of sum :math:`V` are
those with :math:`z_i + z_j + z_k = 0`. Given moduli :math:`p` and :math:`q`, one class of items has
:math:`p \mid z_i, q \nmid z_i`, the other :math:`q \mid z_i, p \nmid z_i`. No triple mixes the
classes: two members of a class make the third a member. So a partition partitions each class, and
none exists if the size of a class is not a multiple of 3 (`SplitModuli`).

What the relaxation sees is another matter. A class consists of planted triples and a *gadget*: a
multiple of the values

.. math::
    -3, -2, -2, -1, -1, 1, 1, 1, 2, 4 \qquad\text{or}\qquad
    -3, -2, -2, -1, -1, -1, 1, 1, 2, 2, 4,

10 or 11 items, which zero-sum triples cover three times each: the first with weight 2
:math:`(-3, -1, 4), (-1, -1, 2)`, with weight 1 :math:`(-3, 1, 2), (-2, -2, 4)`, with weight 4
:math:`(-2, 1, 1)`; the second with weight 1 :math:`(-3, -1, 4)`, with weight 2
:math:`(-3, 1, 2), (-2, -2, 4), (-2, 1, 1)`, with weight 4 :math:`(-1, -1, 2)`. With a third of
these weights, and all of each planted triple, every item is covered once.

A target that is no multiple of 3 cannot do this: a class that no triple mixes with another has
average :math:`V/3` if the relaxation is feasible, so that its size times :math:`V/3` is an integer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from jettison.instances.core.errors import InputError
from jettison.instances.generators.item_interval import ItemInterval
from jettison.instances.generators.splitmix64 import SplitMix64
from jettison.instances.three_partition.certificate import SplitModuli
from jettison.instances.three_partition.value_triples import ValueTriple

_TIMES = 3
_LARGEST_GADGET_VALUE = 4
_DRAWS = 10_000
# By the remainder of its size modulo 3: a gadget is the triples that cover it three times.
_GADGETS: Mapping[int, Mapping[ValueTriple, int]] = MappingProxyType(
    {
        1: {(-3, -1, 4): 2, (-3, 1, 2): 1, (-2, -2, 4): 1, (-2, 1, 1): 4, (-1, -1, 2): 2},
        2: {(-3, -1, 4): 1, (-3, 1, 2): 2, (-2, -2, 4): 2, (-2, 1, 1): 2, (-1, -1, 2): 4},
    }
)


def split(
    random: SplitMix64, groups: int, target: int, modulus_1: int, modulus_2: int
) -> tuple[list[int], SplitModuli]:
    """Return items and the certificate.

    Raises
    ------
    InputError
        If there is no such instance for the number of groups, the target and the moduli.
    """
    if groups < 7:
        raise InputError(
            f"{groups}",
            field="groups",
            expected="the smallest instance of family split has 10 and 11 items: write at least 7",
        )
    if target % 3:
        raise InputError(
            f"{target} is not a multiple of 3",
            field="target",
            expected=f"the argument of family split needs one, such as {target // 3 * 3}",
        )
    sizes = [size for size in range(10, 3 * groups - 10) if size % 3]
    # The two classes are about equally large, and either may be the larger.
    nearest = min(abs(2 * size - 3 * groups) for size in sizes)
    first = random.choice([size for size in sizes if abs(2 * size - 3 * groups) == nearest])
    classes = [
        _Class(target, modulus_1, modulus_2).drawn(random, first),
        _Class(target, modulus_2, modulus_1).drawn(random, 3 * groups - first),
    ]
    values = [value for drawn, _ in classes for value in drawn]
    random.shuffle(values)
    cover = Counter[ValueTriple]()
    for _, weights in classes:
        cover.update(weights)
    return values, SplitModuli((modulus_1, modulus_2), _TIMES, tuple(sorted(cover.items())))


@dataclass(frozen=True)
class _Class:
    """Items whose distance from V/3 is a multiple of `modulus` and not of `other`."""

    target: int
    modulus: int
    other: int

    def drawn(self, random: SplitMix64, size: int) -> tuple[list[int], Counter[ValueTriple]]:
        """Return `size` items and the weights of triples that cover each three times."""
        cover = Counter[ValueTriple]()
        gadget = _GADGETS[size % 3]
        factor = self._factor(random)
        for triple, weight in gadget.items():
            cover[self._items([factor * value for value in triple])] += weight
        gadget_size = sum(gadget.values())
        for _ in range((size - gadget_size) // 3):
            cover[self._triple(random)] += _TIMES
        covered = Counter[int]()
        for triple, weight in cover.items():
            for value in triple:
                covered[value] += weight
        values = [value for value, times in sorted(covered.items()) for _ in range(times // _TIMES)]
        return values, cover

    def _factor(self, random: SplitMix64) -> int:
        """Return the factor of the gadget."""
        interval = ItemInterval(self.target)
        room = (interval.most - self.target // 3) // (_LARGEST_GADGET_VALUE * self.modulus)
        for _ in range(_DRAWS if room else 0):
            factor = self.modulus * random.between(1, room) * random.choice((1, -1))
            scaled = [factor * value for triple in _GADGETS[1] for value in triple]
            if all(self._holds(distance) for distance in scaled):
                return factor
        raise self._impossible()

    def _triple(self, random: SplitMix64) -> ValueTriple:
        interval = ItemInterval(self.target)
        low = -((self.target // 3 - interval.least) // self.modulus)
        high = (interval.most - self.target // 3) // self.modulus
        for _ in range(_DRAWS):
            first = random.between(low, high) * self.modulus
            second = random.between(low, high) * self.modulus
            triple = (first, second, -first - second)
            if all(self._holds(distance) for distance in triple):
                return self._items(triple)
        raise self._impossible()

    def _holds(self, distance: int) -> bool:
        """Tell whether V/3 plus `distance` is a valid item size that belongs to this class only."""
        value = self.target // 3 + distance
        return self.target < 4 * value < 2 * self.target and distance % self.other != 0

    def _items(self, distances: Sequence[int]) -> ValueTriple:
        first, second, third = sorted(self.target // 3 + distance for distance in distances)
        return first, second, third

    def _impossible(self) -> InputError:
        return InputError(
            f"moduli {self.modulus} and {self.other} leave no items for target {self.target}",
            field="moduli",
            expected="write two moduli such as 5,7, of which none divides 2, 3 or 4 times the "
            f"other, and a target of at least {60 * max(self.modulus, self.other)}",
        )
