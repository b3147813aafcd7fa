"""Families of joint plans, each tried with every depth of prefetching; the best is the answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from jettison.instances.training_chain.problem import TrainingChain
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.training_chain.incumbent import TrainingIncumbent
from jettison.solvers.training_chain.least_memory import training_infeasibility
from jettison.solvers.training_chain.plan_schedule import PlanTimer
from jettison.solvers.training_chain.stage_choices import JointPlan, StageChoice
from jettison.solvers.training_chain.step_timing import TimedStep

# Operations that a prefetch runs ahead, for weights and activations alike.
DEPTHS = (0, 1, 2, 3, 4, 6, 8, 12)
# To time a plan takes about as long as so many moves of annealing, in which work is counted.
MOVES_OF_A_PLAN = 500


def at_depths(stages: Iterable[StageChoice], depths: Sequence[int] = DEPTHS) -> Iterator[JointPlan]:
    """Yield the plan of some choices with each depth, weights and activations as deep."""
    chosen = tuple(stages)
    for depth in depths:
        yield JointPlan(chosen, depth, depth)


def solve_by_plans(
    problem: TrainingChain, options: SolveOptions, plans: Iterable[JointPlan], method: str
) -> Outcome:
    """Return the fastest schedule of some plans, or the proof that no schedule fits."""
    timer = PlanTimer(problem)
    steps = (timer.of_plan(plan) for plan in plans)
    return solve_by_steps(problem, options, steps, method)


def solve_by_steps(
    problem: TrainingChain, options: SolveOptions, steps: Iterable[TimedStep | None], method: str
) -> Outcome:
    """Return the fastest of some timed steps; None stands for a plan that does not fit."""
    refused = training_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    clock = Clock(options.time_limit_s)
    incumbent = TrainingIncumbent(problem, options, clock)
    tried = 0
    found: list[TimedStep] = []
    most_plans = plans_of_a_limit(options)
    termination = Termination.WORK_LIMIT
    with Ending() as ending:
        for step in steps:
            if tried >= most_plans:
                break
            tried += 1
            if step is not None:
                found.append(step)
                if step.period_ns <= problem.base_time_ns:
                    termination = Termination.COMPLETED
                    break
            clock.require_time()
        else:
            termination = Termination.COMPLETED
    if not ending.termination.is_regular:
        termination = ending.termination
    # A replay takes as long as many timings: the fastest that it accepts is the answer.
    for step in sorted(found, key=lambda step: step.period_ns):
        if incumbent.offer_step(step):
            break
    note = None
    if incumbent.schedule is None:
        note = f"no plan of {method} fits"
        if termination is not Termination.COMPLETED:
            note = f"stopped before a plan of {method} that fits was found"
    return incumbent.outcome(termination, work={"plans": tried}, note=note)


def plans_of_a_limit(options: SolveOptions) -> float:
    """Return how many plans may be tried within a limit on work; infinite without one."""
    if options.most_moves is None:
        return math.inf
    return max(1, options.most_moves // MOVES_OF_A_PLAN)
