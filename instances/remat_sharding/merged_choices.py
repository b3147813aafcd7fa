r"""Strategy choices of a sharded graph with followers merged: costs by group and by pair.

A plan that computes every operator once, with place :math:`k_g` for each group :math:`g`, takes

.. math::
    \sum_g c_g[k_g] + \sum_{g < h} R_{gh}[k_g, k_h]

where :math:`c_g` adds up the operators of the group and, of the resharding between two of them, the
pairs of the same place; :math:`R_{gh}` adds up all resharding between two groups, whichever of them
reads. Each resharding is counted once: an operator that reads two members of a group pays for two
values, and an operator that reads one value twice pays for one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from jettison.instances.remat_sharding.sharded_graph import ShardedGraph, Table

Costs = tuple[int | None, ...]


@dataclass(frozen=True)
class MergedChoices:
    """Strategy choices per group of a leader and its followers, with their costs.

    Attributes
    ----------
    groups
        The positions of the operators of each group, as in the graph.
    cost_ns
        For each group, the time of each strategy; None forbids it.
    tables
        By the positions of two groups in `groups`, the smaller one first: a row per place of the
        first, a column per place of the second; None forbids.
    """

    groups: tuple[tuple[int, ...], ...]
    cost_ns: tuple[Costs, ...]
    tables: Mapping[tuple[int, int], Table]

    def strategies(self, places: Sequence[int]) -> tuple[int, ...]:
        """Return the strategy index of each operator, given that of each group."""
        found = dict[int, int]()
        for group, place in zip(self.groups, places, strict=True):
            found.update(dict.fromkeys(group, place))
        return tuple(found[position] for position in range(len(found)))

    def time_ns(self, places: Sequence[int]) -> int | None:
        """Return the time of the plan that computes each operator once; None if it is forbidden."""
        costs = [cost[place] for cost, place in zip(self.cost_ns, places, strict=True)]
        costs += [table[places[g]][places[h]] for (g, h), table in self.tables.items()]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) else None


def merged_choices(graph: ShardedGraph) -> MergedChoices:
    """Return the choices of a graph with followers merged; linear in the size of its tables."""
    groups = graph.groups
    group_of = {position: g for g, group in enumerate(groups) for position in group}
    cost_ns = [
        _total(
            tuple(
                None if strategy.is_forbidden else strategy.cost_ns
                for strategy in graph.operators[position].strategies
            )
            for position in group
        )
        for group in groups
    ]
    rows: dict[tuple[int, int], list[Costs]] = {}
    for (source, target), table in graph.tables.items():
        g, h = group_of[source], group_of[target]
        if g == h:
            diagonal = tuple(table[place][place] for place in range(len(table)))
            cost_ns[g] = _total([cost_ns[g], diagonal])
            continue
        turned = table if g < h else tuple(zip(*table, strict=True))
        ends = (min(g, h), max(g, h))
        rows[ends] = (
            [_total(pair) for pair in zip(rows[ends], turned, strict=True)]
            if ends in rows
            else list(turned)
        )
    return MergedChoices(
        groups, tuple(cost_ns), {ends: tuple(table) for ends, table in rows.items()}
    )


def _total(costs: Iterable[Costs]) -> Costs:
    found: list[int | None] = []
    for column in zip(*costs, strict=True):
        known = [cost for cost in column if cost is not None]
        found.append(sum(known) if len(known) == len(column) else None)
    return tuple(found)
