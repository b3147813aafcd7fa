r"""Rounds of cuts and slots that bring a bound and a plan of a sharded graph together.

The models are those of `formulations.windowed_sharding`. The search

1. solves the choice of strategies alone, with what each operator needs in memory, and where its
   plan does not fit, asks the baselines (`baselines_first`) and looks for the best plan that KIWI's
   reduced problem allows (`kiwi.reduced`); where that choice is a large problem, before it;
2. brings the point to a plan (`WindowedShardingModel`), replays it, and makes operators where it
   exceeds the memory most, at the price of a byte there (`eviction_cost`), cuts; where only
   recomputations exceed it, slots. In between it anneals what is computed again, with the
   strategies of the point;
3. solves the model with more cuts, from the best plan; and so on, until the plan of a model that
   was solved to its end fits, or the bound meets the best plan.

Each round's bound is valid, and the largest of each class counts: without slots for all plans whose
first computations follow the order of the graph, with slots for staged ones. The multipliers of
each relaxation are a bound in exact arithmetic.
"""

from __future__ import annotations

import math
from dataclasses import replace

from jettison.formulations.remat_sharding.windows import WindowedSharding
from jettison.formulations.remat_sharding.windows_built import WindowedShardingModel
from jettison.schedules.core.any_schedule import Schedule
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_sharding.schedule import ShardedSchedule
from jettison.solvers.core.baselines_first import schedules_of_baselines
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import pass_interrupt_on
from jettison.solvers.core.outcome import Infeasibility, Outcome, Progress, SolveOptions
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.milp.highs_options import IntegerSearch
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.milp.tolerance import BELOW_TOLERANCE
from jettison.solvers.remat_graph.cuts.bounds import GraphBounds
from jettison.solvers.remat_graph.cuts.eviction_cost import eviction_costs
from jettison.solvers.remat_graph.cuts.model_runs import GraphModelRuns, KnownPoint
from jettison.solvers.remat_graph.cuts.rows import CutRows, RunShare
from jettison.solvers.remat_graph.cuts.stage_excess import StageExcess
from jettison.solvers.remat_sharding.exact.incumbent import ShardedIncumbent
from jettison.solvers.remat_sharding.exact.presolved import PresolvedSharding
from jettison.solvers.remat_sharding.exact.priced_graph import priced_graph
from jettison.solvers.remat_sharding.kiwi.reduced import find_reduced

_MOST_COLUMNS = 200_000
# Of a larger first model the first point takes long, and plans of restricted problems do not wait.
_MANY_COLUMNS = 10_000
# Of plans of restricted problems, which are looked for once.
_EARLY_GAP = 1e-3
_EARLY_SHARE = 0.1
_SHARE_OF_THE_FIRST_PLAN = 0.4
# How close to the bound, as a share of its time, a plan is that HiGHS rather proves than betters.
_NEAR_SHARE = 0.01


