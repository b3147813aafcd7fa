r"""KIWI's reduced problem as a graph of states.

The columns of `formulations.remat_sharding.kiwi.compact` for an operator become kinds: whether it
is computed again (:math:`m_i = 0`), and up to which moment its value waits for users that are
computed again after its last use (columns g). The rows say which kinds go together:

============ ==================================================================================
(inputs)     an edge: of two neighbours one is not computed again
(waits)      an edge: where the reader is computed again at :math:`H_i`, the input waits till then
(again)      the table of the edge is paid twice
(memory)     memory rows, at the same moments
============ ==================================================================================

Every labelling that keeps the rows is a plan of the reduced problem that takes its cost, and every
such plan is one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from jettison.formulations.remat_sharding.kiwi.lifetimes import (
    ALWAYS,
    STORED,
    lifetimes,
    moments_that_count,
    waits_of,
)
from jettison.formulations.remat_sharding.messages.arrays import StateGraph
from jettison.formulations.remat_sharding.messages.kinds import KindedGraph, Kinds
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.schedules.remat_sharding.reduced_recomputation import ReducedRecomputation
from jettison.schedules.remat_sharding.schedule import ShardedSchedule

# Whether an operator is computed again, and the moment up to which its value waits, or -1.
Kind = tuple[bool, int]
_NOT = -1


@dataclass(frozen=True)
class ReducedStates:
    """Graph of states of the reduced problem, with the translation of labellings.

    Attributes
    ----------
    sharded
        The instance.
    graph
        The graph.
    kinds
        The kinds of each operator.
    choice, node
        As in `KindedGraph`.
    """

    sharded: ShardedGraph
    graph: StateGraph
    kinds: tuple[tuple[Kind, ...], ...]
    choice: tuple[int, ...]
    node: tuple[int, ...]

    def plan(self, places: Sequence[int], kinds: Sequence[int]) -> ShardedSchedule:
        """Return the plan of a labelling, from the place and the kind of each node."""
        again = [
            i
            for i, of_operator in enumerate(self.kinds)
            if len(of_operator) > 1 and of_operator[kinds[self.node[i]]][0]
        ]
        strategies = tuple(places[node] for node in self.choice)
        return ShardedSchedule(strategies, ReducedRecomputation(self.sharded).operations(again))


def reduced_states(problem: RematSharding) -> ReducedStates:
    """Return the graph of states of the reduced problem; linear in its states and tables.

    Raises
    ------
    InputError
        If a backward operator comes before one that is not.
    """
    sharded = problem.instance
    moments = ReducedRecomputation(sharded)
    again_at = moments.again_at
    waits = waits_of(sharded, moments)
    kinds: list[tuple[Kind, ...]] = [
        tuple(
            (again, until)
            for again in ((False, True) if i in again_at else (False,))
            for until in (_NOT, *waits[i])
        )
        for i in range(len(sharded))
    ]

    def allows(j: int, kind: int, i: int, again: frozenset[int]) -> bool:
        if not again:
            return True
        is_again, until = kinds[j][kind]
        waits_enough = again_at[i] <= moments.last_use[j] or until >= again_at[i]
        return not is_again and waits_enough

    written = KindedGraph(
        sharded,
        [
            Kinds(tuple(frozenset({0}) if again else frozenset() for again, _ in of_operator))
            for of_operator in kinds
        ],
        allows,
    )
    parts = lifetimes(sharded, moments, waits)
    rows = moments_that_count(parts, sharded)
    for _ in rows:
        written.graph.add_row(problem.memory_bytes)
    for i, of_operator in enumerate(parts):
        spans = []
        for part in of_operator:
            first, last = bisect_left(rows, part.first), bisect_right(rows, part.last) - 1
            if first <= last:
                held = [_takes_memory(kind, part.kind) for kind in kinds[i]]
                spans.append((first, last, held))
        written.add_sizes(i, spans)
    return ReducedStates(
        sharded, written.graph, tuple(kinds), tuple(written.choice), tuple(written.node)
    )


def _takes_memory(kind: Kind, part: int) -> bool:
    again, until = kind
    if part == ALWAYS:
        return True
    return not again if part == STORED else until >= part
