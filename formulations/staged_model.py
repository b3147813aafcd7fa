"""A model of the stages of a graph's step, built, and how its points are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jettison.formulations.array_model import ArrayModel, Floats
from jettison.formulations.integer_scale import IntegerScale
from jettison.instances.graph import Graph


@dataclass(frozen=True)
class StagedModel:
    """A built model, and how to read its values.

    Attributes
    ----------
    graph
        The instance.
    model
        The model.
    recomputed
        The column R of each stage and each node that it may compute again. Stage `len(graph)` is
        after all first computations.
    memory_scale, time_scale
        For the rows of memory, and for the objective.
    """

    graph: Graph
    model: ArrayModel
    recomputed: Mapping[tuple[int, int], int]
    memory_scale: IntegerScale
    time_scale: IntegerScale

    def computations(self, values: Floats) -> tuple[int, ...]:
        """Return the nodes that an integer point computes, stage by stage, in order.

        What is freed and when follows from them (`GraphSchedule.from_computations`); whether they
        fit is for the replay to say.

        Parameters
        ----------
        values
            Value of each column.
        """
        count = len(self.graph)
        again: list[list[int]] = [[] for _ in range(count + 1)]
        for (stage, node), column in self.recomputed.items():
            if values[column] > 0.5:
                again[stage].append(node)
        return tuple(
            node
            for stage, nodes in enumerate(again)
            for node in (*sorted(nodes), *(range(stage, stage + 1) if stage < count else ()))
        )
