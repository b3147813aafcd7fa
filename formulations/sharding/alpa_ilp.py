r"""Alpa's integer program for intra-operator parallelism in PuLP, row by row, to be read.

Columns and rows are those of `sharding_ilp`, on the problem as it is given: no presolve, no scale.
It is for reading and for checking the model that does the work; costs have to be numbers that a
floating-point solver can tell apart.

.. math::
    \min\ & \sum_i \sum_{a} c_{ia} s_{ia} + \sum_{ij} \sum_{(a, b)} c_{ijab} e_{ijab} \\
    \text{one:}\quad & \sum_{a} s_{ia} = 1 && \forall i \\
    \text{from:}\quad & \sum_{b} e_{ijab} = s_{ia} && \forall ij, a \\
    \text{to:}\quad & \sum_{a} e_{ijab} = s_{jb} && \forall ij, b \\
    \text{memory:}\quad & \sum_{i \in L_t} \sum_{a} u_{ia} s_{ia} \le M && \forall t

:math:`L_t` are the nodes that are live at t, for one t in each maximal set. Equalities stand where
KIWI has :math:`\le`; `sharding_ilp` says why.

Source: Alpa (Zheng et al., OSDI 2022), as KIWI's Appendix 7.1.4 writes it, (21) to (23); the memory
rows are those of the ASPLOS'25 / IOPDDL contest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import lazy_loader as lazy

from jettison.formulations.sharding.pairwise_choice import PairwiseChoice
from jettison.instances.core.live_sets import maximal_live_times
from jettison.instances.sharding.problem import Sharding

if TYPE_CHECKING:
    import pulp
else:
    pulp = lazy.load("pulp")


def alpa_ilp(problem: Sharding) -> pulp.LpProblem:
    """Build Alpa's integer program for a strategy graph.

    Notes
    -----
    Time linear in the number of pairs of strategies, some microseconds each.
    """
    nodes = problem.instance.nodes
    data = PairwiseChoice.of(problem)
    model = pulp.LpProblem("alpa", pulp.LpMinimize)

    # s[i][a]: strategy a is chosen at node i.
    s = [
        {
            a: model.add_variable(f"s_{i}_{a}", cat=pulp.LpBinary)
            for a, cost in enumerate(costs)
            if cost is not None
        }
        for i, costs in enumerate(data.costs)
    ]
    # e[i, j][a, b]: a and b are chosen at the ends of an edge.
    e = {
        (i, j): {
            (a, b): model.add_variable(f"e_{i}_{j}_{a}_{b}", 0, 1)
            for a in s[i]
            for b in s[j]
            if table[a][b] is not None
        }
        for (i, j), table in data.tables.items()
    }

    model += pulp.lpSum(
        data.costs[i][a] * column for i, columns in enumerate(s) for a, column in columns.items()
    ) + pulp.lpSum(
        data.tables[ends][a][b] * column
        for ends, pairs in e.items()
        for (a, b), column in pairs.items()
    )

    for i, columns in enumerate(s):
        model += pulp.lpSum(columns.values()) == 1, f"one_{i}"
    for (i, j), pairs in e.items():
        for a in s[i]:
            row = pulp.lpSum(column for (one, _), column in pairs.items() if one == a)
            model += row == s[i][a], f"from_{i}_{j}_{a}"
        for b in s[j]:
            row = pulp.lpSum(column for (_, other), column in pairs.items() if other == b)
            model += row == s[j][b], f"to_{i}_{j}_{b}"
    for t in maximal_live_times([node.interval for node in nodes]):
        used = pulp.lpSum(
            nodes[i].usages_bytes[a] * column
            for i, columns in enumerate(s)
            if nodes[i].interval[0] <= t < nodes[i].interval[1]
            for a, column in columns.items()
        )
        model += used <= problem.memory_bytes, f"memory_{t}"
    return model
