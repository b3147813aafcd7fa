r"""The least recomputation of a graph, by cuts that are added where they are needed.

The rounds are those of `graph_cut_bound`: a model of few cuts is solved, its point becomes a
schedule, and the stages at which that exceeds the memory become cuts as well. When the schedule of
a model that was solved to its end fits, it is as fast as the model's bound, and so the optimum: of
all schedules in the order of the graph as long as there are no slots, of the staged ones after
that. With all cuts and all slots the model is exact (`residency`), so the rounds end.

Where they do not end in half of the time, or the solver leaves a gap, the rest of it goes into
`remat_anneal`, which stops at the bound. What a round has left that fits counts too.

Source: Checkmate's problem (MLSys 2020); the models are those of `formulations.windowed_frontier`.
"""

from __future__ import annotations

import math
from dataclasses import replace

from jettison.instances.remat_graph import RematGraph
from jettison.schedules.graph_schedule import GraphSchedule
from jettison.solvers.clock import Clock
from jettison.solvers.graph_cut_bound import CutSearch
from jettison.solvers.graph_memory_floor import memory_for_everything, too_little_memory
from jettison.solvers.outcome import Outcome, Problem, SolveOptions
from jettison.solvers.remat_anneal import annealing_of, run_annealing
from jettison.solvers.status import Termination

_SHARE_OF_CUTS = 0.5


def solve_graph_exact(problem: Problem, options: SolveOptions) -> Outcome:
    """Return the fastest schedule, proved, or the best one with its bound when the time is up.

    Returns
    -------
    Outcome
        With the bounds of `cut-bound`. They rest on HiGHS but for the relaxation's, which is exact
        arithmetic. Or a proof that nothing fits, as `cut-bound` gives it.
    """
    assert isinstance(problem, RematGraph)
    settled = too_little_memory(problem) or memory_for_everything(problem)
    if settled is not None:
        return settled
    clock = Clock(options.time_limit_s)
    share = Clock(None if math.isinf(clock.left_s) else clock.left_s * _SHARE_OF_CUTS)
    search = CutSearch(problem, options, share, "exact")
    try:
        termination = search.run()
    except KeyboardInterrupt:
        termination = Termination.INTERRUPTED
    outcome = replace(search.outcome(termination), schedule=search.schedule)
    if outcome.infeasibility is not None or termination is Termination.INTERRUPTED:
        return outcome
    if search.schedule is not None and termination.is_regular:
        return outcome
    return _annealed(problem, search, outcome, options, clock)


def _annealed(
    problem: RematGraph, cuts: CutSearch, outcome: Outcome, options: SolveOptions, clock: Clock
) -> Outcome:
    """Look for a schedule with the time that is left; the best bound is where it can stop."""
    graph = problem.instance
    floor_ns = max(bound.time_ns for bound in outcome.bounds)
    search = annealing_of(problem, options.seed, floor_ns)
    termination = run_annealing(search, floor_ns, options, clock)
    schedule = cuts.schedule
    if search.time_ns is not None:
        found = GraphSchedule.from_computations(graph, search.computations)
        if schedule is None or search.time_ns < schedule.replay(graph).time_ns:
            schedule = found
    note = outcome.note
    if schedule is None and note is None:
        note = "no schedule was found that fits; that does not prove that there is none"
    return replace(
        outcome,
        termination=termination,
        schedule=schedule,
        work={**outcome.work, "moves": search.tried},
        note=note,
    )
