"""Families of joint plans, each tried with every depth of prefetching; the best is the answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from jettison.instances.training_chain.problem import TrainingChain
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.training_chain.incumbent import TrainingIncumbent
from jettison.solvers.training_chain.least_memory import training_infeasibility
from jettison.solvers.training_chain.plan_schedule import step_of_plan
from jettison.solvers.training_chain.stage_choices import JointPlan, StageChoice
from jettison.solvers.training_chain.step_timing import TimedStep

# Operations that a prefetch runs ahead, for weights and activations alike.
DEPTHS = (0, 1, 2, 3, 4, 6, 8, 12)


def at_depths(stages: Iterable[StageChoice], depths: Sequence[int] = DEPTHS) -> Iterator[JointPlan]:
    """Yield the plan of some choices with each depth, weights and activations as deep."""
    chosen = tuple(stages)
    for depth in depths:
        yield JointPlan(chosen, depth, depth)


def solve_by_plans(
    problem: TrainingChain, options: SolveOptions, plans: Iterable[JointPlan], method: str
) -> Outcome:
    """Return the fastest schedule of some plans, or the proof that no schedule fits."""
    steps = (step_of_plan(problem, plan) for plan in plans)
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
    with Ending() as ending:
        for step in steps:
            tried += 1
            incumbent.offer_step(step)
            if incumbent.is_best:
                break
            clock.require_time()
    note = None
    if incumbent.schedule is None:
        note = f"no plan of {method} fits"
        if not ending.termination.is_regular:
            note = f"stopped before a plan of {method} that fits was found"
    return incumbent.outcome(ending.termination, work={"plans": tried}, note=note)
