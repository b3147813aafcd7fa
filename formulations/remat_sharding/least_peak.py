r"""Least peak of a choice of strategies within a time limit, without recomputation.

The columns and rows of `sharding_only`, with one more column, the peak :math:`P \ge 0`:

.. math::
    \min\ & P \\
    \text{(time)} \quad & \sum_g \sum_k c_{gk} s_{gk}
        + \sum_{g < h} \sum_{a, b} R_{ghab} e_{ghab} \le T \\
    \text{(memory)} \quad & \sum_{i \in V_t} \sum_k m_{ik} s_{g(i),k} \le P && \forall t

where :math:`V_t` are the operators in memory while the one at place :math:`t` of the graph runs:
from their own place to their last reader's, parameters and what is kept to the end. Places whose
operators are all in memory at another one need no row. Rows are named ``time`` and ``memory_t``.
"""

from __future__ import annotations

import numpy as np

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.formulations.remat_sharding.strategies_only import ShardingOnly
from jettison.instances.core.live_sets import Interval, maximal_live_times
from jettison.instances.remat_sharding.operator import Role
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph


def sharding_least_peak(
    sharded: ShardedGraph, built: ShardingOnly, limits: ArrayModel, time_ns: int
) -> ArrayModel:
    """Build the model; its columns are those of `built`, and then the peak.

    Parameters
    ----------
    sharded
        The instance.
    built
        Its model of `sharding_only`.
    limits
        The same model, or one with tighter limits of columns: columns that can only be 0 are left
        out of the rows.
    time_ns
        :math:`T`.

    Notes
    -----
    Linear in the sizes of the model and of all :math:`V_t`.
    """
    is_open = limits.column_upper > 0
    scale = IntegerScale.of(
        strategy.memory_bytes for operator in sharded.operators for strategy in operator.strategies
    )
    builder = ArrayModelBuilder("sharding_least_peak")
    builder.add_columns(
        limits.column_names,
        lower=limits.column_lower,
        upper=limits.column_upper,
        integer=limits.integer,
    )
    peak = builder.add_column("peak", cost=1)
    rows = np.repeat(np.arange(limits.num_rows), np.diff(limits.indptr))
    kept = is_open[limits.indices]
    builder.add_rows(
        limits.row_names,
        rows[kept],
        limits.indices[kept],
        limits.data[kept],
        lower=limits.row_lower,
        upper=limits.row_upper,
    )
    costs = np.flatnonzero(is_open & (limits.objective != 0))
    builder.add_row(
        "time",
        costs.tolist(),
        limits.objective[costs].tolist(),
        upper=built.time_scale.to_model(time_ns),
    )
    group_of = {i: g for g, group in enumerate(built.choices.groups) for i in group}
    sizes = [
        [
            (column, scale.to_model(strategy.memory_bytes))
            for column, strategy in zip(
                built.columns[group_of[i]], operator.strategies, strict=True
            )
            if is_open[column] and strategy.memory_bytes
        ]
        for i, operator in enumerate(sharded.operators)
    ]
    lifetimes = _lifetimes(sharded)
    for t in maximal_live_times(lifetimes):
        terms = [
            term
            for of_operator, (begin, end) in zip(sizes, lifetimes, strict=True)
            if begin <= t < end
            for term in of_operator
        ]
        columns = [*(column for column, _ in terms), peak]
        builder.add_row(f"memory_{t}", columns, [*(size for _, size in terms), -1], upper=0)
    return builder.build()


def _lifetimes(sharded: ShardedGraph) -> list[Interval]:
    """Return the lifetime of each operator: its position, and the one after its last use."""
    return [
        (
            i,
            len(sharded)
            if operator.keep or operator.role is Role.PARAMETER
            else max((i, *sharded.users[i])) + 1,
        )
        for i, operator in enumerate(sharded.operators)
    ]
