"""Heuristic methods for sharding: greedy, and annealing."""

from __future__ import annotations

from collections.abc import Callable

from jettison.instances.sharding.problem import Sharding
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.sharding.bounds.lagrangian import look
from jettison.solvers.sharding.bounds.messages import Messages
from jettison.solvers.sharding.heuristics.search import ShardingSearch
from jettison.solvers.sharding.incumbent import ShardingIncumbent
from jettison.solvers.sharding.infeasible import no_choice
from jettison.solvers.sharding.presolve.presolved import presolve
from jettison.solvers.sharding.presolve.state import NoChoiceError, ShardingState

# Passes of messages before the greedy choice, to estimate what the open nodes will cost.
_PASSES = 30
_REPAIR_SWEEPS = 200
_ROUND_SWEEPS = 60
_ROUNDS_WITHOUT_GAIN = 3
# Share of the time that is left for the reduction, and again for the bound.
_SHARE = 0.4
_ROUNDS_OF_GREEDY = 0
_LAST_TEMPERATURE = 1e-3


def solve_greedy(problem: Sharding, options: SolveOptions) -> Outcome:
    """Choose strategies node by node, guided by messages, then descend by best moves.

    Penalties on broken rules grow until none is broken. The problem is reduced first
    (`presolve.presolved`). The method may end without a choice although there is one. A sweep takes
    time linear in the pairs of all edges; there are at most some hundred sweeps.
    """
    return _solve(problem, options, "greedy", _greedy)


def solve_local_search(problem: Sharding, options: SolveOptions) -> Outcome:
    """Anneal from the best choice of the Lagrangian bound, until three rounds bring no gain.

    The bound (`bounds.lagrangian`) suggests choices as it is computed; where none fits the last one
    is the start. At the time limit and on Ctrl-C the best choice so far is returned.

    Source: simulated annealing (Kirkpatrick et al., 1983) with heat-bath moves (Geman and Geman,
    1984).
    """
    return _solve(problem, options, "local-search", _search)


def _greedy(run: _Run, state: ShardingState) -> None:
    messages = Messages(state)
    messages.improve(_PASSES, None, run.clock)
    run.anneal(state, messages.rounded(), _ROUNDS_OF_GREEDY)


def _search(run: _Run, state: ShardingState) -> None:
    most_ns = run.problem.instance.cost_sum_ns + 1
    seen = look(state, most_ns, run.incumbent, Clock(_SHARE * run.clock.left_s), run.work)
    if not run.incumbent.is_settled:
        start = start_from(state, run.incumbent) or seen.chosen
        run.anneal(state, start, _ROUNDS_WITHOUT_GAIN)


class _Run:
    """One run of a heuristic: the problem, the incumbent, the clock and the effort."""

    def __init__(self, problem: Sharding, options: SolveOptions, method: str) -> None:
        self.problem = problem
        self.clock = Clock(options.time_limit_s)
        self.incumbent = ShardingIncumbent(problem, options, self.clock, method)
        self.work = {"sweeps": 0, "passes": 0}
        self._seed = options.seed

    def anneal(self, state: ShardingState, start: dict[int, int], rounds: int) -> None:
        """Anneal until `rounds` rounds in a row bring no gain."""
        anneal(state, start, self.incumbent, self.clock, self._seed, rounds, self.work)


def _solve(
    problem: Sharding,
    options: SolveOptions,
    method: str,
    search: Callable[[_Run, ShardingState], None],
) -> Outcome:
    run = _Run(problem, options, method)
    with Ending() as ending:
        try:
            search(run, presolve(problem, Clock(_SHARE * run.clock.left_s)))
        except NoChoiceError as error:
            return no_choice(problem, error, options, run.clock, run.work)
        ending.termination = run.incumbent.end
    note = None if run.incumbent.schedule else "no choice was found that fits; there may be one"
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


def anneal(
    state: ShardingState,
    start: dict[int, int],
    incumbent: ShardingIncumbent,
    clock: Clock,
    seed: int,
    rounds_without_gain: int,
    work: dict[str, int],
) -> None:
    """Descend from a choice, then anneal until a number of rounds in a row bring no gain.

    Parameters
    ----------
    state
        The reduced problem.
    start
        The strategy of each node that is left, as its index among those left.
    incumbent
        Receives the choices that are found.
    clock
        The time limit.
    seed
        Seed of the random moves.
    rounds_without_gain
        Number of rounds without gain that ends the search; with 0 it only descends.
    work
        Counts of the effort; that of sweeps is raised.
    """

    def take(labels: dict[int, int]) -> bool:
        return incumbent.take(state.decode(labels))

    search = ShardingSearch(state, start, seed)
    search.descend(_REPAIR_SWEEPS, clock, take)
    start = dict(search.chosen)
    without_gain = 0
    while without_gain < rounds_without_gain:
        before = incumbent.time_ns
        search = ShardingSearch(state, start, seed + work["sweeps"])
        hot = max(search.typical_cost(), 1e-9)
        for number in range(_ROUND_SWEEPS):
            if not clock.left_s:
                return
            search.sweep(hot * _LAST_TEMPERATURE ** (number / _ROUND_SWEEPS))
            search.raise_weights()
            work["sweeps"] += 1
        search.descend(_REPAIR_SWEEPS, clock, take)
        if incumbent.time_ns != before:
            start = dict(search.chosen)
            without_gain = 0
        else:
            without_gain += 1
