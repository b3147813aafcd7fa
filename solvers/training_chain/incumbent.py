"""Incumbent of a joint search: the fastest training schedule that the replay has accepted."""

from __future__ import annotations

from jettison.schedules.training_chain.schedule import TrainingSchedule
from jettison.solvers.core.search import ProblemIncumbent
from jettison.solvers.training_chain.step_timing import TimedStep


class TrainingIncumbent(ProblemIncumbent[TrainingSchedule]):
    """Incumbent of a training chain, to which timed steps are offered."""

    def offer_step(self, step: TimedStep | None) -> bool:
        """Offer a timed step, unless it is no faster; tell whether it is the best now."""
        if step is None:
            return False
        if self.time_ns is not None and step.period_ns >= self.time_ns:
            return False
        return self.offer(step.schedule).valid
