"""kiwi-full: KIWI's full problem by HiGHS, Checkmate's stages with strategies, for small graphs.

Source: KIWI, Section 3.1 and Appendix 7.1; the model with its products linearised is
`formulations.remat_sharding.kiwi.full`. First comes the fastest sharding without a limit, which
bounds every schedule; where it fits, it is the answer. HiGHS solves graphs of about a dozen
operators.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.from_pyomo import from_pyomo
from jettison.formulations.remat_sharding.kiwi.full import KiwiFull, KiwiFullModel
from jettison.formulations.remat_sharding.kiwi.products import Linearised
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.core.work import moves_of_a_limit, share_of_moves
from jettison.solvers.milp.highs_of_a_method import highs_options
from jettison.solvers.remat_sharding.fastest_plan import fastest_sharding
from jettison.solvers.remat_sharding.kiwi.engine import M, run_highs
from jettison.solvers.remat_sharding.kiwi.search import KiwiParams, KiwiSearch
from jettison.solvers.remat_sharding.memory_floor import settled_by_the_fastest, too_little_memory


@dataclass(frozen=True, kw_only=True)
class KiwiFullParams(KiwiParams):
    """Parameters of kiwi-full.

    Attributes
    ----------
    most_products
        Products of the largest model that is built. With more, Pyomo takes some ten seconds to
        build it, and HiGHS does not solve it.
    compiling_per_writing
        Time of Pyomo's compiler, as a multiple of the time of building the model. In CPU seconds it
        was 1.6 for the 9,550 products of mlp-26-mesh1x4, and .7, 1.5 and 2.4 for random graphs of
        662, 1,113 and 355.
    """

    most_products: int = 50_000
    compiling_per_writing: float = 1.6


FULL = KiwiFullParams()


def solve_kiwi_full(
    problem: RematSharding, options: SolveOptions, params: KiwiFullParams = FULL
) -> Outcome:
    """Find the fastest staged schedule over all strategies, with a bound for staged schedules.

    Models of too many products (`KiwiFull.estimated_products`) are declined with a note.
    """
    return find_full(
        problem, options, params, replace(KIWI_FULL, build=partial(_build, params=params))
    )


def find_full(
    problem: RematSharding, options: SolveOptions, params: KiwiFullParams, search: KiwiSearch[M]
) -> Outcome:
    """Search by a form of the full model, unless the fastest plan or sizes settle the matter."""
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
    products = KiwiFull().estimated_products(problem.instance)
    if products > params.most_products:
        note = (
            f"KIWI's full model of this graph has about {products:,} products, more than the "
            f"{params.most_products:,} that are tried; use another method"
        )
        return replace(known, termination=Termination.MEMORY_LIMIT, note=note)
    if fastest.termination is Termination.INTERRUPTED or not clock.left_s:
        return known
    found = search.run_after_baselines(problem, options, clock, params)
    return replace(found, bounds=(*known.bounds, *found.bounds))


def _build(
    problem: RematSharding, clock: Clock, params: KiwiFullParams = FULL
) -> tuple[KiwiFullModel, ArrayModel]:
    before_s = clock.seconds
    built = KiwiFull(Linearised()).build(problem, clock.require_time)
    # Pyomo's compiler cannot be interrupted: it starts only if it is likely to end in time.
    if clock.left_s < params.compiling_per_writing * (clock.seconds - before_s):
        raise TimeoutError
    return built, from_pyomo(built.concrete).model


KIWI_FULL = KiwiSearch("kiwi-full", ScheduleClass.STAGED, _build, run_highs)
