"""Checkpoint the last node only: a baseline of Checkmate.

Source: the released code of Checkmate (Jain et al., MLSys 2020): between stages nothing is in
memory but the value of the stage before. The values of kept nodes stay besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.remat_graph.baselines.checkpoints import PlanLimit, computations_of_plan
from jettison.solvers.remat_graph.baselines.plans import Plan, fastest_that_fits


def last_node_plan(graph: Graph, limit: PlanLimit) -> list[int]:
    r"""Recompute, in each stage, all that does not follow from the value of the stage before.

    :math:`O(n (n + |E|))` time, :math:`O(n^2)` computations.
    """

    def goes(stage: int, computed: Sequence[int]) -> Sequence[int]:
        # What ran last is the first computation, whose value stays; the one before it does not.
        return (*computed[:-1], stage - 2) if stage > 1 else ()

    return computations_of_plan(graph, goes, limit)


def solve_last_node(problem: RematGraph, options: SolveOptions) -> Outcome:
    """Return the schedule that checkpoints the last node only, if it fits."""
    plan = Plan(0, partial(last_node_plan, problem.instance))
    return fastest_that_fits(problem, "last-node", [plan], options)
