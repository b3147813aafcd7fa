r"""Alpa's integer program for sharding as an array model, in a small and tight form.

Sets: nodes :math:`i` with strategies :math:`K_i`, pairs :math:`(i, j)` with an edge and their
allowed pairs of strategies :math:`F_{ij} \subseteq K_i \times K_j`, limits :math:`r`.
Data: costs :math:`c_{ia}, c_{ijab}`, usages :math:`u_{ria} \ge 0`, capacities :math:`M_r`.
Columns: :math:`s_{ia} \in \{0, 1\}`, strategy a is chosen at node i; :math:`e_{ijab} \in [0, 1]`,
a and b are chosen at both ends of an edge.

.. math::
    \min\ & c_0 + \sum_i \sum_{a \in K_i} c_{ia} s_{ia}
            + \sum_{ij} \sum_{(a, b) \in F_{ij}} c_{ijab} e_{ijab} \\
    \text{one:}\quad & \sum_{a \in K_i} s_{ia} = 1 && \forall i \\
    \text{from:}\quad & \sum_{b : (a, b) \in F_{ij}} e_{ijab} = s_{ia} && \forall ij, a \in K_i \\
    \text{to:}\quad & \sum_{a : (a, b) \in F_{ij}} e_{ijab} = s_{jb} && \forall ij, b \in K_j \\
    \text{memory:}\quad & \sum_i \sum_{a \in K_i} u_{ria} s_{ia} \le M_r && \forall r

A forbidden strategy has no column, and a forbidden pair none: no big number stands in the model.

:math:`e` need not be integer
    With :math:`s` integer, one :math:`s_{ia}` and one :math:`s_{jb}` are 1. By *from* all other
    rows of :math:`e_{ij}` are 0, by *to* all other columns, and what is left, :math:`e_{ijab}`, is
    1. So :math:`e_{ij}` is the outer product :math:`s_i s_j^\top`, and if (a, b) is forbidden there
    is no such point.

Bound from messages and multipliers
    For any multipliers :math:`\lambda_r \ge 0` and messages :math:`m_{ij \to i}(a)`, one for each
    end of an edge and each strategy there, every choice costs at least

    .. math::
        c_0 + \sum_i \min_a \theta_i(a) + \sum_{ij} \min_{(a, b) \in F_{ij}} \theta_{ij}(a, b)
            - \sum_r \lambda_r M_r

    .. math::
        \theta_i(a) = c_{ia} + \sum_r \lambda_r u_{ria} + \sum_j m_{ij \to i}(a), \qquad
        \theta_{ij}(a, b) = c_{ijab} - m_{ij \to i}(a) - m_{ij \to j}(b)

    since messages cancel in the sum over a choice, and one within the memory has
    :math:`\sum_i u_{ri} \le M_r`. At its best this is the relaxation of the rows above, of which
    messages are the multipliers of *from* and *to*.

    In integers: messages are rounded to multiples of :math:`2^{-s}`, multipliers down to multiples
    of :math:`2^{-t}` with :math:`t \ge s`. Both are only other messages and multipliers, so that
    the bound holds for them exactly. In units of :math:`2^{-s}` costs and messages are integers;
    :math:`\sum_r \lambda_r u_{ria}` is rounded down to one, which lowers a minimum, and
    :math:`\sum_r \lambda_r M_r` up, which lowers the bound. All sums are of 128-bit integers; s and
    t are such that none overflows. What is left is a bound, rounded up to a whole cost at the end
    because costs are integers. A witness of it would be these messages and multipliers; the
    certificates have the multipliers of a proof tree in their place, of the same rows.

Corrections of the paper
    KIWI has *one* as (21), and for Alpa's :math:`e` only :math:`\sum_b e_{ijab} \le s_{ia}` (23)
    and the same for b (22). With costs that are not below zero that allows :math:`e = 0` and free
    resharding; equalities do not
    (`test_inequalities_at_the_edges_would_make_resharding_free`).

    One memory row for each inclusion-maximal set of values that are live together is enough, and
    the least usage of each node can be taken off both sides (`live_sets`, `Limit.less_least`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.formulations.sharding.pairwise_choice import Limit, PairwiseChoice

EdgeRows = Mapping[tuple[int, int], tuple[NDArray[np.int64], NDArray[np.int64]]]

# Stands for a strategy that is forbidden.
_NO_COLUMN = -1


@dataclass(frozen=True, slots=True)
class ShardingIlp:
    """Built model, with the meaning of its columns and rows.

    Attributes
    ----------
    model
        The model. Its objective counts in `cost_scale`, without the constant, which may be too
        large for a floating-point number.
    cost_scale
        What the objective counts in; where its unit is not a divisor of all costs the model's
        bounds still hold.
    offset
        The constant.
    columns
        For each node, the column of each strategy; -1 where it is forbidden.
    edge_rows
        For each edge, the row *from* of each strategy of its first node and the row *to* of each of
        its second; -1 where it is forbidden.
    limit_rows
        For each limit its row, and the scale of its usages.
    """

    model: ArrayModel
    cost_scale: IntegerScale
    offset: int
    columns: tuple[NDArray[np.int64], ...]
    edge_rows: EdgeRows
    limit_rows: tuple[tuple[int, IntegerScale], ...]

    def choice(self, values: Floats) -> tuple[int, ...]:
        """Return the strategy of each node in an integer point, shape (n,)."""
        return strategies_of(self.columns, values)

    def bound_ns(self, dual_bound: float) -> int:
        """Return the least cost that a bound of the solver does not rule out."""
        return self.offset + self.cost_scale.bound_from_model(dual_bound)


def sharding_ilp(
    data: PairwiseChoice, covers: Sequence[Sequence[tuple[int, int]]] = ()
) -> ShardingIlp:
    """Build the model as arrays.

    Parameters
    ----------
    data
        Choices and limits.
    covers
        Sets of (node, strategy), one for each of several nodes, that exceed a limit together: not
        all of them are chosen, nor strategies of the same nodes that use as much of that limit.

    Raises
    ------
    InputError
        If a node has no allowed strategy.

    Notes
    -----
    Time linear in the number of allowed pairs.
    """
    amounts = [cost for costs in data.costs for cost in costs if cost]
    amounts += [c for table in data.tables.values() for costs in table for c in costs if c]
    scale = IntegerScale.of(abs(amount) for amount in amounts)
    builder = ArrayModelBuilder("sharding")
    columns, edge_rows = add_choices(builder, data, scale)
    limit_rows = tuple(_add_limit(builder, limit, columns) for limit in data.limits)
    for number, cover in enumerate(covers):
        used = [int(columns[node][a]) for node, a in cover]
        nodes = len({node for node, _ in cover})
        builder.add_row(f"cover_{number}", used, [1] * len(used), upper=nodes - 1)
    return ShardingIlp(builder.build(), scale, data.offset, columns, edge_rows, limit_rows)


def add_choices(
    builder: ArrayModelBuilder, data: PairwiseChoice, scale: IntegerScale
) -> tuple[tuple[NDArray[np.int64], ...], EdgeRows]:
    """Add the columns and the rows *one*, *from* and *to*, with costs in units of `scale`.

    Returns
    -------
    tuple of array, mapping
        `columns` and `edge_rows` of `ShardingIlp`.
    """
    columns: list[NDArray[np.int64]] = []
    for node, costs in enumerate(data.costs):
        allowed = [a for a, cost in enumerate(costs) if cost is not None]
        of_node = np.full(len(costs), _NO_COLUMN)
        of_node[allowed] = builder.add_columns(
            [f"s_{node}_{a}" for a in allowed],
            upper=1,
            cost=[scale.to_model(cost) for cost in costs if cost is not None],
            integer=True,
        )
        columns.append(of_node)
        used = of_node[allowed].tolist()
        builder.add_row(f"one_{node}", used, [1] * len(used), lower=1, upper=1)
    edge_rows = {
        (first, second): _add_edge(
            builder, (first, second), table, (columns[first], columns[second]), scale
        )
        for (first, second), table in data.tables.items()
    }
    return tuple(columns), edge_rows


def strategies_of(columns: Sequence[NDArray[np.int64]], values: Floats) -> tuple[int, ...]:
    """Return the strategy of each node in an integer point, shape (n,)."""
    return tuple(int(np.where(of_node >= 0, values[of_node], -1.0).argmax()) for of_node in columns)


def _add_edge(
    builder: ArrayModelBuilder,
    ends: tuple[int, int],
    table: Sequence[Sequence[int | None]],
    columns: tuple[NDArray[np.int64], NDArray[np.int64]],
    scale: IntegerScale,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    first, second = ends
    pairs = [
        (a, b, cost)
        for a, costs in enumerate(table)
        for b, cost in enumerate(costs)
        if cost is not None and columns[0][a] >= 0 and columns[1][b] >= 0
    ]
    used = builder.add_columns(
        [f"e_{first}_{second}_{a}_{b}" for a, b, _ in pairs],
        upper=1,
        cost=[scale.to_model(cost) for _, _, cost in pairs],
    )
    found = []
    for word, side, of_end in (("from", 0, columns[0]), ("to", 1, columns[1])):
        strategies = np.flatnonzero(of_end >= 0)
        row_of = {int(a): row for row, a in enumerate(strategies)}
        rows: list[Any] = [row_of[pair[side]] for pair in pairs] + list(range(len(strategies)))
        of_strategy = np.full(len(of_end), _NO_COLUMN)
        of_strategy[strategies] = builder.add_rows(
            [f"{word}_{first}_{second}_{a}" for a in strategies],
            rows,
            [*used.tolist(), *of_end[strategies].tolist()],
            [1.0] * len(pairs) + [-1.0] * len(strategies),
            lower=0,
            upper=0,
        )
        found.append(of_strategy)
    return found[0], found[1]


def _add_limit(
    builder: ArrayModelBuilder, limit: Limit, columns: Sequence[NDArray[np.int64]]
) -> tuple[int, IntegerScale]:
    entries = [
        (int(columns[node][a]), usage)
        for node, usages in limit.usages.items()
        for a, usage in enumerate(usages)
        if usage and columns[node][a] >= 0
    ]
    scale = IntegerScale.of([limit.capacity, *(usage for _, usage in entries)])
    row = builder.add_row(
        f"memory_{limit.name}",
        [column for column, _ in entries],
        [scale.to_model(usage) for _, usage in entries],
        # Rounded up, so that rounding usages down never makes the row stricter.
        upper=-scale.to_model(-limit.capacity),
    )
    return row, scale
