r"""A lower bound on the time of a graph's step, from what a few cuts force to be computed again.

The models are those of `formulations.windowed_frontier`. Without slots they relax the problem for
every schedule whose first computations follow the order of the graph, whatever is computed again,
how often and in which order; with slots, for staged schedules. The method

1. looks at the step without recomputation, and solves the linear relaxation of one cut at each of
   the stages that need most memory; its multipliers, evaluated in exact arithmetic, are a bound
   that no tolerance of the solver can spoil (`exact_dual_bound`);
2. solves the best few of them with their integers, and goes on with the best one;
3. brings the best point to a schedule (`WindowedModel.computations`), replays it, and makes the
   stages with the largest excess cuts as well; then the same again, until the schedule fits or no
   cut is left to add;
4. if the schedule does not fit then, goes on in the same way with slots, where recomputations
   exceed the memory. These bounds are larger and hold for staged schedules only.

A run of HiGHS that does not end within its share of the time is left with the bound that it has,
and gets twice the share when nothing else is left to do. Each round's bound is valid, and the
largest counts. Integers enter exactly: the objective is a multiple of the greatest common divisor
of the durations, so every bound is rounded up to one, the solver's after it has been lowered by its
tolerance (`IntegerScale`).

If the schedule of a round that was solved to its end fits, the bound is the optimum of its class;
`graph_exact` hands the schedule out.

One cut has at most :math:`2n` binaries, so graphs of some thousands of nodes are no trouble;
models of more than a hundred thousand columns R and S are not built.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import replace

from jettison.formulations.windowed_frontier import WindowedFrontier, WindowedModel
from jettison.instances.remat_graph import RematGraph
from jettison.schedules.graph_schedule import GraphSchedule
from jettison.schedules.schedule_class import ScheduleClass
from jettison.solvers.bound import Bound, Evidence
from jettison.solvers.checkmate_highs import highs_options
from jettison.solvers.clock import Clock
from jettison.solvers.exact_dual_bound import exact_dual_bound
from jettison.solvers.graph_memory_floor import too_little_memory
from jettison.solvers.highs import solve_model
from jettison.solvers.highs_child import solve_in_child
from jettison.solvers.highs_options import HighsOptions
from jettison.solvers.model_solution import ModelSolution
from jettison.solvers.model_solution import Progress as ModelProgress
from jettison.solvers.outcome import Infeasibility, Outcome, Problem, Progress, SolveOptions
from jettison.solvers.stage_excess import Slot, StageExcess
from jettison.solvers.status import Answer, Termination

# Stages whose relaxations are solved, and those of them that are solved with their integers.
_STAGES_LOOKED_AT = 16
_STAGES_SOLVED = 3
_NEW_CUTS = 2
_NEW_SLOTS = 8
# The first share of one run; a cut takes hundredths of a second up to some hundred nodes.
_FIRST_SHARE_S = 2.0
_MOST_COLUMNS = 100_000
# Larger integer models run in a process of their own, which takes some tenths of a second: within
# this one HiGHS has taken 24 s where 2 s were allowed.
_COLUMNS_FOR_A_CHILD = 2_000
_SECONDS_TO_END = 1.0


def bound_graph_cuts(problem: Problem, options: SolveOptions) -> Outcome:
    """Bound the time of every schedule that first computes nodes in the order of the graph.

    At the time limit and on Ctrl-C the best bounds so far are returned.

    Returns
    -------
    Outcome
        A bound in exact arithmetic, and where they are larger one that rests on HiGHS and one for
        staged schedules. Or a proof that nothing fits: where the memory is below what single
        operations need, or, for staged schedules, where a model has no point.
    """
    assert isinstance(problem, RematGraph)
    clock = Clock(options.time_limit_s)
    refused = too_little_memory(problem)
    if refused is not None:
        return refused
    search = CutSearch(problem, options, clock, "cut-bound")
    try:
        termination = search.run()
    except KeyboardInterrupt:
        # Between two runs of HiGHS, which end by themselves.
        termination = Termination.INTERRUPTED
    return search.outcome(termination)


class CutSearch:
    """The rounds, and the best bounds so far.

    Parameters
    ----------
    problem, options, clock
        As for the method.
    method
        What to call the bounds.

    Attributes
    ----------
    schedule
        What the last round's point became, if it fits; None before.
    """

    def __init__(
        self, problem: RematGraph, options: SolveOptions, clock: Clock, method: str
    ) -> None:
        self.schedule: GraphSchedule | None = None
        self._method = method
        self.problem = problem
        self.options = options
        self.clock = clock
        self.base_ns = problem.instance.base_time_ns
        self.exact_ns = self.base_ns
        self.solver_ns = {ScheduleClass.IN_ORDER: self.base_ns, ScheduleClass.STAGED: self.base_ns}
        self.infeasibility: Infeasibility | None = None
        self.work = {"models": 0, "cuts": 0, "slots": 0, "columns": 0, "nodes": 0}
        self.note: str | None = None

    def outcome(self, termination: Termination) -> Outcome:
        """Return the bounds so far."""
        bounds = [self._bound(self.exact_ns, ScheduleClass.IN_ORDER, Evidence.EXACT)]
        for valid_for, time_ns in self.solver_ns.items():
            if time_ns > max(bound.time_ns for bound in bounds):
                bounds.append(self._bound(time_ns, valid_for, Evidence.SOLVER))
        return Outcome(
            termination=termination,
            bounds=tuple(bounds),
            infeasibility=self.infeasibility,
            work=self.work,
            note=self.note,
        )

    def run(self) -> Termination:
        """Add cuts and slots until a schedule fits, nothing fits, or the time is up.

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C between two runs of HiGHS; within one it ends the search.
        """
        graph = self.problem.instance
        stages = self._excess(range(len(graph))).worst_stages()
        if not stages:
            return Termination.COMPLETED
        cuts = {self._best_stage(stages)}
        slots: set[Slot] = set()
        share_s = _FIRST_SHARE_S
        start: ModelSolution | None = None
        while self.clock.left_s:
            valid_for = ScheduleClass.STAGED if slots else ScheduleClass.IN_ORDER
            frontier = WindowedFrontier(tuple(sorted(cuts)), tuple(sorted(slots)), valid_for)
            if frontier.num_columns(graph) > _MOST_COLUMNS:
                self.note = f"a model of more than {_MOST_COLUMNS:,} columns was not built"
                return Termination.MEMORY_LIMIT
            built = frontier.build(self.problem)
            if start is None and not slots:
                self._prove_by_relaxation(built)
            solution = self._solve(built, frontier.valid_for, share_s, start)
            if solution.termination in {Termination.INTERRUPTED, Termination.ERROR}:
                return solution.termination
            if solution.answer is Answer.INFEASIBLE:
                return self._no_point(built, frontier.valid_for)
            start = None
            if solution.values is not None and self._refine(built, solution, cuts, slots):
                continue
            if solution.termination.is_regular:
                return solution.termination
            share_s *= 2
            start = solution
        return Termination.TIME_LIMIT

    def _refine(
        self, built: WindowedModel, solution: ModelSolution, cuts: set[int], slots: set[Slot]
    ) -> bool:
        """Add cuts, or slots if there are no cuts to add; tell whether there were any."""
        assert solution.values is not None
        computations = built.computations(solution.values)
        excess = self._excess(computations)
        if excess.is_none:
            self.schedule = GraphSchedule.from_computations(built.graph, computations)
            return False
        new_cuts = excess.new_cuts(cuts, _NEW_CUTS)
        if new_cuts:
            cuts.update(new_cuts)
            return True
        if not solution.termination.is_regular:
            return False
        new_slots = excess.new_slots(slots, _NEW_SLOTS)
        slots.update(new_slots)
        if new_slots and any(node.keep for node in built.graph.nodes):
            # Where kept nodes are computed again after the last cut, staged schedules cannot.
            cuts.add(len(built.graph) - 1)
        return bool(new_slots)

    def _no_point(self, built: WindowedModel, valid_for: ScheduleClass) -> Termination:
        """Note that there is no staged schedule; a model without slots always has a point."""
        if valid_for is not ScheduleClass.STAGED:
            self.note = "HiGHS calls a model infeasible that has a point"
            return Termination.ERROR
        unit = built.memory_scale.unit
        self.infeasibility = Infeasibility(
            valid_for=valid_for,
            least_memory_bytes=(self.problem.memory_bytes // unit + 1) * unit,
            is_exact=False,
            evidence=Evidence.SOLVER,
        )
        return Termination.COMPLETED

    def _best_stage(self, stages: Sequence[int]) -> int:
        """Return the cut that proves most, among the first of `stages`."""
        relaxed_ns: dict[int, int] = {}
        for stage in stages[:_STAGES_LOOKED_AT]:
            if not self.clock.left_s:
                break
            relaxed_ns[stage] = self._prove_by_relaxation(self._one_cut(stage))
        solved_ns: dict[int, int] = {}
        for stage in sorted(relaxed_ns, key=lambda stage: -relaxed_ns[stage])[:_STAGES_SOLVED]:
            if not self.clock.left_s:
                break
            cut = self._one_cut(stage)
            solution = self._solve(cut, ScheduleClass.IN_ORDER, _FIRST_SHARE_S, None)
            if solution.termination is Termination.INTERRUPTED:
                raise KeyboardInterrupt
            solved_ns[stage] = self._proved_ns(cut, solution)
        ranking = solved_ns or relaxed_ns
        return max(ranking, key=lambda stage: ranking[stage], default=stages[0])

    def _one_cut(self, stage: int) -> WindowedModel:
        return WindowedFrontier((stage,)).build(self.problem)

    def _prove_by_relaxation(self, built: WindowedModel) -> int:
        """Raise the exact bound by the relaxation's multipliers; return what they prove."""
        solution = solve_model(built.model.relaxed(), self._highs_options(self.clock.left_s))
        if solution.termination is Termination.INTERRUPTED:
            raise KeyboardInterrupt
        if solution.row_duals is None:
            return self.base_ns
        proved = exact_dual_bound(built.model, solution.row_duals)
        scale = built.time_scale
        found_ns = self.base_ns
        if proved is not None:
            found_ns += max(0, math.ceil(proved * scale.factor)) * scale.unit
        self.exact_ns = max(self.exact_ns, found_ns)
        self._report()
        return found_ns

    def _solve(
        self,
        built: WindowedModel,
        valid_for: ScheduleClass,
        share_s: float,
        start: ModelSolution | None,
    ) -> ModelSolution:
        """Solve a model with its integers, and raise the bound of a class by what it proves.

        The run ends when no point is left that could raise the bound by more than the gap that was
        asked for, as a share of the time of the best point.
        """
        scale = built.time_scale
        stop = threading.Event()
        why: Termination | None = None

        def watch(progress: ModelProgress) -> None:
            nonlocal why
            if progress.dual_bound is not None:
                bound_ns = self.base_ns + scale.bound_from_model(progress.dual_bound)
                self.solver_ns[valid_for] = max(self.solver_ns[valid_for], bound_ns)
                if progress.objective is not None:
                    most_ns = self.base_ns + scale.from_model(progress.objective)
                    if most_ns <= bound_ns:
                        why = Termination.COMPLETED
                    elif most_ns - bound_ns <= self.options.gap * most_ns:
                        why = Termination.GAP_REACHED
            self._report()
            if why is not None:
                stop.set()

        seconds = min(share_s, self.clock.left_s)
        options = self._highs_options(seconds)
        if start is not None and start.values is not None:
            options = replace(options, start=start.values)
        if built.model.num_columns > _COLUMNS_FOR_A_CHILD:
            # It cannot be stopped by `watch`. Its gap, which leaves the base time out, is stricter.
            solution = solve_in_child(
                built.model,
                replace(options, gap=self.options.gap),
                wall_limit_s=seconds + _SECONDS_TO_END,
                on_progress=watch,
            )
        else:
            solution = solve_model(built.model, options, watch, stop=stop)
        if why is not None and solution.termination is Termination.INTERRUPTED:
            solution = replace(solution, termination=why)
        proved_ns = self._proved_ns(built, solution)
        self.solver_ns[valid_for] = max(self.solver_ns[valid_for], proved_ns)
        self.work["models"] += 1
        self.work["nodes"] += solution.nodes
        self.work["cuts"] = max(self.work["cuts"], len(built.cuts))
        self.work["columns"] = max(self.work["columns"], built.model.num_columns)
        slots = sum(name.startswith("slot_") for name in built.model.row_names)
        self.work["slots"] = max(self.work["slots"], slots)
        self._report()
        return solution

    def _proved_ns(self, built: WindowedModel, solution: ModelSolution) -> int:
        if solution.dual_bound is None:
            return self.base_ns
        return self.base_ns + max(0, built.time_scale.bound_from_model(solution.dual_bound))

    def _highs_options(self, time_limit_s: float) -> HighsOptions:
        return replace(highs_options(self.options, self.clock, gap=0), time_limit_s=time_limit_s)

    def _excess(self, computations: Sequence[int]) -> StageExcess:
        return StageExcess(self.problem.instance, self.problem.memory_bytes, computations)

    def _bound(self, time_ns: int, valid_for: ScheduleClass, evidence: Evidence) -> Bound:
        return Bound(time_ns=time_ns, valid_for=valid_for, evidence=evidence, method=self._method)

    def _report(self) -> None:
        if self.options.on_progress is not None:
            best_ns = max(self.exact_ns, *self.solver_ns.values())
            self.options.on_progress(Progress(self.clock.seconds, None, best_ns))
