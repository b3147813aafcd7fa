"""Decision whether a step without idle time exists, by the event model at that period."""

from __future__ import annotations

from dataclasses import dataclass, replace

from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.weight_offload.timed_events.least_period import (
    EventMilp,
    ValidRow,
    WithoutIdle,
)
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_of_a_method import highs_options
from jettison.solvers.weight_offload.events.event_order import EventOrder

IDLE_FREE = EventMilp(WithoutIdle(), strengthened=frozenset(ValidRow))


@dataclass(frozen=True, kw_only=True)
class IdleFreeAnswer:
    """Answer to the question for a step without idle time.

    Attributes
    ----------
    termination
        Why HiGHS stopped.
    schedule
        Such a step, not yet replayed, if one was found.
    is_refuted
        Whether HiGHS found that there is none.
    nodes
        Its nodes.
    """

    termination: Termination
    schedule: CyclicSchedule | None
    is_refuted: bool
    nodes: int

    def bound(self, problem: WeightOffload, method: str) -> Bound:
        """Return what a refutation says of the period, which is a whole number of nanoseconds."""
        return Bound(
            time_ns=problem.base_time_ns + 1,
            valid_for=ScheduleClass.ALL,
            evidence=Evidence.SOLVER,
            method=method,
        )


def seek_without_idle(
    problem: WeightOffload, options: SolveOptions, clock: Clock, work_limit: int | None = None
) -> IdleFreeAnswer:
    """Search for a step without idle time, or find that there is none.

    Parameters
    ----------
    problem
        The problem.
    options
        Threads and seed of HiGHS.
    clock
        The time limit, within which the model is also written.
    work_limit
        Work after which HiGHS stops, as `jettison.solvers.milp.highs_work` counts it; None for no
        limit but that of time.

    Raises
    ------
    TimeoutError
        If the time ends before the model is written.
    SolverError
        If HiGHS fails.
    """
    built = IDLE_FREE.build(problem, clock.require_time)
    model = from_pulp(built.problem, clock.require_time).model
    limits = replace(highs_options(options, clock, gap=0), work_limit=work_limit)
    solution = solve_in_time(model, limits)
    schedule = None
    if solution.values is not None:
        schedule = EventOrder.from_point(built.frame, solution.by_name(model)).schedule()
    return IdleFreeAnswer(
        termination=solution.termination,
        schedule=schedule,
        is_refuted=solution.answer is Answer.INFEASIBLE,
        nodes=solution.nodes,
    )
