"""Fastest strategies that fit in memory, for a fixed sequence of computations.

Models of `formulations.remat_sharding.fixed_computations` are solved with more and more rows of
memory: those of the computations at which the plan of the last model exceeds it most. A plan that
fits is the fastest one with these computations. Where sizes alone say that none fits
(`floor_of_computations`), no model is solved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jettison.formulations.remat_sharding.fixed_computations import FixedComputations
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.schedules.remat_graph.schedule import GraphOperationKind
from jettison.schedules.remat_sharding.schedule import ShardedSchedule, operations_of
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import pass_interrupt_on
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.core.status import Termination
from jettison.solvers.core.work import Budget
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_of_a_method import highs_options
from jettison.solvers.remat_graph.cuts.stage_excess import worst_of_neighbours
from jettison.solvers.remat_sharding.least_memory import floor_of_computations
from jettison.solvers.remat_sharding.sizes_that_matter import with_sizes_that_matter


@dataclass(frozen=True, kw_only=True)
class FixedParams(Params):
    """Parameters of the search for strategies of fixed computations.

    Attributes
    ----------
    new_rows
        Most rows of memory that a round adds.
    reach
        Computations so close to one that exceeds the memory more get no row as well.
    """

    new_rows: int = 4
    reach: int = 3


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
            return StrategiesFound(None, solution.termination, models)
        plan = ShardedSchedule(built.chosen(solution.values), operations)
        excess = _excess(problem, plan)
        if not excess:
            return StrategiesFound(plan, solution.termination, models)
        above = {place: size for place, size in excess.items() if place not in looked_at}
        new = worst_of_neighbours(above, params.reach)[: params.new_rows]
        if not new:
            # The solver's tolerance lets a row be exceeded.
            return StrategiesFound(None, Termination.ERROR, models)
        looked_at = looked_at.union(new)
    return StrategiesFound(None, Termination.TIME_LIMIT, models)


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
