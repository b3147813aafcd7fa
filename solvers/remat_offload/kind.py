"""Registration of remat-offload-chain: its problem, methods, replay and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from jettison.instances.core.link import Transfers
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.schedules.core.replay import Replay
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_chain.kind import CHAIN_SCHEDULE
from jettison.schedules.remat_chain.schedule import ChainSchedule
from jettison.schedules.remat_offload.kind import OFFLOAD_SCHEDULE
from jettison.schedules.remat_offload.schedule import OffloadSchedule
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.method import Method
from jettison.solvers.core.outcome import Infeasibility, SolveOptions
from jettison.solvers.core.problem_kind import ProblemKind
from jettison.solvers.core.resources import Resources

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from jettison.solvers.proof.certificate import Certificate


def _pose(chain: Chain, resources: Resources) -> RematOffloadChain:
    assert resources.bandwidth is not None
    return RematOffloadChain(
        chain,
        resources.memory_text,
        resources.bandwidth,
        transfers=resources.transfers or Transfers.AT_ONCE,
    )


def _replay(problem: RematOffloadChain, schedule: ChainSchedule | OffloadSchedule) -> Replay:
    return _with_transfers(schedule).replay(
        problem.instance, problem.link, Transfers(problem.transfers), problem.memory_bytes
    )


def _with_transfers(schedule: ChainSchedule | OffloadSchedule) -> OffloadSchedule:
    """Return the schedule as one that may have transfers, of which it need not have any."""
    if isinstance(schedule, OffloadSchedule):
        return schedule
    return OffloadSchedule(schedule.operations)


def _methods() -> Sequence[Method[RematOffloadChain]]:
    from jettison.solvers.remat_offload.methods import METHODS

    return METHODS


def _certify(
    problem: RematOffloadChain,
    bounds: Sequence[Bound],
    infeasibility: Infeasibility | None,
    options: SolveOptions,
) -> Certificate | None:
    from jettison.solvers.remat_offload.proof.certifier import certify_offload_chain

    return certify_offload_chain(problem, bounds, infeasibility, options)


def _in_full(resources: Resources, problem: RematOffloadChain) -> Resources:
    return replace(resources, transfers=Transfers(problem.transfers))


def _grid(
    problem: RematOffloadChain, schedule: ChainSchedule | OffloadSchedule, title: str
) -> Figure:
    from jettison.schedules.remat_chain.grid import plot_chain_grid
    from jettison.schedules.remat_offload.grid import plot_offload_grid

    if isinstance(schedule, ChainSchedule):
        return plot_chain_grid(problem.instance, schedule, title=title)
    return plot_offload_grid(problem.instance, schedule, _replay(problem, schedule), title=title)


REMAT_OFFLOAD = ProblemKind(
    name=RematOffloadChain.problem,
    summary=(
        "one training step of a chain within a memory, by computing activations again and by "
        "moving them to the host (POFO)."
    ),
    problem=RematOffloadChain,
    instances=(Chain,),
    schedules=(OFFLOAD_SCHEDULE, CHAIN_SCHEDULE),
    pose=_pose,
    replay=_replay,
    methods=_methods,
    takes=frozenset({"bandwidth", "transfers"}),
    needs=frozenset({"memory", "bandwidth"}),
    narrow_class=ScheduleClass.POFO,
    transfers=lambda problem: str(problem.transfers),
    certify=_certify,
    in_full=_in_full,
    grid=_grid,
)
