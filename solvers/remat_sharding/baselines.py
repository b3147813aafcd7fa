"""Sharding after recomputation was decided: the baselines that KIWI is compared to.

Alpa (Zheng et al., OSDI 2022) chooses strategies; what is computed again is nothing, or is decided
before by a rule that knows neither sizes nor strategies. A rule *drops* forward values: each is
freed after its last forward reader, is computed again before the first backward operator that needs
it, with all that it needs and was dropped as well, and stays until its last reader. The strategies
are then the fastest that fit (`strategies_of_computations`); a computation that is repeated has the
strategy of the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Set

from jettison.instances.remat_sharding.operator import Operator, Role
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.milp.tolerance import BELOW_TOLERANCE
from jettison.solvers.remat_sharding.strategies_of_computations import strategies_of_computations

# As JAX and the generators call products of matrices, and convolutions, which are products too.
_PRODUCTS = ("dot_general", "dot", "conv_general_dilated")
_ATTENTION = "attention"


def solve_alpa(problem: RematSharding, options: SolveOptions) -> Outcome:
    """Compute every operator once."""
    return _solve(problem, options, lambda _: frozenset())


def solve_recompute_all_alpa(problem: RematSharding, options: SolveOptions) -> Outcome:
    """Drop every forward value."""
    return _solve(problem, options, _forward)


def solve_checkpoint_dots_alpa(problem: RematSharding, options: SolveOptions) -> Outcome:
    """Drop every forward value but products of matrices, as JAX's policy checkpoint_dots does."""
    return _solve(problem, options, all_but_products)


def solve_selective_alpa(problem: RematSharding, options: SolveOptions) -> Outcome:
    """Drop the inside of attention, as Megatron's selective recomputation does.

    That is what stands in a scope of attention and reads no parameter: scores, softmax, context
    (Korthikanti et al., 2022); the projections before and after it are kept.
    """
    return _solve(problem, options, _inside_attention)


def recomputing(sharded: ShardedGraph, dropped: Set[int]) -> tuple[int, ...]:
    """Return the computations, in order, when these values are dropped; :math:`O(n + |E|)`."""
    sequence: list[int] = []
    again: set[int] = set()
    for i, operator in enumerate(sharded.operators):
        if operator.role is Role.BACKWARD:
            needed: set[int] = set()
            waiting = list(sharded.inputs[i])
            while waiting:
                j = waiting.pop()
                if j in dropped and j not in again and j not in needed:
                    needed.add(j)
                    waiting.extend(sharded.inputs[j])
            sequence.extend(sorted(needed))
            again |= needed
        sequence.append(i)
    return tuple(sequence)


def _solve(
    problem: RematSharding,
    options: SolveOptions,
    rule: Callable[[ShardedGraph], frozenset[int] | str],
) -> Outcome:
    dropped = rule(problem.instance)
    if isinstance(dropped, str):
        return Outcome(termination=Termination.COMPLETED, note=dropped)
    with Ending() as ending:
        found = strategies_of_computations(
            problem, recomputing(problem.instance, dropped), options, Clock(options.time_limit_s)
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
    """Return the forward operators that are no products; a sentence where none is called one."""
    if not _those(sharded, lambda operator: operator.operation in _PRODUCTS):
        return "no forward operator is called a product of matrices"
    return _those(sharded, lambda operator: operator.operation not in _PRODUCTS)


def _inside_attention(sharded: ShardedGraph) -> frozenset[int] | str:
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
