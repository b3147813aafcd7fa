"""A model whose points choose a strategy for each operator of a sharded graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph


@dataclass(frozen=True)
class ChosenStrategiesModel:
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
