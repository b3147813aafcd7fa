"""Heuristic methods for sharding: greedy, and annealing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from jettison.instances.sharding.problem import Sharding
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.sharding.strategy_choice import StrategyChoice
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.work import WorkClock, clock_of
from jettison.solvers.sharding.bounds.lagrangian import look
from jettison.solvers.sharding.bounds.messages import Messages
from jettison.solvers.sharding.heuristics.heat_bath import ShardingSearch
from jettison.solvers.sharding.incumbent import ShardingIncumbent
from jettison.solvers.sharding.infeasible import no_choice
from jettison.solvers.sharding.params import DescentParams, LookParams
from jettison.solvers.sharding.presolve.presolved import presolve
from jettison.solvers.sharding.presolve.state import NoChoiceError, ShardingState

D = TypeVar("D", bound=DescentParams)


@dataclass(frozen=True, kw_only=True)
class GreedyParams(DescentParams):
    """Parameters of the greedy choice: its look-ahead.

    Attributes
    ----------
    passes
        Passes of messages before the choice, which estimate what the open nodes will cost.
    """

    passes: int = 30


GREEDY = GreedyParams()


@dataclass(frozen=True, kw_only=True)
class LocalSearchParams(DescentParams, LookParams):
    """Parameters of annealing: its rounds.

    Attributes
    ----------
    share_of_the_bound
        Share of the time that is left after the reductions for the bound.
    round_sweeps
        Sweeps of a round, in which the temperature falls.
    rounds_without_gain
        Rounds in a row without gain after which the search ends.
    last_temperature
        Share of its first temperature to which a round falls.
    """

    share_of_the_bound: float = 0.4
    round_sweeps: int = 60
    rounds_without_gain: int = 3
    last_temperature: float = 1e-3


LOCAL_SEARCH = LocalSearchParams()


def solve_greedy(
    problem: Sharding, options: SolveOptions, params: GreedyParams = GREEDY
) -> Outcome:
    """Choose strategies node by node, guided by messages, then descend by best moves.

    Penalties on broken rules grow until none is broken. The problem is reduced first
    (`presolve.presolved`). The method may end without a choice although there is one. A sweep takes
    time linear in the pairs of all edges; there are at most some hundred sweeps.
    """
    return _solve(problem, options, params, "greedy", _greedy)


def solve_local_search(
    problem: Sharding, options: SolveOptions, params: LocalSearchParams = LOCAL_SEARCH
) -> Outcome:
    """Anneal from the best choice of the Lagrangian bound, until some rounds bring no gain.

    The bound (`bounds.lagrangian`) suggests choices as it is computed, and a given start is one
    that is known before; where none fits the last one is the start. At the time limit and on Ctrl-C
    the best choice so far is returned.

    Source: simulated annealing (Kirkpatrick et al., 1983) with heat-bath moves (Geman and Geman,
    1984).
    """
    return _solve(problem, options, params, "local-search", _search)


def _greedy(run: _Run, state: ShardingState, params: GreedyParams) -> None:
    messages = Messages(state, params)
    messages.improve(params.passes, None, run.clock)
    chosen = messages.rounded()
    run.incumbent.take(
        state.decode({node: int(state.labels[node][a]) for node, a in chosen.items()})
    )
    # What descends begins with tables of all pairs, which takes time on large problems.
    if run.clock.left_s:
        run.descend(state, chosen, params)


def _search(run: _Run, state: ShardingState, params: LocalSearchParams) -> None:
    most_ns = run.problem.instance.cost_sum_ns + 1
    share = run.clock.share(params.share_of_the_bound)
    seen = look(state, most_ns, run.incumbent, share, params, run.work)
    if not run.incumbent.is_settled and run.clock.left_s:
        start = start_from(state, run.incumbent) or seen.chosen
        run.anneal(state, run.descend(state, start, params), params)


def _solve(
    problem: Sharding,
    options: SolveOptions,
    params: D,
    method: str,
    search: Callable[[_Run, ShardingState, D], None],
) -> Outcome:
    run = _Run(problem, options, method)
    with Ending() as ending:
        try:
            share = run.clock.share(params.share_of_reductions)
            search(run, presolve(problem, share, params), params)
        except NoChoiceError as error:
            return no_choice(problem, error, options, run.clock, params, run.work)
        ending.termination = run.incumbent.end
    note = None if run.incumbent.schedule else "no choice was found that fits; there may be one"
    if isinstance(run.clock, WorkClock):
        run.work["moves"] = int(run.clock.spent_moves)
    return run.incumbent.outcome(ending.termination, work=run.work, note=note)


def start_from(state: ShardingState, incumbent: ShardingIncumbent) -> dict[int, int] | None:
    """Return the best choice as indices among the strategies left; None if one is gone."""
    if incumbent.schedule is None:
        return None
    start: dict[int, int] = {}
    for node in state.alive:
        places = (state.labels[node] == incumbent.schedule.strategies[node]).nonzero()[0]
        if not len(places):
            return None
        start[node] = int(places[0])
    return start


class _Run:
    """One run of a heuristic: the problem, the incumbent, the clock and the effort."""

    def __init__(self, problem: Sharding, options: SolveOptions, method: str) -> None:
        self.problem = problem
        self.clock = clock_of(options)
        self.incumbent = ShardingIncumbent(problem, options, self.clock, method)
        self.incumbent.begin_from(options.start, StrategyChoice, ScheduleClass.ALL)
        self.work = {"sweeps": 0, "passes": 0}
        self._seed = options.seed

    def descend(
        self, state: ShardingState, start: dict[int, int], params: DescentParams
    ) -> dict[int, int]:
        """Descend from a choice of the reduced problem; return where that leads.

        Choices are told as indices of the strategies of each node among those left.
        """
        search = ShardingSearch(state, start, self._seed, params)
        search.descend(self.clock, lambda labels: self.incumbent.take(state.decode(labels)))
        return dict(search.chosen)

    def anneal(
        self, state: ShardingState, start: dict[int, int], params: LocalSearchParams
    ) -> None:
        """Anneal from a choice until a number of rounds in a row bring no gain."""
        sweeps = params.round_sweeps
        without_gain = 0
        while without_gain < params.rounds_without_gain and self.clock.left_s:
            before = self.incumbent.time_ns
            search = ShardingSearch(state, start, self._seed + self.work["sweeps"], params)
            hot = max(search.typical_cost(), 1e-9)
            for number in range(sweeps):
                if not self.clock.left_s:
                    return
                search.sweep(hot * params.last_temperature ** (number / sweeps), self.clock)
                search.raise_weights()
                self.work["sweeps"] += 1
            search.descend(self.clock, lambda labels: self.incumbent.take(state.decode(labels)))
            if self.incumbent.time_ns != before:
                start = dict(search.chosen)
                without_gain = 0
            else:
                without_gain += 1
