"""Built windowed frontier model, with the translation between points and schedules."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.instances.remat_graph.graph import Graph


@dataclass(frozen=True)
class WindowedModel:
    """Built windowed frontier model, with the translation between points and schedules.

    Attributes
    ----------
    graph
        The instance.
    cuts
        The nodes after whose first computations the windows begin.
    model
        The model.
    recomputed, stored
        For each window, the columns R and S of each needed node.
    memory_scale, time_scale
        Scales of the memory rows and of the objective.
    """

    graph: Graph
    cuts: tuple[int, ...]
    model: ArrayModel
    recomputed: tuple[dict[int, int], ...]
    stored: tuple[dict[int, int], ...]
    memory_scale: IntegerScale
    time_scale: IntegerScale

    def computations(self, values: Floats) -> tuple[int, ...]:
        """Return the computations, in order, that an integer point of the model suggests.

        What a window computes again comes as late in it as it can: before the first of its users
        in the window, or at the end of it, and results directly after their operator. Every node
        follows its inputs, so the sequence becomes
        a valid schedule (`GraphSchedule.from_computations`) but for its memory, which the model
        knows only at the cuts and slots. :math:`O(k (n + |E|))` for `k` cuts.

        Parameters
        ----------
        values
            Value of each column.
        """
        again = [
            {node for node, column in columns.items() if values[column] >= 0.5}
            for columns in self.recomputed
        ]
        return latest_computations(self.graph, self.cuts, self._ends, again)

    def point(self, computations: Sequence[int]) -> Floats:
        """Return the point of a schedule: columns R and S; NaN for columns that follow from them.

        Of a schedule of the model's class that fits it is a feasible point, at most as expensive:
        what a window computes several times counts once. :math:`O(k n + |E|)` for `k` cuts, times
        a logarithm.

        Parameters
        ----------
        computations
            Computations of all nodes, first ones in the order of the graph, none of them unread.
        """
        graph = self.graph
        computed_at: list[list[int]] = [[] for _ in graph.nodes]
        read_until = [-1] * len(computations)
        for place, node in enumerate(computations):
            for source in graph.inputs[node]:
                read_until[computed_at[source][-1]] = place
            computed_at[node].append(place)
        for places in (computed_at[i] for i, node in enumerate(graph.nodes) if node.keep):
            read_until[places[-1]] = len(computations)
        begins = [computed_at[cut][0] for cut in self.cuts]
        ends = [*begins[1:], len(computations)]
        values = np.full(self.model.num_columns, np.nan)
        for w, (begin, end) in enumerate(zip(begins, ends, strict=True)):
            for node, column in self.recomputed[w].items():
                places = computed_at[node]
                later = bisect_right(places, begin)
                values[column] = later < len(places) and places[later] <= end
                values[self.stored[w][node]] = read_until[places[later - 1]] > begin
        return values

    @property
    def _ends(self) -> tuple[int, ...]:
        return (*self.cuts[1:], len(self.graph))


def latest_computations(
    graph: Graph, cuts: Sequence[int], ends: Sequence[int], again: Sequence[Collection[int]]
) -> tuple[int, ...]:
    """Return computations in which each window computes again what is asked, as late as it can.

    Parameters
    ----------
    graph
        The graph.
    cuts, ends
        Where windows begin and end.
    again
        For each window the nodes.
    """
    count = len(graph)
    at_stage: list[list[int]] = [[] for _ in range(count + 1)]
    for start, end, of_window in zip(cuts, ends, again, strict=True):
        stage_of: dict[int, int] = {}
        # Nothing is computed between an operator without a value and its results.
        in_a_run = end < count and graph.comes_in_a_run(end)
        last_stage = graph.operators[end] if in_a_run else end
        for node in sorted(of_window, reverse=True):
            stages = [
                user if user > start else stage_of[user]
                for user in graph.users[node]
                if user in stage_of or start < user <= end
            ]
            stage_of[node] = min(stages, default=last_stage)
            for result in graph.results_after.get(node, ()):
                if result in stage_of:
                    stage_of[result] = stage_of[node]
        for node, stage in stage_of.items():
            at_stage[stage].append(node)
    sequence: list[int] = []
    for stage, nodes in enumerate(at_stage):
        sequence.extend(sorted(nodes))
        if stage < count:
            sequence.append(stage)
    return tuple(sequence)
