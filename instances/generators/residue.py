r"""No-instances of 3-PARTITION by residues: one residue has too many items, or too few.

With :math:`q \ge 3` and :math:`3r + 2 \equiv V \pmod q`, every item is :math:`r` or :math:`r + 1`
modulo :math:`q`; call the latter *ones*. A triple with :math:`k` ones sums to :math:`3r + k`, so
that :math:`k = 2` in every triple of sum :math:`V`, and a partition needs :math:`2m` ones. The
items have :math:`2m + q` or :math:`2m - q`; the total :math:`mV` allows both. The point that puts
an :math:`m`-th of every item into every group satisfies the linear relaxation of the assignment
model all the same.
"""

from __future__ import annotations

from jettison.instances.core.errors import InputError
from jettison.instances.generators.item_interval import ItemInterval
from jettison.instances.generators.splitmix64 import SplitMix64
from jettison.instances.three_partition.certificate import ResidueWeights


def residue(
    random: SplitMix64, groups: int, target: int, modulus: int
) -> tuple[list[int], ResidueWeights]:
    """Return items and the weights that prove no.

    Raises
    ------
    InputError
        If there is no such instance for the number of groups, the target and the modulus.
    """
    if not 3 <= modulus <= 2 * groups:
        raise InputError(
            f"modulus {modulus} with {groups} groups",
            field="moduli",
            expected="write a modulus from 3 to twice the number of groups"
            if groups > 1
            else "residues prove nothing about one group: write at least 2 groups",
        )
    least = next((r for r in range(modulus) if (3 * r + 2 - target) % modulus == 0), None)
    if least is None:
        raise InputError(
            f"modulus {modulus} is a multiple of 3, and target {target} is not 2 modulo 3",
            field="moduli",
            expected="write a modulus that is not a multiple of 3, or another target",
        )
    ones = 2 * groups - modulus
    if 2 * groups + modulus <= 3 * groups and random.below(2):
        ones = 2 * groups + modulus
    most = (least + 1) % modulus
    residues = [most] * ones + [least] * (3 * groups - ones)
    values = ItemInterval(target).of_residues(random, residues, modulus, groups * target)
    random.shuffle(values)
    # A triple has two ones. The sign makes the sum over all items, 6m - 3 ones, negative.
    sign = 1 if ones > 2 * groups else -1
    weights = ((least, 2 * sign), (most, -sign))
    return values, ResidueWeights(
        modulus, tuple(sorted(pair for pair in weights if pair[0] in residues))
    )
