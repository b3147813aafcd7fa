"""Lower bounds for weight offloading from any mixed-integer model, by HiGHS within limits."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, replace

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.weight_offload.scale import WeightOffloadScale
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, Progress, SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.core.status import SolverError, Termination
from jettison.solvers.milp.exact_dual_bound import exact_dual_bound
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_options import HighsOptions, LinearAlgorithm
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.milp.solution import Progress as ModelProgress
from jettison.solvers.weight_offload.exact.without_waiting import (
    WithoutWaitingParams,
    has_step_without_waiting,
)
from jettison.solvers.weight_offload.least_memory import weight_infeasibility

# Tolerance for binaries; with weights of 1024 in the model the default of HiGHS, 1e-6, would be a
# thousandth of the memory.
_FEASIBILITY_TOLERANCE = 1e-9


@dataclass(frozen=True, kw_only=True)
class RelaxationParams(Params):
    """Parameters of the relaxation of a model.

    Attributes
    ----------
    most_rows_for_simplex
        Rows up to which the simplex method solves it. Above, the interior point method is faster:
        3 s in place of 12 for AGG at 1000 layers.
    """

    most_rows_for_simplex: int = 5_000


@dataclass(frozen=True, eq=False)
class ModelBound:
    """Lower bound from a run of HiGHS on a model.

    Attributes
    ----------
    time_ns
        The bound on the time of every schedule.
    termination
        Why the run ended.
    nodes
        Branch-and-bound nodes.
    note
        What went wrong, or None.
    """

    time_ns: int
    termination: Termination
    nodes: int = 0
    note: str | None = None


def settled_without_model(
    problem: WeightOffload, method: str, clock: Clock, params: WithoutWaitingParams
) -> Outcome | None:
    """Return the outcome of a problem that needs no model, or None if it needs one.

    That is the case where nothing fits, and where a step takes no more than the base time.
    """
    refused = weight_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    everything_fits = problem.memory_bytes >= problem.cycle.no_offload_peak_bytes
    if everything_fits or has_step_without_waiting(problem, clock, params):
        bounds = (exact_bound(problem.instance.base_time_ns, method),)
        return Outcome(termination=Termination.COMPLETED, bounds=bounds)
    return None


def exact_bound(time_ns: int, method: str) -> Bound:
    """Return a bound that was computed in exact arithmetic."""
    return Bound(
        time_ns=time_ns, valid_for=ScheduleClass.ALL, evidence=Evidence.EXACT, method=method
    )


def bound_by_model(
    model: ArrayModel,
    scale: WeightOffloadScale,
    method: str,
    options: SolveOptions,
    clock: Clock,
    linear_algorithm: LinearAlgorithm = LinearAlgorithm.CHOOSE,
    work_limit: int | None = None,
) -> Outcome:
    """Bound by the relaxation of a model in exact arithmetic, then by the model.

    The objective of the model is idle time. At the time limit and on Ctrl-C the outcome has what
    was proved by then.

    Parameters
    ----------
    model, scale
        The model, and the scale of its objective.
    method
        The method's name, for the bounds.
    options, clock
        Options of the method, and the time that is left.
    linear_algorithm
        For the relaxation; if it breaks down, HiGHS chooses another.
    work_limit
        For the model with its integers, as `highs_work` counts; None for no end but the time's.
    """
    exact_ns = scale.problem.instance.base_time_ns
    work = {"rows": model.num_rows, "columns": model.num_columns, "nodes": 0}
    found = ModelBound(exact_ns, Termination.INTERRUPTED)
    with Ending() as ending:
        relaxation = solve_relaxation(model, options, clock, linear_algorithm)
        exact_ns = relaxed_bound_ns(model, scale, relaxation)
        found = ModelBound(exact_ns, relaxation.termination)
        if options.on_progress is not None:
            options.on_progress(Progress(clock.seconds, None, exact_ns))
        if relaxation.row_duals is not None and clock.left_s:
            found = solve_for_bound(model, scale, options, clock, exact_ns, work_limit)
    if not ending.termination.is_regular:
        # Ctrl-C came between two runs of HiGHS, which report it themselves.
        found = replace(found, termination=ending.termination)
    work["nodes"] = found.nodes
    bounds = [exact_bound(exact_ns, method)]
    if found.time_ns > exact_ns:
        bounds.append(replace(bounds[0], time_ns=found.time_ns, evidence=Evidence.SOLVER))
    return Outcome(termination=found.termination, bounds=tuple(bounds), work=work, note=found.note)


def algorithm_for(model: ArrayModel, params: RelaxationParams) -> LinearAlgorithm:
    """Return the algorithm for the relaxation of a model of this size."""
    is_large = model.num_rows > params.most_rows_for_simplex
    return LinearAlgorithm.INTERIOR if is_large else LinearAlgorithm.CHOOSE


def solve_relaxation(
    model: ArrayModel, options: SolveOptions, clock: Clock, algorithm: LinearAlgorithm
) -> ModelSolution:
    """Solve the relaxation, whose multipliers prove a bound whatever the tolerances are."""
    relaxed = model.relaxed()
    loose = replace(_highs_options(options, clock), feasibility_tolerance=None)
    solution = solve_in_time(relaxed, replace(loose, linear_algorithm=algorithm))
    if solution.termination is not Termination.ERROR or algorithm is LinearAlgorithm.CHOOSE:
        return solution
    left_s = _highs_options(options, clock).time_limit_s
    return solve_in_time(relaxed, replace(loose, time_limit_s=left_s))


def relaxed_bound_ns(
    model: ArrayModel, scale: WeightOffloadScale, relaxation: ModelSolution
) -> int:
    """Return the time that the relaxation's multipliers prove; the base time if it has none."""
    proved = None
    if relaxation.row_duals is not None:
        proved = exact_dual_bound(model, relaxation.row_duals)
    return scale.time_ns(0 if proved is None else proved)


