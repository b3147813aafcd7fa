"""kiwi-full-scip, kiwi-reduced-scip: KIWI's quadratic programs as they are printed, by SCIP.

Source: KIWI, Sections 3 and 4.1, where Gurobi solves them; needs ``pip install 'jettison[scip]'``.
The models are `formulations.remat_sharding.kiwi.full` and
`formulations.remat_sharding.kiwi.reduced` with their products of columns. What comes before and
after is that of kiwi-full and kiwi-reduced: the fastest sharding without a limit, baselines as a
start, the replay, and for the reduced problem the least memory in which it has a plan, by HiGHS.
Bounds are SCIP's, in floating point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from jettison.formulations.milp.quadratic_model import QuadraticModel
from jettison.formulations.remat_sharding.kiwi.full import KiwiFull, KiwiFullModel
from jettison.formulations.remat_sharding.kiwi.reduced import KiwiReduced, KiwiReducedModel
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.milp.scip import ScipOptions, require_scip, solve_quadratic
from jettison.solvers.milp.solution import ModelSolution, Progress
from jettison.solvers.remat_sharding.kiwi.engine import EngineRun
from jettison.solvers.remat_sharding.kiwi.full import FULL, KiwiFullParams, find_full
from jettison.solvers.remat_sharding.kiwi.reduced import find_by
from jettison.solvers.remat_sharding.kiwi.search import KiwiParams, KiwiSearch


@dataclass(frozen=True, kw_only=True)
class KiwiReducedScipParams(KiwiParams):
    """Parameters of kiwi-reduced-scip.

    Attributes
    ----------
    most_columns
        Columns of the largest model that is built. Pyomo takes some ten seconds for so many, and
        cannot be interrupted.
    """

    most_columns: int = 100_000


REDUCED_SCIP = KiwiReducedScipParams()


def solve_kiwi_full_scip(
    problem: RematSharding, options: SolveOptions, params: KiwiFullParams = FULL
) -> Outcome:
    """Find the fastest staged schedule by the quadratic program, with a bound for staged schedules.

    Models of too many products are declined, as by kiwi-full. The time limit is kept; a limit on
    work counts for the fastest sharding and the baselines only.

    Raises
    ------
    MissingExtraError
        If PySCIPOpt is not installed.
    """
    require_scip()
    return find_full(problem, options, params, KIWI_FULL_SCIP)


def solve_kiwi_reduced_scip(
    problem: RematSharding,
    options: SolveOptions,
    params: KiwiReducedScipParams = REDUCED_SCIP,
) -> Outcome:
    """Find the fastest plan of the reduced problem by the quadratic program, with its bound.

    Models of too many columns (`KiwiReduced.estimated_columns`) are declined with a note. The time
    limit is kept; a limit on work counts for the fastest sharding, the baselines and the least
    memory only.

    Raises
    ------
    MissingExtraError
        If PySCIPOpt is not installed.
    """
    require_scip()
    columns = KiwiReduced().estimated_columns(problem.instance)

    def run(asked: RematSharding, options: SolveOptions, clock: Clock) -> Outcome:
        if columns > params.most_columns:
            note = (
                f"KIWI's reduced model as it is printed has about {columns:,} columns here, more "
                f"than the {params.most_columns:,} that are tried; use another method"
            )
            return Outcome(termination=Termination.MEMORY_LIMIT, note=note)
        return KIWI_REDUCED_SCIP.run_after_baselines(asked, options, clock, params)

    return find_by(problem, options, params, run)


def run_scip(run: EngineRun[QuadraticModel]) -> ModelSolution:
    """Solve a quadratic model by SCIP, and raise the bound by what it proves."""
    scale, bounds, incumbent = run.model.time_scale, run.bounds, run.incumbent

    def is_enough(progress: Progress) -> bool:
        bounds.believe(progress.dual_bound, scale, run.valid_for)
        incumbent.report()
        return incumbent.is_settled

    left_s = run.clock.left_s
    solution = solve_quadratic(
        run.model.model,
        ScipOptions(
            time_limit_s=None if run.options.time_limit_s is None else left_s,
            seed=run.options.seed,
            start=run.start,
        ),
        on_point=run.offer,
        on_progress=is_enough,
    )
    bounds.believe(solution.dual_bound, scale, run.valid_for)
    if incumbent.is_settled:
        return replace(solution, termination=incumbent.end)
    return solution


def _build_full(problem: RematSharding, clock: Clock) -> tuple[KiwiFullModel, QuadraticModel]:
    built = KiwiFull().build(problem, clock.require_time)
    clock.require_time()
    return built, QuadraticModel(built.concrete)


def _build_reduced(problem: RematSharding, clock: Clock) -> tuple[KiwiReducedModel, QuadraticModel]:
    clock.require_time()
    built = KiwiReduced().build(problem)
    clock.require_time()
    return built, QuadraticModel(built.concrete)


KIWI_FULL_SCIP = KiwiSearch("kiwi-full-scip", ScheduleClass.STAGED, _build_full, run_scip)
KIWI_REDUCED_SCIP = KiwiSearch(
    "kiwi-reduced-scip", ScheduleClass.KIWI_REDUCED, _build_reduced, run_scip
)
