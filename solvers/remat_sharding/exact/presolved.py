r"""Presolve of a sharded graph: strategies that no fastest plan needs are removed.

A strategy :math:`k` of a choice is *dominated* by another one, :math:`l`, if for every operator
that has the choice :math:`t_{il} \le t_{ik}` and :math:`m_{il} \le m_{ik}`, and every entry of
:math:`l` in the tables of resharding, as a row and as a column, is at most that of :math:`k`, where
what is forbidden counts as infinite. A plan with :math:`k` is then no faster and takes no less
memory than the same one with :math:`l`: no computation, resharding or value of it becomes larger,
whatever is recomputed. Of equal strategies the first stays.

A strategy is *impossible* if it is forbidden for an operator of its choice, or if every pair of it
with the strategies of a neighbour is.

Both are repeated until nothing changes, since removals at a neighbour leave fewer entries to
compare. A fastest plan remains, in every class of schedules and every memory, with the same time
and peak.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from jettison.instances.remat_sharding.problem import RematSharding
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.schedules.remat_sharding.schedule import ShardedSchedule

Costs = NDArray[np.float64]


@dataclass(frozen=True)
class PresolvedSharding:
    """Reduced problem, with the original indices of its strategies.

    Attributes
    ----------
    problem
        The same problem with fewer strategies; `fastest` is not kept.
    places
        For each operator the indices, in the given problem, of the strategies left.
    """

    problem: RematSharding
    places: tuple[tuple[int, ...], ...]

    def reduce(self, plan: ShardedSchedule) -> ShardedSchedule | None:
        """Return a plan of the given problem on this one; None if a strategy of it was removed."""
        pairs = list(zip(self.places, plan.strategies, strict=True))
        if any(k not in places for places, k in pairs):
            return None
        return replace(plan, strategies=tuple(places.index(k) for places, k in pairs))

    def restore(self, plan: ShardedSchedule) -> ShardedSchedule:
        """Return the plan with the strategies' indices in the given problem."""
        return replace(
            plan,
            strategies=tuple(
                places[k] for places, k in zip(self.places, plan.strategies, strict=True)
            ),
        )


def presolve_sharding(problem: RematSharding) -> PresolvedSharding | None:
    """Remove dominated and impossible strategies; None if a choice has none left.

    Takes :math:`O(k^2 D)` for a choice of `k` strategies and `D` entries in all of its tables,
    repeated a few times.
    """
    sharded = problem.instance
    left = _StrategiesLeft(sharded)
    if left.reduce() is not None:
        return None
    places = tuple(tuple(left.of[leader]) for leader in sharded.leader)
    operators = tuple(
        replace(operator, strategies=tuple(operator.strategies[k] for k in kept))
        for operator, kept in zip(sharded.operators, places, strict=True)
    )
    resharding = tuple(
        replace(
            item,
            cost_ns=tuple(
                tuple(item.cost_ns[a][b] for b in places[sharded.position_of[item.target]])
                for a in places[sharded.position_of[item.source]]
            ),
        )
        for item in sharded.resharding
    )
    smaller = replace(sharded, operators=operators, resharding=resharding, fastest=())
    return PresolvedSharding(RematSharding(smaller, problem.memory_bytes), places)


def operator_without_strategy(sharded: ShardedGraph) -> str | None:
    """Return the name of an operator that has only impossible strategies; None if none is found.

    None does not prove that there is a choice: pairs may be allowed one by one, but not together.
    """
    leader = _StrategiesLeft(sharded).reduce()
    return None if leader is None else sharded.operators[leader].name


class _StrategiesLeft:
    """Strategies that are left, for each operator that leads a choice."""

    def __init__(self, sharded: ShardedGraph) -> None:
        self._sharded = sharded
        self.of: dict[int, list[int]] = {
            group[0]: list(range(len(sharded.operators[group[0]].strategies)))
            for group in sharded.groups
        }
        # Numbers below 2^53 are exact as floating-point numbers, and an infinite one forbids.
        self._tables: dict[tuple[int, int], list[Costs]] = {}
        self._own: dict[int, Costs] = {group[0]: self._own_costs(group) for group in sharded.groups}
        for (j, i), table in sharded.tables.items():
            ends = (sharded.leader[j], sharded.leader[i])
            if ends[0] != ends[1]:
                self._tables.setdefault(ends, []).append(_costs(table))
        self._beside: dict[int, set[int]] = {leader: set() for leader in self.of}
        for g, h in self._tables:
            self._beside[g].add(h)
            self._beside[h].add(g)

    def reduce(self) -> int | None:
        """Remove strategies until nothing changes; return an operator without any left, if any."""
        waiting: dict[int, None] = dict.fromkeys(self.of)
        while waiting:
            leader = next(iter(waiting))
            del waiting[leader]
            kept = self._kept(leader)
            if not kept:
                return leader
            if len(kept) < len(self.of[leader]):
                self.of[leader] = kept
                waiting.update(dict.fromkeys(self._beside[leader]))
        return None

    def _kept(self, leader: int) -> list[int]:
        places = self.of[leader]
        entries = [self._own[leader][places]]
        possible = np.isfinite(entries[0]).all(axis=1)
        for (g, h), tables in self._tables.items() if self._beside[leader] else ():
            if leader not in (g, h):
                continue
            for table in tables:
                part = table[np.ix_(self.of[g], self.of[h])]
                mine = part if g == leader else part.T
                possible &= np.isfinite(mine).any(axis=1)
                entries.append(mine)
        vectors = np.hstack(entries)
        kept: list[int] = []
        for place in np.flatnonzero(possible):
            at_most = (vectors[possible] <= vectors[place]).all(axis=1)
            at_least = (vectors[possible] >= vectors[place]).all(axis=1)
            rivals = np.flatnonzero(possible)[at_most]
            equal = set(np.flatnonzero(possible)[at_most & at_least].tolist())
            if all(int(rival) in equal and rival >= place for rival in rivals):
                kept.append(places[place])
        return kept

    def _own_costs(self, group: Sequence[int]) -> Costs:
        """Return time and memory of each member, and resharding within the group, by strategy."""
        sharded = self._sharded
        columns: list[list[float]] = []
        for p in group:
            strategies = sharded.operators[p].strategies
            columns.append(
                [np.inf if item.is_forbidden else float(item.cost_ns) for item in strategies]
            )
            columns.append([float(item.memory_bytes) for item in strategies])
            for j in sharded.inputs[p]:
                table = sharded.tables.get((j, p))
                if table is not None and sharded.leader[j] == group[0]:
                    columns.append(
                        [
                            np.inf if row[k] is None else float(row[k] or 0)
                            for k, row in enumerate(table)
                        ]
                    )
        return np.array(columns).T


def _costs(table: Sequence[Sequence[int | None]]) -> Costs:
    return np.array([[np.inf if cost is None else float(cost) for cost in row] for row in table])
