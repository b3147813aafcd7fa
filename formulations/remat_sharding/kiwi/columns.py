r"""Pyomo columns and rows of the choice of strategies, shared by KIWI's models.

================================= ==========================================================
:math:`s_{i,k}`, ``s[i,k]``       operator :math:`i` has strategy :math:`k`; binary
:math:`e_{ji,ab}`, ``e[j,i,a,b]`` :math:`i` has strategy :math:`b` and reads :math:`j`, which
                                  has strategy :math:`a`; binary
================================= ==========================================================

.. math::
    \text{(21)} \quad & \sum_k s_{i,k} = 1 && \forall i \\
    \text{(22)} \quad & \sum_a e_{ji,ab} = s_{i,b} && \forall (j,i), b \\
    \text{(23)} \quad & \sum_b e_{ji,ab} = s_{j,a} && \forall (j,i), a

Rows are named ``eq21[i]``, ``eq22[j,i,b]``, ``eq23[j,i,a]``. Only strategies and pairs that are
allowed have columns: a forbidden one is no large number. A follower has no :math:`s` of its own
but that of its leader, and an edge without a table no :math:`e`.

Corrections of the print
------------------------
* (22) and (23) are printed as :math:`\le`, which leaves :math:`e = 0` and resharding at no cost.
* :math:`e_{ji}` is called :math:`s_i^T s_j`, a number; it is the outer product :math:`s_j s_i^T`,
  with as many rows as :math:`j` has strategies and columns as :math:`i` has, like :math:`R_{ji}`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from jettison.formulations.remat_sharding.allowed_strategies import (
    allowed_pairs,
    allowed_strategies,
    memory_scale,
    time_scale,
)
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph


class Term(NamedTuple):
    """A column and its coefficient."""

    column: Any
    amount: float


class ShardingColumns:
    """Columns and rows of the choice of strategies, added to a Pyomo model.

    Parameters
    ----------
    sharded
        The instance.
    concrete
        The model.
    relation
        Between the two sides of (22) and (23): `operator.eq`, or `operator.le` as they are printed.
    oriented
        What a table is read by, given both strategies: the row of the source and the column of the
        target.

    Attributes
    ----------
    memory_scale, time_scale
        Scales of the model's bytes and nanoseconds.
    """

    def __init__(
        self,
        sharded: ShardedGraph,
        concrete: Any,
        relation: Callable[[Any, Any], Any],
        oriented: Callable[[int, int], tuple[int, int]],
    ) -> None:
        import pyomo.environ as pyo

        self._sharded = sharded
        self._oriented = oriented
        self._allowed = allowed = allowed_strategies(sharded)
        self.memory_scale, self.time_scale = memory_scale(sharded), time_scale(sharded)
        self._pairs = pairs = {
            (j, i): allowed_pairs(sharded, allowed, j, i) for j, i in sorted(sharded.tables)
        }
        leader = sharded.leader
        self._s = s = concrete.s = pyo.Var(
            [(i, k) for i, places in allowed.items() for k in places], domain=pyo.Binary
        )
        self._e = e = concrete.e = pyo.Var(
            [(j, i, a, b) for (j, i), both in pairs.items() for a, b in both], domain=pyo.Binary
        )
        concrete.eq21 = pyo.Constraint(
            list(allowed), rule=lambda _, i: sum(s[i, k] for k in allowed[i]) == 1
        )
        concrete.eq22 = pyo.Constraint(
            [(j, i, b) for j, i in pairs for b in allowed[leader[i]]],
            rule=lambda _, j, i, b: _row(
                relation, [e[j, i, a, c] for a, c in pairs[j, i] if c == b], s[leader[i], b]
            ),
        )
        concrete.eq23 = pyo.Constraint(
            [(j, i, a) for j, i in pairs for a in allowed[leader[j]]],
            rule=lambda _, j, i, a: _row(
                relation, [e[j, i, c, b] for c, b in pairs[j, i] if c == a], s[leader[j], a]
            ),
        )

    def sizes(self, i: int) -> list[Term]:
        r"""Return :math:`s_i^T mem_i`."""
        strategies = self._sharded.operators[i].strategies
        return self._of(i, lambda k: self.memory_scale.to_model(strategies[k].memory_bytes))

    def costs(self, i: int) -> list[Term]:
        r"""Return :math:`s_i^T (c_i + d_i) + \sum_j e_{ji}^T R_{ji}`."""
        strategies = self._sharded.operators[i].strategies
        terms = self._of(i, lambda k: self.time_scale.to_model(strategies[k].cost_ns))
        for j in self._sharded.inputs[i]:
            for a, b in self._pairs.get((j, i), ()):
                row, column = self._oriented(a, b)
                cost_ns = self._sharded.tables[j, i][row][column]
                assert cost_ns is not None
                terms.append(Term(self._e[j, i, a, b], self.time_scale.to_model(cost_ns)))
        return [term for term in terms if term.amount]

    def _of(self, i: int, amount: Callable[[int], float]) -> list[Term]:
        leader = self._sharded.leader[i]
        terms = [Term(self._s[leader, k], amount(k)) for k in self._allowed[leader]]
        return [term for term in terms if term.amount]


def chosen_strategies(sharded: ShardedGraph, values: Mapping[str, float]) -> tuple[int, ...]:
    """Return the strategies that the columns ``s_i_k`` of a point choose."""
    of_leader = {
        i: max(places, key=lambda k, i=i: values[f"s_{i}_{k}"])  # type: ignore[misc]
        for i, places in allowed_strategies(sharded).items()
    }
    return tuple(of_leader[leader] for leader in sharded.leader)


def strategies_of_plan(sharded: ShardedGraph, strategies: Sequence[int]) -> dict[str, float]:
    """Return the values of the columns ``s_i_k`` that choose these strategies."""
    return {
        f"s_{i}_{k}": float(k == strategies[i])
        for i, places in allowed_strategies(sharded).items()
        for k in places
    }


def _row(relation: Callable[[Any, Any], Any], left: list[Any], right: Any) -> Any:
    """Relate a sum, which may be empty, to a column."""
    return relation(sum(left) - right, 0)
