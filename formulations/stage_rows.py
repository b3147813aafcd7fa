"""The columns and rows that models of a graph's stages share; each model's docstring has its own.

`frontier` states the columns R and S and the rows (stage), (dependency), (checkpoint), (keep) and
(frontier), `residency` the rows (slot) and (later), `cut_closure` the rows (ever), (lost) and
(path).
"""

# The symbols of the models are the names of the code.
# ruff: noqa: N806

from __future__ import annotations

from collections.abc import Iterable

from jettison.formulations.array_model_builder import ArrayModelBuilder
from jettison.formulations.integer_scale import IntegerScale
from jettison.formulations.recomputation import Recomputation
from jettison.formulations.staged_model import StagedModel
from jettison.instances.graph import Graph
from jettison.instances.remat_graph import RematGraph
from jettison.schedules.schedule_class import ScheduleClass


class StageRows:
    """Adds columns, and rows label by label.

    Parameters
    ----------
    name
        Name of the model.
    problem
        The instance and its memory.
    recomputation
        What may be computed again.
    valid_for
        For staged schedules nothing is computed after the last first computation.

    Attributes
    ----------
    R, S
        Columns by stage and node.
    """

    def __init__(
        self,
        name: str,
        problem: RematGraph,
        recomputation: Recomputation,
        valid_for: ScheduleClass,
    ) -> None:
        graph = problem.instance
        self.graph = graph
        self.count = len(graph)
        sizes = [size for node in graph.nodes for size in (node.output_bytes, node.workspace_bytes)]
        self.memory_scale = IntegerScale.of(sizes)
        self.time_scale = IntegerScale.of(node.duration_ns for node in graph.nodes)
        self.B = self.memory_scale.to_model(problem.memory_bytes)
        self.M = [self.memory_scale.to_model(node.output_bytes) for node in graph.nodes]
        self.W = [self.memory_scale.to_model(node.workspace_bytes) for node in graph.nodes]
        self.kept = [i for i, node in enumerate(graph.nodes) if node.keep]
        self.builder = ArrayModelBuilder(name)
        self.needed = needed_nodes(graph)
        C = [self.time_scale.to_model(node.duration_ns) for node in graph.nodes]
        staged = valid_for is ScheduleClass.STAGED
        self.R: dict[tuple[int, int], int] = {}
        self.S: dict[tuple[int, int], int] = {}
        for t, nodes in enumerate(self.needed):
            for i in nodes:
                allowed = recomputation.permits(graph, t, i) and not (staged and t == self.count)
                if allowed:
                    self.R[t, i] = self.builder.add_column(
                        f"R_{t}_{i}", upper=1, cost=C[i], integer=True
                    )
        self._add_stored()

    def _add_stored(self) -> None:
        """Add the columns S; one for all stages before the first that may compute again.

        Where nothing is lost and brought back, what no first computation of those stages reads any
        more is best dropped at once or not at all.
        """
        first = min((t for t, _ in self.R), default=self.count)
        for t in range(self.count, -1, -1):
            for i in self.needed[t]:
                shared = self.S.get((first, i))
                if (
                    t < first
                    and shared is not None
                    and not any(t <= j < first for j in self.graph.users[i])
                ):
                    self.S[t, i] = shared
                else:
                    self.S[t, i] = self.builder.add_column(f"S_{t}_{i}", upper=1, integer=True)

    def model(self) -> StagedModel:
        """Return the model of what has been added."""
        return StagedModel(
            self.graph, self.builder.build(), self.R, self.memory_scale, self.time_scale
        )

    def add_stages(self) -> None:
        """Add (stage), (dependency), (checkpoint) and (keep)."""
        for t in range(self.count):
            for i in self.graph.inputs[t]:
                columns = self._present(t, i)
                self.builder.add_row(f"stage_{t}_{i}", columns, [1] * len(columns), lower=1)
        for (t, j), computed in self.R.items():
            for i in self.graph.inputs[j]:
                columns = self._present(t, i)
                ones = [1.0] * len(columns)
                self.builder.add_row(
                    f"dependency_{t}_{j}_{i}", [*columns, computed], [*ones, -1], lower=0
                )
        for (t, i), stored in self.S.items():
            if i < t - 1 and stored != self.S[t - 1, i]:
                columns = self._present(t - 1, i)
                ones = [1.0] * len(columns)
                self.builder.add_row(
                    f"checkpoint_{t}_{i}", [*columns, stored], [*ones, -1], lower=0
                )
        for i in self.kept:
            columns = self._present(self.count, i)
            self.builder.add_row(f"keep_{i}", columns, [1] * len(columns), lower=1)

    def add_frontier(self) -> None:
        """Add (frontier)."""
        for t in range(self.count):
            inputs = self.graph.inputs[t]
            beside = [i for i in self.needed[t + 1] if i < t and i not in inputs]
            running = self.M[t] + self.W[t] + sum(self.M[p] for p in inputs)
            self.builder.add_row(
                f"frontier_{t}",
                [self.S[t + 1, i] for i in beside],
                [self.M[i] for i in beside],
                upper=self.B - running,
            )

    def add_slots(self, slots: Iterable[tuple[int, int]]) -> None:
        """Add (slot) and (later); nothing where nothing can be computed again."""
        for t, q in slots:
            if (t, q) in self.R:
                self._add_slot(t, q)

    def add_closure(self, cuts: Iterable[int]) -> None:
        """Add the columns Z, and (ever), (lost) and (path), for cuts before the last node."""
        cuts = list(cuts)
        Z = {
            (t, i): self.builder.add_column(f"Z_{t}_{i}", upper=1)
            for t in cuts
            for i in self.needed[t + 1]
        }
        for (t, i), once in Z.items():
            later = [
                self.R[stage, i] for stage in range(t + 1, self.count + 1) if (stage, i) in self.R
            ]
            self.builder.add_row(f"ever_{t}_{i}", [*later, once], [*[1] * len(later), -1], lower=0)
        for t in cuts:
            for p in self.needed[t + 1]:
                if p in self.kept or any(j > t for j in self.graph.users[p]):
                    columns = [Z[t, p], self.S[t + 1, p]]
                    self.builder.add_row(f"lost_{t}_{p}", columns, [1, 1], lower=1)
        for (t, i), once in Z.items():
            for p in self.graph.inputs[i]:
                columns = [Z[t, p], self.S[t + 1, p], once]
                self.builder.add_row(f"path_{t}_{i}_{p}", columns, [1, 1, -1], lower=0)

    def _present(self, t: int, i: int) -> list[int]:
        """Return the columns that bring a value into stage `t`."""
        return [columns[t, i] for columns in (self.R, self.S) if (t, i) in columns]

    def _add_slot(self, t: int, q: int) -> None:
        columns = [self.R[t, q], self.S[t, q]]
        sizes = [self.M[q] + self.W[q], self.M[q]]
        room = self.B
        for i in self.needed[t]:
            if i > q:
                columns.append(self.S[t, i])
                sizes.append(self.M[i])
            elif i < q and t in self.graph.users[i]:
                room -= self.M[i]
            elif i < q:
                columns.append(self._add_later(t, q, i))
                sizes.append(self.M[i])
        self.builder.add_row(f"slot_{t}_{q}", columns, sizes, upper=room)

    def _add_later(self, t: int, q: int, i: int) -> int:
        """Add the column L and its rows."""
        L = self.builder.add_column(f"L_{t}_{q}_{i}", upper=1)
        if (t + 1, i) in self.S:
            self.builder.add_row(f"later_{t}_{q}_{i}", [L, self.S[t + 1, i]], [1, -1], lower=0)
        for j in self.graph.users[i]:
            if q <= j < t and (t, j) in self.R:
                self.builder.add_row(f"later_{t}_{q}_{i}_{j}", [L, self.R[t, j]], [1, -1], lower=0)
        return L


def needed_nodes(graph: Graph) -> list[list[int]]:
    r"""Return, for each stage and the end, the earlier nodes that it or a later one may need.

    They are the ancestors of the nodes from the stage on and of the kept ones, and the kept ones,
    ascending. :math:`O(n (n + |E|))`.
    """
    count = len(graph)
    wanted = [node.keep for node in graph.nodes]
    found: list[list[int]] = []
    for stage in range(count, -1, -1):
        if stage < count:
            wanted[stage] = True
        for node in range(count - 1, -1, -1):
            if wanted[node]:
                for source in graph.inputs[node]:
                    wanted[source] = True
        found.append([node for node in range(stage) if wanted[node]])
    return found[::-1]
