"""Registration of training-chain: its problem, methods, replay and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jettison.instances.remat_chain.chain import Chain
from jettison.instances.training_chain.problem import TrainingChain
from jettison.schedules.core.replay import Replay
from jettison.schedules.training_chain.kind import TRAINING_SCHEDULE
from jettison.schedules.training_chain.schedule import TrainingSchedule
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.method import Method
from jettison.solvers.core.model_files import ModelFiles
from jettison.solvers.core.outcome import Infeasibility, SolveOptions
from jettison.solvers.core.problem_kind import ProblemKind, Reference
from jettison.solvers.core.resources import Resources

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from jettison.schedules.training_chain.training_verdict import TrainingVerdict
    from jettison.solvers.proof.certificate import Certificate


def _pose(chain: Chain, resources: Resources) -> TrainingChain:
    assert resources.bandwidth is not None
    memory, host_memory = resources.memory_text, resources.host_memory
    return TrainingChain(chain, memory, resources.bandwidth, host_memory)


def _replay(problem: TrainingChain, schedule: TrainingSchedule) -> Replay:
    return schedule.replay(
        problem.instance, problem.link, problem.memory_bytes, problem.host_memory_bytes
    )


def _methods() -> Sequence[Method[TrainingChain]]:
    from jettison.solvers.training_chain.methods import METHODS

    return METHODS


def _model_files() -> ModelFiles[TrainingChain]:
    from jettison.solvers.training_chain.model_files import MODEL_FILES

    return MODEL_FILES


def _certify(
    problem: TrainingChain,
    bounds: Sequence[Bound],
    infeasibility: Infeasibility | None,
    options: SolveOptions,
) -> Certificate | None:
    from jettison.solvers.training_chain.certifier import certify_training_chain

    return certify_training_chain(problem, bounds, infeasibility, options)


def _picture(verdict: TrainingVerdict, title: str) -> Figure:
    from jettison.schedules.training_chain.period_plot import plot_period

    return plot_period(verdict, title=title)


def _table(problem: TrainingChain, schedule: TrainingSchedule) -> pd.DataFrame:
    from jettison.schedules.training_chain.stage_table import stage_table

    return stage_table(problem.instance, schedule)


TRAINING_CHAIN = ProblemKind(
    name=TrainingChain.problem,
    summary=(
        "training steps of a chain in a memory that holds activations, weights, gradients and "
        "optimizer states, by computing again and by moving to the host."
    ),
    problem=TrainingChain,
    instances=(Chain,),
    schedules=(TRAINING_SCHEDULE,),
    pose=_pose,
    replay=_replay,
    methods=_methods,
    takes=frozenset({"bandwidth", "host_memory"}),
    needs=frozenset({"memory", "bandwidth"}),
    reference=lambda problem: Reference(problem.base_time_ns, "waiting and recomputation"),
    certify=_certify,
    states_gap_of_step=True,
    model_files=_model_files,
    picture=_picture,
    table=_table,
)
