"""Incumbent of methods that try many schedules for one weight-offloading problem."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Progress, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.weight_offload.bounds.closed_form import closed_form_bound
from jettison.solvers.weight_offload.layer_to_layer import layer_to_layer


def run_within_kernels(search: Callable[[], None]) -> Termination:
    """Run a search that keeps its best schedule, and return what ended it.

    Where its times do not fit the kernels, the schedule of L2L, which needs no kernel, remains.
    """
    with Ending() as ending, suppress(OverflowError):
        search()
    return ending.termination


class WeightIncumbent:
    """Schedule with the least period among those offered, and a lower bound.

    Attributes
    ----------
    problem
        What the schedules are for.
    schedule
        The best so far; that of L2L, which always fits, before anything is offered.
    floor
        A lower bound from exact arithmetic: the closed form, or a larger one proved since.
    """

    def __init__(self, problem: WeightOffload) -> None:
        self.problem = problem
        self.schedule = layer_to_layer(problem)
        self.floor = closed_form_bound(problem)

    @property
    def period_ns(self) -> int:
        """The period of the best so far."""
        return self.schedule.period_ns

    @property
    def floor_ns(self) -> int:
        """The lower bound in nanoseconds."""
        return self.floor.time_ns

    def raise_floor(self, time_ns: int, method: str) -> None:
        """Keep a lower bound from exact arithmetic if it is larger."""
        if time_ns > self.floor_ns:
            self.floor = replace(self.floor, time_ns=time_ns, method=method)

    def offer(self, schedule: CyclicSchedule | None) -> None:
        """Keep the schedule if it is faster."""
        if schedule is not None and schedule.period_ns < self.period_ns:
            self.schedule = schedule

    def is_within(self, options: SolveOptions) -> bool:
        """Tell whether the best so far is as close to the floor as was asked for."""
        base_ns = self.problem.instance.base_time_ns
        return options.is_close_enough(self.period_ns, self.floor_ns, base_ns)

    def progress(self, clock: Clock) -> Progress:
        """Return where the search stands."""
        return Progress(clock.seconds, self.period_ns, self.floor_ns)
