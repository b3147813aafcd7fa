"""What the memory alone says of a sharded graph: no plan fits, or the fastest one does."""

from __future__ import annotations

from jettison.instances.remat_sharding import RematSharding
from jettison.schedules.schedule_class import ScheduleClass
from jettison.schedules.sharded_schedule import ShardedSchedule
from jettison.solvers.fastest_sharding import FastestSharding
from jettison.solvers.outcome import Infeasibility, Outcome
from jettison.solvers.status import Termination


def too_little_memory(problem: RematSharding) -> Outcome | None:
    """Prove, from sizes alone, that no plan in the order of the graph fits, if they say so.

    In another order an operator may run before a parameter that comes before it is there.
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


def memory_for_the_fastest(problem: RematSharding, fastest: FastestSharding) -> Outcome | None:
    """Return the fastest plan without recomputation if it is proved and fits."""
    if fastest.strategies is None or fastest.bound is None or not fastest.is_proved:
        return None
    sharded = problem.instance
    schedule = ShardedSchedule.from_computations(sharded, fastest.strategies, range(len(sharded)))
    if not schedule.replay(sharded, problem.memory_bytes).valid:
        return None
    return Outcome(termination=Termination.COMPLETED, schedule=schedule, bounds=(fastest.bound,))
