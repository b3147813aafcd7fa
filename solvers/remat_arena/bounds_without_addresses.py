"""Bounds of remat-graph for an arena: addresses make no schedule faster.

Every schedule with addresses is one without, in as much memory. So the bounds of `remat-graph`
hold, for the same classes, and so do its proofs that nothing fits; but what they say would do
without addresses need not do.
"""

from __future__ import annotations

from dataclasses import replace

from jettison.instances.remat_arena.problem import RematArena
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.registry import find_method


def bound_by_cuts(problem: RematArena, options: SolveOptions) -> Outcome:
    """Return what `cut-bound` proves, for the order of the graph."""
    return _without_addresses(problem, options, "cut-bound")


def bound_in_any_order(problem: RematArena, options: SolveOptions) -> Outcome:
    """Return what `any-order-bound` proves, for all orders."""
    return _without_addresses(problem, options, "any-order-bound")


def _without_addresses(problem: RematArena, options: SolveOptions, method: str) -> Outcome:
    outcome = find_method(RematGraph.problem, method).run(problem.without_addresses, options)
    infeasibility = outcome.infeasibility
    if infeasibility is not None:
        infeasibility = replace(infeasibility, is_exact=False)
    return replace(outcome, schedule=None, infeasibility=infeasibility)
