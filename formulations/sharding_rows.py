r"""The choice of strategies in an array model: columns s and e, and the rows that tie them.

=================================== ======================================================
:math:`s_{i,k}`, ``s_i_k``          strategies of leaders, binary
:math:`e_{ji,ab}`, ``e_j_i_a_b``    pairs of strategies of edges with a table that is not all
                                    zero; from 0 to 1
=================================== ======================================================

.. math::
    \text{(one)} \quad & \sum_k s_{i,k} = 1 \\
    \text{(target)} \quad & \sum_a e_{ji,ab} = s_{i,b} \\
    \text{(source)} \quad & \sum_b e_{ji,ab} = s_{j,a}

Where :math:`s` is binary, :math:`e` is the product of both ends: one row and one column are left.
With the costs as the objective this alone is the problem of sharding without a limit on memory,
Alpa's (KIWI, Section 3.1, with every operator computed once), and its optimum is a lower bound on
the time of every schedule in every memory.
"""

from __future__ import annotations

from collections.abc import Collection

from jettison.formulations.allowed_strategies import (
    allowed_pairs,
    allowed_strategies,
    memory_scale,
    time_scale,
)
from jettison.formulations.array_model_builder import ArrayModelBuilder
from jettison.instances.sharded_graph import ShardedGraph


class ShardingRows:
    """The columns and rows of the docstring of this module, added to a model.

    Parameters
    ----------
    sharded
        The instance.
    builder
        The model.
    twice
        Operators whose computations cost twice; resharding costs once.

    Attributes
    ----------
    s, e
        Numbers of the columns by their indices.
    memory_scale, time_scale
        What amounts count in.
    """

    def __init__(
        self, sharded: ShardedGraph, builder: ArrayModelBuilder, twice: Collection[int] = ()
    ) -> None:
        self.memory_scale, self.time_scale = memory_scale(sharded), time_scale(sharded)
        self.s: dict[tuple[int, int], int] = {}
        self.e: dict[tuple[int, int, int, int], int] = {}
        self._sharded = sharded
        self._builder = builder
        self._allowed = allowed_strategies(sharded)
        self._add_strategies(twice)
        for (j, i), table in sorted(sharded.tables.items()):
            if any(cost != 0 for row in table for cost in row):
                self._add_edge(j, i)

    def places(self, i: int) -> tuple[int, ...]:
        """Return the strategies that an operator may have."""
        return self._allowed[self._sharded.leader[i]]

    def column(self, i: int, k: int) -> int:
        """Return the column of a strategy, for followers that of the leader."""
        return self.s[self._sharded.leader[i], k]

    def cost(self, i: int, k: int) -> float:
        """Return what one computation costs without resharding."""
        return self.time_scale.to_model(self._sharded.operators[i].strategies[k].cost_ns)

    def sizes(self, i: int) -> dict[int, float]:
        """Return the size of an operator's value, by strategy."""
        strategies = self._sharded.operators[i].strategies
        return {k: self.memory_scale.to_model(strategies[k].memory_bytes) for k in self.places(i)}

    def equal(self, name: str, columns: list[int], total: int) -> None:
        """Add the row that some columns add up to another one."""
        coefficients = [*[1.0] * len(columns), -1.0]
        self._builder.add_row(name, [*columns, total], coefficients, lower=0, upper=0)

    def _add_strategies(self, twice: Collection[int]) -> None:
        members = {group[0]: group for group in self._sharded.groups}
        for i, places in self._allowed.items():
            for k in places:
                cost = sum(self.cost(j, k) * (2 if j in twice else 1) for j in members[i])
                self.s[i, k] = self._builder.add_column(
                    f"s_{i}_{k}", upper=1, cost=cost, integer=True
                )
            columns = [self.s[i, k] for k in places]
            self._builder.add_row(f"one_{i}", columns, [1.0] * len(columns), lower=1, upper=1)

    def _add_edge(self, j: int, i: int) -> None:
        pairs = allowed_pairs(self._sharded, self._allowed, j, i)
        for a, b in pairs:
            cost_ns = self._sharded.tables[j, i][a][b]
            assert cost_ns is not None
            self.e[j, i, a, b] = self._builder.add_column(
                f"e_{j}_{i}_{a}_{b}", upper=1, cost=self.time_scale.to_model(cost_ns)
            )
        for b in self.places(i):
            columns = [self.e[j, i, a, c] for a, c in pairs if c == b]
            self.equal(f"target_{j}_{i}_{b}", columns, self.column(i, b))
        for a in self.places(j):
            columns = [self.e[j, i, c, b] for c, b in pairs if c == a]
            self.equal(f"source_{j}_{i}_{a}", columns, self.column(j, a))
