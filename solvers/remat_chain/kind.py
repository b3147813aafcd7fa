"""Registration of remat-chain: its problem, methods, replay and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_chain.problem import RematChain
from jettison.schedules.core.replay import Replay
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_chain.kind import CHAIN_SCHEDULE
from jettison.schedules.remat_chain.schedule import ChainSchedule
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.method import Method
from jettison.solvers.core.outcome import Infeasibility, SolveOptions
from jettison.solvers.core.problem_kind import ProblemKind
from jettison.solvers.core.resources import Resources

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from jettison.solvers.proof.certificate import Certificate


def _pose(chain: Chain, resources: Resources) -> RematChain:
    return RematChain(chain, resources.memory_text)


def _replay(problem: RematChain, schedule: ChainSchedule) -> Replay:
    return schedule.replay(problem.instance, problem.memory_bytes)


def _methods() -> Sequence[Method[RematChain]]:
    from jettison.solvers.remat_chain.methods import METHODS

    return METHODS


def _certify(
    problem: RematChain,
    bounds: Sequence[Bound],
    infeasibility: Infeasibility | None,
    options: SolveOptions,
) -> Certificate | None:
    from jettison.solvers.remat_chain.proof.certifier import certify_chain

    return certify_chain(problem, bounds, infeasibility, options)


def _grid(problem: RematChain, schedule: ChainSchedule, title: str) -> Figure:
    from jettison.schedules.remat_chain.grid import plot_chain_grid

    return plot_chain_grid(problem.instance, schedule, title=title)


REMAT_CHAIN = ProblemKind(
    name=RematChain.problem,
    summary=(
        "one training step of a chain of stages in the least time within a memory, by computing"
        " activations again (rotor)."
    ),
    problem=RematChain,
    instances=(Chain,),
    schedules=(CHAIN_SCHEDULE,),
    pose=_pose,
    replay=_replay,
    methods=_methods,
    narrow_class=ScheduleClass.PERSISTENT,
    certify=_certify,
    grid=_grid,
)
