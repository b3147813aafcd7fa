"""Columns m, w and f of `KiwiReducedCompact` and `KiwiElementwise`: what is computed again."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.remat_sharding.strategy_columns import StrategyColumns
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph


class RecomputationColumns:
    """Writer of the choice of strategies, of what is computed again, and of what that costs.

    Parameters
    ----------
    builder
        Builder of the model.
    sharded
        The instance.
    recomputable
        The operators that may be computed again.

    Attributes
    ----------
    rows
        The columns and rows of strategies.
    m
        The column m of each recomputable operator.
    w
        For each recomputable operator and strategy the column w.
    """

    def __init__(
        self, builder: ArrayModelBuilder, sharded: ShardedGraph, recomputable: Collection[int]
    ) -> None:
        self._builder = builder
        self._sharded = sharded
        count = len(sharded)
        self.rows = StrategyColumns(
            builder,
            sharded,
            [2 if i in recomputable else 1 for i in range(count)],
            readings=[1] * count,
        )
        self.rows.write()
        self.m: dict[int, int] = {}
        self.w: dict[tuple[int, int], int] = {}
        for i in recomputable:
            self._add(i)
        for j, i in sorted(sharded.tables):
            if i in self.m:
                self._reshard_again(j, i)

    def places(self, i: int) -> range:
        """Return the places of the strategies of an operator."""
        return range(len(self._sharded.operators[i].strategies))

    def forbid_both(self, edges: Iterable[tuple[int, int]]) -> None:
        """Add the rows (inputs): of two neighbours one is not computed again."""
        for j, i in edges:
            self._builder.add_row(f"inputs_{j}_{i}", [self.m[j], self.m[i]], [1, 1], lower=1)

    def at_most(self, name: str, column: int, other: int) -> None:
        """Add the row that a column is at most another one."""
        self._builder.add_row(name, [column, other], [1.0, -1.0], upper=0)

    def _add(self, i: int) -> None:
        builder = self._builder
        self.m[i] = builder.add_column(f"m_{i}", upper=1, integer=True)
        for k in self.places(i):
            self.w[i, k] = builder.add_column(f"w_{i}_{k}", upper=1, cost=-self.rows.cost(i, k))
        stored = [self.w[i, k] for k in self.places(i)]
        coefficients = [*(1.0 for _ in stored), -1.0]
        builder.add_row(f"stored_{i}", [*stored, self.m[i]], coefficients, lower=0, upper=0)
        for k in self.places(i):
            self.at_most(f"least_{i}_{k}", self.w[i, k], self.rows.of(i)[k])

    def _reshard_again(self, j: int, i: int) -> None:
        table = self._sharded.tables[j, i]
        pair = self.rows.e.get((self._sharded.leader[j], self._sharded.leader[i]))
        if pair is None or not any(cost for row in table for cost in row):
            return
        for place, readers in enumerate(pair.columns):
            b = readers[0]
            columns = [self.w[i, k] for k in readers] + [self.rows.of(i)[k] for k in readers]
            coefficients = [1.0] * len(readers) + [-1.0] * len(readers)
            for values, of_row in zip(pair.rows, pair.e, strict=True):
                a, column = values[0], of_row[place]
                cost_ns = table[a][b]
                if cost_ns:
                    cost = self.rows.time_scale.to_model(cost_ns)
                    again = self._builder.add_column(f"f_{j}_{i}_{a}_{b}", upper=1, cost=cost)
                    self.at_most(f"fewer_{j}_{i}_{a}_{b}", again, column)
                    column = again
                columns.append(column)
                coefficients.append(1.0)
            self._builder.add_row(f"again_{j}_{i}_{b}", columns, coefficients, lower=0)
