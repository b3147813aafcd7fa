"""revolve for heterogeneous chains: the optimum of the automatic-differentiation model.

Source: Griewank and Walther (2008), as RR-9302, Section 5.3 compares with it, and Appendix C of
Gruslys et al. (2016). Only inputs of stages are checkpointed, and what a backward needs is saved
right before it: the recurrence of `rotor` with ``F_all`` for single stages only. It is solved
exactly by the same search (`rotor_exact.refine`), so that no schedule of this kind is faster.
Schedules that save more can be: the optimum here is no bound for the problem.
"""

from __future__ import annotations

from jettison.instances.core.units import format_bytes
from jettison.instances.remat_chain.problem import RematChain
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_chain.least_memory import least_memory
from jettison.solvers.remat_chain.needs import InputsOnlyNeeds
from jettison.solvers.remat_chain.rotor_exact import EXACT_SEARCH, ExactSearchParams, refine


def solve_revolve(
    problem: RematChain, options: SolveOptions, params: ExactSearchParams = EXACT_SEARCH
) -> Outcome:
    """Return the fastest schedule that checkpoints inputs only, if one fits."""
    needs = InputsOnlyNeeds(problem.instance)
    least = least_memory(needs)[0]
    if problem.memory_bytes < least:
        return Outcome(
            termination=Termination.COMPLETED,
            note=f"revolve needs {format_bytes(least)} ({least} bytes) on this instance",
        )
    best, termination, slots = refine(needs, problem.memory_bytes, options, params)
    return Outcome(
        termination=termination,
        schedule=best.schedule,
        work={"slots": slots, "states": best.states},
    )
