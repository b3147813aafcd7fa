"""One of KIWI's models, solved by HiGHS, decoded, replayed, and bounded.

A point may violate rows and integrality by a tolerance, 1e-9 here, in a model whose largest value
counts 1024, and sizes that span more than eight orders of magnitude are rounded down. The schedule
can then be some bytes above the limit. In that case the model is solved again for less memory, each
time by more than twice as much less, until the replay accepts the schedule. The bound remains that
of the first model: tolerance makes it weaker, not wrong.

The baselines that are of the class of the model come first (`baselines_first`): HiGHS starts from
the fastest of their plans, and where it finds none that is faster, that one is the answer.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_sharding.schedule import ShardedSchedule
from jettison.solvers.core.baselines_first import schedules_of_baselines
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Infeasibility, Outcome, Progress, SolveOptions
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_of_a_method import highs_options
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.milp.solution import Progress as ModelProgress
from jettison.solvers.milp.tolerance import left_open
from jettison.solvers.remat_sharding.kiwi.bound import proved_ns
from jettison.solvers.remat_sharding.sizes_that_matter import with_sizes_that_matter

# Of all time, for the fastest strategies without a limit.
SHARE_OF_THE_FASTEST = 0.3
_NOT_BUILT = "the time ended before the model was built"


class KiwiModel(Protocol):
    """A built model whose objective is the time of the whole step."""

    @property
    def memory_scale(self) -> IntegerScale:
        """What its sizes count in."""

    @property
    def time_scale(self) -> IntegerScale:
        """What its objective counts in."""

    def schedule(self, values: Mapping[str, float]) -> ShardedSchedule:
        """Return the schedule of a point."""

    def point(self, plan: ShardedSchedule) -> Mapping[str, float]:
        """Return what some columns say of a plan of the class, by their names."""


@dataclass(frozen=True)
class KiwiSearch:
    """How to solve one formulation.

    Attributes
    ----------
    method
        What to call the bound.
    valid_for
        The schedules that the model's points are.
    build
        Returns the model of a problem, as it was built and as HiGHS takes it; raises
        `TimeoutError` when the time is up.
    """

    method: str
    valid_for: ScheduleClass
    build: Callable[[RematSharding, Clock], tuple[KiwiModel, ArrayModel]]

    def run_after_baselines(
        self, problem: RematSharding, options: SolveOptions, clock: Clock
    ) -> Outcome:
        """Do as `run` does, from the best of the baselines."""
        known: ShardedSchedule | None = None
        for plan in schedules_of_baselines(problem, self.method, options, clock):
            assert isinstance(plan, ShardedSchedule)
            known = _faster(problem, known, self.of_the_class(problem, plan))
        return self.run(problem, options, clock, known)

    def of_the_class(
        self, problem: RematSharding, plan: ShardedSchedule | None
    ) -> ShardedSchedule | None:
        """Return a plan if it is a point of the model; None otherwise."""
        if plan is None:
            return None
        found = plan.replay(problem.instance, problem.memory_bytes)
        is_point = found.valid and found.schedule_class is not None
        return plan if is_point and self.valid_for.covers(found.schedule_class) else None

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
        try:
            first = last = self._solved(problem, options, clock, known)
        except TimeoutError:
            return Outcome(termination=Termination.TIME_LIMIT, schedule=known, note=_NOT_BUILT)
        work = {
            "rows": first.model.num_rows,
            "columns": first.model.num_columns,
            "coefficients": first.model.num_nonzeros,
            "nodes": first.solution.nodes,
        }
        if first.solution.answer is Answer.INFEASIBLE:
            if known is not None:
                note = "HiGHS calls a model infeasible that has a point"
                return Outcome(termination=Termination.ERROR, schedule=known, work=work, note=note)
            return Outcome(
                termination=Termination.COMPLETED,
                infeasibility=self._infeasibility(problem, first.built),
                work=work,
            )
        schedule = first.schedule()
        margin_bytes = 0
        while schedule is not None:
            peak_bytes = schedule.replay(problem.instance).peak_bytes
            if peak_bytes <= problem.memory_bytes:
                break
            schedule = None
            margin_bytes = 2 * margin_bytes + peak_bytes - problem.memory_bytes
            less_bytes = problem.memory_bytes - margin_bytes
            interrupted = last.solution.termination is Termination.INTERRUPTED
            if less_bytes >= problem.instance.least_peak_bound_bytes and not interrupted:
                # Its bounds do not hold for the problem, and so nobody gets to see them.
                unseen = replace(options, on_progress=None)
                try:
                    last = self._solved(RematSharding(problem.instance, less_bytes), unseen, clock)
                except TimeoutError:
                    break
                schedule = last.schedule()
        schedule = _faster(problem, schedule, known)
        outcome = Outcome(termination=last.solution.termination, schedule=schedule, work=work)
        if schedule is None:
            note = "no schedule was found before the end of the search"
            if margin_bytes:
                note = "what the solver found is over the limit by less than its tolerance"
            outcome = left_open(replace(outcome, note=note))
        if first.solution.dual_bound is None:
            return outcome
        bound = Bound(
            time_ns=proved_ns(first.built.time_scale, first.solution.dual_bound),
            valid_for=self.valid_for,
            evidence=Evidence.SOLVER,
            method=self.method,
        )
        outcome = replace(outcome, bounds=(bound,))
        if schedule is None:
            return outcome
        time_ns = schedule.replay(problem.instance).time_ns
        base_ns = problem.instance.base_time_ns
        bound_ns = max(bound.time_ns, base_ns)
        if time_ns <= bound_ns:
            return replace(outcome, termination=Termination.COMPLETED)
        if options.is_close_enough(time_ns, bound_ns, base_ns):
            return replace(outcome, termination=Termination.GAP_REACHED)
        return left_open(outcome)

    def _solved(
        self,
        problem: RematSharding,
        options: SolveOptions,
        clock: Clock,
        known: ShardedSchedule | None = None,
    ) -> _Solved:
        built, model = self.build(with_sizes_that_matter(problem), clock)

        scale, stop, reached = built.time_scale, threading.Event(), False

        def watch(progress: ModelProgress) -> None:
            nonlocal reached
            time_ns = bound_ns = None
            if progress.objective is not None:
                time_ns = scale.from_model(progress.objective)
            if progress.dual_bound is not None:
                bound_ns = proved_ns(scale, progress.dual_bound)
            if options.on_progress is not None:
                options.on_progress(Progress(clock.seconds, time_ns, bound_ns))
            if options.gap and time_ns is not None and bound_ns is not None:
                base_ns = problem.instance.base_time_ns
                reached = options.is_close_enough(time_ns, max(bound_ns, base_ns), base_ns)
            if reached:
                stop.set()

        run_options = highs_options(options, clock, gap=0)
        if known is not None:
            point = built.point(known)
            start = [point.get(name, math.nan) for name in model.column_names]
            run_options = replace(run_options, start=start)
        solution = solve_in_time(model, run_options, watch, stop=stop)
        if reached and solution.termination is Termination.INTERRUPTED:
            solution = replace(solution, termination=Termination.GAP_REACHED)
        return _Solved(built, model, solution)

    def _infeasibility(self, problem: RematSharding, built: KiwiModel) -> Infeasibility:
        """Name the least amount above the memory of the problem that a peak can have."""
        unit = built.memory_scale.unit
        return Infeasibility(
            valid_for=self.valid_for,
            least_memory_bytes=(problem.memory_bytes // unit + 1) * unit,
            is_exact=False,
            evidence=Evidence.SOLVER,
        )


def _faster(
    problem: RematSharding, plan: ShardedSchedule | None, other: ShardedSchedule | None
) -> ShardedSchedule | None:
    """Return the faster one of two plans that fit; the first one if they are equally fast."""
    if plan is None or other is None:
        return plan or other
    return min(plan, other, key=lambda item: item.replay(problem.instance).time_ns)


@dataclass(frozen=True, eq=False)
class _Solved:
    """A model and how it was solved."""

    built: KiwiModel
    model: ArrayModel
    solution: ModelSolution

    def schedule(self) -> ShardedSchedule | None:
        """Return the schedule that the best point stands for, if there is a point."""
        if self.solution.values is None:
            return None
        return self.built.schedule(self.solution.by_name(self.model))
