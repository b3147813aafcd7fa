r"""Columns and rows that choose a strategy for each operator of a sharded graph.

The model of `formulations/remat_sharding/strategy_columns.py`, whose docstring has the rows.
Operators that have one choice together, :math:`g`, share binary columns ``s_g_k``, which are 0
where a strategy is forbidden for one of them. Between two choices whose tables cost anything, or
forbid anything, stand columns ``e_g_h_a_b``, also binary: both ends have strategies of the classes
of :math:`a` and
:math:`b`, of strategies that all tables between the two treat alike; 0 where a pair is forbidden.
:math:`a` and :math:`b` are the first of their classes.

Rows ``one_g``; then for each pair of choices ``from_g_h_a`` for each class of the first, and
``to_g_h_b`` for each of the second: the columns :math:`e` of a class add up to its :math:`s`. With
whole :math:`s` the only point is that :math:`e` is 1 where both are chosen: every choice of
strategies is a point in which all columns are 0 or 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..integer_model import IntegerModel
from .given_sharded_graph import GivenShardedGraph, Table


@dataclass(frozen=True)
class PairColumns:
    """Columns e of the pairs of strategies of two choices.

    Attributes
    ----------
    rows, columns
        The strategies of source and target, in classes of those that all tables treat alike.
    e
        One column per class of the source and class of the target.
    """

    rows: list[list[int]]
    columns: list[list[int]]
    e: list[list[int]]


class StrategyColumns:
    """Adds the columns s and e, their costs and their rows to a model.

    Parameters
    ----------
    model
        The model.
    sharded
        The instance.
    times
        How often each operator is computed, as far as the columns s pay for it. The columns e pay
        for the resharding of one computation.

    Attributes
    ----------
    s
        By leader, the columns of its strategies.
    e
        By two leaders, the columns between their choices.
    """

    def __init__(
        self, model: IntegerModel, sharded: GivenShardedGraph, times: Sequence[int]
    ) -> None:
        self._model = model
        self._sharded = sharded
        self.s: dict[int, list[int]] = {}
        self.e: dict[tuple[int, int], PairColumns] = {}
        for leader, group in sharded.groups.items():
            self._add_choice(leader, group, times)
        edges: dict[tuple[int, int], list[Table]] = {}
        for (j, i), table in sharded.tables.items():
            ends = (sharded.operators[j].leader, sharded.operators[i].leader)
            if ends[0] != ends[1] and any(cost != 0 for row in table for cost in row):
                edges.setdefault(ends, []).append(table)
        for (g, h), tables in edges.items():
            self.e[g, h] = self._add_pair(g, h, tables)

    def of(self, i: int) -> list[int]:
        """Return the columns s of an operator: those of its leader."""
        return self.s[self._sharded.operators[i].leader]

    def allowed(self, i: int) -> list[int]:
        """Return the strategies that are allowed for all operators of the operator's group."""
        return [k for k, column in enumerate(self.of(i)) if self._model.upper[column]]

    def cost_ns(self, i: int, k: int) -> int:
        """Return the time of one computation, with resharding inside its group, or 0."""
        own = self._sharded.operators[i].cost_ns[k] or 0
        return own + sum(table[k][k] or 0 for table in self._tables_within(i))

    def _tables_within(self, i: int) -> list[Table]:
        operators, tables = self._sharded.operators, self._sharded.tables
        return [
            tables[j, i]
            for j in operators[i].inputs
            if operators[j].leader == operators[i].leader and (j, i) in tables
        ]

    def _add_choice(self, leader: int, group: Sequence[int], times: Sequence[int]) -> None:
        operators = self._sharded.operators
        within = [table for i in group for table in self._tables_within(i)]
        columns = []
        for k in range(len(operators[leader].cost_ns)):
            allowed = all(operators[i].cost_ns[k] is not None for i in group)
            allowed = allowed and all(table[k][k] is not None for table in within)
            cost = sum(times[i] * self.cost_ns(i, k) for i in group)
            columns.append(self._model.add_column(f"s_{leader}_{k}", 0, int(allowed), cost=cost))
        self.s[leader] = columns
        self._model.equal(f"one_{leader}", columns, [1] * len(columns), 1)

    def _add_pair(self, g: int, h: int, tables: Sequence[Table]) -> PairColumns:
        rows = alike([tuple(table[a] for table in tables) for a in range(len(self.s[g]))])
        columns = alike(
            [
                tuple(tuple(row[b] for row in table) for table in tables)
                for b in range(len(self.s[h]))
            ]
        )
        e = []
        for a in (same[0] for same in rows):
            of_row = []
            for b in (same[0] for same in columns):
                costs = [table[a][b] for table in tables]
                known = [cost for cost in costs if cost is not None]
                allowed = int(len(known) == len(costs))
                name = f"e_{g}_{h}_{a}_{b}"
                of_row.append(self._model.add_column(name, 0, allowed, cost=sum(known)))
            e.append(of_row)
        for same, of_row in zip(rows, e, strict=True):
            self._add_up(f"from_{g}_{h}_{same[0]}", of_row, [self.s[g][a] for a in same])
        for place, same in enumerate(columns):
            of_column = [of_row[place] for of_row in e]
            self._add_up(f"to_{g}_{h}_{same[0]}", of_column, [self.s[h][b] for b in same])
        return PairColumns(rows, columns, e)

    def _add_up(self, name: str, columns: Sequence[int], others: Sequence[int]) -> None:
        """Add the row that two sums of columns are equal."""
        coefficients = [*([1] * len(columns)), *([-1] * len(others))]
        self._model.equal(name, [*columns, *others], coefficients, 0)


def alike(signatures: Sequence[object]) -> list[list[int]]:
    """Return the positions of equal signatures, class by class, by first occurrence."""
    classes: dict[object, list[int]] = {}
    for place, signature in enumerate(signatures):
        classes.setdefault(signature, []).append(place)
    return list(classes.values())
