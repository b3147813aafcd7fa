"""No-instances of 3-PARTITION with an infeasible triple relaxation, proved by a Farkas vector.

Items are drawn at random until the relaxation is infeasible although every item is in some triple.
The Farkas vector comes from a simplex method in exact integers: no solver, no rounding, and the
same vector on every machine.
"""

from __future__ import annotations

from jettison.instances.core.errors import InputError
from jettison.instances.generators.item_interval import ItemInterval
from jettison.instances.generators.splitmix64 import SplitMix64
from jettison.instances.three_partition.certificate import TripleWeights
from jettison.instances.three_partition.triple_relaxation import farkas_vector
from jettison.instances.three_partition.value_triples import value_triples

_DRAWS = 2000
# The exact simplex takes more than a second beyond, and the relaxation is nearly always feasible.
_MOST_TRIPLES = 200


def farkas(random: SplitMix64, groups: int, target: int) -> tuple[list[int], TripleWeights]:
    """Return items and a Farkas vector of their triple relaxation.

    Raises
    ------
    InputError
        If none was found: with a large target most items are in no triple, with a small one the
        relaxation is nearly always feasible.
    """
    interval = ItemInterval(target)
    for _ in range(_DRAWS):
        values = interval.of_residues(random, [0] * (3 * groups), 1, groups * target)
        triples = value_triples(values, target)
        covered = {value for triple in triples for value in triple}
        if len(covered) < len(set(values)) or len(triples) > _MOST_TRIPLES:
            continue
        weights = farkas_vector(values, target)
        if weights is not None:
            return values, TripleWeights(tuple(sorted(weights.items())))
    raise InputError(
        f"no instance found with {groups} groups and target {target}",
        field="target",
        expected=f"write a target near {max(3 * groups**2, 36)}, and 4 to 30 groups",
    )
