"""Incumbent of every search, and the loop of rounds that most searches share.

An `Incumbent` holds the best schedule and the largest bounds, and says when they are close enough.
`search_in_rounds` is the loop of the searches by models: it decides when another model is built,
and a problem says, as its `Rounds`, what a model is and what its point lacks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from jettison.schedules.core.any_schedule import Schedule
from jettison.schedules.core.replay import Replay
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SILENT, Infeasibility, Outcome, Progress, SolveOptions
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.result import base_time_bound, replay_schedule
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.milp.solution import ModelSolution

S = TypeVar("S", bound=Schedule)
M = TypeVar("M")


class Incumbent(Generic[S]):
    """Best schedule and largest bounds that a search knows.

    Parameters
    ----------
    judge
        The replay of a schedule within the memory of the problem.
    base_ns
        The time that no schedule goes below.
    options, clock
        Of the method: the gap, and whom to tell of what.
    known
        A bound that needs no search, of which nobody is told.

    Attributes
    ----------
    schedule
        The fastest valid schedule that was offered; None before the first.
    replay
        Its replay.
    offered
        How many schedules were looked at.
    """

    def __init__(
        self,
        judge: Callable[[S], Replay],
        base_ns: int,
        options: SolveOptions,
        clock: Clock,
        known: Bound | None = None,
    ) -> None:
        self.schedule: S | None = None
        self.replay: Replay | None = None
        self.offered = 0
        self._judge = judge
        self._base_ns = base_ns
        self._options = options
        self._clock = clock
        self._bounds: dict[tuple[Evidence, ScheduleClass], Bound] = {}
        if known is not None:
            self._bounds[known.evidence, known.valid_for] = known

    @property
    def time_ns(self) -> int | None:
        """The replayed time of the best schedule."""
        return None if self.replay is None else self.replay.time_ns

    @property
    def lower_bound_ns(self) -> int:
        """The largest bound, whatever class it holds for."""
        return max((bound.time_ns for bound in self._bounds.values()), default=self._base_ns)

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The bounds that say more than others: larger, for more schedules, or by better evidence.

        Of each class there is one in exact arithmetic and one of a solver at most.
        """
        known = self._bounds.values()
        return tuple(
            bound
            for bound in known
            if not any(_says_more(other, bound) for other in known if other is not bound)
        )

    def offer(self, schedule: S) -> Replay:
        """Replay a schedule, and keep it if it is valid and the fastest."""
        self.offered += 1
        replay = self._judge(schedule)
        if replay.valid and (self.time_ns is None or replay.time_ns < self.time_ns):
            self.schedule, self.replay = schedule, replay
            if self._options.on_schedule is not None:
                self._options.on_schedule(schedule, replay)
            self.report()
        return replay

    def begin_from(self, start: object, kind: type[S], within: ScheduleClass) -> None:
        """Offer the start that a caller gave, if it is of the class that the search looks at."""
        if isinstance(start, kind) and within.covers(self._judge(start).schedule_class):
            self.offer(start)

    def prove(self, bound: Bound) -> None:
        """Keep a bound if it is larger than those of its class and evidence."""
        known = self._bounds.get((bound.evidence, bound.valid_for))
        if known is not None and known.time_ns >= bound.time_ns:
            return
        self._bounds[bound.evidence, bound.valid_for] = bound
        if self._options.on_bound is not None:
            self._options.on_bound(bound)
        self.report()

    @property
    def is_settled(self) -> bool:
        """Whether the best schedule is as close to the largest bound as was asked for."""
        if self.time_ns is None:
            return False
        return self._options.is_close_enough(self.time_ns, self.lower_bound_ns, self._base_ns)

    @property
    def is_best(self) -> bool:
        """Whether the best schedule meets the largest bound."""
        return self.time_ns is not None and self.time_ns <= self.lower_bound_ns

    @property
    def end(self) -> Termination:
        """Return the termination of a search without another reason: settled, or out of time."""
        if self.is_best:
            return Termination.COMPLETED
        return Termination.GAP_REACHED if self.is_settled else Termination.TIME_LIMIT

    def report(self) -> None:
        """Report the progress of the search to the caller."""
        if self._options.on_progress is not None:
            bound_ns = self.lower_bound_ns if self._bounds else None
            self._options.on_progress(Progress(self._clock.seconds, self.time_ns, bound_ns))

    def outcome(
        self,
        termination: Termination,
        *,
        work: Mapping[str, int],
        infeasibility: Infeasibility | None = None,
        note: str | None = None,
    ) -> Outcome:
        """Return the best schedule and the bounds as an outcome."""
        return Outcome(
            termination=termination,
            schedule=self.schedule,
            bounds=self.bounds,
            infeasibility=infeasibility,
            work=work,
            note=note,
        )


