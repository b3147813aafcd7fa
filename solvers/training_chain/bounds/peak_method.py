"""Peak bound: the memory where the last backward operation starts, the link over the whole step.

The model is in `jettison.formulations.training_chain.peak_bound`; it has O(N) rows, and takes
milliseconds.
"""

from __future__ import annotations

from jettison.formulations.training_chain.peak_bound import build_peak_bound
from jettison.instances.training_chain.problem import TrainingChain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Bound, exact_bound
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.status import SolverError
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.training_chain.bounds.proved_time import proved_by


def bound_peak(problem: TrainingChain, options: SolveOptions) -> Bound | None:
    """Return the bound for all schedules; None where it is no more than the time of the operations.

    No time limit is looked at.
    """
    built = build_peak_bound(problem)
    highs = HighsOptions(threads=options.threads, seed=options.seed)
    try:
        proved = proved_by(built, solve_in_time(built.model, highs))
    except SolverError:
        # What HiGHS refuses proves nothing; the time of the operations is a bound without it.
        return None
    if proved is None or proved[0] <= problem.base_time_ns:
        return None
    return exact_bound(proved[0], ScheduleClass.ALL, "peak")
