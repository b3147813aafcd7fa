"""checkmate-unpartitioned: Checkmate's ILP before its partition into stages, solved by HiGHS.

The model is in `jettison.formulations.remat_graph.checkmate_unpartitioned`, its source is Checkmate
(Jain et al., MLSys 2020, Section 4.3); how a schedule and a bound come from a run of the solver is
told in `jettison.solvers.remat_graph.checkmate`. Staged schedules are points of this program, so
that its bound holds for them; its schedule may follow another order, and be faster than all of
them. The symmetry of the program makes it hopeless beyond some ten nodes: it is here to be compared
with, and `any-order-bound` bounds schedules of every order.
"""

from __future__ import annotations

from jettison.formulations.remat_graph.checkmate_unpartitioned import UnpartitionedCheckmate
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.remat_graph.checkmate import solve_program
from jettison.solvers.remat_graph.least_memory import LEAST_MEMORY, LeastMemoryParams


def solve_checkmate_unpartitioned(
    problem: RematGraph, options: SolveOptions, params: LeastMemoryParams = LEAST_MEMORY
) -> Outcome:
    """Find the fastest schedule of at most as many rounds in order as nodes, with a bound.

    The bound holds for staged schedules. Where no point exists, no staged schedule fits. Large
    models are declined, as `solve_checkmate` declines them.
    """
    return solve_program(
        problem, options, params, UnpartitionedCheckmate(), "checkmate-unpartitioned"
    )
