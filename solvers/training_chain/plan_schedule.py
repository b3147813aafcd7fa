"""Schedules of joint plans: order and timing together."""

from __future__ import annotations

from collections.abc import Sequence

from jettison.instances.training_chain.problem import TrainingChain
from jettison.solvers.training_chain.plan_codes import CHOICES, CodedPlan, PlanCodes, coded
from jettison.solvers.training_chain.stage_choices import JointPlan, StageChoice, UpdatePlace
from jettison.solvers.training_chain.step_order import StepOrder
from jettison.solvers.training_chain.step_timing import NO_MOST_NS, StepTimer, TimedStep


class PlanTimer:
    """Timer of joint plans of one problem.

    Parameters
    ----------
    problem
        The problem.
    """

    def __init__(self, problem: TrainingChain) -> None:
        self._problem = problem
        self._chain = problem.instance
        self._timer = StepTimer(problem)
        self._codes = PlanCodes(problem.instance)

    def of_plan(self, plan: JointPlan) -> TimedStep | None:
        """Return the timed step of a plan; None where it does not fit."""
        return self.of_codes(self._codes.possible(coded(plan)))

    def of_codes(self, plan: CodedPlan, most_ns: int = NO_MOST_NS) -> TimedStep | None:
        """Return the timed step of a possible plan in codes.

        None where it does not fit, or takes longer than `most_ns` by the work of one resource.
        """
        limit_bytes = self._problem.host_memory_bytes
        if limit_bytes is None:
            return self._timer.timed_codes(plan, most_ns)
        if self._least_host_bytes([CHOICES[code] for code in plan.codes]) > limit_bytes:
            return None
        step = self._timer.timed_codes(plan, most_ns)
        return step if step is not None and self._fits_host(step) else None

    def of_order(self, order: StepOrder, plan: JointPlan) -> TimedStep | None:
        """Return the timed step of an order, with the weights and states of a plan."""
        limit_bytes = self._problem.host_memory_bytes
        if limit_bytes is None:
            return self._timer.timed(order, plan)
        if self._least_host_bytes(plan.stages) > limit_bytes:
            return None
        step = self._timer.timed(order, plan)
        return step if step is not None and self._fits_host(step) else None

    def _least_host_bytes(self, choices: Sequence[StageChoice]) -> int:
        """Return what the host has all the time: weights and states that it updates."""
        return sum(
            stage.weight_bytes + stage.optimizer_state_bytes
            for stage, choice in zip(self._chain, choices, strict=True)
            if choice.update is UpdatePlace.HOST
        )

    def _fits_host(self, step: TimedStep) -> bool:
        """Tell if the replay finds that the host has the memory; it takes as long as many steps."""
        problem = self._problem
        return step.schedule.replay(
            self._chain, problem.link, problem.memory_bytes, problem.host_memory_bytes
        ).valid
