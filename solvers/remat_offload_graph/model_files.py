"""The formulations of remat-offload-graph that are written to files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_offload_graph.problem import RematOffloadGraph
from jettison.solvers.core.model_files import ModelChoice, ModelFiles

if TYPE_CHECKING:
    from jettison.formulations.milp.array_model import ArrayModel

_FIRST_STARTS = "first-starts"
_POET = "poet"


def build_model(problem: RematOffloadGraph, choice: ModelChoice) -> ArrayModel:
    """Build the model of a choice; formulations load when they are needed.

    Cuts of ``first-starts`` are its moments; without any it has the start of the node that needs
    the most memory where nothing is computed again. The model holds for all schedules.

    Raises
    ------
    InputError
        If a cut is no node of the graph, or two of them may come the other way round.
    """
    from jettison.formulations.remat_offload_graph.first_starts import FirstStarts
    from jettison.formulations.remat_offload_graph.passed_moments import (
        KnownOrder,
        PassedMoments,
    )

    graph = problem.instance
    if choice.formulation == _POET:
        if choice.cuts:
            raise InputError(
                "poet has no cuts", field="cut", expected=f"leave it out, or choose {_FIRST_STARTS}"
            )
        if graph.results_after:
            raise InputError(
                f"{graph.name} has operators with several results",
                field="formulation",
                expected=f"choose {_FIRST_STARTS}: operators of poet have one result each",
            )
        from jettison.formulations.remat_offload_graph.poet import Poet

        return Poet().build(problem).model
    for place, name in enumerate(choice.cuts or ()):
        if name not in graph.position_of:
            raise InputError(
                f"{name!r} is not a node of {graph.name}",
                field=f"cut[{place}]",
                expected="name nodes of the instance",
            )
    nodes = tuple(graph.position_of[name] for name in choice.cuts or ()) or (_fullest(graph),)
    moments = PassedMoments(KnownOrder(graph), nodes)
    return FirstStarts(moments).build(problem).model


def _fullest(graph: Graph) -> int:
    """Return the node during which most is in memory in the graph's own order."""
    remaining = [
        len(users) + node.keep for users, node in zip(graph.users, graph.nodes, strict=True)
    ]
    stored = most = best = 0
    for place, node in enumerate(graph.nodes):
        stored += node.output_bytes
        if stored + node.workspace_bytes > most and not graph.comes_in_a_run(place):
            most, best = stored + node.workspace_bytes, place
        for source in (*graph.inputs[place], place):
            remaining[source] -= source != place
            if remaining[source] == 0:
                stored -= graph.nodes[source].output_bytes
    return best


MODEL_FILES = ModelFiles(
    formulations=(_FIRST_STARTS, _POET),
    build=build_model,
    options=frozenset({"cuts"}),
)
