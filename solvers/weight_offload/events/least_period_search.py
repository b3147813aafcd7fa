"""Search for the least period by HiGHS with the event model, from the order of a schedule."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Protocol

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.weight_offload.timed_events.least_period import (
    EventMilp,
    LeastPeriod,
    ValidRow,
)
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_of_a_method import highs_options
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.milp.solution import Progress as ModelProgress
from jettison.solvers.weight_offload.events.event_order import EventOrder
from jettison.solvers.weight_offload.events.order_of_schedule import order_of_schedule, start_point


class PeriodListener(Protocol):
    """Listener to a search for the least period: it keeps schedules and bounds."""

    def take(self, schedule: CyclicSchedule | None) -> None:
        """Keep a schedule if it is faster, and the replay accepts it."""

    def raise_by_solver(self, time_ns: int) -> None:
        """Keep a bound of HiGHS if it is larger."""

    @property
    def is_closed(self) -> bool:
        """Whether schedule and bound are as close as was asked for."""


def least_period_milp(period_ns: int, bound_ns: int) -> EventMilp:
    """Return the model of the periods from a bound up to that of a schedule."""
    return EventMilp(LeastPeriod(period_ns, bound_ns), strengthened=frozenset({ValidRow.ENERGY}))


def seek_least_period(
    problem: WeightOffload,
    milp: EventMilp,
    start: CyclicSchedule,
    listener: PeriodListener,
    options: SolveOptions,
    clock: Clock,
    work_limit: int | None = None,
) -> tuple[ArrayModel, ModelSolution]:
    """Minimise the period, and tell a listener of schedules and bounds; return model and solution.

    Parameters
    ----------
    problem, milp
        The problem, and its model from `least_period_milp`.
    start
        A schedule of the largest period of the model, whose order HiGHS starts from.
    listener
        Whom to tell; the search ends when it has closed the gap.
    options, clock, work_limit
        As for `seek_without_idle`.

    Raises
    ------
    TimeoutError
        If the time ends before the model is written.
    SolverError
        If HiGHS fails.
    """
    built = milp.build(problem, clock.require_time)
    model = from_pulp(built.problem, clock.require_time).model
    stop = threading.Event()

    def take(values: Floats) -> None:
        point = dict(zip(model.column_names, values.tolist(), strict=True))
        listener.take(EventOrder.from_point(built.frame, point).schedule())

    def watch(progress: ModelProgress) -> None:
        if progress.dual_bound is not None:
            listener.raise_by_solver(built.period_from_solver_ns(progress.dual_bound))
        if listener.is_closed:
            stop.set()

    order = order_of_schedule(problem, start)
    point = start_point(built.frame, model, order, start.period_ns)
    limits = replace(
        highs_options(options, clock, gap=0),
        start=point if model.integer.any() else None,
        work_limit=work_limit,
    )
    solution = solve_in_time(model, limits, watch, on_incumbent=take, stop=stop)
    if solution.values is not None:
        take(solution.values)
    if solution.dual_bound is not None:
        listener.raise_by_solver(built.period_from_solver_ns(solution.dual_bound))
    if listener.is_closed and solution.termination is Termination.INTERRUPTED and stop.is_set():
        solution = replace(solution, termination=Termination.COMPLETED)
    return model, solution
