"""Lagrangian bound on sharding by message passing, as a method and as a step of `exact`."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from jettison.instances.sharding.problem import Sharding
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.sharding.bounds.messages import ExactSplit, Messages
from jettison.solvers.sharding.incumbent import ShardingIncumbent
from jettison.solvers.sharding.infeasible import no_choice
from jettison.solvers.sharding.params import LookParams
from jettison.solvers.sharding.presolve.presolved import presolve
from jettison.solvers.sharding.presolve.state import NoChoiceError, ShardingState


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
    Each pass takes time linear in the pairs of all edges after the reduction; there are at most
    400 of them, unless the parameters say otherwise.
    """
    clock = Clock(options.time_limit_s)
    incumbent = ShardingIncumbent(problem, options, clock, "lagrangian")
    work = {"passes": 0}
    with Ending() as ending:
        share = clock.share(params.share_of_reductions)
        try:
            state = presolve(problem, share, params)
        except NoChoiceError as error:
            return no_choice(problem, error, options, clock, params, work)
        is_cut_short = not share.left_s
        share = clock.share(params.share_of_messages)
        look(state, problem.instance.cost_sum_ns + 1, incumbent, share, params, work)
        if is_cut_short or not share.left_s:
            ending.termination = Termination.TIME_LIMIT
    return replace(incumbent.outcome(ending.termination, work=work), schedule=None)


class Look(NamedTuple):
    """Result of message passing: costs split for the bound, and a choice rounded from messages.

    The split is None where there was no time for a pass.
    The choice gives for each node that is left the index of its strategy among those left; it may
    exceed the memory, or have a forbidden pair.
    """

    split: ExactSplit | None
    chosen: dict[int, int]


def look(
    state: ShardingState,
    below_ns: int,
    incumbent: ShardingIncumbent,
    clock: Clock,
    params: LookParams,
    work: dict[str, int],
) -> Look:
    """Pass messages until the bound hardly rises, and evaluate it in exact arithmetic.

    Parameters
    ----------
    state
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

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C; the incumbent has the bound so far.
    """
    messages = Messages(state, params)
    chosen = messages.rounded()
    split: ExactSplit | None = None
    stalled = 0
    try:
        for _ in range(params.most_looks):
            before = messages.value
            target_ns = min(below_ns, incumbent.time_ns or below_ns)
            known = float(target_ns - state.offset)
            made = messages.improve(params.passes_at_once, known, clock)
            work["passes"] += made
            chosen = messages.rounded()
            incumbent.take(
                state.decode({node: int(state.labels[node][a]) for node, a in chosen.items()})
            )
            if not made:
                break
            left = min(below_ns, incumbent.time_ns or below_ns) - state.offset - messages.value
            least_gain = min(params.least_gain * left, params.least_rise * abs(messages.value))
            stalled = stalled + 1 if messages.value - before < least_gain else 0
            is_cut_short = made < params.passes_at_once or not clock.left_s
            if stalled == params.looks_without_gain or left <= 0 or is_cut_short:
                break
    finally:
        if messages.value > -math.inf:
            split = messages.exact()
            incumbent.prove_cost(min(below_ns, split.bound_ns(state.offset)))
    return Look(split, chosen)
