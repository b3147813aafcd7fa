"""Runs of HiGHS on models of recomputations, each of which raises a bound."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import pass_interrupt_on
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.milp.exact_dual_bound import exact_dual_bound
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_of_a_method import highs_options
from jettison.solvers.milp.highs_options import HighsOptions, IntegerSearch
from jettison.solvers.milp.reduced_cost_fixing import tightened_by_reduced_costs
from jettison.solvers.milp.solution import ModelSolution, Progress
from jettison.solvers.remat_graph.cuts.bounds import GraphBounds
from jettison.solvers.remat_graph.cuts.rows import WorkShare


class RecomputationModel(Protocol):
    """A model whose objective is the time of recomputations."""

    @property
    def model(self) -> ArrayModel:
        """The model."""

    @property
    def time_scale(self) -> IntegerScale:
        """What its objective counts in."""


@dataclass(frozen=True, slots=True)
class KnownPoint:
    """A point of a model to start from, NaN where unknown, and the time of its schedule."""

    values: Floats
    time_ns: int


class GraphModelRuns:
    """HiGHS, as the searches over cuts and milestones run it.

    Parameters
    ----------
    bounds
        What the runs raise.
    options, clock
        Of the method.
    is_settled
        Whether the bound is as close to a schedule as was asked for, which ends a run.
    report
        Called when something was learnt.
    beside
        Called beside a run with the number of moves of annealing that take as long as what it has
        done since the last call. What a run proves, and where it ends, depends on the work done and
        on what comes of these calls; on a clock only where its time is up.

    Attributes
    ----------
    work
        Counts over all runs.
    share
        What the runs have done.
    """

    def __init__(
        self,
        bounds: GraphBounds,
        options: SolveOptions,
        clock: Clock,
        is_settled: Callable[[], bool],
        report: Callable[[], None],
        beside: Callable[[int], None] = lambda moves: None,
    ) -> None:
        self._bounds = bounds
        self._options = options
        self._clock = clock
        self._is_settled = is_settled
        self._report = report
        self._beside = beside
        self.share = WorkShare()
        self.work = {"models": 0, "columns": 0, "fixed": 0, "nodes": 0}

    def relaxation(self, built: RecomputationModel, limit_s: float) -> ModelSolution:
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
            self._beside(self.share.add(progress.work - done, model.num_columns))
            done = progress.work

        solution = solve_model(model, self._highs_options(limit_s), on_work=work)
        pass_interrupt_on(solution.termination)
        return solution

    def prove(self, built: RecomputationModel, row_duals: Floats | None) -> int:
        """Raise the exact bound by multipliers; return what they prove."""
        proved = None if row_duals is None else exact_dual_bound(built.model, row_duals)
        if proved is None:
            return self._bounds.base_ns
        found_ns = self._bounds.prove(proved, built.time_scale)
        self._report()
        return found_ns

    def solve(
        self,
        built: RecomputationModel,
        valid_for: ScheduleClass,
        limit_s: float,
        start: Floats | None = None,
        work_limit: int | None = None,
    ) -> ModelSolution:
        """Solve a model with its integers, and raise the bound of a class by what it proves.

        The run ends when no point is left that could raise the bound by more than the gap that was
        asked for, as a share of the time of the best point, or when the search is settled.
        """
        options = replace(self._highs_options(limit_s), start=start, work_limit=work_limit)
        return self._run(built, built.model, valid_for, options)

    def solve_from(
        self,
        built: RecomputationModel,
        valid_for: ScheduleClass,
        limit_s: float,
        known: KnownPoint,
        row_duals: Floats | None,
        search: IntegerSearch = IntegerSearch.PROVE,
        work_limit: int | None = None,
    ) -> ModelSolution:
        """Do the same from a schedule; points that are worse may be left out, the best one never.

        Parameters
        ----------
        built, valid_for, limit_s
            As for `solve`.
        known
            Feasible but for what is NaN.
        row_duals
            Of the relaxation: their reduced costs fix columns.
        search
            What HiGHS puts its time into.
        work_limit
            As `HighsOptions` has it.
        """
        scale, model = built.time_scale, built.model
        at_most = Fraction(known.time_ns - self._bounds.base_ns, scale.unit * scale.factor)
        if row_duals is not None:
            tightened = tightened_by_reduced_costs(model, row_duals, at_most)
            if tightened is not None:
                model = tightened.model
                self.work["fixed"] += tightened.num_fixed
        options = replace(
            self._highs_options(limit_s),
            start=known.values,
            integer_search=search,
            work_limit=work_limit,
        )
        return self._run(built, model, valid_for, options)

    def _run(
        self,
        built: RecomputationModel,
        model: ArrayModel,
        valid_for: ScheduleClass,
        options: HighsOptions,
    ) -> ModelSolution:
        bounds, scale = self._bounds, built.time_scale
        stop = threading.Event()
        why: Termination | None = None
        last = Progress(0.0, None, None, 0, 0)

        def work(progress: Progress) -> None:
            nonlocal why, last
            if why is not None:
                # What it did before it heard that it may stop is another thing on each machine.
                return
            assert progress.work is not None
            assert last.work is not None
            moves = self.share.add(progress.work - last.work, model.num_columns)
            last = progress
            bound_ns = bounds.believe(progress.dual_bound, scale, valid_for)
            self._beside(moves)
            if self._is_settled():
                why = Termination.COMPLETED
            elif progress.dual_bound is not None and progress.objective is not None:
                most_ns = bounds.base_ns + scale.from_model(progress.objective)
                if most_ns <= bound_ns:
                    why = Termination.COMPLETED
                elif self._options.is_close_enough(most_ns, bound_ns, bounds.base_ns):
                    why = Termination.GAP_REACHED
            self._report()
            if why is not None:
                stop.set()

        solution = solve_in_time(
            model, options, lambda progress: self._report(), on_work=work, stop=stop
        )
        if why is not None:
            solution = replace(
                solution, termination=why, dual_bound=last.dual_bound, nodes=last.nodes
            )
        bounds.believe(solution.dual_bound, scale, valid_for)
        self.work["models"] += 1
        self.work["nodes"] += solution.nodes
        self.work["columns"] = max(self.work["columns"], model.num_columns)
        self._report()
        return solution

    def _highs_options(self, limit_s: float) -> HighsOptions:
        # The gap is watched here: HiGHS's own leaves the base time out.
        options = highs_options(self._options, self._clock, gap=0)
        return replace(options, time_limit_s=min(limit_s, self._clock.left_s))