def solve_for_bound(
    model: ArrayModel,
    scale: WeightOffloadScale,
    options: SolveOptions,
    clock: Clock,
    known_ns: int,
    work_limit: int | None = None,
) -> ModelBound:
    """Solve a model with its integers, and return what its dual bound proves.

    The run ends when its dual bound is within the gap of the options from the best point.

    Parameters
    ----------
    model, scale, options, clock, work_limit
        As in `bound_by_model`.
    known_ns
        A bound that is known already.
    """
    stop = threading.Event()
    why: Termination | None = None

    def watch(progress: ModelProgress) -> None:
        nonlocal why
        bound_ns = known_ns
        if progress.dual_bound is not None:
            bound_ns = max(bound_ns, scale.time_from_solver_ns(progress.dual_bound))
        if options.on_progress is not None:
            options.on_progress(Progress(clock.seconds, None, bound_ns))
        if progress.objective is not None:
            most_ns = scale.time_ns(progress.objective)
            if most_ns <= bound_ns:
                why = Termination.COMPLETED
            elif options.is_close_enough(most_ns, bound_ns, scale.problem.instance.base_time_ns):
                why = Termination.GAP_REACHED
        if why is not None:
            stop.set()

    try:
        limits = replace(_highs_options(options, clock), work_limit=work_limit)
        solution = solve_in_time(model, limits, watch, stop=stop)
    except SolverError as failed:
        return ModelBound(known_ns, Termination.ERROR, note=str(failed))
    time_ns = known_ns
    if solution.dual_bound is not None:
        time_ns = max(time_ns, scale.time_from_solver_ns(solution.dual_bound))
    termination = solution.termination
    if why is not None and termination is Termination.INTERRUPTED:
        termination = why
    return ModelBound(time_ns, termination, solution.nodes)


def _highs_options(options: SolveOptions, clock: Clock) -> HighsOptions:
    return HighsOptions(
        time_limit_s=None if math.isinf(clock.left_s) else clock.left_s,
        gap=0,
        threads=options.threads,
        seed=options.seed,
        feasibility_tolerance=_FEASIBILITY_TOLERANCE,
    )
