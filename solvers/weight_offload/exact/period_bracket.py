"""Bracket of the least period: the best schedule, and the bounds of sweeps and of HiGHS."""

from __future__ import annotations

from dataclasses import dataclass

from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Progress, SolveOptions
from jettison.solvers.weight_offload.exact.params import WeightExactParams


@dataclass
class Bracket:
    """Best schedule and bounds so far, of which the caller is told.

    Attributes
    ----------
    problem, options, clock, params
        What is solved, and how.
    schedule
        The best schedule.
    lower_ns
        The largest bound from exact arithmetic.
    by_solver_ns
        The largest bound that rests on HiGHS; 0 for none.
    was_idle_asked, was_least_asked
        Whether HiGHS was asked for a step without idle time, and for the least period.
    labels, nodes
        Work of the sweeps and of HiGHS.
    why_open
        What kept the bracket open.
    """

    problem: WeightOffload
    options: SolveOptions
    clock: Clock
    params: WeightExactParams
    schedule: CyclicSchedule
    lower_ns: int
    by_solver_ns: int = 0
    was_idle_asked: bool = False
    was_least_asked: bool = False
    labels: int = 0
    nodes: int = 0
    why_open: str | None = None
    _told: CyclicSchedule | None = None

    @property
    def bound_ns(self) -> int:
        """The largest bound."""
        return max(self.lower_ns, self.by_solver_ns)

    @property
    def is_closed(self) -> bool:
        """Whether the bound is as close as was asked for."""
        return self._is_close(self.bound_ns)

    @property
    def is_exact(self) -> bool:
        """Whether the bound is the period of the best schedule."""
        return self.bound_ns == self.schedule.period_ns

    def _is_close(self, bound_ns: int) -> bool:
        upper_ns, base_ns = self.schedule.period_ns, self.problem.base_time_ns
        return self.options.is_close_enough(upper_ns, bound_ns, base_ns)

    def take(self, schedule: CyclicSchedule | None) -> None:
        """Keep a schedule if it is faster, and the replay accepts it."""
        if schedule is None or schedule.period_ns >= self.schedule.period_ns:
            return
        problem = self.problem
        if schedule.replay(problem.cycle, problem.link, problem.memory_bytes).valid:
            self.schedule = schedule
            self.report()

    def raise_by_solver(self, time_ns: int) -> None:
        """Keep a bound of HiGHS if it is larger; it claims no more than the best schedule."""
        time_ns = min(time_ns, self.schedule.period_ns)
        if time_ns > self.by_solver_ns:
            self.by_solver_ns = time_ns
            self.report()

    def bounds(self) -> tuple[Bound, ...]:
        """Return the bound from exact arithmetic, and HiGHS's where it is larger."""
        found = [(self.lower_ns, Evidence.EXACT)]
        if self.by_solver_ns > self.lower_ns:
            found.append((self.by_solver_ns, Evidence.SOLVER))
        return tuple(
            Bound(time_ns=time_ns, valid_for=ScheduleClass.ALL, evidence=evidence, method="exact")
            for time_ns, evidence in found
        )

    def report(self) -> None:
        """Tell the caller of the best schedule, of the bounds, and of the progress."""
        options, problem = self.options, self.problem
        if options.on_schedule is not None and self._told is not self.schedule:
            self._told = self.schedule
            replay = self.schedule.replay(problem.cycle, problem.link, problem.memory_bytes)
            options.on_schedule(self.schedule, replay)
        if options.on_bound is not None:
            for bound in self.bounds():
                options.on_bound(bound)
        if options.on_progress is not None:
            options.on_progress(
                Progress(self.clock.seconds, self.schedule.period_ns, self.bound_ns)
            )
