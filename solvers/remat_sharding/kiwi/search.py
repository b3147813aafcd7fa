"""Search by one of KIWI's models: solved by an engine, decoded, replayed, and bounded.

A point may violate rows and integrality by a tolerance, 1e-9 here, in a model whose largest value
counts 1024, and sizes that span more than eight orders of magnitude are rounded down. The schedule
can then be some bytes above the limit. In that case the model is solved again for less memory, each
time by more than twice as much less, until the replay accepts the schedule. The bound remains that
of the first model: tolerance makes it weaker, not wrong.

Baselines whose plans belong to the model's class come first (`baselines_first`): the engine, HiGHS
or SCIP, starts from the fastest of these plans, which is the answer if it finds no faster one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic

from jettison.formulations.milp.array_model import Floats
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_sharding.schedule import ShardedSchedule
from jettison.solvers.core.baselines_first import BaselineParams, schedules_of_baselines
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Infeasibility, Outcome, SolveOptions
from jettison.solvers.core.search import Incumbent, Rounds, search_in_rounds
from jettison.solvers.core.status import Termination
from jettison.solvers.core.work import Budget, ShareOfABudget
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.milp.tolerance import left_open
from jettison.solvers.remat_graph.cuts.bounds import ModelBounds
from jettison.solvers.remat_graph.cuts.model_runs import without_a_point
from jettison.solvers.remat_sharding.kiwi.engine import BuiltKiwi, EngineRun, KiwiModel, M
from jettison.solvers.remat_sharding.kiwi.step_bound import proved_ns
from jettison.solvers.remat_sharding.sizes_that_matter import with_sizes_that_matter

_NOT_BUILT = "the time ended before the model was built"
_NONE_FOUND = "no schedule was found before the end of the search"


@dataclass(frozen=True, kw_only=True)
class KiwiParams(BaselineParams):
    """Parameters of the search by KIWI's models.

    Attributes
    ----------
    share_of_the_fastest
        Share of the time limit, in the work of a usual machine, for the fastest strategies without
        a limit on memory.
    """

    share_of_the_fastest: float = 0.3


KIWI = KiwiParams()


@dataclass(frozen=True)
class KiwiSearch(Generic[M]):
    """Search by one formulation.

    Attributes
    ----------
    method
        The method's name, for the bound.
    valid_for
        The class of schedules of the model's points.
    build
        Returns the model of a problem, as built and as the engine reads it; raises `TimeoutError`
        when the time is up.
    engine
        Solves it, and raises the bound.
    """

    method: str
    valid_for: ScheduleClass
    build: Callable[[RematSharding, Clock], tuple[KiwiModel, M]]
    engine: Callable[[EngineRun[M]], ModelSolution]

    def run_after_baselines(
        self, problem: RematSharding, options: SolveOptions, clock: Clock, params: KiwiParams
    ) -> Outcome:
        """Run the search from the best of the baselines."""
        known = self.best_of_baselines(problem, options, clock, params)
        return self.run(problem, options, clock, known)

    def best_of_baselines(
        self, problem: RematSharding, options: SolveOptions, clock: Clock, params: KiwiParams
    ) -> ShardedSchedule | None:
        """Return the fastest plan of the baselines that is a point of the model; None if none is.

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C.
        """
        known: ShardedSchedule | None = None
        for plan in schedules_of_baselines(
            problem, self.method, options, clock, params, counts_work=True
        ):
            assert isinstance(plan, ShardedSchedule)
            known = faster(problem, known, self.of_the_class(problem, plan))
        return known

    def of_the_class(
        self, problem: RematSharding, plan: ShardedSchedule | None
    ) -> ShardedSchedule | None:
        """Return a plan if it is a point of the model; None otherwise."""
        if plan is None:
            return None
        found = plan.replay(problem.instance, problem.memory_bytes)
        is_point = found.valid and found.schedule_class is not None
        return plan if is_point and self.valid_for.covers(found.schedule_class) else None

    def rounds(self, problem: RematSharding, options: SolveOptions, clock: Clock) -> KiwiRounds[M]:
        """Return the rounds of a run."""
        return KiwiRounds(self, problem, options, clock)

    def run(
        self,
        problem: RematSharding,
        options: SolveOptions,
        clock: Clock,
        known: ShardedSchedule | None = None,
    ) -> Outcome:
        """Find the fastest schedule of the class, with a bound for the class.

        Parameters
        ----------
        problem, options, clock
            Of the method.
        known
            A plan of the class that fits, to start from.
        """
        rounds = self.rounds(problem, options, clock)
        with Ending() as ending:
            rounds.incumbent.begin_from(options.start, ShardedSchedule, self.valid_for)
            if known is not None:
                rounds.incumbent.offer(known)
            ending.termination = search_in_rounds(rounds, rounds.incumbent, clock)
        return rounds.outcome(ending.termination)


class KiwiRounds(Rounds[BuiltKiwi[M]]):
    """Rounds of one model, with less memory if its plan exceeds the limit by tolerance.

    Parameters
    ----------
    search
        The formulation that is solved.
    problem, options, clock
        As for `KiwiSearch.run`.

    Attributes
    ----------
    incumbent
        The best plan, and the bound of the first model.
    clock
        As given.
    """

    tries_again = False

    def __init__(
        self,
        search: KiwiSearch[M],
        problem: RematSharding,
        options: SolveOptions,
        clock: Clock,
    ) -> None:
        self._search = search
        self._problem = problem
        self._options = options
        self.clock = clock
        self.incumbent = self._incumbent(options)
        self._budget: Budget | ShareOfABudget = Budget(options.most_moves)
        self._margin_bytes = 0
        # Excess of the plan of the last model's best point; None where it has none.
        self._over_bytes: int | None = None
        self._infeasibility: Infeasibility | None = None
        self._note: str | None = _NOT_BUILT
        self._work: dict[str, int] = {}

    def outcome(self, termination: Termination) -> Outcome:
        """Return the best plan and the bound."""
        outcome = self.incumbent.outcome(
            termination,
            work=self._work,
            infeasibility=self._infeasibility,
            note=self._note,
        )
        if self.incumbent.is_settled:
            return replace(outcome, termination=self.incumbent.end, note=None)
        if not self._work or self._infeasibility is not None:
            return outcome
        return left_open(outcome)

    def build(self) -> BuiltKiwi[M]:
        """Return the model, for less memory by more than the excess of the last plan."""
        problem = with_sizes_that_matter(self.problem_with_margin)
        return BuiltKiwi(*self._search.build(problem, self.clock))

    @property
    def is_first(self) -> bool:
        """Whether the model is that of the whole memory, whose bound counts."""
        return not self._margin_bytes

    @property
    def problem_with_margin(self) -> RematSharding:
        """The problem, with less memory where a plan exceeded it by the solver's tolerance."""
        less_bytes = self._problem.memory_bytes - self._margin_bytes
        return RematSharding(self._problem.instance, less_bytes)

    def relax(self, model: BuiltKiwi[M]) -> None:
        """Do nothing: engines start from the relaxation anyway."""

    def solve(self, model: BuiltKiwi[M]) -> ModelSolution:
        """Solve the model from the best plan; only the first model bounds the problem."""
        is_first = self.is_first
        options = self._options if is_first else self._options.quiet()
        incumbent = self.incumbent if is_first else self._incumbent(options)
        bounds = ModelBounds(incumbent, 0, self._search.method, self._search.valid_for, proved_ns)
        plan = self.incumbent.schedule if is_first else None
        start = None if plan is None else model.start(plan)

        def offer(values: Floats) -> None:
            self._over_bytes = self._offered(model, values)

        self._over_bytes = None
        solution = self._search.engine(
            EngineRun(
                model,
                self._search.valid_for,
                incumbent,
                bounds,
                options,
                self.clock,
                self._budget,
                start,
                offer,
            )
        )
        if solution.values is not None:
            offer(solution.values)
        if is_first:
            self._work = {
                "rows": model.model.num_rows,
                "columns": model.model.num_columns,
                "coefficients": model.model.num_nonzeros,
                "nodes": solution.nodes,
            }
        return solution

    def refine(self, model: BuiltKiwi[M], solution: ModelSolution) -> bool:
        """Tell whether the plan of the best point exceeds the memory, so that less is tried."""
        self._note_the_search()
        if not self._over_bytes:
            return False
        self._margin_bytes = 2 * self._margin_bytes + self._over_bytes
        if self.incumbent.schedule is None:
            self._note = "what the solver found is over the limit by less than its tolerance"
        less_bytes = self._problem.memory_bytes - self._margin_bytes
        return less_bytes >= self._problem.instance.least_peak_bound_bytes

    def _note_the_search(self) -> None:
        self._note = None if self.incumbent.schedule is not None else _NONE_FOUND

    def no_point(self, model: BuiltKiwi[M]) -> Termination:
        """Record that no plan of the class fits, unless one is known or memory was lowered."""
        if self._margin_bytes:
            return Termination.COMPLETED
        self._note = None
        if self.incumbent.schedule is not None:
            self._note = "the solver calls a model infeasible that has a point"
            return Termination.ERROR
        self._infeasibility = without_a_point(
            self._problem.memory_bytes, model, self._search.valid_for
        )
        return Termination.COMPLETED

    def nothing_to_add(self, solution: ModelSolution) -> Termination:
        """End the rounds as the last run ended."""
        return solution.termination

    def _offered(self, model: BuiltKiwi[M], values: Floats) -> int:
        """Offer the plan of a point; return by how much it exceeds the memory."""
        names = model.model.column_names
        plan = model.built.schedule(dict(zip(names, values.tolist(), strict=True)))
        return max(0, self.incumbent.offer(plan).peak_bytes - self._problem.memory_bytes)

    def _incumbent(self, options: SolveOptions) -> Incumbent[ShardedSchedule]:
        problem = self._problem
        return Incumbent(
            lambda plan: plan.replay(problem.instance, problem.memory_bytes),
            problem.instance.base_time_ns,
            options,
            self.clock,
        )


def faster(
    problem: RematSharding, plan: ShardedSchedule | None, other: ShardedSchedule | None
) -> ShardedSchedule | None:
    """Return the faster one of two plans that fit; the first one if they are equally fast."""
    if plan is None or other is None:
        return plan or other
    return min(plan, other, key=lambda item: item.replay(problem.instance).time_ns)
