"""One of KIWI's models, solved by HiGHS, decoded, replayed, and bounded.

A point may violate rows and integrality by a tolerance, 1e-9 here, in a model whose largest value
counts 1024, and sizes that span more than eight orders of magnitude are rounded down. The schedule
can then be some bytes above the limit. In that case the model is solved again for less memory, each
time by more than twice as much less, until the replay accepts the schedule. The bound remains that
of the first model: tolerance makes it weaker, not wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from jettison.formulations.array_model import ArrayModel
from jettison.formulations.integer_scale import IntegerScale
from jettison.instances.remat_sharding import RematSharding
from jettison.schedules.schedule_class import ScheduleClass
from jettison.schedules.sharded_schedule import ShardedSchedule
from jettison.solvers.bound import Bound, Evidence
from jettison.solvers.checkmate_highs import highs_options
from jettison.solvers.clock import Clock
from jettison.solvers.highs_in_time import solve_in_time
from jettison.solvers.kiwi_bound import proved_ns
from jettison.solvers.model_solution import ModelSolution
from jettison.solvers.model_solution import Progress as ModelProgress
from jettison.solvers.outcome import Infeasibility, Outcome, Progress, SolveOptions
from jettison.solvers.sizes_that_matter import with_sizes_that_matter
from jettison.solvers.solver_tolerance import left_open
from jettison.solvers.status import Answer, Termination


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
        Returns the model of a problem, as it was built and as HiGHS takes it.
    """

    method: str
    valid_for: ScheduleClass
    build: Callable[[RematSharding], tuple[KiwiModel, ArrayModel]]

    def run(self, problem: RematSharding, options: SolveOptions, clock: Clock) -> Outcome:
        """Find the fastest schedule of the class, with a bound for the class."""
        first = last = self._solved(problem, options, clock)
        work = {
            "rows": first.model.num_rows,
            "columns": first.model.num_columns,
            "coefficients": first.model.num_nonzeros,
            "nodes": first.solution.nodes,
        }
        if first.solution.answer is Answer.INFEASIBLE:
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
                last = self._solved(RematSharding(problem.instance, less_bytes), unseen, clock)
                schedule = last.schedule()
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
        open_ns = time_ns - max(bound.time_ns, problem.instance.base_time_ns)
        if open_ns <= 0:
            return replace(outcome, termination=Termination.COMPLETED)
        if open_ns <= options.gap * time_ns:
            return replace(outcome, termination=Termination.GAP_REACHED)
        return left_open(outcome)

    def _solved(self, problem: RematSharding, options: SolveOptions, clock: Clock) -> _Solved:
        built, model = self.build(with_sizes_that_matter(problem))

        def watch(progress: ModelProgress) -> None:
            if options.on_progress is None:
                return
            scale = built.time_scale
            time_ns = bound_ns = None
            if progress.objective is not None:
                time_ns = scale.from_model(progress.objective)
            if progress.dual_bound is not None:
                bound_ns = proved_ns(scale, progress.dual_bound)
            options.on_progress(Progress(clock.seconds, time_ns, bound_ns))

        run_options = highs_options(options, clock, options.gap)
        return _Solved(built, model, solve_in_time(model, run_options, watch))

    def _infeasibility(self, problem: RematSharding, built: KiwiModel) -> Infeasibility:
        """Name the least amount above the memory of the problem that a peak can have."""
        unit = built.memory_scale.unit
        return Infeasibility(
            valid_for=self.valid_for,
            least_memory_bytes=(problem.memory_bytes // unit + 1) * unit,
            is_exact=False,
            evidence=Evidence.SOLVER,
        )


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
