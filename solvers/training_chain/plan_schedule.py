"""Schedules of joint plans: order and timing together."""

from __future__ import annotations

from jettison.instances.training_chain.problem import TrainingChain
from jettison.solvers.training_chain.stage_choices import JointPlan, possible
from jettison.solvers.training_chain.step_order import StepOrder, order_of_plan
from jettison.solvers.training_chain.step_timing import StepTimer, TimedStep


class PlanTimer:
    """Timer of joint plans of one problem.

    Parameters
    ----------
    problem
        The problem.
    """

    def __init__(self, problem: TrainingChain) -> None:
        self._chain = problem.instance
        self._timer = StepTimer(problem)

    def of_plan(self, plan: JointPlan) -> TimedStep | None:
        """Return the timed step of a plan; None where it does not fit."""
        plan = possible(self._chain, plan)
        return self.of_order(order_of_plan(self._chain, plan), plan)

    def of_order(self, order: StepOrder, plan: JointPlan) -> TimedStep | None:
        """Return the timed step of an order, with the weights and states of a plan."""
        return self._timer.timed(order, plan)
