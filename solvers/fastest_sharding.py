"""The fastest strategies without a limit on memory, by HiGHS."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    is_proved
        Whether no other choice is faster, up to the solver's relative 1e-9.
    """

    strategies: tuple[int, ...] | None
    time_ns: int | None
    bound: Bound | None
    termination: Termination
    is_proved: bool


def fastest_sharding(sharded: ShardedGraph, options: HighsOptions) -> FastestSharding:
    """Look for the fastest choice of strategies, without a limit on memory.

    Raises
    ------
    InputError
        If the pairs of strategies that are forbidden leave no choice.
    """
    built = sharding_only(sharded)
    solution = solve_in_time(built.model, options)
    if solution.answer is Answer.INFEASIBLE:
        raise InputError(
            "no choice of strategies is allowed for all operators at once",
            field="resharding",
            expected="allow more pairs; null forbids",
        )
    strategies = time_ns = bound = None
    if solution.values is not None:
        strategies = built.chosen(solution.values)
        time_ns = with_strategies(sharded, strategies).base_time_ns
    if solution.dual_bound is not None:
        bound = Bound(
            time_ns=proved_ns(built.time_scale, solution.dual_bound),
            valid_for=ScheduleClass.ALL,
            evidence=Evidence.SOLVER,
            method="fastest-sharding",
        )
    return FastestSharding(
        strategies, time_ns, bound, solution.termination, solution.answer is Answer.OPTIMAL
    )


def with_fastest(sharded: ShardedGraph, options: HighsOptions | None = None) -> ShardedGraph:
    """Return the graph with the strategies of a fastest plan in its field `fastest`.

    Parameters
    ----------
    sharded
        The instance.
    options
        How to run HiGHS; by default to the end, on one thread.

    Raises
    ------
    InputError
        If the pairs of strategies that are forbidden leave no choice.
    SolverError
        If the search ended before the plan was proved to be the fastest.
    """
    found = fastest_sharding(sharded, options or HighsOptions(gap=0))
    if found.strategies is None or not found.is_proved:
        raise SolverError(
            f"the fastest plan of {sharded.name} was not proved: {found.termination}; try again "
            "with fewer strategies"
        )
    return replace(sharded, fastest=found.strategies)
