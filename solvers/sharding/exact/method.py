r"""exact: the cheapest choice of strategies, by reductions, bounds and an integer program.

1. The problem is reduced (`presolve.presolved`); often little is left.
2. Messages and multipliers prove a bound in exact arithmetic (`bounds.messages`), and suggest
   choices. Where those are far above the bound the baselines (`baselines_first`) run at once;
   elsewhere they run only if the other steps leave the answer open.
3. Strategies and pairs that are in no choice cheaper than a *target* are forbidden, and the problem
   is reduced again. The target is the cost of the best choice. Where that is far above the bound,
   the target is a little above the bound, on a copy of the problem: the cheapest choice of the copy
   is the cheapest of all if it is below the target, and if the copy has none, the target is a
   bound. When little is left, messages and multipliers are those of the linear relaxation
   (`bounds.relaxation`).
4. If nothing is left the answer is proved in exact arithmetic. Else the rest is an integer program
   for HiGHS (`formulations.sharding.ilp`), with those rows of memory that have multipliers or that
   its points exceed. A point that exceeds a row of the model, by rounding, is cut off by a cover.

The bounds of steps 1 to 3 are exact; those of step 4 rest on HiGHS. Every step has a share of the
work (`core.work`) and none of the seconds: a time limit only ends the search.

Source: the integer program is Alpa's (Zheng et al., OSDI 2022); the contest is ASPLOS'25 / IOPDDL.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from jettison.instances.sharding.problem import Sharding
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.sharding.strategy_choice import StrategyChoice
from jettison.solvers.core.baselines_first import BaselineParams, schedules_of_baselines
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.work import WorkClock, moves_of_a_limit
from jettison.solvers.sharding.bounds.lagrangian import look
from jettison.solvers.sharding.bounds.messages import ExactSplit, tighten
from jettison.solvers.sharding.bounds.relaxation import relaxed_split
from jettison.solvers.sharding.exact.model_runs import solve_rest
from jettison.solvers.sharding.incumbent import ShardingIncumbent
from jettison.solvers.sharding.infeasible import no_choice
from jettison.solvers.sharding.params import LookParams
from jettison.solvers.sharding.presolve.presolved import Size, presolve, reduce_further
from jettison.solvers.sharding.presolve.state import NoChoiceError, ShardingState


@dataclass(frozen=True, kw_only=True)
class ShardingExactParams(LookParams, BaselineParams):
    """Parameters of the search for the cheapest choice.

    Attributes
    ----------
    good_target
        A best choice further above the bound than this share is no good target, and the first
        target is so far above it.
    target_growth
        Factor by which the distance of the next target is larger.
    most_pairs_relaxed
        Up to so many pairs the linear relaxation takes the place of messages, and HiGHS gets the
        whole problem without targets.
    least_reduction
        Tightening goes on while it removes this share of all pairs.
    share_of_reductions
        Share of the time limit, in the work of a usual machine, for the first reduction.
    share_of_the_bound
        Share of the work that is left then for the first bound.
    share_of_messages
        Share of the work that is left for each later bound by messages.
    share_of_the_model
        Share of the work that is left for the model where the best choice is a good target: if the
        model leaves the answer open, the baselines run after it, and then the model again.
    first_rows
        Rows of memory in the first model; the others only where a point exceeds them.
    """

    at_least: ClassVar[Mapping[str, float]] = {"most_pairs_relaxed": 0, "first_rows": 0}

    good_target: float = 0.02
    target_growth: int = 4
    most_pairs_relaxed: int = 20_000
    least_reduction: float = 0.1
    share_of_reductions: float = 0.4
    share_of_the_bound: float = 0.4
    share_of_messages: float = 0.9
    share_of_the_model: float = 0.7
    first_rows: int = 64


SHARDING_EXACT = ShardingExactParams()


def solve_sharding_exact(
    problem: Sharding, options: SolveOptions, params: ShardingExactParams = SHARDING_EXACT
) -> Outcome:
    """Return the cheapest choice, proved, or the best one with its bound when the time is up.

    A given start is the best choice until a cheaper one is found. At the time limit and on Ctrl-C
    it is the best so far.

    Returns
    -------
    Outcome
        With bounds in exact arithmetic and, where they are larger, of HiGHS. Or a proof that
        nothing fits, with the least memory that suffices, or the node that has no choice.
    """
    clock = WorkClock(Clock(options.time_limit_s), moves_of_a_limit(options))
    run = _Run(problem, options, clock, params)
    incumbent = run.incumbent
    with Ending() as ending:
        try:
            run.solve()
        except NoChoiceError as error:
            return no_choice(problem, error, options, clock, params, run.work)
    if not ending.termination.is_regular:
        return incumbent.outcome(ending.termination, work=run.work)
    if run.is_refuted and incumbent.schedule is None:
        return no_choice(problem, run.error, options, clock, params, run.work)
    note = None if incumbent.schedule else "no choice was found that fits; there may be one"
    return incumbent.outcome(incumbent.end, work=run.work, note=note)


class _Run:
    """One run of the method.

    Attributes
    ----------
    incumbent, work
        The best choice with its bounds, and counts of the effort.
    is_refuted
        Whether it was proved that there is no choice better than the best one.
    error
        The error by which exact arithmetic proved that; None if HiGHS proved it.
    """

    def __init__(
        self,
        problem: Sharding,
        options: SolveOptions,
        clock: WorkClock,
        params: ShardingExactParams,
    ) -> None:
        self.incumbent = ShardingIncumbent(problem, options, clock, "exact")
        self.incumbent.begin_from(options.start, StrategyChoice, ScheduleClass.ALL)
        self.work = dict.fromkeys(
            ("nodes_left", "pairs_left", "passes", "sweeps", "models", "columns", "branches"), 0
        )
        self.is_refuted = False
        self.error: NoChoiceError | None = None
        self._problem = problem
        self._options = options
        self._clock = clock
        self._params = params

    def solve(self) -> None:
        """Search until the problem is settled or the time is up.

        Raises
        ------
        NoChoiceError
            If the first reduction finds that there is no choice.
        """
        incumbent, clock, params = self.incumbent, self._clock, self._params
        state = presolve(self._problem, clock.share(params.share_of_reductions), params)
        size = Size.of(state)
        self.work["nodes_left"], self.work["pairs_left"] = size.nodes, size.pairs
        most_ns = self._problem.instance.cost_sum_ns + 1
        share = clock.share(params.share_of_the_bound)
        look(state, most_ns, incumbent, share, params, self.work)
        if self._is_over:
            return
        if not self._has_good_target:
            self._ask_baselines()
            self._search_for_the_best(state)
            return
        # The model of a small remaining problem is usually solved at its root.
        self._clock = clock.share(params.share_of_the_model)
        self._search_for_the_best(state)
        self._clock = clock
        if not (self._is_over or self.is_refuted):
            self._ask_baselines()
            self._search_for_the_best(state)

    def _ask_baselines(self) -> None:
        for choice in schedules_of_baselines(
            self._problem,
            "exact",
            replace(self._options, most_moves=self._clock.left_moves),
            self._clock,
            self._params,
            counts_work=True,
            start=self._options.start,
        ):
            assert isinstance(choice, StrategyChoice)
            self.incumbent.take(choice.strategies)
            if self.incumbent.is_settled:
                return

    def _search_for_the_best(self, state: ShardingState) -> None:
        incumbent, params = self.incumbent, self._params
        # A value above the cost of every choice.
        most_ns = self._problem.instance.cost_sum_ns + 1
        is_small = Size.of(state).pairs <= params.most_pairs_relaxed
        beyond_ns = 1 + int(params.good_target * incumbent.lower_bound_ns)
        while not (self._is_over or self.is_refuted):
            target_ns = incumbent.lower_bound_ns + beyond_ns
            if is_small or self._has_good_target or target_ns >= (incumbent.time_ns or most_ns):
                self._search_below(state, incumbent.time_ns or most_ns)
                self.is_refuted = incumbent.lower_bound_ns >= (incumbent.time_ns or most_ns)
                break
            self._search_below(copy.deepcopy(state), target_ns)
            beyond_ns *= params.target_growth

    @property
    def _is_over(self) -> bool:
        return self.incumbent.is_settled or not self._clock.left_s

    @property
    def _has_good_target(self) -> bool:
        cost_ns = self.incumbent.time_ns
        if cost_ns is None:
            return False
        return cost_ns - self.incumbent.lower_bound_ns <= self._params.good_target * cost_ns

    def _search_below(self, state: ShardingState, below_ns: int) -> None:
        """Find the cheapest choice of a state if it costs less than `below_ns`; change the state.

        Unless the time is up, the bound afterwards is that cost, or `below_ns` if there is none.
        """
        incumbent = self.incumbent
        try:
            self._tighten(state, below_ns)
        except NoChoiceError as error:
            self.error = error
            incumbent.prove_cost(below_ns)
            return
        if not state.alive:
            incumbent.take(state.decode({}))
            incumbent.prove_cost(min(below_ns, state.offset))
        elif not self._is_over:
            first_rows = self._params.first_rows
            solve_rest(
                state, below_ns, incumbent, self._clock, self._options, first_rows, self.work
            )

    def _tighten(self, state: ShardingState, below_ns: int) -> None:
        """Alternate between bounds, forbidding what costs `below_ns` or more, and reductions."""
        while state.alive and not self._is_over:
            before = Size.of(state).pairs
            split = self._split(state, below_ns)
            if split is None or self._is_over:
                return
            self.incumbent.prove_cost(min(below_ns, split.bound_ns(state.offset)))
            changed = tighten(state, split, below_ns)
            reduce_further(state, self._clock, self._params)
            if not changed or Size.of(state).pairs > (1 - self._params.least_reduction) * before:
                return

    def _split(self, state: ShardingState, below_ns: int) -> ExactSplit | None:
        if Size.of(state).pairs <= self._params.most_pairs_relaxed:
            return relaxed_split(state, self._clock, self._options)
        share = self._clock.share(self._params.share_of_messages)
        return look(state, below_ns, self.incumbent, share, self._params, self.work).split
