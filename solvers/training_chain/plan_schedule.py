"""Schedules of joint plans: order, layout and timing together."""

from __future__ import annotations

from jettison.instances.training_chain.problem import TrainingChain
from jettison.solvers.training_chain.stage_choices import JointPlan, possible
from jettison.solvers.training_chain.step_layout import StepLayout
from jettison.solvers.training_chain.step_order import StepOrder, order_of_plan
from jettison.solvers.training_chain.step_timing import TimedStep, timed_step


def step_of_plan(problem: TrainingChain, plan: JointPlan) -> TimedStep | None:
    """Return the timed step of a plan; None where it does not fit."""
    plan = possible(problem.instance, plan)
    return step_of_order(problem, order_of_plan(problem.instance, plan), plan)


def step_of_order(problem: TrainingChain, order: StepOrder, plan: JointPlan) -> TimedStep | None:
    """Return the timed step of an order, with the weights and states of a plan."""
    layout = StepLayout(problem, order, plan.stages, plan.weights_ahead, plan.activations_ahead)
    return timed_step(problem, layout)
