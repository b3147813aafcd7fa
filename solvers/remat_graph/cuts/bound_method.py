"""A lower bound on the time of a graph's step, from what a few cuts force to be computed again.

The search is `search`'s, in which schedules only help to find bounds; `exact_method` hands
the best one out as well.
"""

from __future__ import annotations

from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import run_to_its_end
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.remat_graph.baselines.starts import BaselineStarts
from jettison.solvers.remat_graph.cuts.search import CutSearch
from jettison.solvers.remat_graph.memory_floor import too_little_memory


def bound_graph_cuts(problem: RematGraph, options: SolveOptions) -> Outcome:
    """Bound the time of every schedule that first computes nodes in the order of the graph.

    At the time limit and on Ctrl-C the best bounds so far are returned.

    Returns
    -------
    Outcome
        A bound in exact arithmetic, and where they are larger one that rests on HiGHS and one for
        staged schedules. Or a proof that nothing fits: where the memory is below what single
        operations need, or, for staged schedules, where a model has no point.
    """
    clock = Clock(options.time_limit_s)
    refused = too_little_memory(problem)
    if refused is not None:
        return refused
    no_starts = BaselineStarts(problem, options, clock, methods=())
    search = CutSearch(problem, options, clock, "cut-bound", no_starts)
    termination = run_to_its_end(search.run)
    return search.outcome(termination)
