r"""exact: the least recomputation of a graph, by models of cuts added where they are needed.

A *cut* is the end of a node's first computation, at which a model counts memory; a *slot* is the
turn of a node in a stage, in which it counts the memory of a recomputation. A model of few cuts
(`formulations.remat_graph.windows.frontier`) is solved, its point becomes a schedule, and the
stages at which that exceeds the memory become cuts as well. Without slots a model relaxes the
problem for every schedule whose first computations follow the order of the graph, whatever is
recomputed, how often and in which order; with slots, for staged schedules. The search

1. anneals until a schedule is known (`annealing.beside_models`);
2. solves the linear relaxation of one cut at each of the stages whose memory costs most by a
   knapsack (`eviction_cost`), and continues with the best one; the multipliers, evaluated in exact
   arithmetic, are a bound that no tolerance of the solver can spoil (`exact_dual_bound`);
3. solves the model with its integers;
4. brings its point to a schedule (`WindowedModel.computations`), as it did with the relaxation's
   rounded one to anneal from it, replays it, and makes stages where it exceeds the memory most, at
   the price of a byte there, cuts as well; where only recomputations exceed it, it adds slots and
   the cuts on both sides of them. In between it anneals from that schedule;
5. does the same again (`search_in_rounds`) until the schedule of a model that was solved to its
   end fits, or the bound meets the best schedule: with all cuts and slots the model is exact;
6. anneals in the time that is left, where a model would be too large.

A run of HiGHS starts from the best schedule, which is a point of every model of its class, without
the values of single columns that reduced costs prove to be worse (`reduced_cost_fixing`), and
leaves the search for better points to the annealing, which goes on beside it on another core. A run
that does not end within its share of the work, five times that of all runs before it, ends with the
bound that it has, and the model is solved again with a larger share.

All shares are counted in moves of annealing and in what HiGHS does (`core.work`), never in seconds:
annealing has as many moves beside a run as take about as long, and sees the run's bound at the same
points each time. So a search finds the same however fast or busy the machine is; a time limit only
ends it, and a limit on the work (`SolveOptions.most_moves`) ends it at the same point everywhere.

Each round's bound is valid, and the largest of each class counts. Integers enter exactly: the
objective is a multiple of the greatest common divisor of the durations, so every bound is rounded
up to one, the solver's after it has been lowered by its tolerance (`IntegerScale`). One cut has at
most :math:`2n` binaries, so graphs of some thousands of nodes are no trouble.

Source: Checkmate's problem (MLSys 2020). What was tried beside it and left out: `docs/tried.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from jettison.formulations.milp.array_model import Floats
from jettison.formulations.remat_graph.windows.built import WindowedModel
from jettison.formulations.remat_graph.windows.frontier import WindowedFrontier
from jettison.instances.core.units import format_bytes
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.bound import exact_bound
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Infeasibility, Outcome, SolveOptions
from jettison.solvers.core.search import Incumbent, Rounds, search_in_rounds
from jettison.solvers.core.status import Termination
from jettison.solvers.core.work import WorkShare, clock_of
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.milp.tolerance import BELOW_TOLERANCE
from jettison.solvers.remat_graph.annealing.beside_models import GraphAnnealing
from jettison.solvers.remat_graph.baselines.fallbacks import BaselineStarts
from jettison.solvers.remat_graph.cuts.bounds import ModelBounds
from jettison.solvers.remat_graph.cuts.eviction_cost import eviction_costs
from jettison.solvers.remat_graph.cuts.model_runs import GraphModelRuns, KnownPoint, without_a_point
from jettison.solvers.remat_graph.cuts.params import EXACT, ExactParams
from jettison.solvers.remat_graph.cuts.rows import CutRows
from jettison.solvers.remat_graph.cuts.stage_excess import StageExcess
from jettison.solvers.remat_graph.least_memory import with_least_staged_memory
from jettison.solvers.remat_graph.memory_floor import memory_for_everything, too_little_memory
from jettison.solvers.remat_graph.presolve.presolved import fixings_of, presolve

# Reasons for the end of the rounds after which annealing may still settle the problem.
_LEFT_OPEN = (Termination.TIME_LIMIT, Termination.MEMORY_LIMIT)


def solve_graph_exact(
    problem: RematGraph, options: SolveOptions, params: ExactParams = EXACT
) -> Outcome:
    """Return the fastest schedule, proved, or the best one with its bound when the time is up.

    At the time limit and on Ctrl-C it is the best so far.

    Returns
    -------
    Outcome
        With the bounds of `cut-bound`. They rest on HiGHS but for the relaxation's, which is exact
        arithmetic. Or a proof that nothing fits, as `cut-bound` gives it.
    """
    clock = clock_of(options)
    refused = too_little_memory(problem)
    if refused is not None:
        return with_least_staged_memory(refused, problem, options, clock, params)
    settled = memory_for_everything(problem)
    if settled is not None:
        return settled
    rounds = CutRounds(problem, options, clock, "exact", params)
    incumbent, annealing = rounds.incumbent, rounds.annealing
    baselines = BaselineStarts(problem, options, clock, incumbent, params.moves_per_baseline)
    rounds.beside = baselines.grant
    incumbent.begin_from(options.start, GraphSchedule, ScheduleClass.IN_ORDER)
    with Ending() as ending:
        rounds.anneal_from_the_start()
        annealing.find_first()
        ending.termination = search_in_rounds(rounds, incumbent, clock)
        is_over = ending.is_interrupted or rounds.infeasibility is not None
        if not (is_over or incumbent.is_settled):
            baselines.run_all()
        while not (is_over or incumbent.is_settled):
            is_over = not annealing.improve(incumbent.lower_bound_ns)
            incumbent.report()
        was_left_open = ending.termination in _LEFT_OPEN or rounds.note == BELOW_TOLERANCE
        if was_left_open and incumbent.is_settled:
            ending.termination, rounds.note = incumbent.end, None
    outcome = rounds.outcome(ending.termination)
    if outcome.schedule is not None:
        # Where no staged schedule fits, one that is only in order may fit.
        return replace(outcome, infeasibility=None)
    if outcome.infeasibility is not None:
        return with_least_staged_memory(outcome, problem, options, clock, params)
    if outcome.note is not None:
        return outcome
    note = "no schedule was found that fits; that does not prove that there is none"
    least = annealing.least_peak
    if least is not None:
        note += f"; one that needs {format_bytes(least)} ({least} bytes) was"
    return replace(outcome, note=note)


class CutRounds(Rounds[WindowedModel]):
    """Rounds of models with more and more cuts and slots, from where schedules exceed the memory.

    Parameters
    ----------
    problem, options, clock
        As for the method. The rounds solve the problem that `presolve.presolved` leaves of it.
    method
        The method's name, for the bounds.
    params
        As for the method.

    Attributes
    ----------
    incumbent
        The best schedule of the problem that was given, and the bounds.
    annealing
        The annealing that finds schedules beside the models.
    beside
        Called beside runs of HiGHS with the number of moves that take as long.
    infeasibility, note
        The proof that nothing fits, and the note on the end of the rounds.
    """

    def __init__(
        self,
        problem: RematGraph,
        options: SolveOptions,
        clock: Clock,
        method: str,
        params: ExactParams,
    ) -> None:
        graph, memory_bytes = problem.instance, problem.memory_bytes
        base_ns = graph.base_time_ns
        self._presolved = presolve(problem)
        self._problem = self._presolved.problem
        self._params = params
        self.incumbent: Incumbent[GraphSchedule] = Incumbent(
            lambda schedule: schedule.replay(graph, memory_bytes),
            base_ns,
            options,
            clock,
            exact_bound(base_ns, ScheduleClass.IN_ORDER, method),
        )
        self.annealing = GraphAnnealing(
            self._problem,
            options.seed,
            clock,
            lambda found: self.incumbent.offer(self._presolved.restore(found)),
            params,
        )
        self._bounds = ModelBounds(self.incumbent, base_ns, method, ScheduleClass.IN_ORDER)
        self._runs = GraphModelRuns(
            self.incumbent,
            self._bounds,
            options,
            clock,
            WorkShare(params.least_moves, params.times_all),
            self._anneal_beside,
            params.columns_for_a_child,
        )
        costs = eviction_costs(self._problem.instance, self._problem.memory_bytes)
        self._ns_per_byte = {stage: cost.ns_per_byte for stage, cost in costs.items()}
        self._dearest = sorted(costs, key=lambda stage: (-costs[stage].cost_ns, stage))
        self._rows = CutRows(params=params)
        self._row_duals: Floats | None = None
        self.beside: Callable[[int], None] = lambda moves: None
        self.infeasibility: Infeasibility | None = None
        self.note: str | None = None
        self._work = {"cuts": 0, "slots": 0}

    def outcome(self, termination: Termination) -> Outcome:
        """Return the best schedule and the bounds so far."""
        work = {**self._runs.work, **self._work, "moves": self.annealing.moves}
        return self.incumbent.outcome(
            termination, work=work, infeasibility=self.infeasibility, note=self.note
        )

    def anneal_from_the_start(self) -> None:
        """Anneal from the schedule that was given, if any: a point for the models to start from."""
        start = self.incumbent.schedule
        if start is not None:
            reduced = self._presolved.reduce(start)
            self.annealing.improve_from(reduced, self.incumbent.lower_bound_ns)

    def build(self) -> WindowedModel | None:
        """Return the model of the cuts and slots so far; the first has a cut at the best stage."""
        if not self._rows.cuts:
            stages = self._dearest[: self._params.stages_looked_at]
            self._rows.cuts.add(self._best_stage(stages))
        frontier = self._frontier(self._rows)
        if frontier.num_columns(self._problem.instance) > self._params.most_columns:
            self.note = f"a model of more than {self._params.most_columns:,} columns was not built"
            return None
        return self._built(frontier)

    def relax(self, model: WindowedModel) -> None:
        """Raise the bound by the relaxation's multipliers, and anneal from its rounded point."""
        relaxed = self._runs.relaxation(model)
        self._row_duals = relaxed.row_duals
        if self._rows.valid_for is ScheduleClass.IN_ORDER:
            self._runs.prove(model, relaxed.row_duals)
        if len(model.cuts) > 1 and relaxed.values is not None and not self.incumbent.is_settled:
            # The recomputations of more than a half, repaired to fit in memory.
            likely = model.computations(np.rint(relaxed.values))
            self.annealing.improve_from(likely, self.incumbent.lower_bound_ns)

    def solve(self, model: WindowedModel) -> ModelSolution:
        """Solve a model with its integers, from the best schedule if it is a point."""
        self._work["cuts"] = max(self._work["cuts"], len(model.cuts))
        slots = sum(name.startswith("slot_") for name in model.model.row_names)
        self._work["slots"] = max(self._work["slots"], slots)
        schedule, time_ns = self.annealing.schedule, self.annealing.time_ns
        if schedule is None or time_ns is None or not self._has_point(self._rows.valid_for):
            return self._runs.solve(model, self._rows.valid_for)
        known = KnownPoint(model.point(schedule.computations), time_ns)
        return self._runs.solve_from(model, self._rows.valid_for, known, self._row_duals)

    def refine(self, model: WindowedModel, solution: ModelSolution) -> bool:
        """Anneal from a point, and add cuts and slots where it exceeds the memory; tell if any."""
        if solution.values is None:
            return False
        computations = model.computations(solution.values)
        self.annealing.improve_from(computations, self.incumbent.lower_bound_ns)
        excess = StageExcess(self._problem.instance, self._problem.memory_bytes, computations)
        if self._rows.add_cuts(excess, self._ns_per_byte):
            return True
        if excess.is_none or not solution.termination.is_regular:
            return False
        keeps = any(node.keep for node in model.graph.nodes)
        return self._rows.add_slots(excess, len(model.graph) - 1 if keeps else None)

    def no_point(self, model: WindowedModel) -> Termination:
        """Record that there is no staged schedule, unless one is known.

        Models without slots always have a point, since they do not limit recomputations.
        """
        valid_for = self._rows.valid_for
        if valid_for is not ScheduleClass.STAGED or self._has_point(valid_for):
            self.note = "HiGHS calls a model infeasible that has a point"
            return Termination.ERROR
        self.infeasibility = without_a_point(
            self._problem.memory_bytes, model, valid_for, self._bounds.formulation
        )
        return Termination.COMPLETED

    def nothing_to_add(self, solution: ModelSolution) -> Termination:
        """End the rounds: the tolerance of the solver leaves the question open."""
        self.note = BELOW_TOLERANCE
        return Termination.ERROR

    def _frontier(self, rows: CutRows) -> WindowedFrontier:
        """Return the formulation, with fixings that hold for all faster schedules."""
        time_ns = self.annealing.time_ns if self._has_point(rows.valid_for) else None
        fixings = fixings_of(self._problem, (rows.valid_for,), time_ns)
        if time_ns is not None:
            # The schedule has to be a point of the model, whichever of two twins it keeps.
            fixings = replace(fixings, twins=())
        return WindowedFrontier(
            tuple(sorted(rows.cuts)), tuple(sorted(rows.slots)), rows.valid_for, fixings=fixings
        )

    def _built(self, frontier: WindowedFrontier) -> WindowedModel:
        """Build a model, and record the model of the given graph that corresponds to it.

        That one has no fixings, and is weaker where presolve has merged two nodes.
        """
        positions = self._presolved.positions
        slots = [(positions[t], positions[q]) for t, q in frontier.slots]
        cuts = {positions[cut] for cut in frontier.cuts} | {t - 1 for t, _ in slots}
        self._bounds.formulation = {
            "name": "windowed-frontier",
            "version": 1,
            "cuts": sorted(cuts),
            "slots": [list(slot) for slot in slots],
            "staged": frontier.valid_for is ScheduleClass.STAGED,
        }
        return frontier.build(self._problem)

    def _best_stage(self, stages: Sequence[int]) -> int:
        """Return the stage whose cut's relaxation proves most."""
        values: dict[int, float] = {}
        for stage in stages:
            if self.incumbent.is_settled:
                break
            built = self._built(self._frontier(CutRows({stage})))
            solution = self._runs.relaxation(built)
            values[stage] = solution.dual_bound or 0.0
            if values[stage] == max(values.values()):
                self._runs.prove(built, solution.row_duals)
        return max(values, key=lambda stage: values[stage], default=stages[0])

    def _has_point(self, valid_for: ScheduleClass) -> bool:
        """Tell whether the best schedule belongs to a model's class of schedules."""
        found = self.annealing.schedule_class
        return found is not None and valid_for.covers(found)

    def _anneal_beside(self, moves: int) -> None:
        self.annealing.improve_beside(moves // self._params.beside, self.incumbent.lower_bound_ns)
        self.beside(moves)
