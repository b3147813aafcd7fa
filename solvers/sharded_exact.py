"""The fastest plan of a sharded graph: strategies and recomputation decided together.

KIWI's full problem, (1) and (12) to (23), which the paper solves up to 26 operators and calls out
of reach beyond. The search is `sharded_search`'s.
"""

from __future__ import annotations

from jettison.instances.remat_sharding import RematSharding
from jettison.schedules.schedule_class import ScheduleClass
from jettison.solvers.bound import Evidence
from jettison.solvers.clock import Clock
from jettison.solvers.outcome import Infeasibility, Outcome, Problem, SolveOptions
from jettison.solvers.sharded_memory_floor import too_little_memory
from jettison.solvers.sharded_presolve import presolve_sharding
from jettison.solvers.sharded_search import ShardedSearch
from jettison.solvers.status import Termination

# Forbidden strategies and pairs leave no choice: no memory would do.
_NO_CHOICE = Infeasibility(
    valid_for=ScheduleClass.ALL, least_memory_bytes=None, is_exact=False, evidence=Evidence.EXACT
)


def solve_sharded_exact(problem: Problem, options: SolveOptions) -> Outcome:
    """Solve, and end at the gap, at the time limit or on Ctrl-C with the best plan and bound.

    Returns
    -------
    Outcome
        The best plan, a bound in exact arithmetic, and where it is larger one that rests on HiGHS.
        Or a proof that nothing fits: where forbidden pairs leave no choice, where the memory is
        below what one operator needs with the least strategies, or where a model has no point.
    """
    assert isinstance(problem, RematSharding)
    clock = Clock(options.time_limit_s)
    refused = too_little_memory(problem)
    if refused is not None:
        return refused
    presolved = presolve_sharding(problem)
    if presolved is None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=_NO_CHOICE)
    search = ShardedSearch(presolved, options, clock, "exact")
    try:
        termination = search.run()
    except KeyboardInterrupt:
        termination = Termination.INTERRUPTED
    return search.outcome(termination)
