"""Fastest strategies that fit in memory, for a fixed sequence of computations.

Models of `formulations.remat_sharding.fixed_computations` are solved with more and more rows of
memory: those of the computations at which the plan of the last model exceeds it most. A plan that
fits is the fastest one with these computations. Where sizes alone say that none fits
(`floor_of_computations`), no model is solved; where strategies are many, messages look for a plan
before (`messages.state_bound`), which is the answer unless a model has a faster one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jettison.formulations.remat_sharding.fixed_computations import FixedComputations
from jettison.formulations.remat_sharding.messages.fixed import fixed_states
from jettison.formulations.remat_sharding.strategy_columns import num_choice_columns
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.schedules.remat_graph.schedule import GraphOperation, GraphOperationKind
from jettison.schedules.remat_sharding.schedule import ShardedSchedule, operations_of
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import pass_interrupt_on
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.core.work import Budget
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_of_a_method import highs_options
from jettison.solvers.remat_graph.cuts.stage_excess import worst_of_neighbours
from jettison.solvers.remat_sharding.least_memory import floor_of_computations
from jettison.solvers.remat_sharding.messages.state_bound import MessageParams, StateBound
from jettison.solvers.remat_sharding.sizes_that_matter import with_sizes_that_matter


@dataclass(frozen=True, kw_only=True)
class FixedParams(MessageParams):
    """Parameters of the search for strategies of fixed computations.

    Attributes
    ----------
    new_rows
        Most rows of memory that a round adds.
    reach
        Computations so close to one that exceeds the memory more get no row as well.
    columns_for_messages
        Columns of the choice of strategies from which on messages come first.
    """

    new_rows: int = 4
    reach: int = 3
    columns_for_messages: int = 10_000


FIXED = FixedParams()


@dataclass(frozen=True)
class StrategiesFound:
    """Outcome of the search for strategies.

    Attributes
    ----------
    plan
        A plan that fits; None where none was found.
    termination
        Why the search ended; if it completed without a plan, there is none.
    models
        Number of models that were solved.
    """

    plan: ShardedSchedule | None
    termination: Termination
    models: int


def strategies_of_computations(
    problem: RematSharding,
    computations: Sequence[int],
    options: SolveOptions,
    clock: Clock,
    params: FixedParams = FIXED,
) -> StrategiesFound:
    """Find the fastest strategies for a sequence of computations, to the gap of the options.

    Parameters
    ----------
    problem
        The instance and its memory.
    computations
        As `ShardedSchedule.from_computations` takes them.
    options, clock, params
        Of the method.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C.
    """
    if floor_of_computations(problem.instance, computations) > problem.memory_bytes:
        return StrategiesFound(None, Termination.COMPLETED, 0)
    problem = with_sizes_that_matter(problem)
    operations = operations_of(problem.instance, computations)
    known: ShardedSchedule | None = None
    if num_choice_columns(problem.instance) >= params.columns_for_messages:
        known, is_close = _plan_of_messages(problem, operations, options, clock, params)
        if is_close:
            return StrategiesFound(known, Termination.GAP_REACHED, 0)
    looked_at: frozenset[int] = frozenset()
    models = 0
    budget = Budget(options.most_moves)
    while clock.left_s:
        built = FixedComputations(operations, looked_at).build(problem)
        columns = built.model.num_columns
        limited = replace(
            highs_options(options, clock, options.gap), work_limit=budget.limit(columns)
        )
        solution = solve_in_time(built.model, limited)
        budget.add(solution.work, columns)
        models += 1
        pass_interrupt_on(solution.termination)
        if solution.values is None:
            return StrategiesFound(known, solution.termination, models)
        plan = ShardedSchedule(built.chosen(solution.values), operations)
        excess = _excess(problem, plan)
        if not excess:
            best = plan if known is None else _faster(problem, plan, known)
            return StrategiesFound(best, solution.termination, models)
        above = {place: size for place, size in excess.items() if place not in looked_at}
        new = worst_of_neighbours(above, params.reach)[: params.new_rows]
        if not new:
            # The solver's tolerance lets a row be exceeded.
            return StrategiesFound(known, Termination.ERROR, models)
        looked_at = looked_at.union(new)
    return StrategiesFound(known, Termination.TIME_LIMIT, models)


def _plan_of_messages(
    problem: RematSharding,
    operations: Sequence[GraphOperation],
    options: SolveOptions,
    clock: Clock,
    params: FixedParams,
) -> tuple[ShardedSchedule | None, bool]:
    """Return the fastest plan of labellings, and whether it is as close to a bound as was asked.

    A large model may take HiGHS longer than there is, and messages find a plan in a second.
    """
    states = fixed_states(problem, operations)
    bound = StateBound(states.graph, params)
    best: tuple[int, ShardedSchedule] | None = None
    idle = 0
    while idle < params.idle_rounds and not bound.is_empty and clock.left_s:
        known_ns = None if best is None else best[0]
        before = bound.bound_ns
        bound.ascend(known_ns, params.passes, clock)
        removed = bound.prove(None if known_ns is None else known_ns + 1)
        for labelling in bound.labellings():
            is_better = best is None or labelling.cost_ns < best[0]
            if is_better and labelling.excess_bytes == 0:
                plan = ShardedSchedule(states.strategies(labelling.places), tuple(operations))
                best = (plan.replay(problem.instance).time_ns, plan)
        if best is not None:
            bound_ns = min(bound.bound_ns, best[0])
            if options.is_close_enough(best[0], bound_ns, problem.instance.base_time_ns):
                return best[1], True
        is_same = known_ns == (None if best is None else best[0])
        idle = idle + 1 if is_same and not removed and bound.bound_ns <= before else 0
    return (None if best is None else best[1]), False


def _faster(
    problem: RematSharding, plan: ShardedSchedule, other: ShardedSchedule
) -> ShardedSchedule:
    return min(plan, other, key=lambda item: item.replay(problem.instance).time_ns)


def _excess(problem: RematSharding, plan: ShardedSchedule) -> dict[int, int]:
    """Return the excess over the memory of those computations that have one, counted from 0."""
    steps = plan.replay(problem.instance).steps
    computing = (
        step
        for operation, step in zip(plan.operations, steps, strict=True)
        if operation.kind is GraphOperationKind.COMPUTE
    )
    above = {place: step.during_bytes for place, step in enumerate(computing)}
    limit = problem.memory_bytes
    return {place: size - limit for place, size in above.items() if size > limit}
