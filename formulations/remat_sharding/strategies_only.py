r"""Sharding without a memory limit: the fastest strategies, every operator computed once.

With followers merged into groups (`merged_choices`), binary :math:`s_{gk}` and :math:`e_{ghab}`
from 0 to 1:

.. math::
    \text{(objective)} \quad & \min \sum_g \sum_k c_{gk} s_{gk}
        + \sum_{g < h} \sum_{a, b} R_{ghab} e_{ghab} \\
    \text{(one)} \quad & \sum_k s_{gk} = 1 \\
    \text{(from)} \quad & \sum_b e_{ghab} = s_{ga} \\
    \text{(to)} \quad & \sum_a e_{ghab} = s_{hb}

Alpa's model (OSDI 2022) with equalities; what is forbidden is 0. Strategies that a table treats
alike share columns, as in `strategy_columns`. The optimum is a lower bound on the time of every
plan in every memory, and the point the fastest plan, which shares of memory refer to.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.formulations.remat_sharding.strategy_columns import alike
from jettison.instances.remat_sharding.merged_choices import MergedChoices, merged_choices
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph


@dataclass(frozen=True)
class ShardingOnly:
    """Built model, with the translation of its points to strategies.

    Attributes
    ----------
    choices
        The groups of the instance.
    model
        The model.
    columns
        For each group, the columns s of its strategies.
    time_scale
        Scale of the model's nanoseconds.
    """

    choices: MergedChoices
    model: ArrayModel
    columns: list[list[int]]
    time_scale: IntegerScale

    def chosen(self, values: Floats) -> tuple[int, ...]:
        """Return for each operator the strategy that an integer point chooses."""
        return self.choices.strategies([int(np.argmax(values[own])) for own in self.columns])


def sharding_only(sharded: ShardedGraph) -> ShardingOnly:
    """Build the model; linear in the size of all tables."""
    choices = merged_choices(sharded)
    known = [cost for costs in choices.cost_ns for cost in costs]
    known += [cost for table in choices.tables.values() for row in table for cost in row]
    scale = IntegerScale.of(cost for cost in known if cost is not None)
    builder = ArrayModelBuilder("sharding_only")
    columns: list[list[int]] = []
    for g, costs in enumerate(choices.cost_ns):
        own = builder.add_columns(
            [f"s_{g}_{k}" for k in range(len(costs))],
            upper=[cost is not None for cost in costs],
            cost=[scale.to_model(cost or 0) for cost in costs],
            integer=True,
        ).tolist()
        builder.add_row(f"one_{g}", own, [1] * len(own), lower=1, upper=1)
        columns.append(own)
    for (g, h), table in choices.tables.items():
        rows, across = alike(table), alike(list(zip(*table, strict=True)))
        e = [
            builder.add_columns(
                [f"e_{g}_{h}_{row[0]}_{column[0]}" for column in across],
                upper=[table[row[0]][column[0]] is not None for column in across],
                cost=[scale.to_model(table[row[0]][column[0]] or 0) for column in across],
            ).tolist()
            for row in rows
        ]
        sums = [(f"from_{g}_{h}_{row[0]}", e[place], g, row) for place, row in enumerate(rows)]
        sums += [
            (f"to_{g}_{h}_{column[0]}", [of_row[place] for of_row in e], h, column)
            for place, column in enumerate(across)
        ]
        for name, pairs, end, of_class in sums:
            whole = [columns[end][k] for k in of_class]
            coefficients = [*(1 for _ in pairs), *(-1 for _ in whole)]
            builder.add_row(name, [*pairs, *whole], coefficients, lower=0, upper=0)
    return ShardingOnly(choices, builder.build(), columns, scale)
