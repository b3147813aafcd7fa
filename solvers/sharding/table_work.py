"""Work of the steps on tables of pairs, in moves of annealing that take as long.

Measured on graphs of 150 to 1500 nodes with 20 to 320 pairs an edge, where it is one to two times
the time that was taken.
"""

from __future__ import annotations

from collections.abc import Iterable

from jettison.solvers.sharding.presolve.state import Array, ShardingState


def moves_at(tables: Iterable[Array]) -> float:
    """Return the work of one look at every pair of some tables."""
    return sum(15 + table.size / 8 for table in tables)


def moves_around(state: ShardingState, node: int) -> float:
    """Return the work of one look at every pair of the edges of a node."""
    return moves_at(state.table(node, other) for other in state.neighbours[node])
