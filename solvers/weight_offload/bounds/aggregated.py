"""Lower bounds for weight offloading from aggregated models, whose columns number O(L).

The models are in `jettison.formulations.weight_offload.aggregated`. Where the greedy algorithm
finds a step without waiting, no bound is above the base time, and none is built
(`exact.without_waiting`). Otherwise the linear relaxation is solved by HiGHS, and its multipliers
are evaluated in exact arithmetic (`exact_dual_bound`): that bound is proved whatever the solver
did. The time that is left goes into the model with its integers; that bound rests on the solver.
This run ends as soon as a point of the model shows that no larger bound can be proved.
"""

from __future__ import annotations

from dataclasses import dataclass

from jettison.formulations.weight_offload.aggregated import Aggregated, Layers
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import pass_interrupt_on
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.weight_offload.bounds.any_model import (
    RelaxationParams,
    algorithm_for,
    bound_by_model,
    relaxed_bound_ns,
    settled_without_model,
    solve_relaxation,
)
from jettison.solvers.weight_offload.exact.without_waiting import WithoutWaitingParams


@dataclass(frozen=True, kw_only=True)
class AggregatedParams(RelaxationParams, WithoutWaitingParams):
    """Parameters of agg and aggint."""


AGGREGATED = AggregatedParams()


def bound_weight_fluid(
    problem: WeightOffload, options: SolveOptions, params: AggregatedParams = AGGREGATED
) -> Outcome:
    """Bound the time by AGG, with one inventory for all layers, of which parts may be absent.

    At the time limit and on Ctrl-C the bounds found by then are returned.
    """
    return _bounded(problem, options, params, Layers.FLUID)


def bound_weight_whole(
    problem: WeightOffload, options: SolveOptions, params: AggregatedParams = AGGREGATED
) -> Outcome:
    """Bound the time by AGGINT, in which layers of the most frequent size are absent as a whole.

    At the time limit and on Ctrl-C the bounds found by then are returned.
    """
    return _bounded(problem, options, params, Layers.WHOLE)


def relaxed_fluid_ns(
    problem: WeightOffload, options: SolveOptions, clock: Clock, params: RelaxationParams
) -> int:
    """Return the bound of AGG's relaxation in exact arithmetic; the base time if it is not solved.

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C is pressed.
    """
    if not problem.cycle.total_weight_bytes:
        return problem.instance.base_time_ns
    built = Aggregated(Layers.FLUID).build(problem)
    relaxation = solve_relaxation(built.model, options, clock, algorithm_for(built.model, params))
    pass_interrupt_on(relaxation.termination)
    return relaxed_bound_ns(built.model, built.scale, relaxation)


def _bounded(
    problem: WeightOffload, options: SolveOptions, params: AggregatedParams, layers: Layers
) -> Outcome:
    method = "agg" if layers is Layers.FLUID else "aggint"
    clock = Clock(options.time_limit_s)
    settled = settled_without_model(problem, method, clock, params)
    if settled is not None:
        return settled
    built = Aggregated(layers).build(problem)
    algorithm = algorithm_for(built.model, params)
    return bound_by_model(built.model, built.scale, method, options, clock, algorithm)
