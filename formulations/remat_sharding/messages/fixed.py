"""Strategies for a fixed sequence of computations as a graph of states.

The problem of `formulations.remat_sharding.fixed_computations`: every operator has one kind, with
its recomputations, and each moment of memory is a row. A labelling that keeps the rows is a choice
of strategies that fits, and costs what the plan takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from jettison.formulations.remat_sharding.messages.arrays import StateGraph
from jettison.formulations.remat_sharding.messages.kinds import KindedGraph, Kinds
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.schedules.remat_graph.schedule import GraphOperation, GraphOperationKind


@dataclass(frozen=True)
class FixedStates:
    """Graph of states of fixed computations.

    Attributes
    ----------
    graph
        The graph.
    choice
        For each operator, the node of its choice.
    """

    graph: StateGraph
    choice: tuple[int, ...]

    def strategies(self, places: Sequence[int]) -> tuple[int, ...]:
        """Return the strategy of each operator from the place of each node."""
        return tuple(places[node] for node in self.choice)


def fixed_states(problem: RematSharding, operations: Sequence[GraphOperation]) -> FixedStates:
    """Return the graph of states of a plan's operations; linear in them and in the tables."""
    sharded = problem.instance
    times = Counter(item.node for item in operations if item.kind is GraphOperationKind.COMPUTE)
    kinds = [Kinds((frozenset(range(times[i] - 1)),)) for i in range(len(sharded))]
    written = KindedGraph(sharded, kinds, lambda *_: True)
    begins: dict[int, int] = {}
    spans: list[list[tuple[int, int, Sequence[bool]]]] = [[] for _ in sharded.operators]
    # Memory is largest before something is freed; a row that has begun ends there.
    row, is_growing = 0, False
    for operation in operations:
        i = operation.node
        if operation.kind is GraphOperationKind.COMPUTE:
            begins[i] = row
            is_growing = True
            continue
        if is_growing:
            row, is_growing = row + 1, False
        spans[i].append((begins.pop(i), row - 1, (True,)))
    for i, begin in begins.items():
        spans[i].append((begin, row, (True,)))
    for _ in range(row + 1):
        written.graph.add_row(problem.memory_bytes)
    for i, of_operator in enumerate(spans):
        written.add_sizes(i, of_operator)
    return FixedStates(written.graph, tuple(written.choice))
