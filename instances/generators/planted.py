"""Yes-instances of 3-PARTITION: random triples, shuffled."""

from __future__ import annotations

from collections.abc import Sequence

from jettison.instances.generators.item_interval import ItemInterval
from jettison.instances.generators.splitmix64 import SplitMix64
from jettison.instances.three_partition.certificate import PlantedTriples


def planted(random: SplitMix64, groups: int, target: int) -> tuple[list[int], PlantedTriples]:
    """Return items and their partition; the first item of a triple is drawn evenly."""
    interval = ItemInterval(target)
    return shuffled([interval.triple(random) for _ in range(groups)], random)


def shuffled(
    triples: Sequence[tuple[int, int, int]], random: SplitMix64
) -> tuple[list[int], PlantedTriples]:
    """Return the items of the triples in random order, and where those of each triple are."""
    places = list(range(3 * len(triples)))
    random.shuffle(places)
    values = [0] * len(places)
    found = []
    for number, triple in enumerate(triples):
        first, second, third = sorted(places[3 * number : 3 * number + 3])
        values[first], values[second], values[third] = triple
        found.append((first, second, third))
    return values, PlantedTriples(tuple(sorted(found)))
