"""cut-bound: lower bound on the time of a graph's step, from models of a few cuts.

The rounds are those of `exact_method`. Schedules help to find bounds, and the best one is returned
as well.
"""

from __future__ import annotations

from dataclasses import replace

from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.search import search_in_rounds
from jettison.solvers.remat_graph.cuts.exact_method import CutRounds
from jettison.solvers.remat_graph.cuts.params import EXACT, ExactParams
from jettison.solvers.remat_graph.memory_floor import too_little_memory


def bound_graph_cuts(
    problem: RematGraph, options: SolveOptions, params: ExactParams = EXACT
) -> Outcome:
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
    rounds = CutRounds(problem, options, clock, "cut-bound", params)
    with Ending() as ending:
        rounds.annealing.find_first()
        ending.termination = search_in_rounds(rounds, rounds.incumbent, clock)
    return replace(rounds.outcome(ending.termination), schedule=None)
