"""Lagrangian bound on sharding by message passing, as a method and as a step of `exact`."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from jettison.instances.sharding.problem import Sharding
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.sharding.bounds.messages import ExactBound, Messages
from jettison.solvers.sharding.heuristics.local_search import LocalSearch
from jettison.solvers.sharding.incumbent import ShardingIncumbent
from jettison.solvers.sharding.infeasible import no_choice
from jettison.solvers.sharding.params import DESCENT, LookParams
from jettison.solvers.sharding.presolve.presolved import presolve
from jettison.solvers.sharding.presolve.reduced_graph import NoChoiceError, ReducedGraph


@dataclass(frozen=True, kw_only=True)
class LagrangianParams(LookParams):
    """Shares of the time; the bound is evaluated in exact arithmetic after that.

    Attributes
    ----------
    share_of_reductions
        Share of the time for the reductions.
    share_of_messages
        Share of the time that is left then for messages.
    """

    share_of_reductions: float = 0.6
    share_of_messages: float = 0.9


LAGRANGIAN = LagrangianParams()


def bound_lagrangian(
    problem: Sharding, options: SolveOptions, params: LagrangianParams = LAGRANGIAN
) -> Outcome:
    """Return a bound in exact arithmetic, for graphs that are too large for a model.

    See `messages`. At the time limit and on Ctrl-C it is the largest so far. No choice is
    returned; choices are only tried to set the length of the subgradient steps.

    Notes
    -----
    Each pass takes time linear in the pairs of all edges after the reduction. They end when looks
    in a row bring no gain.
    """
    clock = Clock(options.time_limit_s)
    incumbent = ShardingIncumbent(problem, options, clock, "lagrangian")
    work = {"passes": 0}
    with Ending() as ending:
        share = clock.share(params.share_of_reductions)
        try:
            graph = presolve(problem, share, params)
        except NoChoiceError as error:
            return no_choice(problem, error, options, clock, params, work)
        is_cut_short = not share.left_s
        share = clock.share(params.share_of_messages)
        look(graph, problem.instance.cost_sum_ns + 1, incumbent, share, params, work)
        if is_cut_short or not share.left_s:
            ending.termination = Termination.TIME_LIMIT
    return replace(incumbent.outcome(ending.termination, work=work), schedule=None)


class Look(NamedTuple):
    """Result of message passing: the messages, evaluated in integers, and a choice from them.

    The messages are None where there was no time for a pass.
    The choice gives for each node of the instance the place of its strategy among those left; it
    may exceed the memory, or have a forbidden pair.
    """

    messages: Messages | None
    bound: ExactBound | None
    chosen: list[int]


def look(
    graph: ReducedGraph,
    below_ns: int,
    incumbent: ShardingIncumbent,
    clock: Clock,
    params: LookParams,
    work: dict[str, int],
    kept: Any = None,
) -> Look | None:
    """Pass messages until the bound hardly rises, and evaluate it in exact arithmetic.

    Parameters
    ----------
    graph
        A reduced problem that contains every choice of less than `below_ns`.
    below_ns
        The value at which the bound is large enough.
    incumbent
        Receives the bound, and the choices rounded from messages.
    clock
        The time limit.
    params
        How many passes there are, and of which steps.
    work
        Counts of the effort; that of passes is raised.
    kept
        Messages and multipliers of an earlier graph.

    Returns
    -------
    Look or None
        None where the time ended before the graph was consistent.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C; the incumbent has the bound so far.
    """
    if not graph.is_consistent or graph.size.pairs > params.most_pairs_of_messages:
        return None
    messages = Messages(graph, params, kept)
    bound: ExactBound | None = None
    stalled = 0
    try:
        for _ in range(params.most_looks):
            before = messages.value
            target_ns = min(below_ns, incumbent.time_ns or below_ns)
            known = float(target_ns - graph.offset_ns)
            made = messages.improve(params.passes_at_once, known, clock)
            work["passes"] += made
            if not made:
                break
            _take_rounded(graph, messages, incumbent)
            target_ns = min(below_ns, incumbent.time_ns or below_ns)
            left = target_ns - graph.offset_ns - messages.value
            least_gain = min(params.least_gain * left, params.least_rise * abs(messages.value))
            stalled = stalled + 1 if messages.value - before < least_gain else 0
            is_cut_short = made < params.passes_at_once or not clock.left_s
            # Floating point may fall short of a bound that rounding up meets.
            is_met = left <= 1 - params.least_fraction
            if stalled == params.looks_without_gain or is_met or is_cut_short:
                break
    finally:
        if messages.value > -math.inf:
            bound = messages.exact()
            incumbent.prove_cost(min(below_ns, bound.bound_ns(graph.offset_ns)))
    return Look(messages if bound else None, bound, messages.rounded())


def _take_rounded(graph: ReducedGraph, messages: Messages, incumbent: ShardingIncumbent) -> None:
    """Offer the choice rounded from messages, if it breaks no rule and is the cheapest."""
    search = LocalSearch(graph, 0, DESCENT)
    search.begin_from(messages.rounded())
    search.tell(incumbent)
