"""Lower bound from the cycle model, a linear program: multipliers of HiGHS in exact integers.

The model is in `jettison.formulations.training_chain.cycle_bound`. A small one beside it, with the
memory at one cut (`bound_peak`), takes milliseconds on any chain and is all that long chains get.
It can be the larger, since the large one adds up activations of different stages between its cuts;
then the bound has its name, ``peak``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from jettison.formulations.training_chain.cycle_bound import (
    build_cycle_bound,
    build_missing_memory,
)
from jettison.instances.training_chain.problem import TrainingChain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import exact_bound
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Infeasibility, Outcome, SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.core.status import SolverError, Termination
from jettison.solvers.milp.exact_dual_bound import exact_dual_bound
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_options import HighsOptions, LinearAlgorithm
from jettison.solvers.training_chain.bounds.peak_method import bound_peak
from jettison.solvers.training_chain.bounds.proved_time import proved_by
from jettison.solvers.training_chain.least_memory import training_infeasibility


@dataclass(frozen=True, kw_only=True)
class CycleParams(Params):
    """Parameters of the cycle bound.

    Attributes
    ----------
    most_stages
        Longer chains get the peak bound only: the model has about 15 columns for each pair of
        stages.
    most_stages_for_simplex
        Stages up to which the simplex method solves it. Above, the interior point method is faster.
    gap_without_a_basis
        Share of the optimum by which the bound of the interior point may be below it. Where it is
        by more, the method goes on to a basis.
    """

    most_stages: int = 100
    most_stages_for_simplex: int = 8
    gap_without_a_basis: float = 1e-3


CYCLE = CycleParams()


def bound_training_cycle(
    problem: TrainingChain, options: SolveOptions, params: CycleParams = CYCLE
) -> Outcome:
    """Bound the time of every schedule by the linear program around the cycle of a step.

    At the time limit the bound is the time without recomputation, transfers and updates.

    Returns
    -------
    Outcome
        A bound for all schedules in exact arithmetic, or the proof that nothing fits.
    """
    refused = training_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    base = exact_bound(problem.base_time_ns, ScheduleClass.ALL, "cycle")
    stages = len(problem.instance)
    if problem.memory_bytes >= problem.keep_all_peak_bytes and not _has_updates(problem):
        return Outcome(termination=Termination.COMPLETED, bounds=(base,))
    base = bound_peak(problem, options) or base
    if stages > params.most_stages:
        return Outcome(
            termination=Termination.MEMORY_LIMIT,
            bounds=(base,),
            note=f"the model of {stages} stages is larger than the {params.most_stages} that are "
            "tried; the bound is that of the memory at its peak",
        )
    clock = Clock(options.time_limit_s)
    try:
        built = build_cycle_bound(problem, clock.require_time)
    except TimeoutError:
        return Outcome(
            termination=Termination.TIME_LIMIT, bounds=(base,), note="the model was not built"
        )
    work = {"rows": built.model.num_rows, "columns": built.model.num_columns}
    proved_ns, termination, note = 0, Termination.ERROR, None
    for algorithm in algorithms_for(stages, params):
        if not clock.left_s:
            break
        highs = HighsOptions(
            time_limit_s=None if math.isinf(clock.left_s) else clock.left_s,
            threads=options.threads,
            seed=options.seed,
            linear_algorithm=algorithm,
        )
        try:
            solution = solve_in_time(built.model, highs)
        except SolverError as failed:
            note = f"the model: {failed}"
            continue
        if solution.termination in {Termination.TIME_LIMIT, Termination.INTERRUPTED}:
            termination, note = solution.termination, "the model was not solved to the end"
            break
        proved = proved_by(built, solution)
        if proved is None:
            lacking = _lacking(problem, highs)
            if lacking is not None:
                return Outcome(termination=Termination.COMPLETED, infeasibility=lacking, work=work)
            note = "the multipliers of the model prove nothing"
            continue
        proved_ns = max(proved_ns, proved[0])
        termination, note = Termination.COMPLETED, None
        if proved[1] <= params.gap_without_a_basis:
            break
    if proved_ns > base.time_ns:
        base = exact_bound(proved_ns, ScheduleClass.ALL, "cycle")
    return Outcome(termination=termination, bounds=(base,), work=work, note=note)


def algorithms_for(stages: int, params: CycleParams) -> tuple[LinearAlgorithm, ...]:
    """Return the ways to solve the program of so many stages, the first one first."""
    if stages <= params.most_stages_for_simplex:
        return (LinearAlgorithm.CHOOSE,)
    return LinearAlgorithm.INTERIOR, LinearAlgorithm.CROSSOVER


def _lacking(problem: TrainingChain, highs: HighsOptions) -> Infeasibility | None:
    """Return the proof that no schedule fits, if the multipliers of the missing memory are one."""
    built = build_missing_memory(problem)
    try:
        solution = solve_in_time(built.model, highs)
    except SolverError:
        # What it refuses proves nothing, and the model of the time is not solved either.
        return None
    if solution.row_duals is None:
        return None
    proved = exact_dual_bound(built.model, solution.row_duals)
    if proved is None or proved <= 0:
        return None
    return Infeasibility(
        valid_for=ScheduleClass.ALL,
        least_memory_bytes=problem.memory_bytes + built.scale.size_bytes(proved),
        is_exact=False,
        formulation={"name": "cycle", "version": 1},
    )


def _has_updates(problem: TrainingChain) -> bool:
    """Tell whether updates take time that a step without limits may still have to give them."""
    return any(stage.update_ns for stage in problem.instance)
