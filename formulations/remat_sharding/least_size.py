r"""Strategies with which all values of a sharded graph together are smallest.

The columns and rows of `strategy_columns`, whose pairs keep what is forbidden apart, with

.. math::
    \min \sum_i \sum_k m_{ik} s_{ik} .

It is a choice for memories in which little else fits: where no pair is forbidden, and the smallest
strategy of each operator is that of its whole group, no plan with the same computations takes less
at any moment.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.remat_sharding.chosen_strategies_model import ChosenStrategiesModel
from jettison.formulations.remat_sharding.strategy_columns import StrategyColumns
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph


def sharding_least_size(sharded: ShardedGraph) -> ChosenStrategiesModel:
    """Build the model, in time linear in the size of all tables."""
    builder = ArrayModelBuilder("sharding_least_size")
    choices = StrategyColumns(builder, sharded, [0] * len(sharded))
    choices.write()
    columns, sizes = choices.sizes(range(len(sharded)))
    model = builder.build()
    objective = np.zeros(model.num_columns)
    np.add.at(objective, columns, sizes)
    return ChosenStrategiesModel(sharded, replace(model, objective=objective), choices.s)
