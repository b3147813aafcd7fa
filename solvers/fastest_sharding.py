"""The fastest strategies without a limit on memory, by HiGHS."""

from __future__ import annotations

from dataclasses import dataclass, replace

from jettison.formulations.allowed_strategies import time_scale
from jettison.formulations.sharding_columns import chosen_strategies
from jettison.formulations.sharding_only import sharding_only
from jettison.instances.chosen_strategies import with_strategies
from jettison.instances.errors import InputError
from jettison.instances.sharded_graph import ShardedGraph
from jettison.schedules.schedule_class import ScheduleClass
from jettison.solvers.bound import Bound, Evidence
from jettison.solvers.highs_in_time import solve_in_time
from jettison.solvers.highs_options import HighsOptions
from jettison.solvers.kiwi_bound import proved_ns
from jettison.solvers.status import Answer, SolverError, Termination


@dataclass(frozen=True, slots=True)
class FastestSharding:
    """What is known of the fastest plan.

    Attributes
    ----------
    strategies
        The best choice found; None if none was.
    time_ns
        Its time, each operator computed once.
    bound
        Valid for all schedules in any memory; None if none was proved.
    termination
        Why the search ended.
    """

    strategies: tuple[int, ...] | None
    time_ns: int | None
    bound: Bound | None
    termination: Termination

    @property
    def is_proved(self) -> bool:
        """Whether no other choice is faster."""
        return self.bound is not None and self.time_ns == self.bound.time_ns


def fastest_sharding(sharded: ShardedGraph, options: HighsOptions) -> FastestSharding:
    """Look for the fastest choice of strategies, without a limit on memory.

    Raises
    ------
    InputError
        If the pairs of strategies that are forbidden leave no choice.
    """
    model = sharding_only(sharded)
    solution = solve_in_time(model, options)
    if solution.answer is Answer.INFEASIBLE:
        raise InputError(
            "no choice of strategies is allowed for all operators at once",
            field="resharding",
            expected="allow more pairs; null forbids",
        )
    strategies = time_ns = bound = None
    if solution.values is not None:
        strategies = chosen_strategies(sharded, solution.by_name(model))
        time_ns = with_strategies(sharded, strategies).base_time_ns
    if solution.dual_bound is not None:
        bound = Bound(
            time_ns=proved_ns(time_scale(sharded), solution.dual_bound),
            valid_for=ScheduleClass.ALL,
            evidence=Evidence.SOLVER,
            method="fastest-sharding",
        )
    return FastestSharding(strategies, time_ns, bound, solution.termination)


def with_fastest(sharded: ShardedGraph) -> ShardedGraph:
    """Return the graph with the strategies of a fastest plan in its field `fastest`.

    Raises
    ------
    InputError
        If the pairs of strategies that are forbidden leave no choice.
    SolverError
        If the search ended before the plan was proved to be the fastest.
    """
    found = fastest_sharding(sharded, HighsOptions(gap=0))
    if found.strategies is None or not found.is_proved:
        raise SolverError(
            f"the fastest plan of {sharded.name} was not proved: {found.termination}; try again "
            "with fewer strategies"
        )
    return replace(sharded, fastest=found.strategies)
