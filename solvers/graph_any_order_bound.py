r"""A lower bound on the time of a graph's step that holds for schedules of any order.

`graph_cut_bound` holds for schedules whose first computations follow the order of the graph. Here
the order is a variable of the model (`formulations.any_order_cut`). The method

1. looks at the step without recomputation, in the order of the graph, and solves the linear
   relaxation of one milestone for each of the nodes that need most memory there: the end of its
   first computation; and for the worst of them that so many nodes have been computed. Any milestone
   would do; these are the moments at which much is read later. The multipliers, evaluated in exact
   arithmetic, are a bound that no tolerance of the solver can spoil (`exact_dual_bound`);
2. solves the best few of them with their integers, and goes on with the best one;
3. brings the best point to an order and a schedule (`AnyOrderModel.plan`), replays it, and makes
   the moments of its largest excess milestones as well: the first computation of the node that runs
   then, where it is known to be before and after the others, else the number of nodes computed;
   then the same again, until the schedule fits or nothing is left to add;
4. then replaces all milestones by the numbers of nodes computed at them, among which any other can
   be added, and goes on.

A run of HiGHS that does not end within its share of the time gets twice the share, when nothing
else is left to do. Each round's bound is valid, and the largest counts. Every bound is rounded up
to a multiple of the greatest common divisor of the durations, the solver's after it has been
lowered by its tolerance (`IntegerScale`).

If the schedule of a round that was solved to its end fits, the bound is the optimum of all
schedules.

One milestone has at most :math:`4n` columns; models of more than a hundred thousand are not built.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import replace

from jettison.formulations.any_order_cut import AnyOrderCut, AnyOrderModel, AnyOrderPlan
from jettison.formulations.array_model import Floats
from jettison.formulations.milestones import Milestone, Precedence
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
from jettison.solvers.stage_excess import StageExcess
from jettison.solvers.status import Answer, Termination

METHOD = "any-order-bound"
# Nodes whose relaxations are solved, and of these and the counts those solved with their integers.
_NODES_LOOKED_AT = 16
_COUNTS_LOOKED_AT = 2
_MILESTONES_SOLVED = 3
_NEW_MILESTONES = 2
_FIRST_SHARE_S = 2.0
# Of the time, for the relaxations of single milestones.
_SHARE_OF_RELAXATIONS = 0.4
_MOST_COLUMNS = 100_000
# Within this process HiGHS can take many times what it may; a child can be ended.
_COLUMNS_FOR_A_CHILD = 2_000
_SECONDS_TO_END = 1.0


def bound_any_order(problem: Problem, options: SolveOptions) -> Outcome:
    """Bound the time of every schedule, in whatever order it first computes the nodes.

    At the time limit and on Ctrl-C the best bounds so far are returned.

    Returns
    -------
    Outcome
        A bound in exact arithmetic, and a larger one that rests on HiGHS, if there is one. Or a
        proof that nothing fits: where the memory is below what single operations need, or where a
        model has no point.
    """
    assert isinstance(problem, RematGraph)
    clock = Clock(options.time_limit_s)
    refused = too_little_memory(problem)
    if refused is not None:
        return refused
    search = MilestoneSearch(problem, options, clock)
    try:
        termination = search.run()
    except KeyboardInterrupt:
        # Between two runs of HiGHS, which end by themselves.
        termination = Termination.INTERRUPTED
    return search.outcome(termination)


class MilestoneSearch:
    """The rounds, and the best bounds so far.

    Parameters
    ----------
    problem, options, clock
        As for the method.

    Attributes
    ----------
    schedule
        What the last round's point became, if it fits; None before.
    """

    def __init__(self, problem: RematGraph, options: SolveOptions, clock: Clock) -> None:
        self.problem = problem
        self.options = options
        self.clock = clock
        self.schedule: GraphSchedule | None = None
        self.base_ns = problem.instance.base_time_ns
        self.exact_ns = self.base_ns
        self.solver_ns = self.base_ns
        self.infeasibility: Infeasibility | None = None
        self.work = {"models": 0, "milestones": 0, "columns": 0, "nodes": 0}
        self.note: str | None = None

    def outcome(self, termination: Termination) -> Outcome:
        """Return the bounds so far."""
        bounds = [self._bound(self.exact_ns, Evidence.EXACT)]
        if self.solver_ns > self.exact_ns:
            bounds.append(self._bound(self.solver_ns, Evidence.SOLVER))
        return Outcome(
            termination=termination,
            bounds=tuple(bounds),
            infeasibility=self.infeasibility,
            work=self.work,
            note=self.note,
        )

    def run(self) -> Termination:
        """Add milestones until a schedule fits, nothing fits, or the time is up.

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C between two runs of HiGHS; within one it ends the search.
        """
        graph, memory_bytes = self.problem.instance, self.problem.memory_bytes
        stages = StageExcess(graph, memory_bytes, range(len(graph))).worst_stages()
        if not stages:
            return Termination.COMPLETED
        self.precedence = Precedence(graph)
        milestones = [self._best_milestone(stages)]
        share_s = _FIRST_SHARE_S
        start: Floats | None = None
        while self.clock.left_s:
            built = AnyOrderCut(tuple(milestones)).build(self.problem, self.precedence)
            if built.model.num_columns > _MOST_COLUMNS:
                self.note = f"a model of more than {_MOST_COLUMNS:,} columns was not solved"
                return Termination.MEMORY_LIMIT
            if start is None:
                self._prove_by_relaxation(built, self.clock.left_s)
            solution = self._solve(built, share_s, start)
            if solution.termination in {Termination.INTERRUPTED, Termination.ERROR}:
                return solution.termination
            if solution.answer is Answer.INFEASIBLE:
                return self._no_point(built)
            start = solution.values
            if start is not None:
                plan = built.plan(start)
                found = self._refined(plan, milestones)
                if (
                    found == milestones
                    and self.schedule is None
                    and solution.termination.is_regular
                ):
                    found = self._refined(plan, [self._count(place) for place in plan.places])
                if found != milestones:
                    milestones, start = found, None
                    continue
            if solution.termination.is_regular:
                return solution.termination
            share_s *= 2
        return Termination.TIME_LIMIT

    def _refined(self, plan: AnyOrderPlan, milestones: list[Milestone]) -> list[Milestone]:
        """Return the milestones with those at which the plan exceeds the memory, if it does."""
        reordered = plan.reordered
        excess = StageExcess(reordered.graph, self.problem.memory_bytes, plan.computations)
        if excess.is_none:
            computations = reordered.to_original(plan.computations)
            self.schedule = GraphSchedule.from_computations(self.problem.instance, computations)
            return milestones
        placed = dict(zip(plan.places, milestones, strict=True))
        for place in excess.new_cuts(plan.places, len(reordered.order)):
            if len(placed) == len(milestones) + _NEW_MILESTONES:
                break
            if place < 0:
                continue
            for milestone in (Milestone.of(reordered.order[place]), self._count(place)):
                if self._fits_between(place, milestone, placed):
                    placed[place] = milestone
                    break
        return [placed[place] for place in sorted(placed)]

    def _fits_between(self, place: int, milestone: Milestone, placed: dict[int, Milestone]) -> bool:
        """Tell whether the neighbours of a place are before and after a milestone in any order."""
        below = max((other for other in placed if other < place), default=None)
        above = min((other for other in placed if other > place), default=None)
        return (below is None or self.precedence.is_before(placed[below], milestone)) and (
            above is None or self.precedence.is_before(milestone, placed[above])
        )

    def _count(self, place: int) -> Milestone:
        """Return the milestone at a place of any order."""
        return Milestone(frozenset(range(len(self.problem.instance))), place + 1)

    def _no_point(self, built: AnyOrderModel) -> Termination:
        unit = built.memory_scale.unit
        self.infeasibility = Infeasibility(
            valid_for=ScheduleClass.ALL,
            least_memory_bytes=(self.problem.memory_bytes // unit + 1) * unit,
            is_exact=False,
            evidence=Evidence.SOLVER,
        )
        return Termination.COMPLETED

    def _best_milestone(self, stages: Sequence[int]) -> Milestone:
        """Return the milestone that proves most, among those of the first of `stages`."""
        candidates = [Milestone.of(stage) for stage in stages[:_NODES_LOOKED_AT]]
        candidates += [self._count(stage) for stage in stages[:_COUNTS_LOOKED_AT]]
        relaxed_ns: dict[Milestone, int] = {}
        looked = Clock(self.clock.left_s * _SHARE_OF_RELAXATIONS)
        for milestone in candidates:
            if not looked.left_s:
                break
            built = self._single(milestone)
            relaxed_ns[milestone] = self._prove_by_relaxation(built, looked.left_s)
        solved_ns: dict[Milestone, int] = {}
        for milestone in sorted(relaxed_ns, key=lambda found: -relaxed_ns[found]):
            if not self.clock.left_s or len(solved_ns) == _MILESTONES_SOLVED:
                break
            built = self._single(milestone)
            solution = self._solve(built, _FIRST_SHARE_S, None)
            if solution.termination is Termination.INTERRUPTED:
                raise KeyboardInterrupt
            solved_ns[milestone] = self._proved_ns(built, solution)
        ranking = solved_ns or relaxed_ns
        return max(ranking, key=lambda found: ranking[found], default=candidates[0])

    def _single(self, milestone: Milestone) -> AnyOrderModel:
        return AnyOrderCut((milestone,)).build(self.problem, self.precedence)

    def _prove_by_relaxation(self, built: AnyOrderModel, limit_s: float) -> int:
        """Raise the exact bound by the relaxation's multipliers; return what they prove."""
        solution = solve_model(built.model.relaxed(), self._highs_options(limit_s))
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

    def _solve(self, built: AnyOrderModel, share_s: float, start: Floats | None) -> ModelSolution:
        """Solve a model with its integers, and raise the bound by what it proves.

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
                self.solver_ns = max(self.solver_ns, bound_ns)
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
        options = replace(self._highs_options(seconds), start=start)
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
        self.solver_ns = max(self.solver_ns, self._proved_ns(built, solution))
        self.work["models"] += 1
        self.work["nodes"] += solution.nodes
        self.work["milestones"] = max(self.work["milestones"], len(built.milestones))
        self.work["columns"] = max(self.work["columns"], built.model.num_columns)
        self._report()
        return solution

    def _proved_ns(self, built: AnyOrderModel, solution: ModelSolution) -> int:
        if solution.dual_bound is None:
            return self.base_ns
        return self.base_ns + max(0, built.time_scale.bound_from_model(solution.dual_bound))

    def _highs_options(self, time_limit_s: float) -> HighsOptions:
        return replace(highs_options(self.options, self.clock, gap=0), time_limit_s=time_limit_s)

    def _bound(self, time_ns: int, evidence: Evidence) -> Bound:
        return Bound(time_ns=time_ns, valid_for=ScheduleClass.ALL, evidence=evidence, method=METHOD)

    def _report(self) -> None:
        if self.options.on_progress is not None:
            best_ns = max(self.exact_ns, self.solver_ns)
            self.options.on_progress(Progress(self.clock.seconds, None, best_ns))
