"""Incumbent of the sharding methods: the best choice of strategies and the largest bounds."""

from __future__ import annotations

from collections.abc import Sequence

from jettison.instances.sharding.problem import Sharding
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.sharding.strategy_choice import StrategyChoice
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Infeasibility, Outcome, Progress, SolveOptions
from jettison.solvers.core.status import Termination


class ShardingIncumbent:
    """Best choice, judged by the replay, and largest bounds, reported to the caller.

    Attributes
    ----------
    best
        The cheapest valid choice; None before the first.
    cost_ns
        Its replayed cost.
    proved_ns, believed_ns
        Lower bounds in exact arithmetic, and of a solver.
    """

    def __init__(self, problem: Sharding, options: SolveOptions, clock: Clock, method: str) -> None:
        self.best: StrategyChoice | None = None
        self.cost_ns: int | None = None
        self.proved_ns = problem.instance.base_time_ns
        self.believed_ns = self.proved_ns
        self._problem = problem
        self._options = options
        self._clock = clock
        self._method = method

    def take(self, strategies: Sequence[int]) -> bool:
        """Replay a choice and keep it if it is valid and the cheapest; tell whether it is valid."""
        choice = StrategyChoice(tuple(strategies))
        replay = choice.replay(self._problem.instance, self._problem.memory_bytes)
        if replay.valid and (self.cost_ns is None or replay.time_ns < self.cost_ns):
            self.best, self.cost_ns = choice, replay.time_ns
            self.report()
        return replay.valid

    def prove(self, bound_ns: int) -> None:
        """Keep a bound from exact arithmetic if it is larger."""
        self.proved_ns = max(self.proved_ns, bound_ns)
        self.believe(bound_ns)

    def believe(self, bound_ns: int) -> None:
        """Keep a bound of a solver if it is larger; an excess over the best choice is rounding."""
        if self.cost_ns is not None:
            bound_ns = min(bound_ns, self.cost_ns)
        self.believed_ns = max(self.believed_ns, bound_ns)
        self.report()

    def report(self) -> None:
        """Report the progress to the caller."""
        if self._options.on_progress is not None:
            self._options.on_progress(Progress(self._clock.seconds, self.cost_ns, self.believed_ns))

    @property
    def is_settled(self) -> bool:
        """Whether the bound meets the best choice, or is as close to it as was asked for."""
        if self.cost_ns is None:
            return False
        base_ns = self._problem.instance.base_time_ns
        return self._options.is_close_enough(self.cost_ns, self.believed_ns, base_ns)

    @property
    def end(self) -> Termination:
        """The termination of a method that is settled, or else stopped by its clock."""
        if self.cost_ns is not None and self.cost_ns <= self.believed_ns:
            return Termination.COMPLETED
        if self.is_settled:
            return Termination.GAP_REACHED
        return Termination.COMPLETED if self._clock.left_s else Termination.TIME_LIMIT

    def outcome(
        self,
        termination: Termination,
        *,
        work: dict[str, int],
        infeasibility: Infeasibility | None = None,
        note: str | None = None,
    ) -> Outcome:
        """Return the best choice and the bounds as an outcome."""
        bounds = [
            Bound(
                time_ns=value,
                valid_for=ScheduleClass.ALL,
                evidence=evidence,
                method=self._method,
            )
            for value, evidence in (
                (self.proved_ns, Evidence.EXACT),
                (self.believed_ns, Evidence.SOLVER),
            )
        ]
        if self.believed_ns <= self.proved_ns:
            bounds.pop()
        if infeasibility is not None:
            bounds = []
        return Outcome(
            termination=termination,
            schedule=self.best,
            bounds=tuple(bounds),
            infeasibility=infeasibility,
            work=work,
            note=note,
        )
