"""Registration of remat-sharding: its problem, methods, replay and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jettison.instances.remat_sharding.chosen_strategies import with_strategies
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.schedules.core.replay import Replay
from jettison.schedules.remat_sharding.kind import SHARDED_SCHEDULE
from jettison.schedules.remat_sharding.schedule import ShardedSchedule
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.method import Method
from jettison.solvers.core.model_files import ModelFiles
from jettison.solvers.core.outcome import Infeasibility, SolveOptions
from jettison.solvers.core.problem_kind import ProblemKind, Reference
from jettison.solvers.core.resources import Resources

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from jettison.solvers.proof.certificate import Certificate


def _pose(sharded: ShardedGraph, resources: Resources) -> RematSharding:
    return RematSharding(sharded, resources.memory_text)


def _replay(problem: RematSharding, schedule: ShardedSchedule) -> Replay:
    return schedule.replay(problem.instance, problem.memory_bytes)


def _methods() -> Sequence[Method[RematSharding]]:
    from jettison.solvers.remat_sharding.methods import METHODS

    return METHODS


def _reference(problem: RematSharding) -> Reference:
    """Compare to the fastest plan, where the graph names it: shares of memory refer to it as well.

    The base time of a sharded graph need not be that of a plan.
    """
    sharded = problem.instance
    if not sharded.fastest:
        return Reference(problem.base_time_ns, "recomputation")
    return Reference(with_strategies(sharded, sharded.fastest).base_time_ns, "limit on memory")


def _certify(
    problem: RematSharding,
    bounds: Sequence[Bound],
    infeasibility: Infeasibility | None,
    options: SolveOptions,
) -> Certificate | None:
    from jettison.solvers.remat_sharding.certifier import certify_remat_sharding

    return certify_remat_sharding(problem, bounds, infeasibility, options)


def _model_files() -> ModelFiles[RematSharding]:
    from jettison.solvers.remat_sharding.model_files import MODEL_FILES

    return MODEL_FILES


def _grid(problem: RematSharding, plan: ShardedSchedule, title: str) -> Figure:
    from jettison.schedules.remat_sharding.plan_plot import plot_sharded_plan

    return plot_sharded_plan(problem.instance, plan, title=title)


def _table(problem: RematSharding, plan: ShardedSchedule) -> pd.DataFrame:
    from jettison.schedules.remat_sharding.plan_table import plan_table

    return plan_table(problem.instance, plan)


REMAT_SHARDING = ProblemKind(
    name=RematSharding.problem,
    summary=(
        "how each operator of a step is sharded over devices, and what is computed again, "
        "within the memory of each device (KIWI)."
    ),
    problem=RematSharding,
    instances=(ShardedGraph,),
    schedules=(SHARDED_SCHEDULE,),
    pose=_pose,
    replay=_replay,
    methods=_methods,
    reference=_reference,
    certify=_certify,
    model_files=_model_files,
    grid=_grid,
    table=_table,
)
