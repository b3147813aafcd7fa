r"""The least recomputation of a graph, by cuts that are added where they are needed.

The rounds are those of `search`: a model of few cuts is solved, its point becomes a
schedule, and the stages at which that exceeds the memory become cuts as well. When the schedule of
a model that was solved to its end fits, it is as fast as the model's bound, and so the optimum: of
all schedules in the order of the graph as long as there are no slots, of the staged ones after
that. With all cuts and all slots the model is exact (`Residency`), so the rounds end.

Where they end without a proof, because a model would be too large, the rest of the time goes into
annealing, which stops at the bound.

Tried and left out
------------------
A large-neighbourhood search on the best schedule: the model with about thirty cuts at the tightest
stages, solved for two hundred nodes of branch and bound or 0.4 s, with all columns fixed but those
of some tens of nodes. What was better in the model became a schedule again; where that exceeded the
memory by less than 1 %, a round of annealing tried to repair it. The nodes were two balls in the
graph around recomputed nodes, or nodes computed again after a tight stage with some that were alive
there. Beside each stand annealing alone, and annealing from the best schedule in short rounds for
half of the time, with both neighbourhoods in the other half. Overheads are in per cent, from one
start, with equal CPU seconds (6 for graphs of 1000 nodes, 3 for others) and one seed:

================================= ====== ====== ====== ========= ======
instance                          start  balls  stages annealing halves
================================= ====== ====== ====== ========= ======
layered, 1000 nodes, 90 %, seed 1 0.659  0.659  \-     0.618     0.618
layered, 1000 nodes, 90 %, seed 2 0.849  0.818  \-     0.783     0.849
layered, 1000 nodes, 90 %, seed 3 0.942  0.920  \-     0.920     0.905
layered, 1000 nodes, 80 %, seed 1 5.221  5.221  \-     3.829     5.074
layered, 1000 nodes, 80 %, seed 2 5.943  5.817  \-     5.842     5.905
layered, 1000 nodes, 80 %, seed 3 5.457  4.668  \-     4.409     \-
layered, 250 nodes, 80 %, seed 1  3.625  3.483  3.625  3.459     3.445
layered, 250 nodes, 80 %, seed 2  3.379  3.230  3.379  3.136     2.966
layered, 250 nodes, 80 %, seed 3  4.348  4.182  4.014  3.839     4.002
ResNet-50, 30 %                   3.873  3.801  3.828  3.678     3.811
ResNet-50, 20 %                   7.226  7.159  7.160  6.413     6.633
training, 400 nodes, 40 %, seed 1 15.989 15.479 15.378 13.920    14.669
training, 400 nodes, 40 %, seed 2 13.776 13.055 12.877 12.333    12.200
================================= ====== ====== ====== ========= ======

Of 846 runs of either neighbourhood alone 717 found nothing better in the model, which knows the
memory at its cuts only; of the other schedules two thirds exceeded it and were not repaired. Where
the halves are better than annealing in its usual rounds, short rounds alone are as good but for the
last row.

Source: Checkmate's problem (MLSys 2020); the models are those of `formulations.windowed_frontier`.
"""

from __future__ import annotations

from dataclasses import replace

from jettison.instances.core.units import format_bytes
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.milp.tolerance import BELOW_TOLERANCE
from jettison.solvers.remat_graph.baselines.starts import BaselineStarts
from jettison.solvers.remat_graph.cuts.search import CutSearch
from jettison.solvers.remat_graph.least_memory import with_least_staged_memory
from jettison.solvers.remat_graph.memory_floor import memory_for_everything, too_little_memory

_LEFT_OPEN = (Termination.TIME_LIMIT, Termination.MEMORY_LIMIT)


def solve_graph_exact(problem: RematGraph, options: SolveOptions) -> Outcome:
    """Return the fastest schedule, proved, or the best one with its bound when the time is up.

    At the time limit and on Ctrl-C it is the best so far.

    Returns
    -------
    Outcome
        With the bounds of `cut-bound`. They rest on HiGHS but for the relaxation's, which is exact
        arithmetic. Or a proof that nothing fits, as `cut-bound` gives it.
    """
    clock = Clock(options.time_limit_s)
    refused = too_little_memory(problem)
    if refused is not None:
        return with_least_staged_memory(refused, problem, options, clock)
    settled = memory_for_everything(problem)
    if settled is not None:
        return settled
    starts = BaselineStarts(problem, options, clock)
    search = CutSearch(problem, options, clock, "exact", starts)
    with Ending() as ending:
        ending.termination = search.run()
        is_over = ending.is_interrupted or search.infeasibility is not None
        if not (is_over or search.is_settled):
            starts.run_all()
        while not (is_over or search.is_settled):
            is_over = not search.incumbent.improve(search.bounds.largest_ns)
            search.report()
        was_left_open = ending.termination in _LEFT_OPEN or search.note == BELOW_TOLERANCE
        if was_left_open and search.is_settled:
            # Annealing has settled what the models could not.
            ending.termination, search.note = search.how_it_was_settled, None
    outcome = search.outcome(ending.termination)
    schedule = search.schedule
    if outcome.infeasibility is not None and schedule is None:
        return with_least_staged_memory(outcome, problem, options, clock)
    # Where none is staged, one that is in order may fit all the same.
    outcome = replace(outcome, infeasibility=None)
    note = outcome.note
    if schedule is None and note is None:
        note = "no schedule was found that fits; that does not prove that there is none"
        least = search.incumbent.least_peak
        if least is not None:
            note += f"; one that needs {format_bytes(least)} ({least} bytes) was"
    return replace(outcome, schedule=schedule, note=note)
