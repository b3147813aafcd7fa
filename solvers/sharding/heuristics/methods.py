"""Choices of strategies without a proof: greedy, and annealing from there."""

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

# For the first choice to know what the rest will cost.
_PASSES = 30
_REPAIR_SWEEPS = 200
_ROUND_SWEEPS = 60
_ROUNDS_WITHOUT_GAIN = 3
# The reduction, and then the bound, have this much of the time that is left.
_SHARE = 0.4
_ROUNDS_OF_GREEDY = 0
_LAST_TEMPERATURE = 1e-3


def solve_greedy(problem: Sharding, options: SolveOptions) -> Outcome:
    """Choose node by node, as messages suggest, then take best moves.

    Weights of what breaks a rule grow until nothing does. The problem is reduced first
    (`presolve.presolved`). May end without a choice although there is one. Time of a sweep linear
    in the pairs of all edges; at most some hundred sweeps.
    """
    return _solve(problem, options, "greedy", _greedy)


def solve_local_search(problem: Sharding, options: SolveOptions) -> Outcome:
    """Anneal from the best choice of the bound, in rounds until three have found nothing better.

    The bound (`bounds.lagrangian`) suggests choices on its way; where none fits the last one is
    the start. At the time limit and on Ctrl-C it is the best so far.

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
    """What the heuristics share: the problem, what is known, the clock and the effort."""

    def __init__(self, problem: Sharding, options: SolveOptions, method: str) -> None:
        self.problem = problem
        self.clock = Clock(options.time_limit_s)
        self.incumbent = ShardingIncumbent(problem, options, self.clock, method)
        self.work = {"sweeps": 0, "passes": 0}
        self._seed = options.seed

    def anneal(self, state: ShardingState, start: dict[int, int], rounds: int) -> None:
        """Anneal until so many rounds found nothing better."""
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
    note = None if run.incumbent.best else "no choice was found that fits; there may be one"
    return run.incumbent.outcome(ending.termination, work=run.work, note=note)


def start_from(state: ShardingState, incumbent: ShardingIncumbent) -> dict[int, int] | None:
    """Return the best choice as places among the strategies left; None if some are gone."""
    if incumbent.best is None:
        return None
    start: dict[int, int] = {}
    for node in state.alive:
        places = (state.labels[node] == incumbent.best.strategies[node]).nonzero()[0]
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
    """Descend from a choice, then anneal in rounds until so many have found nothing better.

    Parameters
    ----------
    state
        The reduced problem.
    start
        A strategy of each node that is alive, as its place among those that are left.
    incumbent
        What takes the choices that are found.
    clock
        When to stop.
    seed
        Of the random moves.
    rounds_without_gain
        After so many rounds it ends; with 0 it only descends.
    work
        Its count of sweeps rises.
    """

    def take(labels: dict[int, int]) -> bool:
        return incumbent.take(state.decode(labels))

    search = ShardingSearch(state, start, seed)
    search.descend(_REPAIR_SWEEPS, clock, take)
    start = dict(search.chosen)
    without_gain = 0
    while without_gain < rounds_without_gain:
        before = incumbent.cost_ns
        search = ShardingSearch(state, start, seed + work["sweeps"])
        hot = max(search.typical_cost(), 1e-9)
        for number in range(_ROUND_SWEEPS):
            if not clock.left_s:
                return
            search.sweep(hot * _LAST_TEMPERATURE ** (number / _ROUND_SWEEPS))
            search.raise_weights()
            work["sweeps"] += 1
        search.descend(_REPAIR_SWEEPS, clock, take)
        if incumbent.cost_ns != before:
            start = dict(search.chosen)
            without_gain = 0
        else:
            without_gain += 1
