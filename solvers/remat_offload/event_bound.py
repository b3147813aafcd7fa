r"""Lower bound for chains with offloading from one model over all first starts.

The model is in `jettison.formulations.remat_offload.events`. Its linear relaxation is solved by
HiGHS, and its multipliers are evaluated in exact arithmetic (`exact_dual_bound`): the coefficients
of the model are exact, or rounded so that it still relaxes every schedule, and this bound is proved
whatever the solver did. Chains of a few stages are then solved with their binaries for the time
that is left; that bound rests on the solver. If the solver breaks down there, the bound of the
relaxation stands; if it breaks down on the relaxation, only the base time is proved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from jettison.formulations.remat_offload.cut import Divisible, Whole
from jettison.formulations.remat_offload.events import OffloadEvents, OffloadEventsModel
from jettison.instances.core.link import Transfers
from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Outcome, Progress, SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.core.status import Answer, SolverError, Termination
from jettison.solvers.milp.exact_dual_bound import exact_dual_bound
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.remat_offload.least_memory import offload_infeasibility

# HiGHS counts a fraction of a tensor below this as none of it. With its default of 1e-6 its bound
# was nanoseconds too high where a copy takes millions of them: what is copied meanwhile was lost.
_FEASIBILITY_TOLERANCE = 1e-9
# By how much a dual bound of HiGHS may be too high for that reason: absolute, in a model whose
# copies take up to 1024, in each of 4 N <= 20 intervals.
_SOLVER_TOLERANCE = 2e-5


@dataclass(frozen=True, kw_only=True)
class EventParams(Params):
    """On chains of which lengths the models over all first starts are solved.

    Attributes
    ----------
    most_stages_with_binaries
        Longer chains are not solved with binaries: that takes minutes, and cut-bound proves as
        much.
    most_stages
        Longer chains are declined: their relaxation takes ten seconds at 40 stages, some minutes at
        60, and on random chains of ten stages or more cut-bound proves more in a tenth of the time.
    """

    most_stages_with_binaries: int = 5
    most_stages: int = 30


EVENTS = EventParams()


def bound_offload_events(
    problem: RematOffloadChain, options: SolveOptions, params: EventParams = EVENTS
) -> Outcome:
    """Bound the time of every schedule by the linear program over all first starts.

    At the time limit and on Ctrl-C the bounds found by then are returned, which may be none.

    Returns
    -------
    Outcome
        A bound of the relaxation in exact arithmetic, for short chains also one of the model with
        binaries that rests on the solver; or the proof that nothing fits.
    """
    clock = Clock(options.time_limit_s)
    refused = offload_infeasibility(problem.instance, problem.memory_bytes)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    stages = len(problem.instance)
    if stages > params.most_stages:
        return Outcome(
            termination=Termination.MEMORY_LIMIT,
            note=f"the model of {stages} stages is larger than the {params.most_stages} that are "
            "tried; use cut-bound",
        )
    tensors = Whole() if problem.transfers is Transfers.AT_ONCE else Divisible()
    built = OffloadEvents(tensors).build(problem)
    relaxed = built.model.relaxed()
    work = {"rows": relaxed.num_rows, "columns": relaxed.num_columns, "nodes": 0}
    try:
        solution = solve_in_time(relaxed, _highs_options(options, clock))
    except SolverError as failed:
        note = f"the linear relaxation: {failed}"
        return Outcome(termination=Termination.ERROR, work=work, note=note)
    if solution.row_duals is None:
        # The model has a point, since some schedule fits: HiGHS errs if it says that there is none.
        is_wrong = solution.answer is Answer.INFEASIBLE
        return Outcome(
            termination=Termination.ERROR if is_wrong else solution.termination,
            work=work,
            note="the linear relaxation was not solved to the end",
        )
    exact = exact_dual_bound(relaxed, solution.row_duals)
    extra_ns = 0 if exact is None else max(0, math.ceil(exact * built.time_unit_ns))
    bounds = [_bound(problem, extra_ns, Evidence.EXACT)]
    if options.on_progress is not None:
        options.on_progress(Progress(clock.seconds, None, bounds[0].time_ns))
    if stages > params.most_stages_with_binaries or not clock.left_s:
        return Outcome(termination=solution.termination, bounds=tuple(bounds), work=work)
    try:
        strict = replace(
            _highs_options(options, clock), feasibility_tolerance=_FEASIBILITY_TOLERANCE
        )
        solution = solve_in_time(built.model, strict)
    except SolverError as failed:
        # HiGHS 1.15 gives up on a few of these models, in a way that depends on its seed.
        note = f"with binaries: {failed}; the bound is that of the relaxation"
        return Outcome(termination=Termination.ERROR, bounds=tuple(bounds), work=work, note=note)
    work["nodes"] = solution.nodes
    extra_ns = _extra_ns(built, solution)
    if extra_ns > bounds[0].time_ns - problem.instance.base_time_ns:
        bounds.append(_bound(problem, extra_ns, Evidence.SOLVER))
    return Outcome(termination=solution.termination, bounds=tuple(bounds), work=work)


def _highs_options(options: SolveOptions, clock: Clock) -> HighsOptions:
    return HighsOptions(
        time_limit_s=None if math.isinf(clock.left_s) else clock.left_s,
        gap=options.gap,
        threads=options.threads,
        seed=options.seed,
    )


def _extra_ns(built: OffloadEventsModel, solution: ModelSolution) -> int:
    """Return the time beside the base time that a solver's bound proves, tolerance deducted."""
    if solution.dual_bound is None:
        return 0
    return max(0, math.ceil((solution.dual_bound - _SOLVER_TOLERANCE) * built.time_unit_ns))


def _bound(problem: RematOffloadChain, extra_ns: int, evidence: Evidence) -> Bound:
    return Bound(
        time_ns=problem.instance.base_time_ns + extra_ns,
        valid_for=ScheduleClass.ALL,
        evidence=evidence,
        method="event-bound",
    )
