r"""any-order: lower bound on the time of a graph's step for schedules of any order.

The bound of `cuts.bound_method` holds for schedules whose first computations follow the order of
the graph. Here the order is a variable of the model (`formulations.remat_graph.any_order.cut`). A
*milestone* is an event that every schedule passes: the first computation of a given node ends, or a
given number of nodes have been computed. The method

1. takes the step without recomputation, in the order of the graph, and solves the linear relaxation
   of one milestone for each of the nodes that need most memory there, the end of its first
   computation; and for the worst of them the number of nodes computed by then. Any milestone would
   be valid; at these, many values in memory are read later. The multipliers, evaluated in exact
   arithmetic, are a bound that no tolerance of the solver can spoil (`exact_dual_bound`);
2. solves the best few of them with their integers, and continues with the best one;
3. brings the best point to an order and a schedule (`AnyOrderModel.plan`), replays it, and makes
   the moments of its largest excess milestones as well: the first computation of the node that runs
   then, where its position among the other milestones is known, else the number of nodes computed;
   this is repeated until the schedule fits or nothing is left to add;
4. then replaces all milestones by the numbers of nodes computed at them, among which any other can
   be added, and goes on.

A run of HiGHS that does not end within its share of the work gets twice the share, when nothing
else is left to do. Shares are counted in the work of HiGHS (`core.work`), never in seconds.

Each round's bound is valid, and the largest counts. Every bound is rounded up to a multiple of the
greatest common divisor of the durations, the solver's after it has been lowered by its tolerance
(`IntegerScale`).

If the schedule of a round that was solved to its end fits, the bound is the optimum of all
schedules.

One milestone has at most :math:`4n` columns; models of more than a hundred thousand are not built.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jettison.formulations.milp.array_model import Floats
from jettison.formulations.remat_graph.any_order.cut import AnyOrderCut, AnyOrderModel, AnyOrderPlan
from jettison.formulations.remat_graph.any_order.milestones import Milestone, Precedence
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.bound import exact_bound
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import pass_interrupt_on, run_to_its_end
from jettison.solvers.core.outcome import Infeasibility, Outcome, SolveOptions
from jettison.solvers.core.search import Incumbent, Rounds, search_in_rounds
from jettison.solvers.core.status import Termination
from jettison.solvers.core.work import WorkShare, moves_of_a_limit
from jettison.solvers.milp.highs_in_time import ChildParams
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.remat_graph.cuts.bounds import ModelBounds
from jettison.solvers.remat_graph.cuts.model_runs import GraphModelRuns, without_a_point
from jettison.solvers.remat_graph.cuts.stage_excess import StageExcess, cuts_beside
from jettison.solvers.remat_graph.memory_floor import too_little_memory
from jettison.solvers.remat_graph.operators import on_plain_values

METHOD = "any-order-bound"


@dataclass(frozen=True, kw_only=True)
class AnyOrderParams(ChildParams):
    """Parameters of the bound for any order.

    Attributes
    ----------
    nodes_looked_at, counts_looked_at
        Nodes, and numbers of nodes computed, whose relaxations are solved first.
    share_of_relaxations
        Share of the time limit, in the work of a usual machine, for these relaxations.
    milestones_solved
        Number of the best of these milestones that are solved with their integers.
    reach
        Nodes so close to one that exceeds the memory more get no milestone as well.
    new_milestones
        Most milestones that a round adds.
    first_moves
        Work of the first run of HiGHS, in moves of annealing that take as long.
    most_columns
        Columns of the largest model that is solved.
    """

    nodes_looked_at: int = 16
    counts_looked_at: int = 2
    share_of_relaxations: float = 0.4
    milestones_solved: int = 3
    reach: int = 3
    new_milestones: int = 2
    first_moves: int = 1_400_000
    most_columns: int = 100_000


ANY_ORDER = AnyOrderParams()


@on_plain_values
def bound_any_order(
    problem: RematGraph, options: SolveOptions, params: AnyOrderParams = ANY_ORDER
) -> Outcome:
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
    rounds = MilestoneRounds(problem, options, clock, params)
    return rounds.outcome(run_to_its_end(rounds.run))


class MilestoneRounds(Rounds[AnyOrderModel]):
    """Rounds of models with more and more milestones, from where schedules exceed the memory.

    Parameters
    ----------
    problem, options, clock, params
        As for the method.

    Attributes
    ----------
    incumbent
        The bounds; it is offered no schedule.
    schedule
        The schedule of the last round's point if it fits, else None.
    """

    def __init__(
        self,
        problem: RematGraph,
        options: SolveOptions,
        clock: Clock,
        params: AnyOrderParams = ANY_ORDER,
    ) -> None:
        self.problem = problem
        self.schedule: GraphSchedule | None = None
        graph, base_ns = problem.instance, problem.instance.base_time_ns
        self.incumbent: Incumbent[GraphSchedule] = Incumbent(
            lambda schedule: schedule.replay(graph, problem.memory_bytes),
            base_ns,
            options,
            clock,
            exact_bound(base_ns, ScheduleClass.ALL, METHOD),
        )
        self._clock = clock
        self._all_moves = moves_of_a_limit(options)
        self._params = params
        self._bounds = ModelBounds(self.incumbent, base_ns, METHOD, ScheduleClass.ALL)
        self._share = WorkShare(params.first_moves, times_all=0)
        self._runs = GraphModelRuns(
            self.incumbent,
            self._bounds,
            options,
            clock,
            self._share,
            columns_for_a_child=params.columns_for_a_child,
        )
        self._precedence = Precedence(graph)
        self._milestones: list[Milestone] = []
        self._start: Floats | None = None
        self._num_milestones = 0
        self._infeasibility: Infeasibility | None = None
        self._note: str | None = None

    def run(self) -> Termination:
        """Add milestones until a schedule fits, nothing fits, or the time is up."""
        graph = self.problem.instance
        excess = StageExcess(graph, self.problem.memory_bytes, range(len(graph)))
        stages = excess.worst_stages()
        if not stages:
            return Termination.COMPLETED
        self._milestones = [self._best_milestone(stages)]
        return search_in_rounds(self, self.incumbent, self._clock)

    def outcome(self, termination: Termination) -> Outcome:
        """Return the bounds so far."""
        return self.incumbent.outcome(
            termination,
            infeasibility=self._infeasibility,
            work={**self._runs.work, "milestones": self._num_milestones},
            note=self._note,
        )

    def build(self) -> AnyOrderModel | None:
        """Return the model of the milestones so far."""
        built = AnyOrderCut(tuple(self._milestones)).build(self.problem, self._precedence)
        most = self._params.most_columns
        if built.model.num_columns > most:
            self._note = f"a model of more than {most:,} columns was not solved"
            return None
        self._num_milestones = max(self._num_milestones, len(self._milestones))
        return built

    def relax(self, model: AnyOrderModel) -> None:
        """Raise the bound by the relaxation's multipliers, unless the model is solved again."""
        if self._start is None:
            self._runs.prove(model, self._runs.relaxation(model).row_duals)

    def solve(self, model: AnyOrderModel) -> ModelSolution:
        """Solve a model with its integers, from its own best point if it is solved again."""
        return self._runs.solve(model, ScheduleClass.ALL, self._start)

    def refine(self, model: AnyOrderModel, solution: ModelSolution) -> bool:
        """Add milestones where the plan of a point exceeds the memory; tell if there are new ones.

        Where there are none, a run that was cut short gets twice the work.
        """
        self._start = solution.values
        if solution.values is not None:
            plan = model.plan(solution.values)
            found = self._refined(plan, self._milestones)
            is_solved = solution.termination.is_regular
            if found == self._milestones and self.schedule is None and is_solved:
                found = self._refined(plan, [self._count(place) for place in plan.places])
            if found != self._milestones:
                self._milestones, self._start = found, None
                return True
        self._share.least_moves *= 2
        return False

    def no_point(self, model: AnyOrderModel) -> Termination:
        """Record that nothing fits."""
        self._infeasibility = without_a_point(self.problem.memory_bytes, model, ScheduleClass.ALL)
        return Termination.COMPLETED

    def nothing_to_add(self, solution: ModelSolution) -> Termination:
        """End the rounds as the last run ended."""
        return solution.termination

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
        reach = self._params.reach
        places = excess.new_cuts(plan.places, len(reordered.order), reach) or sorted(beside)
        for place in places:
            if len(placed) == len(milestones) + self._params.new_milestones:
                break
            if place < 0:
                continue
            for milestone in (Milestone.of(reordered.order[place]), self._count(place)):
                if self._fits_between(place, milestone, placed):
                    placed[place] = milestone
                    break
        return [placed[place] for place in sorted(placed)]

    def _fits_between(self, place: int, milestone: Milestone, placed: dict[int, Milestone]) -> bool:
        """Tell whether the milestones beside a place come before and after one in any order."""
        below = max((other for other in placed if other < place), default=None)
        above = min((other for other in placed if other > place), default=None)
        return (below is None or self._precedence.is_before(placed[below], milestone)) and (
            above is None or self._precedence.is_before(milestone, placed[above])
        )

    def _count(self, place: int) -> Milestone:
        """Return the milestone of the number of nodes computed up to a place."""
        return Milestone(frozenset(range(len(self.problem.instance))), place + 1)

    def _best_milestone(self, stages: Sequence[int]) -> Milestone:
        """Return the milestone whose relaxation proves most, among those of the first `stages`."""
        params = self._params
        candidates = [Milestone.of(stage) for stage in stages[: params.nodes_looked_at]]
        candidates += [self._count(stage) for stage in stages[: params.counts_looked_at]]
        most_moves = self._all_moves * params.share_of_relaxations
        relaxed_ns: dict[Milestone, int] = {}
        for milestone in candidates:
            if not self._clock.left_s or self._share.moves > most_moves:
                break
            built = self._single(milestone)
            row_duals = self._runs.relaxation(built).row_duals
            relaxed_ns[milestone] = self._runs.prove(built, row_duals)
        solved_ns: dict[Milestone, int] = {}
        for milestone in sorted(relaxed_ns, key=lambda found: -relaxed_ns[found]):
            if not self._clock.left_s or len(solved_ns) == params.milestones_solved:
                break
            built = self._single(milestone)
            solution = self._runs.solve(built, ScheduleClass.ALL)
            pass_interrupt_on(solution.termination)
            solved_ns[milestone] = self._bounds.believe(
                solution.dual_bound, built.time_scale, ScheduleClass.ALL
            )
        ranking = solved_ns or relaxed_ns
        return max(ranking, key=lambda found: ranking[found], default=candidates[0])

    def _single(self, milestone: Milestone) -> AnyOrderModel:
        return AnyOrderCut((milestone,)).build(self.problem, self._precedence)
