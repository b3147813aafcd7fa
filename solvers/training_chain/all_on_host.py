r"""Everything on the host that nothing uses: fits wherever the host can do the updates.

Each stage runs forward twice, for :math:`\bar a^\ell` and for :math:`a^\ell` by itself, which are
sent, so that :math:`B_\ell` has nothing beside its operands. Weights come for each use, and nothing
comes before it is needed.
"""

from __future__ import annotations

from jettison.instances.training_chain.problem import TrainingChain
from jettison.schedules.training_chain.event import StageTensor, TrainingEventKind
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.training_chain.plan_schedule import step_of_order
from jettison.solvers.training_chain.stage_choices import (
    JointPlan,
    StageChoice,
    UpdatePlace,
    Way,
    possible,
)
from jettison.solvers.training_chain.step_order import DeviceOperation, StepOrder, with_updates
from jettison.solvers.training_chain.step_timing import TimedStep
from jettison.solvers.training_chain.sweep_plans import solve_by_steps


def everything_offloaded(problem: TrainingChain) -> TimedStep | None:
    """Return the step; None where a stage that only the device updates needs more memory."""
    chain = problem.instance
    choice = StageChoice(
        saved=Way.SENT,
        away_between=True,
        away_after=True,
        update=UpdatePlace.HOST,
        states_away=True,
    )
    plan = possible(chain, JointPlan((choice,) * len(chain), 0, 0))
    operations = []
    sent = set()
    for number in range(1, len(chain) + 1):
        operations.append(DeviceOperation(TrainingEventKind.FORWARD_ALL, number))
        if number < len(chain):
            operations.append(DeviceOperation(TrainingEventKind.FORWARD, number))
            sent |= {(StageTensor.SAVED, number), (StageTensor.OUTPUT, number)}
    operations += [
        DeviceOperation(TrainingEventKind.BACKWARD, number) for number in range(len(chain), 0, -1)
    ]
    places = [choice.update for choice in plan.stages]
    order = StepOrder(with_updates(chain, operations, places), frozenset(sent))
    return step_of_order(problem, order, plan)


def solve_all_on_host(problem: TrainingChain, options: SolveOptions) -> Outcome:
    """Return the schedule, or the proof that no schedule fits."""
    return solve_by_steps(
        problem, options, (everything_offloaded(problem) for _ in range(1)), "offload-all"
    )
