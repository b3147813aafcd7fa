"""Registration of multi-model: its problem, methods, replay and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from jettison.instances.multi_model.instance import MultiModel
from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.schedules.core.replay import Replay
from jettison.schedules.multi_model.kind import MULTI_MODEL_SCHEDULE
from jettison.schedules.multi_model.schedule import MultiModelSchedule
from jettison.schedules.multi_model.training_replay import TrainingReplay
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.method import Method
from jettison.solvers.core.outcome import Infeasibility, SolveOptions
from jettison.solvers.core.problem_kind import ProblemKind, Reference
from jettison.solvers.core.resources import Resources

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from jettison.solvers.proof.certificate import Certificate


def _pose(instance: MultiModel, resources: Resources) -> MultiModelTraining:
    """Make the problem; where no bandwidth is given, the link is that of the instance."""
    return MultiModelTraining(
        instance, resources.memory_text, resources.bandwidth, models=resources.models
    )


def _replay(problem: MultiModelTraining, schedule: MultiModelSchedule) -> Replay:
    return schedule.replay(problem)


def _methods() -> Sequence[Method[MultiModelTraining]]:
    from jettison.solvers.multi_model.methods import METHODS

    return METHODS


def _certify(
    problem: MultiModelTraining,
    bounds: Sequence[Bound],
    infeasibility: Infeasibility | None,
    options: SolveOptions,
) -> Certificate | None:
    from jettison.solvers.multi_model.certifier import certify_multi_model

    return certify_multi_model(problem, bounds, infeasibility, options)


def _in_full(resources: Resources, problem: MultiModelTraining) -> Resources:
    return replace(resources, models=problem.models)


def _spent(replay: Replay | None) -> Mapping[str, int | None]:
    """Tell recomputation and waiting apart."""
    judged = replay if isinstance(replay, TrainingReplay) else None
    return {
        "recompute_ns": None if judged is None else judged.recompute_ns,
        "stall_ns": None if judged is None else judged.stall_ns,
    }


def _picture(replay: TrainingReplay, title: str) -> Figure:
    from jettison.schedules.multi_model.unit_plot import plot_training

    return plot_training(replay, title=title)


MULTI_MODEL = ProblemKind(
    name=MultiModelTraining.problem,
    summary=(
        "training steps of several models in one memory, by fusing, swapping and computing "
        "again (µ-TWO)."
    ),
    problem=MultiModelTraining,
    instances=(MultiModel,),
    schedules=(MULTI_MODEL_SCHEDULE,),
    pose=_pose,
    replay=_replay,
    methods=_methods,
    takes=frozenset({"bandwidth", "models"}),
    reference=lambda problem: Reference(problem.base_time_ns, "recomputation or waiting"),
    in_full=_in_full,
    spent=_spent,
    certify=_certify,
    picture=_picture,
)
