"""Presolve of a sharding problem: all reductions, repeated while they remove enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from jettison.instances.sharding.problem import Sharding
from jettison.solvers.core.clock import Clock
from jettison.solvers.sharding.params import AS_TUNED, ShardingParams
from jettison.solvers.sharding.presolve.reductions import (
    drop_dominated,
    drop_rows,
    eliminate_free,
    fold_separable,
    keep_consistent,
    merge_followers,
)
from jettison.solvers.sharding.presolve.state import ShardingState
from jettison.solvers.sharding.table_work import moves_at

Reduction = Callable[[ShardingState, Clock], bool]


def reductions(params: ShardingParams = AS_TUNED) -> dict[str, Reduction]:
    """Return all reductions by name, in the order in which a round runs them."""
    return {
        "keep_consistent": keep_consistent,
        "drop_rows": drop_rows,
        "fold_separable": fold_separable,
        "merge_followers": merge_followers,
        "eliminate_free": partial(eliminate_free, most_more_pairs=params.most_more_pairs),
        "drop_dominated": drop_dominated,
    }


@dataclass(frozen=True, slots=True)
class Size:
    """Size of a reduced problem.

    Attributes
    ----------
    nodes, edges, strategies, pairs, rows
        Nodes, edges, strategies of nodes, allowed pairs of edges, and rows of memory that are left.
    """

    nodes: int
    edges: int
    strategies: int
    pairs: int
    rows: int

    @classmethod
    def of(cls, state: ShardingState) -> Size:
        """Measure a state."""
        return cls(
            len(state.alive),
            len(state.tables),
            sum(len(state.costs[node]) for node in state.alive),
            sum(int((table < state.forbidden).sum()) for table in state.tables.values()),
            len(state.capacity),
        )


def presolve(
    problem: Sharding,
    clock: Clock,
    params: ShardingParams = AS_TUNED,
    on_step: Callable[[str, Size], None] | None = None,
) -> ShardingState:
    """Return the problem reduced as far as the reductions, or the time, allow.

    Every intermediate state has the optimum of the problem, so that presolve may stop anywhere.

    Parameters
    ----------
    problem
        The instance and its memory.
    clock
        The time limit.
    params
        When reductions end.
    on_step
        Called after each reduction with its name and the size of what is left.

    Raises
    ------
    NoChoiceError
        If there is no choice at all.
    """
    state = ShardingState(problem.instance, problem.memory_bytes)
    if on_step is not None:
        on_step("as given", Size.of(state))
    reduce_further(state, clock, params, on_step)
    return state


def reduce_further(
    state: ShardingState,
    clock: Clock,
    params: ShardingParams = AS_TUNED,
    on_step: Callable[[str, Size], None] | None = None,
) -> None:
    """Reduce a state until a round removes hardly any of its pairs, or the time is up.

    Afterwards every strategy has an allowed partner at each of its edges, as messages need it.
    """
    pairs = None
    while pairs is None or Size.of(state).pairs < params.most_pairs_left * pairs:
        pairs = Size.of(state).pairs
        for name, reduction in reductions(params).items():
            if name != "keep_consistent" and not clock.left_s:
                return
            if name in {"keep_consistent", "drop_rows"}:
                clock.spend(moves_at(state.tables.values()))
            reduction(state, clock)
            if on_step is not None:
                on_step(name, Size.of(state))
