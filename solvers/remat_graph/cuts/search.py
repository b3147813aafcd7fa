r"""Rounds of cuts and slots that bring a bound and a schedule of a graph's step together.

The models are those of `formulations.windowed_frontier`. Without slots they relax the problem for
every schedule whose first computations follow the order of the graph, whatever is computed again,
how often and in which order; with slots, for staged schedules. The search

1. anneals until a schedule is known (`annealing.incumbent`);
2. solves the linear relaxation of one cut at each of the stages whose memory costs most by a
   knapsack (`eviction_cost`), and goes on with the best one; the multipliers, evaluated in exact
   arithmetic, are a bound that no tolerance of the solver can spoil (`exact_dual_bound`);
3. solves the model with its integers;
4. brings its point to a schedule (`WindowedModel.computations`), as it did with the relaxation's
   rounded one to anneal from it, replays it, and makes stages where
   it exceeds the memory most, at the price of a byte there, cuts as well; where only recomputations
   exceed it, it adds slots and the cuts on both sides of them. In between it anneals from that
   schedule;
5. does the same again, until the schedule of a model that was solved to its end fits, or the bound
   meets the best schedule.

A run of HiGHS starts from the best schedule, which is a point of every model of its class, without
the values of single columns that reduced costs prove to be worse (`reduced_cost_fixing`), and
leaves the search for better points to the annealing, which goes on beside it on another core. One
that does not end within its share of the work, five times what all runs before it did, is left
with the bound that it has, and the model is solved anew with more.

All shares are counted in moves of annealing and in what HiGHS does (`highs_work`), never in
seconds: annealing has as many moves beside a run as take about as long, and sees the run's bound at
the same points each time. So a search finds the same however fast or busy the machine is; a time
limit only ends it.

Each round's bound is valid, and the largest of each class counts. Integers enter exactly: the
objective is a multiple of the greatest common divisor of the durations, so every bound is rounded
up to one, the solver's after it has been lowered by its tolerance (`IntegerScale`).

One cut has at most :math:`2n` binaries, so graphs of some thousands of nodes are no trouble;
models of more than a hundred thousand columns R and S are not built.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from jettison.formulations.milp.array_model import Floats
from jettison.formulations.remat_graph.windows.built import WindowedModel
from jettison.formulations.remat_graph.windows.frontier import WindowedFrontier
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Infeasibility, Outcome, Progress, SolveOptions
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.milp.tolerance import BELOW_TOLERANCE
from jettison.solvers.remat_graph.annealing.incumbent import GraphIncumbent
from jettison.solvers.remat_graph.baselines.starts import BaselineStarts
from jettison.solvers.remat_graph.cuts.bounds import GraphBounds
from jettison.solvers.remat_graph.cuts.eviction_cost import eviction_costs
from jettison.solvers.remat_graph.cuts.model_runs import GraphModelRuns, KnownPoint
from jettison.solvers.remat_graph.cuts.rows import CutRows
from jettison.solvers.remat_graph.cuts.stage_excess import StageExcess
from jettison.solvers.remat_graph.presolve.presolved import fixings_of, presolve

# Stages whose relaxations are solved before the first model with its integers.
_STAGES_LOOKED_AT = 4
_MOST_COLUMNS = 100_000
# Annealing beside HiGHS has one move for so many that would take as long.
_BESIDE = 2


class CutSearch:
    """The rounds, the best bounds and the best schedule so far.

    Parameters
    ----------
    problem, options, clock
        As for the method. What is searched is the problem that `presolve.presolved` leaves of it.
    method
        What to call the bounds.
    starts
        Baselines, which run one after another where the search takes longer.

    Attributes
    ----------
    incumbent
        The best schedule, and the annealing that betters it.
    """

    def __init__(
        self,
        problem: RematGraph,
        options: SolveOptions,
        clock: Clock,
        method: str,
        starts: BaselineStarts,
    ) -> None:
        self._presolved = presolve(problem)
        self.problem = self._presolved.problem
        self.options = options
        self.clock = clock
        self.incumbent = GraphIncumbent(self.problem, options.seed, clock)
        self._starts = starts
        base_ns = problem.instance.base_time_ns
        self.bounds = GraphBounds(base_ns, method, ScheduleClass.IN_ORDER)
        self._runs = GraphModelRuns(
            self.bounds, options, clock, lambda: self.is_settled, self.report, self._anneal_beside
        )
        self._ns_per_byte: dict[int, float] = {}
        self.infeasibility: Infeasibility | None = None
        self.work = {"cuts": 0, "slots": 0}
        self.note: str | None = None

    @property
    def schedule(self) -> GraphSchedule | None:
        """The best schedule of the problem that was given; None before the first."""
        found, baseline = self.incumbent.schedule, self._starts.schedule
        if found is None or (baseline is not None and self.time_ns != self.incumbent.time_ns):
            return baseline
        return self._presolved.restore(found)

    @property
    def time_ns(self) -> int | None:
        """Its time."""
        known = (self.incumbent.time_ns, self._starts.time_ns)
        return min((time_ns for time_ns in known if time_ns is not None), default=None)

    @property
    def is_settled(self) -> bool:
        """Whether the best schedule is as close to the bound as was asked for."""
        time_ns = self.time_ns
        if time_ns is None:
            return False
        return self.options.is_close_enough(time_ns, self.bounds.largest_ns, self.bounds.base_ns)

    @property
    def how_it_was_settled(self) -> Termination:
        """Whether the best schedule meets the bound, or is within the gap."""
        is_best = self.time_ns == self.bounds.largest_ns
        return Termination.COMPLETED if is_best else Termination.GAP_REACHED

    def outcome(self, termination: Termination) -> Outcome:
        """Return the bounds so far."""
        return Outcome(
            termination=termination,
            bounds=self.bounds.as_bounds(),
            infeasibility=self.infeasibility,
            work={**self._runs.work, **self.work, "moves": self.incumbent.moves},
            note=self.note,
        )

    def run(self) -> Termination:
        """Add cuts and slots until a schedule fits, nothing fits, or the time is up.

        A model that is not solved in its share of the work is tried again with what is known by
        then, if it asks for no other.

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C between two runs of HiGHS; within one it ends the search.
        """
        self.incumbent.find_first()
        self.report()
        graph = self.problem.instance
        costs = eviction_costs(graph, self.problem.memory_bytes)
        if not costs:
            return Termination.COMPLETED
        self._ns_per_byte = {stage: cost.ns_per_byte for stage, cost in costs.items()}
        dearest = sorted(costs, key=lambda stage: (-costs[stage].cost_ns, stage))
        rows = CutRows({self._best_stage(dearest[:_STAGES_LOOKED_AT])})
        while self.clock.left_s and not self.is_settled:
            frontier = self._frontier(rows)
            if frontier.num_columns(graph) > _MOST_COLUMNS:
                self.note = f"a model of more than {_MOST_COLUMNS:,} columns was not built"
                return Termination.MEMORY_LIMIT
            built = self._built(frontier)
            relaxed = self._runs.relaxation(built, self.clock.left_s)
            row_duals = relaxed.row_duals
            if rows.valid_for is ScheduleClass.IN_ORDER:
                self._runs.prove(built, row_duals)
            if self.is_settled or not self.clock.left_s:
                break
            if len(rows.cuts) > 1 and relaxed.values is not None:
                # What is computed again for the most part, brought within the memory.
                likely = built.computations(np.rint(relaxed.values))
                self.incumbent.improve_from(likely, self.bounds.largest_ns)
            solution = self._solve(built, row_duals, rows.valid_for)
            if solution.termination in {Termination.INTERRUPTED, Termination.ERROR}:
                return solution.termination
            if solution.answer is Answer.INFEASIBLE:
                return self._no_point(built, rows.valid_for)
            if solution.values is not None and self._refine(built, solution, rows):
                continue
            if solution.termination.is_regular and not self.is_settled:
                return self._without_further_model()
        return self.how_it_was_settled if self.is_settled else Termination.TIME_LIMIT

    def _frontier(self, rows: CutRows) -> WindowedFrontier:
        """Return the windows, with what the best schedule's time says of faster ones."""
        time_ns = self.incumbent.time_ns if self._has_point(rows.valid_for) else None
        fixings = fixings_of(self.problem, (rows.valid_for,), time_ns)
        if time_ns is not None:
            # The schedule is to be a point, and has its twins in memory as it likes.
            fixings = replace(fixings, twins=())
        return WindowedFrontier(
            tuple(sorted(rows.cuts)), tuple(sorted(rows.slots)), rows.valid_for, fixings=fixings
        )

    def _built(self, frontier: WindowedFrontier) -> WindowedModel:
        """Build a model, and note which one of the given graph says the same.

        That one has no fixings, and is weaker where presolve has put two nodes into one.
        """
        positions = self._presolved.positions
        slots = [(positions[t], positions[q]) for t, q in frontier.slots]
        cuts = {positions[cut] for cut in frontier.cuts} | {t - 1 for t, _ in slots}
        self.bounds.formulation = {
            "name": "windowed-frontier",
            "version": 1,
            "cuts": sorted(cuts),
            "slots": [list(slot) for slot in slots],
            "staged": frontier.valid_for is ScheduleClass.STAGED,
        }
        return frontier.build(self.problem)

    def _without_further_model(self) -> Termination:
        """Say how it ends where the last model was solved, and nothing is left to add to it."""
        if not self.is_settled:
            self.note = BELOW_TOLERANCE
            return Termination.ERROR
        return self.how_it_was_settled

    def _refine(self, built: WindowedModel, solution: ModelSolution, rows: CutRows) -> bool:
        """Anneal from a point, and add the cuts and slots that it lacks; tell if it lacks any."""
        assert solution.values is not None
        computations = built.computations(solution.values)
        self.incumbent.improve_from(computations, self.bounds.largest_ns)
        self.report()
        excess = self._excess(computations)
        if rows.add_cuts(excess, self._ns_per_byte):
            return True
        if excess.is_none or not solution.termination.is_regular:
            return False
        keeps = any(node.keep for node in built.graph.nodes)
        return rows.add_slots(excess, len(built.graph) - 1 if keeps else None)

    def _has_point(self, valid_for: ScheduleClass) -> bool:
        """Tell whether the best schedule is of the class that a model is for."""
        found = self.incumbent.schedule_class
        return found is not None and valid_for.covers(found)

    def _no_point(self, built: WindowedModel, valid_for: ScheduleClass) -> Termination:
        """Note that there is no staged schedule, unless one is known.

        In order every model has a point: it knows nothing of what recomputations need.
        """
        if valid_for is not ScheduleClass.STAGED or self._has_point(valid_for):
            self.note = "HiGHS calls a model infeasible that has a point"
            return Termination.ERROR
        unit = built.memory_scale.unit
        self.infeasibility = Infeasibility(
            valid_for=valid_for,
            least_memory_bytes=(self.problem.memory_bytes // unit + 1) * unit,
            is_exact=False,
            evidence=Evidence.SOLVER,
            formulation=self.bounds.formulation,
        )
        return Termination.COMPLETED

    def _best_stage(self, stages: Sequence[int]) -> int:
        """Return the stage whose cut's relaxation proves most."""
        values: dict[int, float] = {}
        for stage in stages:
            if not self.clock.left_s or self.is_settled:
                break
            built = self._built(self._frontier(CutRows({stage})))
            solution = self._runs.relaxation(built, self.clock.left_s)
            values[stage] = solution.dual_bound or 0.0
            if values[stage] == max(values.values()):
                self._runs.prove(built, solution.row_duals)
        return max(values, key=lambda stage: values[stage], default=stages[0])

    def _solve(
        self,
        built: WindowedModel,
        row_duals: Floats | None,
        valid_for: ScheduleClass,
    ) -> ModelSolution:
        """Solve a model with its integers, from the best schedule if it is a point."""
        self.work["cuts"] = max(self.work["cuts"], len(built.cuts))
        slots = sum(name.startswith("slot_") for name in built.model.row_names)
        self.work["slots"] = max(self.work["slots"], slots)
        work_limit = self._runs.share.limit(built.model.num_columns)
        schedule, time_ns = self.incumbent.schedule, self.incumbent.time_ns
        if schedule is None or time_ns is None or not self._has_point(valid_for):
            return self._runs.solve(built, valid_for, self.clock.left_s, work_limit=work_limit)
        known = KnownPoint(built.point(schedule.computations), time_ns)
        return self._runs.solve_from(
            built, valid_for, self.clock.left_s, known, row_duals, work_limit=work_limit
        )

    def _anneal_beside(self, moves: int) -> None:
        self.incumbent.improve_beside(moves // _BESIDE, self.bounds.largest_ns)
        self._starts.grant(moves)

    def _excess(self, computations: Sequence[int]) -> StageExcess:
        return StageExcess(self.problem.instance, self.problem.memory_bytes, computations)

    def report(self) -> None:
        """Tell the caller the best schedule's time and the best bound."""
        if self.options.on_progress is not None:
            self.options.on_progress(
                Progress(self.clock.seconds, self.time_ns, self.bounds.largest_ns)
            )