class ShardedSearch:
    """The rounds, the best bounds and the best plan so far.

    Parameters
    ----------
    presolved
        What `presolved` leaves of the problem.
    options, clock
        As for the method.
    method
        What to call the bounds.

    Attributes
    ----------
    incumbent
        The best plan, and the annealing that betters it.
    """

    def __init__(
        self, presolved: PresolvedSharding, options: SolveOptions, clock: Clock, method: str
    ) -> None:
        self._presolved = presolved
        self.problem = problem = presolved.problem
        self.options = options
        self.clock = clock
        self.incumbent = ShardedIncumbent(problem, options.seed, clock)
        # The objective of the models is the whole time.
        self.bounds = GraphBounds(0, method, ScheduleClass.IN_ORDER)
        self.bounds.exact_ns = problem.instance.base_time_ns
        self._runs = GraphModelRuns(
            self.bounds, options, clock, lambda: self.is_settled, self.report
        )
        self._is_early = True
        self.infeasibility: Infeasibility | None = None
        self.work = {"cuts": 0, "slots": 0}
        self.note: str | None = None

    @property
    def is_settled(self) -> bool:
        """Whether the best plan is as close to the bound as was asked for."""
        time_ns = self.incumbent.time_ns
        if time_ns is None:
            return False
        return self.options.is_close_enough(
            time_ns, self.bounds.largest_ns, self.problem.instance.base_time_ns
        )

    def outcome(self, termination: Termination) -> Outcome:
        """Return the best plan and the bounds so far."""
        plan = self.incumbent.plan
        return Outcome(
            termination=termination,
            schedule=None if plan is None else self._presolved.restore(plan),
            bounds=self.bounds.as_bounds(),
            infeasibility=self.infeasibility,
            work={**self._runs.work, **self.work, "moves": self.incumbent.moves},
            note=self.note,
        )

    def run(self) -> Termination:
        """Add cuts and slots until a plan fits, nothing fits, or the time is up.

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C between two runs of HiGHS; within one it ends the search.
        """
        rows = CutRows()
        share = RunShare(self.clock)
        while self.clock.left_s and not self.is_settled:
            model = WindowedSharding(
                tuple(sorted(rows.cuts)), tuple(sorted(rows.slots)), rows.valid_for
            )
            if model.num_columns(self.problem.instance) > _MOST_COLUMNS:
                self.note = f"a model of more than {_MOST_COLUMNS:,} columns was not built"
                return Termination.MEMORY_LIMIT
            if self._is_early and model.num_columns(self.problem.instance) > _MANY_COLUMNS:
                self._find_early_plans()
                if self.is_settled or not self.clock.left_s:
                    break
            built = model.build(self.problem)
            relaxed = self._runs.relaxation(built, share.seconds)
            if rows.valid_for is ScheduleClass.IN_ORDER:
                self._runs.prove(built, relaxed.row_duals)
            if self.is_settled or not self.clock.left_s:
                break
            solution = self._solve(built, relaxed, rows.valid_for, share.seconds)
            if solution.termination in {Termination.INTERRUPTED, Termination.ERROR}:
                return solution.termination
            if solution.answer is Answer.INFEASIBLE:
                return self._no_point(built, rows)
            is_refined = solution.values is not None and self._refine(built, solution, rows)
            if self._is_early:
                self._find_early_plans()
            if not solution.termination.is_regular and self.clock.left_s < solution.seconds:
                break
            share.took(solution.seconds)
            if is_refined:
                continue
            if solution.termination.is_regular and not self.is_settled:
                if solution.termination is Termination.COMPLETED or self.incumbent.plan is None:
                    self.note = BELOW_TOLERANCE
                    return Termination.ERROR
                return solution.termination
            share.double()
        return self._why_it_ended()

    def _find_early_plans(self) -> None:
        """Ask the baselines, then KIWI's reduced problem: a good plan lets models lose columns.

        The reduced problem is solved to one part in a thousand, in a tenth of the time, or in two
        fifths of it as long as there is no plan at all.
        """
        self._is_early = False
        if self.is_settled:
            return
        for plan in schedules_of_baselines(self.problem, "exact", self.options, self.clock):
            self._improve_from(plan)
            if self.is_settled:
                return
        if not self.clock.left_s:
            return
        share = _SHARE_OF_THE_FIRST_PLAN if self.incumbent.plan is None else _EARLY_SHARE
        limit_s = None if math.isinf(self.clock.left_s) else share * self.clock.left_s
        gap = max(self.options.gap, _EARLY_GAP)
        options = replace(self.options, gap=gap, time_limit_s=limit_s, on_progress=None)
        found = find_reduced(self.problem, options, self.incumbent.plan)
        pass_interrupt_on(found.termination)
        if found.schedule is not None:
            self._improve_from(found.schedule)

    def _improve_from(self, plan: Schedule) -> None:
        assert isinstance(plan, ShardedSchedule)
        self.incumbent.improve_from(plan.strategies, plan.computations, self.bounds.largest_ns)
        self.report()

    def _why_it_ended(self) -> Termination:
        if not self.is_settled:
            return Termination.TIME_LIMIT
        is_best = self.incumbent.time_ns == self.bounds.largest_ns
        return Termination.COMPLETED if is_best else Termination.GAP_REACHED

    def _refine(self, built: WindowedShardingModel, solution: ModelSolution, rows: CutRows) -> bool:
        """Anneal from a point, and add the cuts and slots that it lacks; tell if it lacks any."""
        assert solution.values is not None
        strategies = built.chosen(solution.values)
        computations = built.computations(solution.values)
        self.incumbent.improve_from(strategies, computations, self.bounds.largest_ns)
        self.report()
        graph = priced_graph(self.problem.instance, strategies).graph
        memory_bytes = self.problem.memory_bytes
        excess = StageExcess(graph, memory_bytes, computations)
        costs = eviction_costs(graph, memory_bytes)
        prices = {stage: cost.ns_per_byte for stage, cost in costs.items()}
        if rows.add_cuts(excess, prices):
            return True
        if excess.is_none or not solution.termination.is_regular:
            return False
        keeps = any(operator.keep for operator in self.problem.instance.operators)
        return rows.add_slots(excess, len(self.problem.instance) - 1 if keeps else None)

    def _solve(
        self,
        built: WindowedShardingModel,
        relaxed: ModelSolution,
        valid_for: ScheduleClass,
        limit_s: float,
    ) -> ModelSolution:
        """Solve a model with its integers, from the best plan if it is a point."""
        self.work["cuts"] = max(self.work["cuts"], len(built.cuts))
        slots = sum(name.startswith("slot_") for name in built.model.row_names)
        self.work["slots"] = max(self.work["slots"], slots)
        plan, time_ns = self.incumbent.plan, self.incumbent.time_ns
        if plan is None or time_ns is None or not self._has_point(valid_for):
            return self._runs.solve(built, valid_for, limit_s)
        known = KnownPoint(built.point(plan.strategies, plan.computations), time_ns)
        # Far from the bound a better plan is worth more than a better bound, and HiGHS finds it.
        is_near = time_ns - self.bounds.largest_ns <= _NEAR_SHARE * time_ns
        search = IntegerSearch.PROVE if is_near else IntegerSearch.CHOOSE
        return self._runs.solve_from(built, valid_for, limit_s, known, relaxed.row_duals, search)

    def _has_point(self, valid_for: ScheduleClass) -> bool:
        """Tell whether the best plan is of the class that a model is for."""
        found = self.incumbent.schedule_class
        return found is not None and valid_for.covers(found)

    def _no_point(self, built: WindowedShardingModel, rows: CutRows) -> Termination:
        """Note that there is no plan of the class, unless one is known."""
        if self._has_point(rows.valid_for):
            self.note = "HiGHS calls a model infeasible that has a point"
            return Termination.ERROR
        unit = built.memory_scale.unit
        self.infeasibility = Infeasibility(
            valid_for=rows.valid_for,
            least_memory_bytes=(self.problem.memory_bytes // unit + 1) * unit,
            is_exact=False,
            evidence=Evidence.SOLVER,
        )
        return Termination.COMPLETED

    def report(self) -> None:
        """Tell the caller the best plan's time and the best bound."""
        if self.options.on_progress is not None:
            self.options.on_progress(
                Progress(self.clock.seconds, self.incumbent.time_ns, self.bounds.largest_ns)
            )
