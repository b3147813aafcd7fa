"""Lower bound from the cycle model, a linear program: multipliers of HiGHS in exact integers.

The model is in `jettison.formulations.training_chain.cycle_bound`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from jettison.formulations.training_chain.cycle_bound import build_cycle_bound
from jettison.instances.training_chain.problem import TrainingChain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Bound, Evidence, exact_bound
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.core.status import SolverError, Termination
from jettison.solvers.milp.exact_dual_bound import exact_dual_bound
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_options import HighsOptions, LinearAlgorithm
from jettison.solvers.training_chain.least_memory import training_infeasibility

# By how much the optimum of HiGHS may be too high, as a share of it.
_SOLVER_TOLERANCE = 1e-5
_OPTIMAL = {Termination.COMPLETED, Termination.GAP_REACHED}


@dataclass(frozen=True, kw_only=True)
class CycleParams(Params):
    """Parameters of the cycle bound.

    Attributes
    ----------
    most_stages
        Longer chains are declined: the model has about 15 columns for each pair of stages.
    most_stages_for_simplex
        Stages up to which the simplex method solves it. Above, the interior point method is faster;
        it has to go on to a basis, without which it has ended far from an optimum.
    """

    most_stages: int = 80
    most_stages_for_simplex: int = 8


CYCLE = CycleParams()


def bound_training_cycle(
    problem: TrainingChain, options: SolveOptions, params: CycleParams = CYCLE
) -> Outcome:
    """Bound the time of every schedule by the linear program around the cycle of a step.

    At the time limit the bound is the time without recomputation, transfers and updates.

    Returns
    -------
    Outcome
        A bound for all schedules in exact arithmetic, and the optimum of the solver where that is
        larger; or the proof that nothing fits.
    """
    refused = training_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    base = exact_bound(problem.base_time_ns, ScheduleClass.ALL, "cycle")
    stages = len(problem.instance)
    if problem.memory_bytes >= problem.keep_all_peak_bytes and not _has_updates(problem):
        return Outcome(termination=Termination.COMPLETED, bounds=(base,))
    if stages > params.most_stages:
        return Outcome(
            termination=Termination.MEMORY_LIMIT,
            bounds=(base,),
            note=f"the model of {stages} stages is larger than the {params.most_stages} that are "
            "tried; use cut-bound",
        )
    clock = Clock(options.time_limit_s)
    built = build_cycle_bound(problem)
    work = {"rows": built.model.num_rows, "columns": built.model.num_columns}
    is_small = stages <= params.most_stages_for_simplex
    highs = HighsOptions(
        time_limit_s=None if math.isinf(clock.left_s) else clock.left_s,
        threads=options.threads,
        seed=options.seed,
        linear_algorithm=LinearAlgorithm.CHOOSE if is_small else LinearAlgorithm.CROSSOVER,
    )
    try:
        solution = solve_in_time(built.model, highs)
    except SolverError as failed:
        return Outcome(
            termination=Termination.ERROR, bounds=(base,), work=work, note=f"the model: {failed}"
        )
    bounds: tuple[Bound, ...] = (base,)
    note = "the model was not solved to the end" if solution.row_duals is None else None
    if solution.row_duals is not None:
        proved = exact_dual_bound(built.model, solution.row_duals)
        if proved is not None:
            bounds = (exact_bound(built.scale.time_ns(proved), ScheduleClass.ALL, "cycle"),)
    if solution.objective is not None and solution.termination in _OPTIMAL:
        lowered = solution.objective * (1 - _SOLVER_TOLERANCE)
        time_ns = math.floor(lowered * built.scale.times.unit * built.scale.times.factor)
        if time_ns > bounds[0].time_ns:
            # Multipliers prove less where they are a little below zero for a column without limit.
            bounds += (replace(bounds[0], time_ns=time_ns, evidence=Evidence.SOLVER),)
    return Outcome(termination=solution.termination, bounds=bounds, work=work, note=note)


def _has_updates(problem: TrainingChain) -> bool:
    """Tell whether updates take time that a step without limits may still have to give them."""
    return any(stage.update_ns for stage in problem.instance)
