"""exact: the fastest plan of a sharded graph, strategies and recomputation decided together.

KIWI's full problem, (1) and (12) to (23), which the paper solves for up to 26 operators and calls
out of reach beyond. The rounds are in `search`.
"""

from __future__ import annotations

from dataclasses import replace

from jettison.instances.remat_sharding.problem import RematSharding
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_sharding.schedule import ShardedSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.search import search_in_rounds
from jettison.solvers.core.status import Answer
from jettison.solvers.milp.highs_of_a_method import highs_options
from jettison.solvers.remat_sharding.exact.presolved import presolve_sharding
from jettison.solvers.remat_sharding.exact.search import SHARDED, ShardedParams, ShardedRounds
from jettison.solvers.remat_sharding.fastest_plan import fastest_sharding
from jettison.solvers.remat_sharding.memory_floor import too_little_memory
from jettison.solvers.remat_sharding.no_choice import no_choice
from jettison.solvers.remat_sharding.sizes_that_matter import with_sizes_that_matter


def solve_sharded_exact(
    problem: RematSharding, options: SolveOptions, params: ShardedParams = SHARDED
) -> Outcome:
    """Return the fastest plan, proved, or at a limit the best plan with its bound.

    Returns
    -------
    Outcome
        The best plan, a bound in exact arithmetic, and where it is larger one that rests on HiGHS.
        Or a proof that nothing fits: where forbidden pairs leave no choice, where the memory is
        below what one operator needs with the least strategies, or where a model has no point.
    """
    clock = Clock(options.time_limit_s)
    refused = too_little_memory(problem)
    if refused is not None:
        return refused
    presolved = presolve_sharding(with_sizes_that_matter(problem))
    if presolved is None:
        return no_choice(problem.instance)
    rounds = ShardedRounds(problem, presolved, options, clock, "exact", params)
    rounds.incumbent.begin_from(options.start, ShardedSchedule, ScheduleClass.STAGED)
    with Ending() as ending:
        rounds.improve_the_start()
        rounds.find_a_plan_of_a_large_problem()
        rounds.bound_a_large_problem()
        ending.termination = search_in_rounds(rounds, rounds.incumbent, clock)
    outcome = rounds.outcome(ending.termination)
    if outcome.infeasibility is not None and clock.left_s:
        # A model without a point does not tell whether more memory would suffice.
        fastest = fastest_sharding(presolved.problem.instance, highs_options(options, clock, gap=0))
        if fastest.answer is Answer.INFEASIBLE:
            return replace(no_choice(problem.instance), work=outcome.work)
    return outcome