def _says_more(bound: Bound, other: Bound) -> bool:
    """Tell whether a bound leaves nothing that another one could add."""
    is_as_good = bound.evidence is other.evidence or other.evidence is Evidence.SOLVER
    return bound.time_ns >= other.time_ns and bound.valid_for.covers(other.valid_for) and is_as_good


class ProblemIncumbent(Incumbent[S]):
    """Incumbent of all schedules of a problem: no time is below that without a limit of memory.

    Parameters
    ----------
    problem
        What the schedules are for.
    options, clock
        As for the method; by default nobody is told, and there is no limit.
    """

    def __init__(
        self, problem: Problem, options: SolveOptions = SILENT, clock: Clock | None = None
    ) -> None:
        super().__init__(
            lambda schedule: replay_schedule(problem, schedule),
            problem.base_time_ns,
            options,
            clock or Clock(None),
            base_time_bound(problem),
        )

    @property
    def is_optimal(self) -> bool:
        """Whether the time is that without a limit of memory, so that nothing can be faster."""
        return self.time_ns == self._base_ns


class Rounds(ABC, Generic[M]):
    """Steps of a search by models that become stronger from round to round.

    Attributes
    ----------
    tries_again
        Whether a model that is not solved in its share of the work is given another one.
    """

    tries_again = True

    @abstractmethod
    def build(self) -> M | None:
        """Return the next model; None where it would be too large."""

    @abstractmethod
    def relax(self, model: M) -> None:
        """Solve the linear relaxation of a model, and prove what its multipliers do."""

    @abstractmethod
    def solve(self, model: M) -> ModelSolution:
        """Solve a model with its integers, in its share of the work, and keep its bound."""

    @abstractmethod
    def no_point(self, model: M) -> Termination:
        """Record the consequence of a model without a point, and return how the search ends."""

    @abstractmethod
    def refine(self, model: M, solution: ModelSolution) -> bool:
        """Turn the best point into a schedule; tell whether the next model will be stronger.

        Where there is no point, nothing is learnt.
        """

    @abstractmethod
    def nothing_to_add(self, solution: ModelSolution) -> Termination:
        """Return how the search ends if a solved model gave nothing to add to it."""


_ENDS_THE_SEARCH = {Termination.INTERRUPTED, Termination.ERROR}


def search_in_rounds(rounds: Rounds[M], incumbent: Incumbent[S], clock: Clock) -> Termination:
    """Solve one model after the other until the question is settled or the time is up.

    A model that is not solved in its share of the work, and whose point asks for no other one, is
    tried again with more.
    """
    while clock.left_s and not incumbent.is_settled:
        model = rounds.build()
        if model is None:
            return Termination.MEMORY_LIMIT
        rounds.relax(model)
        if incumbent.is_settled or not clock.left_s:
            break
        solution = rounds.solve(model)
        if solution.termination in _ENDS_THE_SEARCH:
            return solution.termination
        if solution.answer is Answer.INFEASIBLE:
            return rounds.no_point(model)
        if rounds.refine(model, solution):
            continue
        is_over = solution.termination.is_regular or not rounds.tries_again
        if is_over and not incumbent.is_settled:
            return rounds.nothing_to_add(solution)
        if solution.termination is Termination.MEMORY_LIMIT:
            return solution.termination
    return incumbent.end
