"""Schedule of all models fused into one sub-array, for the baselines that do so."""

from __future__ import annotations

from collections.abc import Callable

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.instances.multi_model.sub_array_key import key_of
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
    """Return the schedule of one unit of all models of each architecture, or why there is none.

    Parameters
    ----------
    problem
        Models to train.
    schedule
        Schedules a unit; None where it finds nothing that fits.
    """
    refused = multi_model_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    units = []
    for place, count in enumerate(problem.counts):
        own = problem.instance.architectures[place]
        fused = f"{count} fused models" + (f" of {own.name}" if problem.instance.others else "")
        if count not in own.sizes:
            return Outcome.not_applicable(f"there is no profile of {fused}")
        unit = schedule(problem, (key_of(place, count),))
        if unit is None:
            return Outcome(termination=Termination.COMPLETED, note=f"{fused} do not fit this way")
        units.append(unit.executed.unit)
    return Outcome(termination=Termination.COMPLETED, schedule=MultiModelSchedule(tuple(units)))
