r"""exact: the cheapest choice of strategies, by reductions, bounds and an integer program.

1. The problem is reduced (`presolve.presolved`); often little is left.
2. A greedy choice, repaired, is the first one (`heuristics.local_search`).
3. Messages and multipliers prove a bound in exact arithmetic (`bounds.messages`), and suggest
   choices.
4. In turns, each with a share of the work: where the best choice is far above the bound, annealing
   guided by the multipliers; then messages again, from where they ended. Strategies and pairs that
   are in no choice cheaper than the best one are forbidden, and the problem is reduced again. When
   little is left, messages and multipliers are those of the linear relaxation
   (`bounds.relaxation`).
5. If nothing is left the answer is proved in exact arithmetic. Else, where the rest is small, it is
   an integer program for HiGHS (`formulations.sharding.ilp`), with those rows of memory that have
   multipliers or that its points exceed. A point that exceeds a row of the model, by rounding, is
   cut off by a cover.

The bounds of steps 1 to 4 are exact; those of step 5 rest on HiGHS. Every step has a share of the
work (`core.work`) and none of the seconds: a time limit only ends the search.

Source: the integer program is Alpa's (Zheng et al., OSDI 2022); the contest is ASPLOS'25 / IOPDDL.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from jettison.instances.sharding.problem import Sharding
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.sharding.strategy_choice import StrategyChoice
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.work import WorkClock, moves_of_a_limit
from jettison.solvers.sharding.bounds.lagrangian import look
from jettison.solvers.sharding.bounds.messages import Messages
from jettison.solvers.sharding.bounds.relaxation import relaxed_messages
from jettison.solvers.sharding.exact.model_runs import solve_rest
from jettison.solvers.sharding.heuristics.greedy_and_annealing import anneal, first_choice
from jettison.solvers.sharding.incumbent import ShardingIncumbent
from jettison.solvers.sharding.infeasible import no_choice
from jettison.solvers.sharding.params import AnnealParams, LookParams
from jettison.solvers.sharding.presolve.presolved import presolve, reduce_further
from jettison.solvers.sharding.presolve.reduced_graph import NoChoiceError, ReducedGraph, Size


@dataclass(frozen=True, kw_only=True)
class ShardingExactParams(AnnealParams, LookParams):
    """Parameters of the search for the cheapest choice.

    Attributes
    ----------
    good_target
        A best choice further above the bound than this share is annealed again.
    most_pairs_relaxed
        Up to so many pairs the linear relaxation is solved beside messages.
    most_pairs_modelled
        Up to so many pairs what is left goes to HiGHS.
    least_reduction
        Tightening goes on while it removes this share of all pairs.
    share_of_the_bound
        Share of the work that is left after the first choice for the first bound. It is small,
        since its multipliers are good enough to anneal with; later bounds go on where it ended.
    share_of_messages
        Share of the work that is left for each later bound by messages.
    share_of_annealing
        Share of the work that is left for each turn of annealing.
    share_of_a_short_turn
        The same for a graph that is small enough for HiGHS.
    first_rows
        Rows of memory in the first model; the others only where a point exceeds them.
    """

    at_least: ClassVar[Mapping[str, float]] = {"most_pairs_relaxed": 0, "first_rows": 0}

    good_target: float = 0.001
    most_pairs_relaxed: int = 20_000
    most_pairs_modelled: int = 300_000
    least_reduction: float = 0.02
    share_of_the_bound: float = 0.1
    share_of_messages: float = 0.3
    share_of_annealing: float = 0.3
    share_of_a_short_turn: float = 0.04
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
            ("nodes_left", "pairs_left", "passes", "models", "columns", "branches"), 0
        )
        self.is_refuted = False
        self.error: NoChoiceError | None = None
        self._problem = problem
        self._options = options
        self._clock = clock
        self._params = params
        # Messages for a later graph, and multipliers by the times of rows.
        self._kept: Any = None
        self._prices: dict[int, float] = {}
        self._rounds = 0

    def solve(self) -> None:
        """Search until the problem is settled or the time is up.

        Raises
        ------
        NoChoiceError
            If the first reduction finds that there is no choice.
        """
        clock, params = self._clock, self._params
        graph = presolve(self._problem, clock.share(params.share_of_reductions), params)
        size = graph.size
        self.work["nodes_left"], self.work["pairs_left"] = size.nodes, size.pairs
        if not clock.left_s:
            return
        self._choose(graph)
        while not (self._is_over or self.is_refuted):
            before = self._state_of_search(graph)
            if not self._has_good_target:
                self._anneal(graph)
            if not self._is_over:
                self._tighten(graph)
            if self._is_over or self.is_refuted:
                return
            is_stuck = before == self._state_of_search(graph) and math.isinf(clock.left_s)
            if is_stuck or self._is_small(graph):
                self._finish(graph)
                return

    def _choose(self, graph: ReducedGraph) -> None:
        """Find a first choice and a first bound."""
        incumbent, clock, params = self.incumbent, self._clock, self._params
        found = first_choice(graph, incumbent, clock, self._options.seed, params)
        share = clock.share(params.share_of_the_bound)
        seen = look(graph, self._below_ns, incumbent, share, params, self.work)
        if seen is None or seen.messages is None:
            return
        self._keep(graph, seen.messages)
        if incumbent.time_ns is None:
            found.begin_from(seen.chosen)
            found.repair(clock.share(params.share_of_annealing))
            found.tell(incumbent)

    def _keep(self, graph: ReducedGraph, messages: Messages) -> None:
        self._kept = messages.kept
        self._prices = dict(zip(graph.times, messages.multipliers, strict=True))

    def _anneal(self, graph: ReducedGraph) -> None:
        """Anneal for a share of the work, guided by the best multipliers."""
        prices = [self._prices.get(time, 0.0) for time in graph.times]
        params = self._params
        is_small = self._is_small(graph)
        # What is small goes to HiGHS soon, which finds choices as well.
        part = params.share_of_a_short_turn if is_small else params.share_of_annealing
        share = self._clock.share(part)
        seed = self._options.seed + self._rounds
        self._rounds += 1
        anneal(graph, self.incumbent, share, seed, params, prices=prices)

    def _tighten(self, graph: ReducedGraph) -> None:
        """Alternate between bounds, forbidding what is not cheaper than the best, and reductions.

        Afterwards the graph has every choice that is cheaper than the best one.
        """
        incumbent, params = self.incumbent, self._params
        try:
            while not (self._is_over or graph.is_empty):
                before = graph.size.pairs
                if not self._pass_and_tighten(graph):
                    return
                reduce_further(graph, self._clock, params)
                if graph.size.pairs > (1 - params.least_reduction) * before:
                    break
        except NoChoiceError as error:
            self.error = error
            self.is_refuted = True
            incumbent.prove_cost(self._below_ns)
            return
        if graph.is_empty and not self._is_over:
            incumbent.take(graph.decode([0] * len(self._problem.instance)))
            incumbent.prove_cost(graph.offset_ns)
            self.is_refuted = True

    def _pass_and_tighten(self, graph: ReducedGraph) -> bool:
        """Find a bound, and forbid what is not below the best choice; tell whether anything is."""
        messages = self._bound(graph)
        if messages is None or self._is_over:
            return False
        return messages.tighten(self._below_ns)

    def _bound(self, graph: ReducedGraph) -> Messages | None:
        incumbent, params = self.incumbent, self._params
        share = self._clock.share(params.share_of_messages)
        seen = look(graph, self._below_ns, incumbent, share, params, self.work, self._kept)
        if seen is None or seen.messages is None:
            return None
        self._keep(graph, seen.messages)
        size = graph.size
        is_written = size.nodes * size.rows + size.pairs <= params.most_entries_of_a_model
        if size.pairs > params.most_pairs_relaxed or not is_written or self._is_over:
            return seen.messages
        relaxed = relaxed_messages(graph, self._clock, self._options)
        if relaxed is None:
            return seen.messages
        bound_ns = relaxed.exact().bound_ns(graph.offset_ns)
        incumbent.prove_cost(min(self._below_ns, bound_ns))
        assert seen.bound is not None
        return relaxed if bound_ns > seen.bound.bound_ns(graph.offset_ns) else seen.messages

    def _finish(self, graph: ReducedGraph) -> None:
        """Leave to HiGHS what is left."""
        below_ns = self._below_ns
        first_rows = self._params.first_rows
        solve_rest(
            graph, below_ns, self.incumbent, self._clock, self._options, first_rows, self.work
        )
        self.is_refuted = self.incumbent.lower_bound_ns >= below_ns

    def _is_small(self, graph: ReducedGraph) -> bool:
        size = graph.size
        entries = size.nodes * size.rows + size.pairs
        return (
            size.pairs <= self._params.most_pairs_modelled
            and entries <= self._params.most_entries_of_a_model
        )

    def _state_of_search(self, graph: ReducedGraph) -> tuple[int | None, int, Size]:
        return self.incumbent.time_ns, self.incumbent.lower_bound_ns, graph.size

    @property
    def _below_ns(self) -> int:
        """The cost of the best choice, or one above that of every choice."""
        return self.incumbent.time_ns or self._problem.instance.cost_sum_ns + 1

    @property
    def _is_over(self) -> bool:
        return self.incumbent.is_settled or not self._clock.left_s

    @property
    def _has_good_target(self) -> bool:
        cost_ns = self.incumbent.time_ns
        if cost_ns is None:
            return False
        return cost_ns - self.incumbent.lower_bound_ns <= self._params.good_target * cost_ns
