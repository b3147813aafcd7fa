"""kiwi-reduced: KIWI's reduced problem by HiGHS, the best plan under three simplifications.

Source: KIWI, Section 3.2, in the compact form (`formulations.remat_sharding.kiwi.compact`). First
comes the fastest sharding without a limit, which bounds every schedule; where it fits, it is the
answer. Otherwise the model is solved, a large one after messages (`reduced_rounds`); its bound
holds for plans of the reduced problem only. Where no plan fits, the time that is left goes into the
least memory in which one does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.remat_graph.checkmate import Peak
from jettison.formulations.remat_sharding.kiwi.compact import (
    KiwiReducedCompact,
    KiwiReducedCompactModel,
)
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_sharding.reduced_recomputation import has_reduced_problem
from jettison.schedules.remat_sharding.schedule import ShardedSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Infeasibility, Outcome, SolveOptions
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.core.work import moves_of_a_limit, share_of_moves
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_of_a_method import highs_options
from jettison.solvers.remat_sharding.fastest_plan import fastest_sharding
from jettison.solvers.remat_sharding.kiwi.engine import run_highs
from jettison.solvers.remat_sharding.kiwi.reduced_rounds import (
    REDUCED,
    ReducedParams,
    ReducedSearch,
)
from jettison.solvers.remat_sharding.kiwi.search import KiwiParams
from jettison.solvers.remat_sharding.memory_floor import settled_by_the_fastest, too_little_memory


def solve_kiwi_reduced(
    problem: RematSharding, options: SolveOptions, params: ReducedParams = REDUCED
) -> Outcome:
    """Find the fastest plan of KIWI's reduced problem, with a bound that holds for such plans.

    Returns
    -------
    Outcome
        Bounds for all schedules (the fastest sharding) and for the reduced problem. If no plan of
        it fits, the least memory in which one does, exact if time allows; none where forbidden
        pairs leave no choice. A graph in which a forward operator comes after a backward one has no
        reduced problem; the note says so.
    """
    search = replace(KIWI_REDUCED, params=params)
    run = partial(search.run_after_baselines, params=params)
    return find_by(problem, options, params, run)


def find_reduced(
    problem: RematSharding,
    options: SolveOptions,
    known: ShardedSchedule | None,
    params: KiwiParams,
) -> Outcome:
    """Solve the reduced problem from a known plan, if that is one of its plans."""
    start = KIWI_REDUCED.of_the_class(problem, known)
    return find_by(problem, options, params, partial(KIWI_REDUCED.run, known=start))


def find_by(
    problem: RematSharding,
    options: SolveOptions,
    params: KiwiParams,
    run: Callable[[RematSharding, SolveOptions, Clock], Outcome],
) -> Outcome:
    """Run a search by a form of the reduced model, unless the fastest plan or sizes settle it.

    Where no plan of the reduced problem fits, the least memory in which one does is looked for.
    """
    clock = Clock(options.time_limit_s)
    refused = too_little_memory(problem)
    if refused is not None:
        return refused
    most_moves = share_of_moves(moves_of_a_limit(options), params.share_of_the_fastest)
    fastest = fastest_sharding(problem.instance, highs_options(options, clock, gap=0), most_moves)
    settled = settled_by_the_fastest(problem, fastest, options)
    if settled is not None:
        return settled
    known = Outcome(
        termination=fastest.termination,
        bounds=() if fastest.bound is None else (fastest.bound,),
        note="no schedule was found before the end of the search",
    )
    if not has_reduced_problem(problem.instance):
        note = "an operator that is not backward comes after one that is; use another method"
        return replace(known, termination=Termination.COMPLETED, note=note)
    if fastest.termination is Termination.INTERRUPTED or not clock.left_s:
        return known
    found = run(problem, options, clock)
    proof = found.infeasibility
    if proof is not None and proof.valid_for is ScheduleClass.KIWI_REDUCED:
        found = _with_least_memory(found, proof, problem, options, clock)
    return replace(found, bounds=(*known.bounds, *found.bounds))


def _build(problem: RematSharding, clock: Clock) -> tuple[KiwiReducedCompactModel, ArrayModel]:
    clock.require_time()
    built = KiwiReducedCompact().build(problem)
    return built, built.model


KIWI_REDUCED = ReducedSearch("kiwi-reduced", ScheduleClass.KIWI_REDUCED, _build, run_highs)


def _with_least_memory(
    refused: Outcome,
    proof: Infeasibility,
    problem: RematSharding,
    options: SolveOptions,
    clock: Clock,
) -> Outcome:
    """Find the least memory in which there is a plan, within the time that is left."""
    known_bytes = proof.least_memory_bytes
    if known_bytes is None or not clock.left_s:
        # There is no time for a search.
        return refused
    sharded = problem.instance
    most_bytes = sum(
        max(strategy.memory_bytes for strategy in operator.strategies)
        for operator in sharded.operators
    )
    built = KiwiReducedCompact(Peak(known_bytes)).build(RematSharding(sharded, most_bytes))
    solution = solve_in_time(built.model, highs_options(options, clock, gap=0))
    least_bytes = known_bytes
    if solution.dual_bound is not None:
        proved_bytes = built.memory_scale.bound_from_model(solution.dual_bound)
        least_bytes = max(least_bytes, proved_bytes)
    is_exact = False
    if solution.answer is Answer.OPTIMAL:
        schedule = built.schedule(solution.by_name(built.model))
        peak_bytes = schedule.replay(sharded).peak_bytes
        is_exact = peak_bytes == least_bytes
    better = replace(proof, least_memory_bytes=least_bytes, is_exact=is_exact)
    return replace(refused, infeasibility=better)
