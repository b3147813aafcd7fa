"""Built windowed sharding model, with the translation between points and plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.formulations.remat_graph.windows.built import WindowedModel
from jettison.formulations.remat_sharding.skeleton import skeleton
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph


@dataclass(frozen=True)
class WindowedShardingModel:
    """Built windowed sharding model, with the translation between points and plans.

    Attributes
    ----------
    sharded
        The instance.
    cuts
        The operators after whose first computations the windows begin.
    model
        The model.
    strategies
        For each leader, the columns s of its strategies.
    recomputed, stored
        For each window, the columns R and S of each needed operator.
    memory_scale, time_scale
        Scales of the memory rows and of the objective.
    """

    sharded: ShardedGraph
    cuts: tuple[int, ...]
    model: ArrayModel
    strategies: dict[int, list[int]]
    recomputed: tuple[dict[int, int], ...]
    stored: tuple[dict[int, int], ...]
    memory_scale: IntegerScale
    time_scale: IntegerScale

    def chosen(self, values: Floats) -> tuple[int, ...]:
        """Return for each operator the strategy that an integer point chooses."""
        place = {i: int(np.argmax(values[columns])) for i, columns in self.strategies.items()}
        return tuple(place[leader] for leader in self.sharded.leader)

    def computations(self, values: Floats) -> tuple[int, ...]:
        """Return the computations, in order, that an integer point of the model suggests.

        As `WindowedModel.computations`: what a window computes again comes as late as it can.
        """
        if not self.cuts:
            return tuple(range(len(self.sharded)))
        return self._windows.computations(values)

    def point(self, strategies: Sequence[int], computations: Sequence[int]) -> Floats:
        """Return the point of a plan: columns s, R and S; NaN for columns that follow from them.

        What is in memory when a window begins and computed again in it counts as computed again.

        Parameters
        ----------
        strategies
            For each operator the index of its strategy.
        computations
            As for `WindowedModel.point`.
        """
        values = (
            self._windows.point(computations)
            if self.cuts
            else np.full(self.model.num_columns, np.nan)
        )
        for again, stored in zip(self.recomputed, self.stored, strict=True):
            for i, column in again.items():
                if values[column] == 1:
                    values[stored[i]] = 0
        for i, columns in self.strategies.items():
            values[columns] = 0
            values[columns[strategies[i]]] = 1
        return values

    @property
    def _windows(self) -> WindowedModel:
        return WindowedModel(
            graph=skeleton(self.sharded)[0],
            cuts=self.cuts,
            model=self.model,
            recomputed=self.recomputed,
            stored=self.stored,
            memory_scale=self.memory_scale,
            time_scale=self.time_scale,
        )
