r"""Strategies with which all values of a sharded graph together are smallest.

The columns and rows of `strategy_columns`, whose pairs keep what is forbidden apart, with

.. math::
    \min \sum_i \sum_k m_{ik} s_{ik} .

It is a choice for memories in which little else fits: where no pair is forbidden, and the smallest
strategy of each operator is that of its whole group, no plan with the same computations takes less
at any moment.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.remat_sharding.strategy_columns import StrategyColumns
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph


@dataclass(frozen=True)
class LeastSizeModel:
    """Built model, with the translation of its points to strategies.

    Attributes
    ----------
    sharded
        The instance.
    model
        The model.
    strategies
        For each leader, the columns s of its strategies.
    """

    sharded: ShardedGraph
    model: ArrayModel
    strategies: dict[int, list[int]]

    def chosen(self, values: Floats) -> tuple[int, ...]:
        """Return for each operator the strategy that an integer point chooses."""
        place = {i: int(np.argmax(values[columns])) for i, columns in self.strategies.items()}
        return tuple(place[leader] for leader in self.sharded.leader)


def sharding_least_size(sharded: ShardedGraph) -> LeastSizeModel:
    """Build the model, in time linear in the size of all tables."""
    builder = ArrayModelBuilder("sharding_least_size")
    choices = StrategyColumns(builder, sharded, [0] * len(sharded))
    choices.write()
    columns, sizes = choices.sizes(range(len(sharded)))
    model = builder.build()
    objective = np.zeros(model.num_columns)
    np.add.at(objective, columns, sizes)
    return LeastSizeModel(sharded, replace(model, objective=objective), choices.s)
