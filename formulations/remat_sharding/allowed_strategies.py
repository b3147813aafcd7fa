"""Allowed strategies and pairs of a sharded graph, and the scales of a model of it."""

from __future__ import annotations

from collections.abc import Mapping

from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph


def allowed_strategies(sharded: ShardedGraph) -> dict[int, tuple[int, ...]]:
    """Return, for each leader, the strategies that are allowed for it and all of its followers."""
    return {
        group[0]: tuple(
            k
            for k in sharded.operators[group[0]].allowed
            if all(k in sharded.operators[i].allowed for i in group)
        )
        for group in sharded.groups
    }


def allowed_pairs(
    sharded: ShardedGraph, allowed: Mapping[int, tuple[int, ...]], source: int, target: int
) -> tuple[tuple[int, int], ...]:
    """Return the pairs of strategies of an edge with a table that are allowed."""
    table, leader = sharded.tables[source, target], sharded.leader
    return tuple(
        (a, b)
        for a in allowed[leader[source]]
        for b in allowed[leader[target]]
        if table[a][b] is not None
    )


def memory_scale(sharded: ShardedGraph) -> IntegerScale:
    """Return the scale of all sizes that can be chosen."""
    return IntegerScale.of(
        operator.strategies[k].memory_bytes
        for operator in sharded.operators
        for k in operator.allowed
    )


def time_scale(sharded: ShardedGraph) -> IntegerScale:
    """Return the scale of all costs of computing and of resharding that can be chosen."""
    computing = (
        operator.strategies[k].cost_ns for operator in sharded.operators for k in operator.allowed
    )
    resharding = (
        cost
        for table in sharded.tables.values()
        for row in table
        for cost in row
        if cost is not None
    )
    return IntegerScale.of([*computing, *resharding])
