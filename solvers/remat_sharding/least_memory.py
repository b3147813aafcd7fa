"""Least memory of a sharded graph: floors in whole numbers, and strategies of least size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jettison.formulations.remat_sharding.least_size import sharding_least_size
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.schedules.remat_graph.schedule import GraphOperationKind
from jettison.schedules.remat_sharding.schedule import operations_of
from jettison.solvers.core.ending import pass_interrupt_on
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_options import HighsOptions


def floor_of_computations(sharded: ShardedGraph, computations: Sequence[int]) -> int:
    """Return bytes below which no strategies fit, with these computations; in whole numbers.

    At each computation the operators in memory that have one choice take together what its smallest
    strategy gives them. Pairs that are forbidden are not looked at, so the floor may be too low.

    Parameters
    ----------
    sharded
        The instance.
    computations
        As `ShardedSchedule.from_computations` takes them.

    Notes
    -----
    :math:`O(c g k)` for `c` computations, groups of `g` operators and `k` strategies.
    """
    in_memory: dict[int, set[int]] = {}
    of_choice: dict[int, int] = {}
    floor_bytes = total_bytes = 0
    for operation in operations_of(sharded, computations):
        leader = sharded.leader[operation.node]
        members = in_memory.setdefault(leader, set())
        if operation.kind is GraphOperationKind.COMPUTE:
            members.add(operation.node)
        else:
            members.discard(operation.node)
        total_bytes -= of_choice.get(leader, 0)
        of_choice[leader] = _least_bytes(sharded, members)
        total_bytes += of_choice[leader]
        floor_bytes = max(floor_bytes, total_bytes)
    return floor_bytes


def strategies_of_least_size(
    sharded: ShardedGraph, options: HighsOptions
) -> tuple[int, ...] | None:
    """Return strategies with which all values together are smallest, as far as HiGHS has searched.

    None where it has found none.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C.
    """
    built = sharding_least_size(sharded)
    solution = solve_in_time(built.model, options)
    pass_interrupt_on(solution.termination)
    return None if solution.values is None else built.chosen(solution.values)


def with_smallest_strategies(sharded: ShardedGraph) -> ShardedGraph:
    """Return the graph in which each operator has its smallest strategy alone, whatever others do.

    No plan of the given graph with the same operations takes less at any moment. So where nothing
    of a class of schedules fits in this graph, nothing of it fits in the given one.
    """
    operators = tuple(
        replace(
            operator,
            follows=None,
            strategies=(
                min(
                    (operator.strategies[k] for k in operator.allowed),
                    key=lambda strategy: strategy.memory_bytes,
                ),
            ),
        )
        for operator in sharded.operators
    )
    return replace(sharded, operators=operators, resharding=(), fastest=())


def _least_bytes(sharded: ShardedGraph, members: set[int]) -> int:
    """Return the bytes of operators of one choice in memory together, with its smallest strategy.

    Forbidden strategies do not count.
    """
    by_strategy = zip(*(sharded.operators[i].strategies for i in members), strict=True)
    return min(
        (
            sum(strategy.memory_bytes for strategy in together)
            for together in by_strategy
            if not any(strategy.is_forbidden for strategy in together)
        ),
        default=0,
    )
