"""Registration of remat-offload-graph: its problem, methods, replay and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_offload_graph.problem import RematOffloadGraph
from jettison.schedules.core.replay import Replay
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.kind import GRAPH_SCHEDULE
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.schedules.remat_offload_graph.kind import OFFLOAD_GRAPH_SCHEDULE
from jettison.schedules.remat_offload_graph.linked_replay import LinkedReplay
from jettison.schedules.remat_offload_graph.schedule import OffloadGraphSchedule
from jettison.solvers.core.method import Method
from jettison.solvers.core.model_files import ModelFiles
from jettison.solvers.core.problem_kind import ProblemKind
from jettison.solvers.core.resources import Resources

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _pose(graph: Graph, resources: Resources) -> RematOffloadGraph:
    return RematOffloadGraph(graph, resources.memory_text, resources.bandwidth)


def _replay(
    problem: RematOffloadGraph, schedule: GraphSchedule | OffloadGraphSchedule
) -> LinkedReplay:
    return with_transfers(schedule).replay(problem.instance, problem.link, problem.memory_bytes)


def with_transfers(schedule: GraphSchedule | OffloadGraphSchedule) -> OffloadGraphSchedule:
    """Return a schedule as one that may have transfers, of which it need not have any."""
    if isinstance(schedule, OffloadGraphSchedule):
        return schedule
    return OffloadGraphSchedule.without_transfers(schedule)


def _methods() -> Sequence[Method[RematOffloadGraph]]:
    from jettison.solvers.remat_offload_graph.methods import METHODS

    return METHODS


def _spent(replay: Replay | None) -> Mapping[str, int | None]:
    """Tell recomputation and waiting apart, and what the link leaves idle in each direction."""
    judged = replay if isinstance(replay, LinkedReplay) else None
    to_host_ns, from_host_ns = (None, None) if judged is None else judged.idle_link_ns
    return {
        "recompute_ns": None if judged is None else judged.recompute_ns,
        "stall_ns": None if judged is None else judged.stall_ns,
        "idle_to_host_ns": to_host_ns,
        "idle_from_host_ns": from_host_ns,
    }


def _model_files() -> ModelFiles[RematOffloadGraph]:
    from jettison.solvers.remat_offload_graph.model_files import MODEL_FILES

    return MODEL_FILES


def _grid(
    problem: RematOffloadGraph, schedule: GraphSchedule | OffloadGraphSchedule, title: str
) -> Figure:
    from jettison.schedules.remat_offload_graph.residence_chart import plot_residence

    return plot_residence(
        problem.instance, with_transfers(schedule), _replay(problem, schedule), title=title
    )


REMAT_OFFLOAD_GRAPH = ProblemKind(
    name=RematOffloadGraph.problem,
    summary=(
        "one step of a graph of operators within a memory, by computing values again and by "
        "moving them to the host."
    ),
    problem=RematOffloadGraph,
    instances=(Graph,),
    schedules=(OFFLOAD_GRAPH_SCHEDULE, GRAPH_SCHEDULE),
    pose=_pose,
    replay=_replay,
    methods=_methods,
    takes=frozenset({"bandwidth"}),
    narrow_class=ScheduleClass.IN_ORDER,
    transfers=lambda problem: None if problem.link is None else "at-once",
    spent=_spent,
    model_files=_model_files,
    grid=_grid,
)
