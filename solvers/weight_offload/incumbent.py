"""Incumbent of methods that try many schedules for one weight-offloading problem."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.core.replay import Replay
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers.core.bound import Bound, Evidence, exact_bound
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import SILENT, SolveOptions
from jettison.solvers.core.search import Incumbent
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


class WeightIncumbent(Incumbent[CyclicSchedule]):
    """Incumbent of a weight-offloading problem, which always has a schedule and a bound.

    Parameters
    ----------
    problem
        What the schedules are for.
    options, clock
        As for the method; by default nobody is told, and there is no limit.
    """

    def __init__(
        self,
        problem: WeightOffload,
        options: SolveOptions = SILENT,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(
            lambda schedule: schedule.replay(problem.cycle, problem.link, problem.memory_bytes),
            problem.instance.base_time_ns,
            options,
            clock or Clock(None),
            closed_form_bound(problem),
        )
        self.problem = problem
        # That of L2L always fits.
        self.schedule = first = layer_to_layer(problem)
        self.replay = first.replay(problem.cycle, problem.link, problem.memory_bytes)

    @property
    def period_ns(self) -> int:
        """The period of the best so far."""
        assert self.time_ns is not None
        return self.time_ns

    @property
    def floor(self) -> Bound:
        """The lower bound in exact arithmetic: the closed form, or a larger one proved since."""
        return self._bounds[Evidence.EXACT, ScheduleClass.ALL]

    @property
    def floor_ns(self) -> int:
        """The lower bound in nanoseconds."""
        return self.floor.time_ns

    def raise_floor(self, time_ns: int, method: str) -> None:
        """Keep a lower bound from exact arithmetic if it is larger."""
        self.prove(exact_bound(time_ns, ScheduleClass.ALL, method))

    def offer(self, schedule: CyclicSchedule | None) -> Replay:
        """Keep a schedule if it is faster; return its replay, or that of the best."""
        if schedule is not None and schedule.period_ns < self.period_ns:
            return super().offer(schedule)
        assert self.replay is not None
        return self.replay
