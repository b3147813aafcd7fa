"""Baseline that checkpoints the last node only, from Checkmate.

Source: the released code of Checkmate (Jain et al., MLSys 2020): between stages only the value of
the last stage is in memory, besides the values of kept nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.remat_graph.baselines.checkpoints import PlanLimit, computations_of_plan
from jettison.solvers.remat_graph.baselines.plans import Plan, fastest_that_fits
from jettison.solvers.remat_graph.operators import on_held_values


def last_node_plan(graph: Graph, limit: PlanLimit) -> list[int]:
    r"""Return the plan whose stages recompute everything except the value of the stage before.

    :math:`O(n (n + |E|))` time, :math:`O(n^2)` computations.
    """

    def goes(stage: int, computed: Sequence[int]) -> Sequence[int]:
        # The last computation of a stage is the first one of its node: its value stays.
        return (*computed[:-1], stage - 2) if stage > 1 else ()

    return computations_of_plan(graph, goes, limit)


@on_held_values
def solve_last_node(problem: RematGraph, options: SolveOptions) -> Outcome:
    """Return the schedule that checkpoints the last node only, if it fits."""
    plan = Plan(0, partial(last_node_plan, problem.instance))
    return fastest_that_fits(problem, "last-node", [plan], options)
