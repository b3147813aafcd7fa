r"""A lower bound on the time of a graph's step that holds for schedules of any order.

`cuts.bound_method` holds for schedules whose first computations follow the order of the graph. Here
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

from collections.abc import Sequence

from jettison.formulations.milp.array_model import Floats
from jettison.formulations.remat_graph.any_order.cut import AnyOrderCut, AnyOrderModel, AnyOrderPlan
from jettison.formulations.remat_graph.any_order.milestones import Milestone, Precedence
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import pass_interrupt_on, run_to_its_end
from jettison.solvers.core.outcome import Infeasibility, Outcome, Progress, SolveOptions
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.remat_graph.cuts.bounds import GraphBounds
from jettison.solvers.remat_graph.cuts.model_runs import GraphModelRuns
from jettison.solvers.remat_graph.cuts.stage_excess import StageExcess, cuts_beside
from jettison.solvers.remat_graph.memory_floor import too_little_memory

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


def bound_any_order(problem: RematGraph, options: SolveOptions) -> Outcome:
    """Bound the time of every schedule, in whatever order it first computes the nodes.

    At the time limit and on Ctrl-C the best bounds so far are returned.

    Returns
    -------
    Outcome
        A bound in exact arithmetic, and a larger one that rests on HiGHS, if there is one. Or a
        proof that nothing fits: where the memory is below what single operations need, or where a
        model has no point.
    """
    clock = Clock(options.time_limit_s)
    refused = too_little_memory(problem)
    if refused is not None:
        return refused
    search = MilestoneSearch(problem, options, clock)
    termination = run_to_its_end(search.run)
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
        base_ns = problem.instance.base_time_ns
        self.bounds = GraphBounds(base_ns, METHOD, ScheduleClass.ALL)
        self._runs = GraphModelRuns(self.bounds, options, clock, lambda: False, self._report)
        self.infeasibility: Infeasibility | None = None
        self._num_milestones = 0
        self.note: str | None = None

    def outcome(self, termination: Termination) -> Outcome:
        """Return the bounds so far."""
        return Outcome(
            termination=termination,
            bounds=self.bounds.as_bounds(),
            infeasibility=self.infeasibility,
            work={**self._runs.work, "milestones": self._num_milestones},
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
            self._num_milestones = max(self._num_milestones, len(milestones))
            if start is None:
                row_duals = self._runs.relaxation(built, self.clock.left_s).row_duals
                self._runs.prove(built, row_duals)
            solution = self._runs.solve(built, ScheduleClass.ALL, share_s, start)
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
        beside = cuts_beside(excess.worst_slots()) - set(plan.places)
        places = excess.new_cuts(plan.places, len(reordered.order)) or sorted(beside)
        for place in places:
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
            row_duals = self._runs.relaxation(built, looked.left_s).row_duals
            relaxed_ns[milestone] = self._runs.prove(built, row_duals)
        solved_ns: dict[Milestone, int] = {}
        for milestone in sorted(relaxed_ns, key=lambda found: -relaxed_ns[found]):
            if not self.clock.left_s or len(solved_ns) == _MILESTONES_SOLVED:
                break
            built = self._single(milestone)
            solution = self._runs.solve(built, ScheduleClass.ALL, _FIRST_SHARE_S)
            pass_interrupt_on(solution.termination)
            solved_ns[milestone] = self.bounds.believe(
                solution.dual_bound, built.time_scale, ScheduleClass.ALL
            )
        ranking = solved_ns or relaxed_ns
        return max(ranking, key=lambda found: ranking[found], default=candidates[0])

    def _single(self, milestone: Milestone) -> AnyOrderModel:
        return AnyOrderCut((milestone,)).build(self.problem, self.precedence)

    def _report(self) -> None:
        if self.options.on_progress is not None:
            self.options.on_progress(Progress(self.clock.seconds, None, self.bounds.largest_ns))
