r"""The least recomputation of a graph, by cuts that are added where they are needed.

The rounds are those of `graph_cut_search`: a model of few cuts is solved, its point becomes a
schedule, and the stages at which that exceeds the memory become cuts as well. When the schedule of
a model that was solved to its end fits, it is as fast as the model's bound, and so the optimum: of
all schedules in the order of the graph as long as there are no slots, of the staged ones after
that. With all cuts and all slots the model is exact (`residency`), so the rounds end.

Where they end without a proof, because a model would be too large, the rest of the time goes into
annealing, which stops at the bound.

Source: Checkmate's problem (MLSys 2020); the models are those of `formulations.windowed_frontier`.
"""

from __future__ import annotations

from dataclasses import replace

from jettison.instances.remat_graph import RematGraph
from jettison.instances.units import format_bytes
from jettison.solvers.clock import Clock
from jettison.solvers.graph_cut_search import CutSearch
from jettison.solvers.graph_memory_floor import memory_for_everything, too_little_memory
from jettison.solvers.least_graph_memory import with_least_staged_memory
from jettison.solvers.outcome import Outcome, Problem, SolveOptions
from jettison.solvers.status import Termination


def solve_graph_exact(problem: Problem, options: SolveOptions) -> Outcome:
    """Return the fastest schedule, proved, or the best one with its bound when the time is up.

    At the time limit and on Ctrl-C it is the best so far.

    Returns
    -------
    Outcome
        With the bounds of `cut-bound`. They rest on HiGHS but for the relaxation's, which is exact
        arithmetic. Or a proof that nothing fits, as `cut-bound` gives it.
    """
    assert isinstance(problem, RematGraph)
    clock = Clock(options.time_limit_s)
    refused = too_little_memory(problem)
    if refused is not None:
        return with_least_staged_memory(refused, problem, options, clock)
    settled = memory_for_everything(problem)
    if settled is not None:
        return settled
    search = CutSearch(problem, options, clock, "exact")
    try:
        termination = search.run()
        is_over = termination is Termination.INTERRUPTED or search.infeasibility is not None
        while not is_over and search.incumbent.improve(search.bounds.largest_ns):
            search.report()
    except KeyboardInterrupt:
        termination = Termination.INTERRUPTED
    outcome = search.outcome(termination)
    if outcome.infeasibility is not None:
        return with_least_staged_memory(outcome, problem, options, clock)
    note = outcome.note
    schedule = search.schedule
    if schedule is None and note is None:
        note = "no schedule was found that fits; that does not prove that there is none"
        least = search.incumbent.least_peak
        if least is not None:
            note += f"; one that needs {format_bytes(least)} ({least} bytes) was"
    return replace(outcome, schedule=schedule, note=note)
