"""Trainer of many models within an amount of memory, in the least time."""

from __future__ import annotations

from jettison.instances.core.link import Link
from jettison.instances.core.memory import Memory
from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.schedules.multi_model.schedule import MultiModelSchedule
from jettison.solvers.core.solve import solve
from jettison.torch.multi_model.model_array import ModelArray
from jettison.torch.multi_model.trainer import MultiModelTrainer
from jettison.torch.no_schedule import no_schedule_error


def optimal_trainer(
    array: ModelArray,
    *,
    memory: str | int | Memory,
    bandwidth: str | int | Link | None = None,
    method: str | None = None,
    time_limit: float | None = 60.0,
) -> MultiModelTrainer:
    r"""Solve `multi-model` for an array of models, and return the trainer of its schedule.

    Parameters
    ----------
    array
        From `profile_models`.
    memory
        Bytes, or a share of the peak of all models fused with every feature map kept, for which
        `array` needs the profile of all of them.
    bandwidth
        Of each direction of the link; None for the measured times of copies.
    method, time_limit
        As in `solve`; ``"mu-two"`` is the method of the paper.

    Raises
    ------
    InputError
        If no schedule is found: the message has the least memory that would do, where it is known.
    """
    problem = MultiModelTraining(array.instance, memory, bandwidth)
    result = solve(problem, method, time_limit=time_limit)
    if not isinstance(result.schedule, MultiModelSchedule):
        raise no_schedule_error(problem, result)
    return MultiModelTrainer(array, problem, result.schedule)
