r"""No-instances of 3-PARTITION by parity.

The number of items in a triple of sum :math:`V` that have the parity of :math:`V` is odd: 1 or 3.
So a partition needs at least :math:`m` of them; given are :math:`m - 2`. The total :math:`mV` would
allow that.
"""

from __future__ import annotations

from jettison.instances.core.errors import InputError
from jettison.instances.generators.item_interval import ItemInterval
from jettison.instances.generators.splitmix64 import SplitMix64
from jettison.instances.three_partition.certificate import ResidueWeights


def parity(random: SplitMix64, groups: int, target: int) -> tuple[list[int], ResidueWeights]:
    """Return items and the weights that prove no.

    Raises
    ------
    InputError
        If there is one group only, or the target is too small.
    """
    if groups < 2:
        raise InputError(
            f"{groups}", field="groups", expected="a family of parity needs at least 2 groups"
        )
    same, other = target % 2, 1 - target % 2
    residues = [same] * (groups - 2) + [other] * (2 * groups + 2)
    values = ItemInterval(target).of_residues(random, residues, 2, groups * target)
    random.shuffle(values)
    weights = ((same, 2), (other, -1))
    return values, ResidueWeights(2, tuple(sorted(pair for pair in weights if pair[0] in residues)))
