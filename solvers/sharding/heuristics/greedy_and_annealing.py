"""Heuristic methods for sharding: greedy, and annealing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jettison.instances.sharding.problem import Sharding
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.sharding.strategy_choice import StrategyChoice
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.work import MOVES_PER_SECOND, WorkClock, clock_of
from jettison.solvers.sharding.bounds.lagrangian import look
from jettison.solvers.sharding.heuristics.local_search import LocalSearch
from jettison.solvers.sharding.incumbent import ShardingIncumbent
from jettison.solvers.sharding.infeasible import no_choice
from jettison.solvers.sharding.params import AnnealParams, DescentParams, LookParams
from jettison.solvers.sharding.presolve.presolved import presolve
from jettison.solvers.sharding.presolve.reduced_graph import NoChoiceError, ReducedGraph


@dataclass(frozen=True, kw_only=True)
class GreedyParams(DescentParams):
    """Parameters of the greedy choice: the repair that follows it."""


GREEDY = GreedyParams()


@dataclass(frozen=True, kw_only=True)
class LocalSearchParams(AnnealParams, LookParams):
    """Parameters of local search: its shares.

    Attributes
    ----------
    share_of_the_bound
        Share of the time that is left after the reductions for the bound, whose multipliers guide
        the moves.
    """

    share_of_the_bound: float = 0.15


LOCAL_SEARCH = LocalSearchParams()


def solve_greedy(
    problem: Sharding, options: SolveOptions, params: GreedyParams = GREEDY
) -> Outcome:
    """Choose strategies node by node, then move single nodes until no rule is broken.

    The problem is reduced first (`presolve.presolved`), as far as its share of the time allows. The
    method may end without a choice although there is one. A sweep takes time linear in the
    strategies at all edges; there are at most some hundred sweeps.
    """
    run = _Run(problem, options, "greedy")

    def search(graph: ReducedGraph) -> None:
        first_choice(graph, run.incumbent, run.clock, options.seed, params)

    return run.outcome(search, params)


def solve_local_search(
    problem: Sharding, options: SolveOptions, params: LocalSearchParams = LOCAL_SEARCH
) -> Outcome:
    """Anneal from the best choice known, guided by multipliers of memory, until the time is up.

    The greedy choice comes first; the bound (`bounds.lagrangian`) suggests further ones, and its
    multipliers price memory. A given start is one that is known before. At the time limit and on
    Ctrl-C the best choice so far is returned. It ends earlier only where the bound proves the
    choice, and on small graphs after very many sweeps without gain.
    """
    run = _Run(problem, options, "local-search")

    def search(graph: ReducedGraph) -> None:
        incumbent, clock = run.incumbent, run.clock
        found = first_choice(graph, incumbent, clock, options.seed, params)
        if incumbent.is_settled or not clock.left_s:
            return
        most_ns = problem.instance.cost_sum_ns + 1
        share = clock.share(params.share_of_the_bound)
        seen = look(graph, most_ns, incumbent, share, params, run.work)
        prices = None
        if seen is not None and seen.messages is not None:
            prices = seen.messages.multipliers
            if not found.has_best:
                found.begin_from(seen.chosen)
                found.repair(clock)
        anneal(graph, incumbent, clock, options.seed, params, prices=prices, fallback=found)

    return run.outcome(search, params)


def first_choice(
    graph: ReducedGraph,
    incumbent: ShardingIncumbent,
    clock: Clock,
    seed: int,
    params: DescentParams,
) -> LocalSearch:
    """Tell the incumbent of a greedy choice, repaired; return the search that found it."""
    search = LocalSearch(graph, seed, params)
    search.begin_greedy(clock)
    search.repair(clock)
    search.tell(incumbent)
    return search


def anneal(
    graph: ReducedGraph,
    incumbent: ShardingIncumbent,
    clock: Clock,
    seed: int,
    params: AnnealParams,
    *,
    prices: list[float] | None,
    fallback: LocalSearch | None = None,
) -> None:
    """Anneal from the incumbent's choice until the time is up or the incumbent is settled.

    Parameters
    ----------
    graph, incumbent, clock, seed, params
        As for the method.
    prices
        Multipliers of memory by row.
    fallback
        A search that goes on where the incumbent's choice is not among those left.
    """
    search = LocalSearch(graph, seed, params)
    start = None if incumbent.schedule is None else graph.encode(incumbent.schedule.strategies)
    if start is not None:
        search.begin_from(start)
    elif fallback is not None and fallback.has_best:
        search = fallback
    else:
        return
    if not search.has_best:
        return
    if prices is not None:
        search.set_prices(prices)
    nodes = graph.size.nodes
    at_once = int(params.seconds_at_once * MOVES_PER_SECOND)
    while clock.left_s and not incumbent.is_settled:
        search.anneal(clock, at_once)
        search.tell(incumbent)
        if search.sweeps_without_gain >= params.sweeps_without_gain * nodes**2:
            return


class _Run:
    """One run of a heuristic: the problem, the incumbent, the clock and the effort."""

    def __init__(self, problem: Sharding, options: SolveOptions, method: str) -> None:
        self.problem = problem
        self.clock = clock_of(options)
        self.incumbent = ShardingIncumbent(problem, options, self.clock, method)
        self.incumbent.begin_from(options.start, StrategyChoice, ScheduleClass.ALL)
        self.work = {"passes": 0}
        self._options = options

    def outcome(self, search: Callable[[ReducedGraph], None], params: DescentParams) -> Outcome:
        """Reduce the problem, search, and return what was found."""
        with Ending() as ending:
            try:
                share = self.clock.share(params.share_of_reductions)
                graph = presolve(self.problem, share, params)
                if self.clock.left_s:
                    search(graph)
            except NoChoiceError as error:
                return no_choice(self.problem, error, self._options, self.clock, params, self.work)
            ending.termination = self.incumbent.end
        note = (
            None if self.incumbent.schedule else "no choice was found that fits; there may be one"
        )
        if isinstance(self.clock, WorkClock):
            self.work["moves"] = int(self.clock.spent_moves)
        return self.incumbent.outcome(ending.termination, work=self.work, note=note)
