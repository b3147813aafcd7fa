"""Refusals of graphs that lack what a planner's rules are about."""

from __future__ import annotations

from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.outcome import Outcome
from jettison.solvers.remat_graph.planners.joint_program import unnamed_nodes


def not_for(problem: RematGraph, method: str) -> Outcome | None:
    """Return why a method does not apply to a graph, or None if it does.

    Its rules are about operators, so that forward nodes must have their `operator_name`, and about
    what is saved between the two passes, so that backward nodes must be marked.
    """
    return without_passes(problem, method) or _without_names(problem.instance, method)


def without_passes(problem: RematGraph, method: str) -> Outcome | None:
    """Return why a method that looks at the boundary between the passes does not apply."""
    nodes = problem.instance.nodes
    if not any(node.backward for node in nodes) or all(node.backward for node in nodes):
        return Outcome.not_applicable(
            f"{method} chooses what is saved between the forward and the backward pass, and no "
            "operation, or every one, has the mark of the backward pass; use another method"
        )
    first = next(place for place, node in enumerate(nodes) if node.backward)
    late = next((node.name for node in nodes[first:] if not node.backward), None)
    if late is not None:
        return Outcome.not_applicable(
            f"{method} needs all forward operations before the backward pass, and {late!r} comes "
            "behind it; use another method"
        )
    return None


def _without_names(graph: Graph, method: str) -> Outcome | None:
    unnamed = unnamed_nodes(graph)
    if not unnamed:
        return None
    return Outcome.not_applicable(
        f"{method} goes by the operators of the forward pass, and {len(unnamed)} of its nodes, "
        f"{unnamed[0]!r} first, have no operator_name: profile the model again, or use another "
        "method"
    )
