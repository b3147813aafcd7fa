"""Timing of a step: everything starts as soon as it can, period after period until one repeats.

Operations of the device keep their order. Each direction of the link carries one tensor after the
other: to the host what came first of all that waits, or what is needed again first, as the plan
says, and the host takes its updates in the same way; from the host by ascending *trigger*: the
position from which on a prefetch may run, as early as its plan says and as the operations between
fit beside it. Where the plan says so, a prefetch passes those whose copies are not complete. A
prefetch starts when its trigger is the next operation, its copy on the host is
complete and its memory is free; an operation when what it reads is there and its memory is free.
Of the next operation and the next prefetch, the one that can start earlier does, a prefetch on
ties. Where both directions share the link, each is given the rate that it always has.

There is no deadlock: when all that leaves has left, an operation fits beside every prefetch whose
trigger it has passed. Steps are timed until one takes as long as the one before it and all of its
parts start as long after its beginning; that step is the period of the schedule.

The kernel is in `solvers/_native/training_chain`; tests compare it with a slow one in Python.
"""

from __future__ import annotations

from functools import cached_property

from jettison.instances.training_chain.problem import TrainingChain
from jettison.schedules.training_chain.event import StageTensor, TrainingEvent
from jettison.schedules.training_chain.schedule import TrainingSchedule
from jettison.solvers import _kernels
from jettison.solvers.training_chain.plan_codes import CodedPlan
from jettison.solvers.training_chain.stage_choices import JointPlan, UpdatePlace
from jettison.solvers.training_chain.step_order import StepOrder
from jettison.solvers.training_chain.steps_for_kernels import KINDS, TENSORS, steps_for_kernels

_PLACES = {UpdatePlace.AT_ONCE: 0, UpdatePlace.LATE: 1, UpdatePlace.HOST: 2}
# Longer than any step.
NO_MOST_NS = 2**63 - 1
_NUMBER_OF_KIND = {kind: number for number, kind in enumerate(KINDS)}


class TimedStep:
    """Timed step, whose events are found when they are asked for.

    Attributes
    ----------
    period_ns
        Its period.
    """

    def __init__(
        self, period_ns: int, steps: _kernels.TrainingSteps, plan: _kernels.TrainingStepPlan
    ) -> None:
        self.period_ns = period_ns
        self._steps = steps
        self._plan = plan

    @cached_property
    def schedule(self) -> TrainingSchedule:
        """The schedule that repeats it."""
        events = (
            TrainingEvent(KINDS[kind], stage + 1, start_ns, None if tensor < 0 else TENSORS[tensor])
            for start_ns, kind, stage, tensor in self._steps.events(self._plan)
        )
        return TrainingSchedule(self.period_ns, tuple(events))


class StepTimer:
    """Timer of the steps of one problem.

    Parameters
    ----------
    problem
        The problem.

    Raises
    ------
    InputError
        If the link is so slow that times do not fit the kernel.
    """

    def __init__(self, problem: TrainingChain) -> None:
        link = problem.link.always_available if problem.link.is_shared else problem.link
        self._steps = steps_for_kernels(problem, link).steps

    def timed(self, order: StepOrder, plan: JointPlan) -> TimedStep | None:
        """Time a step; None where it does not fit, or no two steps in a row are equal."""
        sent = order.sent
        choices = [
            (
                _PLACES[choice.update],
                choice.away_between,
                choice.away_after,
                choice.states_away,
                (StageTensor.SAVED, number) in sent,
                (StageTensor.OUTPUT, number) in sent,
            )
            for number, choice in enumerate(plan.stages, start=1)
        ]
        operations = [(_NUMBER_OF_KIND[kind], number - 1) for kind, number in order.operations]
        posed = self._steps.plan(
            operations,
            choices,
            plan.weights_ahead,
            plan.activations_ahead,
            plan.sends_by_need,
            plan.updates_by_need,
            plan.fetches_what_is_there,
        )
        return self._timed(posed)

    def timed_codes(self, plan: CodedPlan, most_ns: int = NO_MOST_NS) -> TimedStep | None:
        """Time a plan that is possible, in the order that follows from it.

        None as in `timed`, and where the device, the host or a direction of the link is busy in
        each step for longer than `most_ns`: that is known without timing it.
        """
        return self._timed(self._steps.plan_of_codes(*plan), most_ns)

    def _timed(
        self, posed: _kernels.TrainingStepPlan, most_ns: int = NO_MOST_NS
    ) -> TimedStep | None:
        period_ns = self._steps.period_ns(posed, most_ns)
        return None if period_ns < 0 else TimedStep(period_ns, self._steps, posed)
