"""Runs of HiGHS on models of recomputation, which raise the bounds of a search."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import pass_interrupt_on
from jettison.solvers.core.outcome import Infeasibility, SolveOptions
from jettison.solvers.core.search import Incumbent
from jettison.solvers.core.status import Termination
from jettison.solvers.core.work import Budget, ShareOfABudget, WorkShare
from jettison.solvers.milp.exact_dual_bound import exact_dual_bound
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_in_time import CHILD, solve_in_time
from jettison.solvers.milp.highs_of_a_method import highs_options
from jettison.solvers.milp.highs_options import HighsOptions, IntegerSearch
from jettison.solvers.milp.reduced_cost_fixing import tightened_by_reduced_costs
from jettison.solvers.milp.solution import ModelSolution, Progress
from jettison.solvers.remat_graph.cuts.bounds import ModelBounds


class SizedModel(Protocol):
    """Model of sizes in memory."""

    @property
    def memory_scale(self) -> IntegerScale:
        """The unit of its sizes."""


class RecomputationModel(SizedModel, Protocol):
    """Model whose objective is the time of recomputations."""

    @property
    def model(self) -> ArrayModel:
        """The model."""

    @property
    def time_scale(self) -> IntegerScale:
        """The unit of its objective."""


@dataclass(frozen=True, slots=True)
class KnownPoint:
    """Point from which a model starts, NaN where unknown, and the time of its schedule."""

    values: Floats
    time_ns: int


class GraphModelRuns:
    """Runner of HiGHS for the searches over cuts and milestones.

    Parameters
    ----------
    incumbent
        Tells whether the bound is as close to a schedule as was asked for, which ends a run.
    bounds
        The bounds that the runs raise.
    options, clock
        Those of the method.
    share
        The work that a run may do, and the work of all runs.
    beside
        Called beside a run with the number of moves of annealing that take as long as the run has
        worked since the last call. The bound and the end of a run depend on the work done and on
        the results of these calls; on a clock only where its time is up.
    columns_for_a_child
        As in `ChildParams`.

    Attributes
    ----------
    work
        Counts of the effort over all runs.
    """

    def __init__(
        self,
        incumbent: Incumbent[Any],
        bounds: ModelBounds,
        options: SolveOptions,
        clock: Clock,
        share: WorkShare | Budget | ShareOfABudget,
        beside: Callable[[int], None] = lambda moves: None,
        columns_for_a_child: int = CHILD.columns_for_a_child,
    ) -> None:
        self._incumbent = incumbent
        self._bounds = bounds
        self._options = options
        self._clock = clock
        self._beside = beside
        self._columns_for_a_child = columns_for_a_child
        self.share = share
        self.work = {"models": 0, "columns": 0, "fixed": 0, "nodes": 0}

    def relaxation(self, built: RecomputationModel) -> ModelSolution:
        """Solve the linear relaxation, for its value and the multipliers of its rows.

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C.
        """
        model = built.model.relaxed()
        done = 0

        def work(progress: Progress) -> None:
            nonlocal done
            assert progress.work is not None
            moves = self.share.add(progress.work - done, model.num_columns)
            self._clock.spend(moves)
            self._beside(moves)
            done = progress.work

        solution = solve_model(model, self._highs_options(), on_work=work)
        pass_interrupt_on(solution.termination)
        return solution

    def prove(self, built: RecomputationModel, row_duals: Floats | None) -> int:
        """Raise the exact bound by multipliers; return the time that they prove."""
        proved = None if row_duals is None else exact_dual_bound(built.model, row_duals)
        if proved is None:
            return self._bounds.base_ns
        return self._bounds.prove(proved, built.time_scale)

    def solve(
        self,
        built: RecomputationModel,
        valid_for: ScheduleClass,
        start: Floats | None = None,
        on_point: Callable[[Floats], None] | None = None,
    ) -> ModelSolution:
        """Solve a model with its integers, and raise the bound of a class by what it proves.

        The run ends when no point is left that could raise the bound by more than the gap that was
        asked for, when the search is settled, or when its share of the work was done.

        Parameters
        ----------
        built
            The model.
        valid_for
            What its bound holds for.
        start
            A point to start from, NaN where unknown.
        on_point
            Called with each better point.
        """
        options = replace(self._highs_options(), start=start)
        return self._run(built, built.model, valid_for, options, on_point)

    def solve_from(
        self,
        built: RecomputationModel,
        valid_for: ScheduleClass,
        known: KnownPoint,
        row_duals: Floats | None,
        search: IntegerSearch = IntegerSearch.PROVE,
    ) -> ModelSolution:
        """Solve a model as `solve` does, from a schedule; only worse points may be cut off.

        Parameters
        ----------
        built, valid_for
            As for `solve`.
        known
            A feasible point, NaN where unknown.
        row_duals
            Multipliers of the relaxation, whose reduced costs fix columns.
        search
            The emphasis of HiGHS.
        """
        scale, model = built.time_scale, built.model
        at_most = Fraction(known.time_ns - self._bounds.base_ns, scale.unit * scale.factor)
        if row_duals is not None:
            tightened = tightened_by_reduced_costs(model, row_duals, at_most)
            if tightened is not None:
                model = tightened.model
                self.work["fixed"] += tightened.num_fixed
        # A schedule may do for nothing what the model leaves out, where operators take no time;
        # then the model has another point that is as good, and none to start from.
        start = known.values if _is_within_limits(model, known.values) else None
        options = replace(self._highs_options(), start=start, integer_search=search)
        return self._run(built, model, valid_for, options)

    def _run(
        self,
        built: RecomputationModel,
        model: ArrayModel,
        valid_for: ScheduleClass,
        options: HighsOptions,
        on_point: Callable[[Floats], None] | None = None,
    ) -> ModelSolution:
        bounds, scale = self._bounds, built.time_scale
        columns = built.model.num_columns
        limits = (self.share.limit(columns), self._clock.work_limit(columns))
        given = [limit for limit in limits if limit is not None]
        options = replace(options, work_limit=min(given, default=None))
        stop = threading.Event()
        why: Termination | None = None
        last = Progress(0.0, None, None, 0, 0)
        point: Floats | None = None

        def take(values: Floats) -> None:
            nonlocal point
            if why is not None:
                return
            point = values
            if on_point is not None:
                on_point(values)

        def work(progress: Progress) -> None:
            nonlocal why, last
            if why is not None:
                # The work between the request to stop and the stop differs between machines.
                return
            assert progress.work is not None
            assert last.work is not None
            moves = self.share.add(progress.work - last.work, model.num_columns)
            last = progress
            self._clock.spend(moves)
            bound_ns = bounds.believe(progress.dual_bound, scale, valid_for)
            self._beside(moves)
            if self._incumbent.is_settled:
                why = Termination.COMPLETED
            elif progress.dual_bound is not None and progress.objective is not None:
                most_ns = bounds.base_ns + scale.from_model(progress.objective)
                if most_ns <= bound_ns:
                    why = Termination.COMPLETED
                elif self._options.is_close_enough(most_ns, bound_ns, bounds.base_ns):
                    why = Termination.GAP_REACHED
            self._incumbent.report()
            if why is not None:
                stop.set()

        solution = solve_in_time(
            model,
            options,
            lambda progress: self._incumbent.report(),
            on_incumbent=take,
            on_work=work,
            stop=stop,
            columns_for_a_child=self._columns_for_a_child,
        )
        if why is not None:
            solution = replace(
                solution,
                termination=why,
                dual_bound=last.dual_bound,
                nodes=last.nodes,
                values=solution.values if point is None else point,
            )
        bounds.believe(solution.dual_bound, scale, valid_for)
        self.work["models"] += 1
        self.work["nodes"] += solution.nodes
        self.work["columns"] = max(self.work["columns"], model.num_columns)
        return solution

    def _highs_options(self) -> HighsOptions:
        # The gap is watched here: HiGHS's own leaves the base time out.
        return highs_options(self._options, self._clock, gap=0)


def _is_within_limits(model: ArrayModel, values: Floats) -> bool:
    """Tell whether a point keeps to the limits of its columns; NaN does."""
    return not ((values < model.column_lower) | (values > model.column_upper)).any()


def without_a_point(
    memory_bytes: int,
    built: SizedModel,
    valid_for: ScheduleClass,
    formulation: Mapping[str, object] | None = None,
) -> Infeasibility:
    """Return the proof that more memory is needed, from a solver's answer that no point exists.

    The least memory is the least amount above the given one that is a sum of the model's sizes.
    """
    unit = built.memory_scale.unit
    return Infeasibility(
        valid_for=valid_for,
        least_memory_bytes=(memory_bytes // unit + 1) * unit,
        is_exact=False,
        evidence=Evidence.SOLVER,
        formulation=formulation,
    )
