"""KIWI's baselines, which choose strategies after a rule has decided what is recomputed.

Alpa (Zheng et al., OSDI 2022) chooses strategies; nothing is recomputed, or a rule that uses
neither sizes nor strategies decides what is. A rule *drops* forward values: each is freed after its
last forward reader, is recomputed before the first backward operator that needs it, with all
dropped values that it needs itself, and stays until its last reader. The strategies are then the
fastest that fit (`strategies_of_computations`); a recomputation has the strategy of the first
computation.
"""

from __future__ import annotations

from collections.abc import Callable

from jettison.instances.remat_sharding.operator import Operator, Role
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.schedules.remat_sharding.elementwise_recomputation import PRODUCTS, recomputing
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.milp.tolerance import BELOW_TOLERANCE
from jettison.solvers.remat_sharding.strategies_of_computations import (
    FIXED,
    FixedParams,
    strategies_of_computations,
)

_ATTENTION = "attention"


def solve_alpa(
    problem: RematSharding, options: SolveOptions, params: FixedParams = FIXED
) -> Outcome:
    """Return the fastest strategies that fit with every operator computed once."""
    return _solve(problem, options, params, lambda _: frozenset())


def solve_recompute_all_alpa(
    problem: RematSharding, options: SolveOptions, params: FixedParams = FIXED
) -> Outcome:
    """Return the fastest strategies that fit with every forward value dropped."""
    return _solve(problem, options, params, _forward)


def solve_checkpoint_dots_alpa(
    problem: RematSharding, options: SolveOptions, params: FixedParams = FIXED
) -> Outcome:
    """Return the fastest strategies with all forward values but products of matrices dropped.

    That is JAX's policy checkpoint_dots.
    """
    return _solve(problem, options, params, all_but_products)


def solve_selective_alpa(
    problem: RematSharding, options: SolveOptions, params: FixedParams = FIXED
) -> Outcome:
    """Return the fastest strategies with the inside of attention dropped, as Megatron does.

    These are the operators in a scope of attention that read no parameter: scores, softmax, context
    (Korthikanti et al., 2022); the projections before and after them are kept.
    """
    return _solve(problem, options, params, inside_attention)


def _solve(
    problem: RematSharding,
    options: SolveOptions,
    params: FixedParams,
    rule: Callable[[ShardedGraph], frozenset[int] | str],
) -> Outcome:
    dropped = rule(problem.instance)
    if isinstance(dropped, str):
        return Outcome.not_applicable(dropped)
    clock = Clock(options.time_limit_s)
    with Ending() as ending:
        found = strategies_of_computations(
            problem, recomputing(problem.instance, dropped), options, clock, params
        )
        return Outcome(
            termination=found.termination,
            schedule=found.plan,
            work={"models": found.models},
            note=BELOW_TOLERANCE if found.termination is Termination.ERROR else None,
        )
    return Outcome(termination=ending.termination)


def _forward(sharded: ShardedGraph) -> frozenset[int]:
    return _those(sharded, lambda _: True)


def all_but_products(sharded: ShardedGraph) -> frozenset[int] | str:
    """Return the forward operators that are no products, or a note if no name is a product's."""
    if not _those(sharded, lambda operator: operator.operation in PRODUCTS):
        return "no forward operator is called a product of matrices"
    return _those(sharded, lambda operator: operator.operation not in PRODUCTS)


def inside_attention(sharded: ShardedGraph) -> frozenset[int] | str:
    """Return the inside of attention, or a note if no scope is called so."""
    parameters = {sharded.operators[i].name for i in sharded.parameters}
    found = _those(
        sharded,
        lambda operator: (
            _ATTENTION in operator.scope and not parameters.intersection(operator.inputs)
        ),
    )
    return found or "no forward operator stands in a scope of attention"


def _those(sharded: ShardedGraph, condition: Callable[[Operator], bool]) -> frozenset[int]:
    return frozenset(
        i
        for i, operator in enumerate(sharded.operators)
        if operator.role is Role.FORWARD and condition(operator)
    )
