"""Cases of a sharded graph that sizes settle: nothing fits, or the fastest plan does."""

from __future__ import annotations

from dataclasses import replace

from jettison.instances.remat_sharding.problem import RematSharding
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_sharding.schedule import ShardedSchedule
from jettison.solvers.core.outcome import Infeasibility, Outcome, SolveOptions
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.milp.tolerance import left_open
from jettison.solvers.remat_sharding.fastest_plan import FastestSharding
from jettison.solvers.remat_sharding.no_choice import no_choice


def too_little_memory(problem: RematSharding) -> Outcome | None:
    """Return the proof from sizes alone that no plan in the order of the graph fits, or None.

    In another order an operator may run before a parameter that precedes it is in memory.
    """
    sharded = problem.instance
    if problem.memory_bytes >= sharded.least_peak_bound_bytes:
        return None
    return Outcome(
        termination=Termination.COMPLETED,
        infeasibility=Infeasibility(
            valid_for=ScheduleClass.IN_ORDER,
            least_memory_bytes=sharded.least_peak_bound_bytes,
            is_exact=False,
            needed_by=sharded.neediest_operator,
        ),
    )


def settled_by_the_fastest(
    problem: RematSharding, fastest: FastestSharding, options: SolveOptions
) -> Outcome | None:
    """Return the fastest plan without recomputation if it fits.

    Returns the proof that there is no plan where forbidden pairs leave no choice.
    """
    sharded = problem.instance
    if fastest.answer is Answer.INFEASIBLE:
        return no_choice(sharded)
    if fastest.strategies is None or fastest.bound is None or fastest.answer is not Answer.OPTIMAL:
        return None
    schedule = ShardedSchedule.from_computations(sharded, fastest.strategies, range(len(sharded)))
    replay = schedule.replay(sharded, problem.memory_bytes)
    if not replay.valid:
        return None
    outcome = Outcome(termination=Termination.COMPLETED, schedule=schedule, bounds=(fastest.bound,))
    base_ns = sharded.base_time_ns
    bound_ns = max(fastest.bound.time_ns, base_ns)
    if replay.time_ns <= bound_ns:
        return outcome
    if options.is_close_enough(replay.time_ns, bound_ns, base_ns):
        return replace(outcome, termination=Termination.GAP_REACHED)
    # A larger model of the same amounts proves no more.
    return left_open(outcome)
