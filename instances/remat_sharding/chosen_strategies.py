"""Graph of a sharded graph once every operator has its strategy: only recomputation is open."""

from __future__ import annotations

from collections.abc import Sequence

from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.graph import Graph, Node
from jettison.instances.remat_sharding.operator import Role
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph


def reading_cost_ns(
    sharded: ShardedGraph, source: int, target: int, strategies: Sequence[int]
) -> int | None:
    """Return the time to reshard an input for one computation; None if that is forbidden.

    Parameters
    ----------
    sharded
        The instance.
    source, target
        Positions of an operator and of one that reads it.
    strategies
        For each operator the index of its strategy.
    """
    table = sharded.tables.get((source, target))
    return 0 if table is None else table[strategies[source]][strategies[target]]


def with_strategies(sharded: ShardedGraph, strategies: Sequence[int]) -> Graph:
    r"""Return the graph of operators with one strategy each.

    Node :math:`i` takes :math:`s_i^T (c_i + d_i) + \sum_{(j,i)} e_{ji}^T R_{ji}` (KIWI, equation
    (1)) and :math:`s_i^T mem_i` bytes. Parameters are kept; that they and inputs may not be
    computed again is not in the graph.

    Parameters
    ----------
    sharded
        The instance.
    strategies
        For each operator the index of its strategy.

    Raises
    ------
    InputError
        If a strategy is missing or forbidden, a pair of strategies is, or an operator has another
        one than what it follows; the operator is named.
    """
    if len(strategies) != len(sharded):
        raise InputError(
            f"{len(strategies)} entries",
            field="strategies",
            expected=f"name a strategy for each of the {len(sharded)} operators",
        )
    nodes = []
    for position, operator in enumerate(sharded.operators):
        where = f"strategies[{position}]"
        place = strategies[position]
        if place not in operator.allowed:
            raise InputError(
                f"{place!r} is not an allowed strategy of {operator.name!r}",
                field=where,
                expected=f"write one of {', '.join(map(str, operator.allowed))}",
            )
        if place != strategies[sharded.leader[position]]:
            raise InputError(
                f"{operator.name!r} follows {operator.follows!r} and has another strategy",
                field=where,
                expected="give both the same place in their lists",
            )
        duration_ns = operator.strategies[place].cost_ns
        for source in sharded.inputs[position]:
            cost_ns = reading_cost_ns(sharded, source, position, strategies)
            if cost_ns is None:
                raise InputError(
                    f"{sharded.operators[source].name!r} cannot be resharded for {operator.name!r}",
                    field=where,
                    expected="choose a pair of strategies whose resharding is allowed",
                )
            duration_ns += cost_ns
        nodes.append(
            Node(
                name=operator.name,
                duration_ns=duration_ns,
                output_bytes=operator.strategies[place].memory_bytes,
                inputs=operator.inputs,
                backward=operator.role is Role.BACKWARD,
                keep=operator.keep or operator.role is Role.PARAMETER,
            )
        )
    return Graph(sharded.name, tuple(nodes))
