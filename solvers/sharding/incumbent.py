"""Incumbent of the sharding methods: the best choice of strategies and the largest bounds."""

from __future__ import annotations

from collections.abc import Sequence

from jettison.instances.sharding.problem import Sharding
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.sharding.strategy_choice import StrategyChoice
from jettison.solvers.core.bound import Bound, Evidence, exact_bound
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.search import Incumbent
from jettison.solvers.core.status import Termination


class ShardingIncumbent(Incumbent[StrategyChoice]):
    """Incumbent of a sharding problem, whose choices and bounds are told as numbers.

    Parameters
    ----------
    problem, options, clock
        As for the method.
    method
        What to call the bounds.
    """

    def __init__(self, problem: Sharding, options: SolveOptions, clock: Clock, method: str) -> None:
        super().__init__(
            lambda choice: choice.replay(problem.instance, problem.memory_bytes),
            problem.instance.base_time_ns,
            options,
            clock,
            exact_bound(problem.instance.base_time_ns, ScheduleClass.ALL, method),
        )
        self._method = method

    def take(self, strategies: Sequence[int]) -> bool:
        """Offer a choice; tell whether it is valid."""
        return self.offer(StrategyChoice(tuple(strategies))).valid

    def prove_cost(self, bound_ns: int) -> None:
        """Take a bound in exact arithmetic."""
        self._prove(bound_ns, Evidence.EXACT)

    def believe_cost(self, bound_ns: int) -> None:
        """Take a bound of a solver; one above the best choice is taken for rounding."""
        if self.time_ns is not None:
            bound_ns = min(bound_ns, self.time_ns)
        self._prove(bound_ns, Evidence.SOLVER)

    @property
    def end(self) -> Termination:
        """The termination of a method: settled, stopped by its clock, or completed."""
        if self.is_settled or not self._clock.left_s:
            return super().end
        return Termination.COMPLETED

    def _prove(self, time_ns: int, evidence: Evidence) -> None:
        self.prove(
            Bound(
                time_ns=time_ns,
                valid_for=ScheduleClass.ALL,
                evidence=evidence,
                method=self._method,
            )
        )
