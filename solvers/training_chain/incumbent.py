"""Incumbent of a joint search: the fastest training schedule that the replay has accepted."""

from __future__ import annotations

from jettison.instances.training_chain.problem import TrainingChain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.training_chain.schedule import TrainingSchedule
from jettison.solvers.core.bound import exact_bound
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SILENT, SolveOptions
from jettison.solvers.core.search import Incumbent
from jettison.solvers.training_chain.step_timing import TimedStep


class TrainingIncumbent(Incumbent[TrainingSchedule]):
    """Incumbent of a training chain, to which timed steps are offered.

    Parameters
    ----------
    problem
        What the schedules are for.
    options, clock
        As for the method; by default nobody is told, and there is no limit.
    """

    def __init__(
        self,
        problem: TrainingChain,
        options: SolveOptions = SILENT,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(
            lambda schedule: schedule.replay(
                problem.instance, problem.link, problem.memory_bytes, problem.host_memory_bytes
            ),
            problem.base_time_ns,
            options,
            clock or Clock(None),
            exact_bound(problem.base_time_ns, ScheduleClass.ALL, "base-time"),
        )

    def offer_step(self, step: TimedStep | None) -> bool:
        """Offer a timed step, unless it is no faster; tell whether it is the best now."""
        if step is None:
            return False
        if self.time_ns is not None and step.period_ns >= self.time_ns:
            return False
        return self.offer(step.schedule).valid
