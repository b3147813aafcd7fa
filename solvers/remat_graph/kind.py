"""Registration of remat-graph: its problem, methods, replay and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from jettison.instances.core.card import Card
from jettison.instances.core.memory import Memory
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_chain.problem import RematChain
from jettison.instances.remat_graph.chain_to_graph import chain_to_graph, graph_memory_bytes
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.replay import Replay
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.kind import GRAPH_SCHEDULE
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.method import Method
from jettison.solvers.core.model_files import ModelFiles
from jettison.solvers.core.outcome import Infeasibility, SolveOptions
from jettison.solvers.core.problem_kind import Conversion, ProblemKind
from jettison.solvers.core.resources import Resources

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from jettison.solvers.proof.certificate import Certificate


def _pose(instance: Graph | Chain, resources: Resources) -> RematGraph:
    """Make the problem; a chain becomes its graph, in whose memory a constant is added."""
    if isinstance(instance, Chain):
        posed = RematChain(instance, resources.memory_text)
        memory: int | Memory = graph_memory_bytes(instance, posed.memory_bytes)
        if isinstance(posed.memory, Card):
            memory = replace(posed.memory, uncounted_bytes=graph_memory_bytes(instance, 0))
        return RematGraph(chain_to_graph(instance), memory)
    return RematGraph(instance, resources.memory_text)


def _note_on(chain: Chain) -> str:
    return (
        f"{chain.name} is a chain; using its graph, whose limit and peaks are larger "
        f"by {graph_memory_bytes(chain, 0)} bytes"
    )


def _replay(problem: RematGraph, schedule: GraphSchedule) -> Replay:
    return schedule.replay(problem.instance, problem.memory_bytes)


def _methods() -> Sequence[Method[RematGraph]]:
    from jettison.solvers.remat_graph.methods import METHODS

    return METHODS


def _certify(
    problem: RematGraph,
    bounds: Sequence[Bound],
    infeasibility: Infeasibility | None,
    options: SolveOptions,
) -> Certificate | None:
    from jettison.solvers.remat_graph.certifier import certify_graph

    return certify_graph(problem, bounds, infeasibility, options)


def _model_files() -> ModelFiles[RematGraph]:
    from jettison.solvers.remat_graph.model_files import MODEL_FILES

    return MODEL_FILES


def _grid(problem: RematGraph, schedule: GraphSchedule, title: str) -> Figure:
    from jettison.schedules.remat_graph.recomputation_grid import plot_recomputation_grid

    return plot_recomputation_grid(problem.instance, schedule, title=title)


REMAT_GRAPH = ProblemKind(
    name=RematGraph.problem,
    summary=(
        "one step of a graph of operators in the least time within a memory, by computing "
        "values again (Checkmate)."
    ),
    problem=RematGraph,
    instances=(Graph, Chain),
    schedules=(GRAPH_SCHEDULE,),
    pose=_pose,
    replay=_replay,
    methods=_methods,
    narrow_class=ScheduleClass.STAGED,
    conversion=Conversion(Chain.kind, chain_to_graph, _note_on),
    certify=_certify,
    model_files=_model_files,
    grid=_grid,
)
