"""checkmate-unpartitioned: Checkmate's ILP before its partition into stages, solved by HiGHS.

The model is in `jettison.formulations.remat_graph.checkmate_unpartitioned`, its source is Checkmate
(Jain et al., MLSys 2020, Section 4.3); how a schedule and a bound come from a run of the solver is
told in `jettison.solvers.remat_graph.checkmate`. Staged schedules are points of this program, so
that its bound holds for them; its schedule may follow another order, and be faster than all of
them. The symmetry of the program makes it hopeless beyond some ten nodes: it is here to be compared
with, and `any-order-bound` bounds schedules of every order.

Whether an order needs no recomputation
---------------------------------------
Where the search ends, that is decided: RP-DEC of Appendix C, if times and sizes are 1. A schedule
that computes each of the n nodes once has at most n rounds, one for each node, and so is a point of
the program. Every other one computes some node again, and takes the least duration more than all
nodes take. The lesser of that and of the program's bound therefore holds for all schedules. If no
duration is 0 it is above the time of all nodes if and only if the program's bound is.
"""

from __future__ import annotations

from dataclasses import replace

from jettison.formulations.remat_graph.checkmate_unpartitioned import UnpartitionedCheckmate
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.remat_graph.checkmate import solve_program
from jettison.solvers.remat_graph.least_memory import LEAST_MEMORY, LeastMemoryParams


def solve_checkmate_unpartitioned(
    problem: RematGraph, options: SolveOptions, params: LeastMemoryParams = LEAST_MEMORY
) -> Outcome:
    """Find the fastest schedule of at most as many rounds in order as nodes, with a bound.

    The bound holds for staged schedules. Where no point exists, no staged schedule fits. A second
    bound, for all schedules, says whether one of them needs no recomputation. Large models are
    declined, as `solve_checkmate` declines them.
    """
    method = "checkmate-unpartitioned"
    outcome = solve_program(problem, options, params, UnpartitionedCheckmate(), method)
    base_ns = problem.instance.base_time_ns
    repeated_ns = base_ns + min(node.duration_ns for node in problem.instance.nodes)
    time_ns = min([repeated_ns, *(bound.time_ns for bound in outcome.bounds)])
    # Where the program has no point, every schedule computes some node again.
    refused = outcome.infeasibility
    has_no_point = refused is not None and refused.valid_for is ScheduleClass.STAGED
    if time_ns <= base_ns or not (outcome.bounds or has_no_point):
        return outcome
    bound = Bound(
        time_ns=time_ns,
        valid_for=ScheduleClass.ALL,
        evidence=Evidence.SOLVER,
        method=method,
    )
    return replace(outcome, bounds=(*outcome.bounds, bound))
