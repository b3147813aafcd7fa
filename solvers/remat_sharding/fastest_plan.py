"""Fastest strategies without a limit on memory, by HiGHS."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from jettison.formulations.remat_sharding.least_peak import sharding_least_peak
from jettison.formulations.remat_sharding.strategies_only import sharding_only
from jettison.instances.core.errors import InputError
from jettison.instances.remat_sharding.chosen_strategies import with_strategies
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.params import Params
from jettison.solvers.core.status import Answer, SolverError, Termination
from jettison.solvers.core.work import Budget
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.milp.reduced_cost_fixing import tightened_by_reduced_costs
from jettison.solvers.remat_sharding.kiwi.step_bound import proved_ns


@dataclass(frozen=True, kw_only=True)
class FastestParams(Params):
    """Parameters of the search for a fastest plan with a small peak.

    Attributes
    ----------
    nodes_for_the_peak
        Nodes of HiGHS in which the peak is proved to be the least, at most. Unlike seconds they are
        the same on every machine.
    """

    nodes_for_the_peak: int = 1_000


FASTEST = FastestParams()


@dataclass(frozen=True, slots=True)
class FastestSharding:
    """Fastest choice of strategies found, with its bound.

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
    answer
        Optimal where no other choice is faster, up to the solver's relative 1e-9; infeasible where
        forbidden pairs of strategies leave no choice.
    """

    strategies: tuple[int, ...] | None
    time_ns: int | None
    bound: Bound | None
    termination: Termination
    answer: Answer


def fastest_sharding(
    sharded: ShardedGraph, options: HighsOptions, most_moves: int | None = None
) -> FastestSharding:
    """Find the fastest choice of strategies without a limit on memory.

    Parameters
    ----------
    sharded
        The instance.
    options
        How to run HiGHS.
    most_moves
        As `SolveOptions` has it.
    """
    built = sharding_only(sharded)
    limit = Budget(most_moves).limit(built.model.num_columns)
    solution = solve_in_time(built.model, replace(options, work_limit=limit))
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
    return FastestSharding(strategies, time_ns, bound, solution.termination, solution.answer)


def with_fastest(
    sharded: ShardedGraph, options: HighsOptions | None = None, params: FastestParams = FASTEST
) -> ShardedGraph:
    """Return the graph with the strategies of a fastest plan in its field `fastest`.

    Of several fastest plans it is one with the least peak, where HiGHS proves that peak within
    the nodes of `params` (or the fewer of `options`); the best one found otherwise.

    Parameters
    ----------
    sharded
        The instance.
    options
        Options of each run of HiGHS; by default to the end, on one thread.
    params
        The nodes for the peak.

    Raises
    ------
    InputError
        If the pairs of strategies that are forbidden leave no choice.
    SolverError
        If the search ended before the plan was proved to be the fastest.
    """
    options = options or HighsOptions(gap=0)
    found = fastest_sharding(sharded, options)
    if found.answer is Answer.INFEASIBLE:
        raise InputError(
            "no choice of strategies is allowed for all operators at once",
            field="resharding",
            expected="allow more pairs; null forbids",
        )
    if found.strategies is None or found.answer is not Answer.OPTIMAL:
        raise SolverError(
            f"the fastest plan of {sharded.name} was not proved: {found.termination}; try again "
            "with fewer strategies"
        )
    return replace(sharded, fastest=_with_less_memory(sharded, found.strategies, options, params))


def _with_less_memory(
    sharded: ShardedGraph,
    strategies: tuple[int, ...],
    options: HighsOptions,
    params: FastestParams,
) -> tuple[int, ...]:
    """Return strategies as fast as the ones given, with a smaller peak if one was found.

    Reduced costs of the relaxation usually leave few strategies that a fastest plan can have.
    """
    known = with_strategies(sharded, strategies)
    built = sharding_only(sharded)
    row_duals = solve_in_time(built.model.relaxed(), options).row_duals
    limits = built.model
    if row_duals is not None:
        at_most = Fraction(built.time_scale.to_model(known.base_time_ns))
        # Where s is binary, e is 0 or 1 too. The plan that is known is a point of the model.
        binary = replace(limits, integer=np.ones(limits.num_columns, dtype=bool))
        tightened = tightened_by_reduced_costs(binary, row_duals, at_most)
        assert tightened is not None
        limits = replace(tightened.model, integer=limits.integer)
    model = sharding_least_peak(sharded, built, limits, known.base_time_ns)
    most = params.nodes_for_the_peak
    if options.node_limit is not None:
        most = min(most, options.node_limit)
    solution = solve_in_time(model, replace(options, node_limit=most))
    if solution.values is None:
        return strategies
    chosen = built.chosen(solution.values)
    other = with_strategies(sharded, chosen)
    # Rows hold up to the tolerance of the solver, and times may be rounded in the model.
    is_better = (other.base_time_ns, other.store_all_peak_bytes) < (
        known.base_time_ns,
        known.store_all_peak_bytes,
    )
    return chosen if is_better else strategies
