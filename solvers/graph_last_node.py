"""Checkpoint the last node only: a baseline of Checkmate.

Source: the released code of Checkmate (Jain et al., MLSys 2020): between stages nothing is in
memory but the value of the stage before. The values of kept nodes stay besides.
"""

from __future__ import annotations

from jettison.instances.graph import Graph
from jettison.instances.remat_graph import RematGraph
from jettison.schedules.graph_schedule import GraphSchedule
from jettison.solvers.graph_checkpoints import schedule_of_plan
from jettison.solvers.graph_plans import fastest_that_fits
from jettison.solvers.outcome import Outcome, Problem, SolveOptions


def last_node_schedule(graph: Graph) -> GraphSchedule:
    r"""Recompute, in each stage, all that does not follow from the value of the stage before.

    :math:`O(n (n + |E|))` time, :math:`O(n^2)` operations.
    """
    return schedule_of_plan(graph, lambda stage, present: present & {stage - 1})


def solve_last_node(problem: Problem, options: SolveOptions) -> Outcome:
    """Return the schedule that checkpoints the last node only, if it fits."""
    assert isinstance(problem, RematGraph)
    return fastest_that_fits(problem, "last-node", [last_node_schedule(problem.instance)], options)
