"""Registration of weight-offload: its problem, methods, replay and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jettison.instances.core.instance_kind import Facts
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.weight_offload.cycle import WeightCycle
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.core.replay import Replay
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.schedules.weight_offload.kind import CYCLIC_SCHEDULE
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.method import Method
from jettison.solvers.core.model_files import ModelFiles
from jettison.solvers.core.outcome import Infeasibility, SolveOptions
from jettison.solvers.core.problem_kind import ProblemKind, Reference
from jettison.solvers.core.resources import Resources

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from jettison.solvers.proof.certificate import Certificate


def _pose(chain: Chain, resources: Resources) -> WeightOffload:
    assert resources.bandwidth is not None
    return WeightOffload(chain, resources.memory_text, resources.bandwidth)


def _replay(problem: WeightOffload, schedule: CyclicSchedule) -> Replay:
    return schedule.replay(problem.cycle, problem.link, problem.memory_bytes)


def _methods() -> Sequence[Method[WeightOffload]]:
    from jettison.solvers.weight_offload.methods import METHODS

    return METHODS


def _facts(chain: Chain) -> Facts:
    """Say what the weights of a chain take, where it has any."""
    cycle = WeightCycle(chain)
    facts = {"weight_bytes": cycle.total_weight_bytes}
    if cycle.total_weight_bytes:
        facts["all_weights_peak_bytes"] = cycle.no_offload_peak_bytes
        facts["offloaded_weights_peak_bytes"] = cycle.least_memory_bytes
    return facts


def _certify(
    problem: WeightOffload,
    bounds: Sequence[Bound],
    infeasibility: Infeasibility | None,
    options: SolveOptions,
) -> Certificate | None:
    from jettison.solvers.weight_offload.certifier import certify_weight_offload

    return certify_weight_offload(problem, bounds, infeasibility, options)


def _model_files() -> ModelFiles[WeightOffload]:
    from jettison.solvers.weight_offload.model_files import MODEL_FILES

    return MODEL_FILES


def _picture(replay: Replay, title: str) -> Figure:
    from jettison.schedules.weight_offload.cyclic_plot import plot_cycle

    return plot_cycle(replay, title=title)


WEIGHT_OFFLOAD = ProblemKind(
    name=WeightOffload.problem,
    summary=(
        "training steps of a chain whose weights are moved between host and device, within a "
        "memory: OFF(L, M, beta)."
    ),
    problem=WeightOffload,
    instances=(Chain,),
    schedules=(CYCLIC_SCHEDULE,),
    pose=_pose,
    replay=_replay,
    methods=_methods,
    takes=frozenset({"bandwidth"}),
    needs=frozenset({"memory", "bandwidth"}),
    reference=lambda problem: Reference(problem.base_time_ns, "waiting"),
    facts=_facts,
    certify=_certify,
    model_files=_model_files,
    picture=_picture,
)
