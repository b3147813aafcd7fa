r"""Rounds of models with cuts and slots for the exact search over strategies and recomputation.

The models are those of `formulations.remat_sharding.windows`. The search

0. if the choice of strategies is a large problem, runs the baselines, anneals strategies and
   recomputations together from their plans (`joint_annealing`), and passes messages over states
   (`message_cuts`), which give a bound, the first cuts, and columns that no model needs;
1. solves the choice of strategies alone, with the memory that each operator needs, and where its
   plan does not fit, runs the baselines (`baselines_first`), anneals from the strategies of least
   size if none of them has a plan, and finds the best plan of KIWI's reduced problem
   (`kiwi.reduced`); if that choice is a large problem, baselines and annealing come before it;
2. brings the point to a plan (`WindowedShardingModel`), replays it, and makes operators where it
   exceeds the memory most, at the price of a byte there (`eviction_cost`), cuts; where only
   recomputations exceed it, slots. In between it anneals what is computed again, with the
   strategies of the point;
3. solves the model with more cuts, from the best plan; and so on, until the plan of a model that
   was solved to its end fits, or the bound meets the best plan.

Each round's bound is valid, and the largest of each class counts: without slots for all plans whose
first computations follow the order of the graph, with slots for staged ones. The multipliers of
each relaxation are a bound in exact arithmetic. Shares of the models and of the methods before them
are counted in moves and in the work of HiGHS (`core.work`), never in seconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from jettison.formulations.milp.array_model import Floats
from jettison.formulations.remat_sharding.strategy_columns import num_choice_columns
from jettison.formulations.remat_sharding.windows import WindowedSharding
from jettison.formulations.remat_sharding.windows_built import WindowedShardingModel
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.schedules.core.any_schedule import Schedule
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_sharding.schedule import ShardedSchedule
from jettison.solvers.core.baselines_first import schedules_of_baselines
from jettison.solvers.core.bound import exact_bound
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import pass_interrupt_on
from jettison.solvers.core.outcome import Infeasibility, Outcome, SolveOptions
from jettison.solvers.core.search import Incumbent, Rounds
from jettison.solvers.core.status import Termination
from jettison.solvers.core.work import ShareParams, WorkShare, moves_of_a_limit, share_of_moves
from jettison.solvers.milp.highs_of_a_method import highs_options
from jettison.solvers.milp.highs_options import IntegerSearch
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.milp.tolerance import BELOW_TOLERANCE
from jettison.solvers.remat_graph.cuts.bounds import ModelBounds
from jettison.solvers.remat_graph.cuts.eviction_cost import eviction_costs
from jettison.solvers.remat_graph.cuts.model_runs import GraphModelRuns, KnownPoint, without_a_point
from jettison.solvers.remat_graph.cuts.rows import CutRows, RowParams
from jettison.solvers.remat_graph.cuts.stage_excess import StageExcess
from jettison.solvers.remat_sharding.exact.message_cuts import (
    MessageCutParams,
    MessageCuts,
    Tried,
)
from jettison.solvers.remat_sharding.exact.narrowed_model import narrowed
from jettison.solvers.remat_sharding.exact.plan_annealing import (
    PlanAnnealingParams,
    ShardedAnnealing,
)
from jettison.solvers.remat_sharding.exact.presolved import PresolvedSharding
from jettison.solvers.remat_sharding.exact.priced_graph import priced_graph
from jettison.solvers.remat_sharding.joint_annealing import JointAnnealing, JointParams
from jettison.solvers.remat_sharding.kiwi.reduced import find_reduced
from jettison.solvers.remat_sharding.kiwi.reduced_rounds import ReducedParams
from jettison.solvers.remat_sharding.least_memory import strategies_of_least_size


@dataclass(frozen=True, kw_only=True)
class ShardedParams(
    MessageCutParams, PlanAnnealingParams, JointParams, RowParams, ShareParams, ReducedParams
):
    """Parameters of the exact search over strategies and recomputation.

    Attributes
    ----------
    most_columns
        Columns of the largest model that is built.
    many_columns
        Columns of the first model above which its first point takes long, so that a plan is
        annealed from the strategies of least size before it.
    early_gap
        Gap for the plan of KIWI's reduced problem, which is solved once.
    early_share, share_of_the_first_plan
        Shares of the time limit, in the work of a usual machine, for that problem; the second one
        if there is no plan at all yet.
    gap_of_a_baseline
        Gap to which the baselines solve a large problem, since what follows betters their plans.
    rounds_of_a_baseline
        Rounds of annealing of strategies and recomputations together from the plan of each.
    near_share
        Gap between plan and bound, as a share of the time, below which HiGHS is to prove the plan
        rather than improve it.
    """

    most_columns: int = 200_000
    many_columns: int = 10_000
    share_before_a_schedule: float = 0.9
    early_gap: float = 1e-3
    early_share: float = 0.1
    share_of_the_first_plan: float = 0.4
    gap_of_a_baseline: float = 0.05
    rounds_of_a_baseline: int = 2
    near_share: float = 0.01


SHARDED = ShardedParams()


class ShardedRounds(Rounds[WindowedShardingModel]):
    """Rounds of models with more and more cuts and slots, from where plans exceed the memory.

    Parameters
    ----------
    problem
        The given problem.
    presolved
        The problem that `presolved` leaves of it, which the rounds solve.
    options, clock
        As for the method.
    method
        The method's name, for the bounds.
    params
        As for the method.

    Attributes
    ----------
    incumbent
        The best plan of the problem that was given, and the bounds.
    annealing
        The annealing that improves the recomputations of plans.
    """

    def __init__(
        self,
        problem: RematSharding,
        presolved: PresolvedSharding,
        options: SolveOptions,
        clock: Clock,
        method: str,
        params: ShardedParams,
    ) -> None:
        self.problem = presolved.problem
        self._presolved = presolved
        self.options = options
        self._clock = clock
        self._params = params
        base_ns = self.problem.instance.base_time_ns
        self.incumbent: Incumbent[ShardedSchedule] = Incumbent(
            lambda plan: plan.replay(problem.instance, problem.memory_bytes),
            base_ns,
            options,
            clock,
            exact_bound(base_ns, ScheduleClass.IN_ORDER, method),
        )
        self.annealing = ShardedAnnealing(
            self.problem,
            options.seed,
            clock,
            lambda plan: self.incumbent.offer(presolved.restore(plan)),
            params,
        )
        self._joint = JointAnnealing(self.problem, options.seed, clock, params)
        # The objective of the models is the whole time.
        self._bounds = ModelBounds(self.incumbent, 0, method, ScheduleClass.IN_ORDER)
        share = WorkShare(params.least_moves, params.times_all)
        self._runs = GraphModelRuns(self.incumbent, self._bounds, options, clock, share)
        self._rows = CutRows(params=params)
        self._method = method
        self._messages: Tried | None = None
        self._row_duals: Floats | None = None
        self._is_early = True
        self._are_baselines_asked = False
        self._is_smallest_tried = False
        self._infeasibility: Infeasibility | None = None
        self._work = {"cuts": 0, "slots": 0}
        self._note: str | None = None

    def outcome(self, termination: Termination) -> Outcome:
        """Return the best plan and the bounds so far."""
        return self.incumbent.outcome(
            termination,
            infeasibility=self._infeasibility,
            work={
                **self._runs.work,
                **self._work,
                "moves": self.annealing.moves,
                "joint_moves": self._joint.moves,
            },
            note=self._note,
        )

    def improve_the_start(self) -> None:
        """Anneal from the plan that was given, if any: a point for the models to start from."""
        start = self.incumbent.schedule
        reduced = None if start is None else self._presolved.reduce(start)
        if reduced is not None:
            self._improve_from(reduced)

    def find_early_plans(self) -> None:
        """Run the baselines, then KIWI's reduced problem: a good plan fixes columns of models."""
        if self.incumbent.is_settled or not self._is_early:
            return
        self._is_early = False
        self._ask_the_baselines()
        if self.incumbent.is_settled:
            return
        self._improve_the_smallest()
        left_s = self._clock.left_s
        if not left_s:
            return
        params, known = self._params, self.annealing.plan
        share = params.share_of_the_first_plan if known is None else params.early_share
        options = replace(
            self.options.quiet(),
            gap=max(self.options.gap, params.early_gap),
            time_limit_s=None if math.isinf(left_s) else left_s,
            most_moves=share_of_moves(moves_of_a_limit(self.options), share),
        )
        found = find_reduced(self.problem, options, known, params)
        pass_interrupt_on(found.termination)
        if found.schedule is not None:
            self._improve_from(found.schedule)

    def find_a_plan_of_a_large_problem(self) -> None:
        """Find a plan before the first model if that is a large one and may take all of the time.

        That model has no cuts, and so its columns are those of the choice of strategies.
        """
        if self._is_large:
            self._ask_the_baselines()
            self._improve_the_smallest()

    def bound_a_large_problem(self) -> None:
        """Pass messages over a large problem: a bound, plans, and the first cuts of the models."""
        if not self._is_large or self.incumbent.is_settled or not self._clock.left_s:
            return
        method = self._method

        def prove(time_ns: int) -> None:
            self.incumbent.prove(exact_bound(time_ns, ScheduleClass.IN_ORDER, method))

        search = MessageCuts(
            self.problem,
            self._params,
            self._clock,
            self._params.price,
            lambda: self.annealing.time_ns,
            prove,
            self.annealing.take,
        )
        self._messages = search.run()
        if self._messages is None:
            return
        self._rows.cuts.update(self._messages.cuts)
        known_ns = self.annealing.time_ns
        if not self.incumbent.is_settled:
            self._improve_jointly(self.annealing.plan, self._params.joint_rounds)
        if self.annealing.time_ns != known_ns:
            search.go_on(self._messages)

    @property
    def _is_large(self) -> bool:
        return num_choice_columns(self.problem.instance) > self._params.many_columns

    def _ask_the_baselines(self) -> None:
        """Anneal from the plans of the baselines, once."""
        if self._are_baselines_asked:
            return
        self._are_baselines_asked = True
        options = self.options
        if self._is_large:
            options = replace(options, gap=max(options.gap, self._params.gap_of_a_baseline))
        for plan in schedules_of_baselines(
            self.problem, "exact", options, self._clock, self._params, counts_work=True
        ):
            assert isinstance(plan, ShardedSchedule)
            if self._is_large:
                self.annealing.take(plan.strategies, plan.computations)
            else:
                self._improve_from(plan)
            self._improve_jointly(plan, self._params.rounds_of_a_baseline)
            if self.incumbent.is_settled:
                return

    def _improve_jointly(self, plan: ShardedSchedule | None, rounds: int) -> None:
        """Anneal strategies and recomputations together, from a plan."""
        if plan is None or not self._clock.left_s or not self._joint.start_from(plan):
            return
        self._joint.anneal(self.incumbent.lower_bound_ns, rounds)
        found = self._joint.plan
        if found is not None:
            self.annealing.take(found.strategies, found.computations)

    def build(self) -> WindowedShardingModel | None:
        """Return the model of the cuts and slots so far."""
        model, most = self._model(), self._params.most_columns
        if model.num_columns(self.problem.instance) > most:
            self._note = f"a model of more than {most:,} columns was not built"
            return None
        built = model.build(self.problem)
        return built if self._messages is None else narrowed(built, self._messages)

    def relax(self, model: WindowedShardingModel) -> None:
        """Raise the bound by the relaxation's multipliers."""
        self._row_duals = self._runs.relaxation(model).row_duals
        if self._rows.valid_for is ScheduleClass.IN_ORDER:
            self._runs.prove(model, self._row_duals)

    def solve(self, model: WindowedShardingModel) -> ModelSolution:
        """Solve a model with its integers, from the best plan if it is a point."""
        self._work["cuts"] = max(self._work["cuts"], len(model.cuts))
        slots = sum(name.startswith("slot_") for name in model.model.row_names)
        self._work["slots"] = max(self._work["slots"], slots)
        valid_for = self._rows.valid_for
        plan, time_ns = self.annealing.plan, self.annealing.time_ns
        if plan is None or time_ns is None or not self._has_point():
            return self._runs.solve(model, valid_for)
        known = KnownPoint(model.point(plan.strategies, plan.computations), time_ns)
        # Far from the bound a better plan is worth more than a better bound, and HiGHS finds it.
        is_near = time_ns - self.incumbent.lower_bound_ns <= self._params.near_share * time_ns
        search = IntegerSearch.PROVE if is_near else IntegerSearch.CHOOSE
        return self._runs.solve_from(model, valid_for, known, self._row_duals, search)

    def refine(self, model: WindowedShardingModel, solution: ModelSolution) -> bool:
        """Anneal from a point, and add cuts and slots where it exceeds the memory; tell if any."""
        is_refined = solution.values is not None and self._add_rows(model, solution)
        self.find_early_plans()
        return is_refined

    def no_point(self, model: WindowedShardingModel) -> Termination:
        """Record that there is no plan of the class, unless one is known."""
        if self._has_point():
            self._note = "HiGHS calls a model infeasible that has a point"
            return Termination.ERROR
        self._infeasibility = without_a_point(
            self.problem.memory_bytes, model, self._rows.valid_for
        )
        return Termination.COMPLETED

    def nothing_to_add(self, solution: ModelSolution) -> Termination:
        """End the rounds: the gap or the tolerance of the solver leaves the question open."""
        if solution.termination is Termination.GAP_REACHED and self.annealing.plan is not None:
            return solution.termination
        self._note = BELOW_TOLERANCE
        return Termination.ERROR

    def _model(self) -> WindowedSharding:
        rows = self._rows
        return WindowedSharding(tuple(sorted(rows.cuts)), tuple(sorted(rows.slots)), rows.valid_for)

    def _improve_from(self, plan: Schedule) -> None:
        assert isinstance(plan, ShardedSchedule)
        floor_ns = self.incumbent.lower_bound_ns
        self.annealing.improve_from(plan.strategies, plan.computations, floor_ns)

    def _improve_the_smallest(self) -> None:
        """Anneal from strategies of least size, once, if there is no plan: these still may fit."""
        if self.annealing.plan is not None or self._is_smallest_tried or not self._clock.left_s:
            return
        self._is_smallest_tried = True
        sharded = self.problem.instance
        limit = highs_options(self.options, self._clock, gap=self._params.early_gap)
        strategies = strategies_of_least_size(sharded, limit)
        if strategies is not None:
            floor_ns = self.incumbent.lower_bound_ns
            self.annealing.improve_from(strategies, range(len(sharded)), floor_ns)
            self._improve_jointly(self.annealing.plan, self._params.rounds_of_a_baseline)

    def _add_rows(self, model: WindowedShardingModel, solution: ModelSolution) -> bool:
        assert solution.values is not None
        strategies = model.chosen(solution.values)
        computations = model.computations(solution.values)
        floor_ns = self.incumbent.lower_bound_ns
        self.annealing.improve_from(strategies, computations, floor_ns)
        graph = priced_graph(self.problem.instance, strategies, self._params.price).graph
        memory_bytes = self.problem.memory_bytes
        excess = StageExcess(graph, memory_bytes, computations)
        costs = eviction_costs(graph, memory_bytes)
        prices = {stage: cost.ns_per_byte for stage, cost in costs.items()}
        if self._rows.add_cuts(excess, prices):
            return True
        if excess.is_none or not solution.termination.is_regular:
            return False
        keeps = any(operator.keep for operator in self.problem.instance.operators)
        return self._rows.add_slots(excess, len(self.problem.instance) - 1 if keeps else None)

    def _has_point(self) -> bool:
        """Tell whether the best plan belongs to the model's class of schedules."""
        found = self.annealing.schedule_class
        return found is not None and self._rows.valid_for.covers(found)
