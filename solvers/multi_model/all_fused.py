"""Schedule of all models fused into one sub-array, for the baselines that do so."""

from __future__ import annotations

from collections.abc import Callable

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.schedules.multi_model.schedule import MultiModelSchedule
from jettison.solvers.core.outcome import Outcome
from jettison.solvers.core.status import Termination
from jettison.solvers.multi_model.least_division import Sizes
from jettison.solvers.multi_model.least_memory import multi_model_infeasibility
from jettison.solvers.multi_model.mu_two.unit import ScheduledUnit


def all_fused(
    problem: MultiModelTraining,
    schedule: Callable[[MultiModelTraining, Sizes], ScheduledUnit | None],
) -> Outcome:
    """Return the schedule of one unit of all models, or why there is none.

    Parameters
    ----------
    problem
        Models to train.
    schedule
        Schedules the unit; None where it finds nothing that fits.
    """
    refused = multi_model_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    if problem.count not in problem.instance.sizes:
        return Outcome(
            termination=Termination.COMPLETED,
            note=f"there is no profile of {problem.count} fused models",
        )
    unit = schedule(problem, (problem.count,))
    if unit is None:
        return Outcome(
            termination=Termination.COMPLETED,
            note=f"{problem.count} fused models do not fit this way",
        )
    return Outcome(
        termination=Termination.COMPLETED,
        schedule=MultiModelSchedule((unit.executed.unit,)),
    )
