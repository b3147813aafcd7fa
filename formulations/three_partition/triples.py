r"""Triple model of 3-PARTITION as an array model.

Items of equal size are one row, and every triple of values that sums to :math:`V` is one column.
With the number :math:`n_v` of items of size :math:`v`, and how often :math:`a_{v,j}` triple
:math:`j` takes that size,

.. math::
    \text{(value)} \quad \sum_j a_{v,j} t_j = n_v \quad \forall v,
    \qquad t_j \in \mathbb{Z}_{\ge 0} .

Column :math:`j` of values :math:`a \le b \le c` is ``t_a_b_c``, row :math:`v` is ``value_v``. There
is no objective. A point is a partition, and every partition is a point. A triple that takes
a value more often than the items have it is no column.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.instances.three_partition.instance import Partition, ThreePartition
from jettison.instances.three_partition.value_triples import ValueTriple, value_triples


@dataclass(frozen=True)
class TripleModel:
    """Built model, with the translation of its points to partitions.

    Attributes
    ----------
    instance
        The items.
    triples
        The values of each column.
    model
        The model.
    """

    instance: ThreePartition
    triples: tuple[ValueTriple, ...]
    model: ArrayModel

    def partition(self, point: ArrayLike) -> Partition:
        """Return the positions of the items of each group, from a point of the model."""
        positions: dict[int, list[int]] = defaultdict(list)
        for position, value in enumerate(self.instance.values):
            positions[value].append(position)
        found = []
        for triple, times in zip(self.triples, np.rint(np.asarray(point)).tolist(), strict=True):
            for _ in range(int(times)):
                first, second, third = sorted(positions[value].pop() for value in triple)
                found.append((first, second, third))
        return tuple(sorted(found))


def three_partition_triples(instance: ThreePartition) -> TripleModel:
    """Build the model in time quadratic in the number of distinct values."""
    count = Counter(instance.values)
    triples = value_triples(instance.values, instance.target)
    model = ArrayModelBuilder("three_partition_triples")
    columns: dict[int, list[int]] = defaultdict(list)
    for triple in triples:
        column = model.add_column(
            "t_" + "_".join(map(str, triple)),
            upper=min(count[value] // triple.count(value) for value in triple),
            integer=True,
        )
        for value in triple:
            columns[value].append(column)
    for value in sorted(count):
        # A column that takes the value twice stands there twice, and adds up.
        held = columns[value]
        model.add_row(
            f"value_{value}", held, [1.0] * len(held), lower=count[value], upper=count[value]
        )
    return TripleModel(instance, triples, model.build())
