"""Lagrangian bound on sharding by message passing, as a method and as a step of `exact`."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from jettison.instances.sharding.problem import Sharding
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.sharding.bounds.messages import ExactSplit, Messages
from jettison.solvers.sharding.incumbent import ShardingIncumbent
from jettison.solvers.sharding.infeasible import no_choice
from jettison.solvers.sharding.presolve.presolved import presolve
from jettison.solvers.sharding.presolve.state import NoChoiceError, ShardingState

# Passes between two looks at the bound, and how many looks at most for one state.
_PASSES = 10
_MOST_LOOKS = 40
# After a look that closes a smaller share of the gap than this, and raises the bound by a smaller
# share than that, only two more follow.
_LEAST_GAIN = 0.02
_LEAST_RISE = 1e-4
_LOOKS_WITHOUT_GAIN = 3
# Shares of the time that is left: for the reductions, and then for messages. The bound is evaluated
# in exact arithmetic after that.
_SHARE_OF_REDUCTIONS = 0.6
SHARE_OF_MESSAGES = 0.9


def bound_lagrangian(problem: Sharding, options: SolveOptions) -> Outcome:
    """Return a bound in exact arithmetic, for graphs that are too large for a model.

    See `messages`. At the time limit and on Ctrl-C it is the largest so far. No choice is
    returned; choices are only tried to set the length of the subgradient steps.

    Notes
    -----
    Each pass takes time linear in the pairs of all edges after the reduction; there are at most
    400 of them.
    """
    clock = Clock(options.time_limit_s)
    incumbent = ShardingIncumbent(problem, options, clock, "lagrangian")
    work = {"passes": 0}
    with Ending() as ending:
        share = Clock(_SHARE_OF_REDUCTIONS * clock.left_s)
        try:
            state = presolve(problem, share)
        except NoChoiceError as error:
            return no_choice(problem, error, options, clock, work)
        is_cut_short = not share.left_s
        share = Clock(SHARE_OF_MESSAGES * clock.left_s)
        look(state, problem.instance.cost_sum_ns + 1, incumbent, share, work)
        if is_cut_short or not share.left_s:
            ending.termination = Termination.TIME_LIMIT
    return replace(incumbent.outcome(ending.termination, work=work), schedule=None)


class Look(NamedTuple):
    """Result of message passing: costs split for the bound, and a choice rounded from messages.

    The choice gives for each node that is left the index of its strategy among those left; it may
    exceed the memory, or have a forbidden pair.
    """

    split: ExactSplit
    chosen: dict[int, int]


def look(
    state: ShardingState,
    below_ns: int,
    incumbent: ShardingIncumbent,
    clock: Clock,
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
    work
        Counts of the effort; that of passes is raised.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C; the incumbent has the bound so far.
    """
    messages = Messages(state)
    chosen: dict[int, int] = {}
    stalled = 0
    try:
        for _ in range(_MOST_LOOKS):
            before = messages.value
            target_ns = min(below_ns, incumbent.time_ns or below_ns)
            messages.improve(_PASSES, float(target_ns - state.offset), clock)
            work["passes"] += _PASSES
            chosen = messages.rounded()
            incumbent.take(
                state.decode({node: int(state.labels[node][a]) for node, a in chosen.items()})
            )
            left = min(below_ns, incumbent.time_ns or below_ns) - state.offset - messages.value
            least_gain = min(_LEAST_GAIN * left, _LEAST_RISE * abs(messages.value))
            stalled = stalled + 1 if messages.value - before < least_gain else 0
            if stalled == _LOOKS_WITHOUT_GAIN or left <= 0 or not clock.left_s:
                break
    finally:
        split = messages.exact()
        incumbent.prove_cost(min(below_ns, split.bound_ns(state.offset)))
    return Look(split, chosen)
