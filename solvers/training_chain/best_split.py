"""Best split: the memory is divided between activations and weights, and each part planned alone.

The activations' part is the memory of the fastest persistent schedule (rotor), the weights' part
that of the paper's greedy selection for weight offloading, and both run together. Every division
is tried, and every depth of prefetching; states are on the host where they would not fit, and the
updates where they are faster.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from jettison.instances.remat_chain.chain import Chain
from jettison.instances.training_chain.problem import TrainingChain
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.remat_chain.schedule import ChainOperation
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SILENT, Outcome, SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.remat_chain.least_memory import least_persistent_memory
from jettison.solvers.remat_chain.needs import ChainNeeds
from jettison.solvers.remat_chain.rotor_exact import refine
from jettison.solvers.training_chain.plan_schedule import PlanTimer
from jettison.solvers.training_chain.stage_choices import (
    JointPlan,
    StageChoice,
    UpdatePlace,
    possible,
)
from jettison.solvers.training_chain.step_order import order_of_chain
from jettison.solvers.training_chain.step_timing import TimedStep
from jettison.solvers.training_chain.sweep_plans import DEPTHS, solve_by_steps
from jettison.solvers.weight_offload.greedy.selection import Absence, select_choices
from jettison.solvers.weight_offload.least_memory import weight_infeasibility

# A limit has to be more than nothing.
_LEAST_S = 1e-3


@dataclass(frozen=True, kw_only=True)
class SplitParams(Params):
    """Parameters of best-split.

    Attributes
    ----------
    divisions
        Divisions of the memory that are tried.
    gap
        Share of its overhead that the schedule of each part of activations may leave open.
    """

    divisions: int = 12
    gap: float = 0.02


SPLIT = SplitParams()


def solve_best_split(
    problem: TrainingChain, options: SolveOptions, params: SplitParams = SPLIT
) -> Outcome:
    """Return the fastest schedule of all divisions, or the proof that no schedule fits."""
    steps = steps_of_splits(problem, params, Clock(options.time_limit_s))
    return solve_by_steps(problem, options, steps, "best-split")


def steps_of_splits(
    problem: TrainingChain, params: SplitParams, clock: Clock
) -> Iterator[TimedStep | None]:
    """Yield the timed steps of all divisions.

    The part of the activations, which is another problem for each division, is solved within the
    time that the clock has left.
    """
    chain, memory_bytes = problem.instance, problem.memory_bytes
    bare = _without_activations(chain)
    timer = PlanTimer(problem)
    least_bytes = WeightOffload(bare, memory_bytes, problem.link).cycle.least_memory_bytes
    all_bytes = sum(stage.weight_bytes for stage in chain)
    gradient_bytes = max(stage.gradient_of_weights_bytes for stage in chain)
    seen: set[int] = set()
    for part in range(params.divisions + 1):
        weights_bytes = least_bytes + (all_bytes - least_bytes) * part // params.divisions
        weights_bytes = max(weights_bytes, least_bytes)
        activations_bytes = memory_bytes - weights_bytes - gradient_bytes
        if weights_bytes in seen:
            continue
        seen.add(weights_bytes)
        computed = _recomputed(chain, activations_bytes, params.gap, clock)
        if computed is not None:
            yield from _together(problem, timer, bare, weights_bytes, computed)
    yield None


def _without_activations(chain: Chain) -> Chain:
    stages = (
        replace(
            stage,
            output_bytes=0,
            saved_bytes=0,
            output_gradient_bytes=None,
            forward_overhead_bytes=0,
            saving_overhead_bytes=None,
            backward_overhead_bytes=0,
        )
        for stage in chain
    )
    return replace(chain, input_bytes=0, stages=tuple(stages))


def _recomputed(
    chain: Chain, memory_bytes: int, gap: float, clock: Clock
) -> tuple[ChainOperation, ...] | None:
    if memory_bytes < least_persistent_memory(chain)[0]:
        return None
    limit_s = None if math.isinf(clock.left_s) else max(clock.left_s, _LEAST_S)
    options = replace(SILENT, gap=gap, time_limit_s=limit_s)
    best, _, _ = refine(ChainNeeds(chain), memory_bytes, options)
    return best.schedule.operations


def _together(
    problem: TrainingChain,
    timer: PlanTimer,
    bare: Chain,
    weights_bytes: int,
    computed: tuple[ChainOperation, ...],
) -> Iterator[TimedStep | None]:
    chain = problem.instance
    posed = WeightOffload(bare, weights_bytes, problem.link)
    choices = None if weight_infeasibility(posed) is not None else select_choices(posed)
    if choices is None:
        return
    away = {(choice.layer, choice.absence) for choice in choices}
    for place in (UpdatePlace.AT_ONCE, UpdatePlace.HOST):
        for states_away in (False, True):
            stages = tuple(
                StageChoice(
                    away_between=(number, Absence.AFTER_FORWARD) in away,
                    away_after=(number, Absence.AFTER_BACKWARD) in away,
                    update=place,
                    states_away=states_away,
                )
                for number in range(1, len(chain) + 1)
            )
            plan = possible(chain, JointPlan(stages))
            places = [choice.update for choice in plan.stages]
            order = order_of_chain(chain, computed, frozenset(), places)
            for depth in DEPTHS:
                yield timer.of_order(
                    order,
                    plan._replace(weights_ahead=depth, activations_ahead=depth),
                )
