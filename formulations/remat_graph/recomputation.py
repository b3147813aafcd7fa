"""Recomputations that a model allows: which nodes, in which stages.

Stage t ends with the first computation of node t. A *forward stage* is one of a node without the
mark of the backward pass. Each choice is a type; every formulation takes one, and so the same
question can be asked of all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.remat_graph.saved_or_once import boundary_of


class Recomputation(Protocol):
    """Set of recomputations that a model allows."""

    def permits(self, graph: Graph, stage: int, node: int) -> bool:
        """Tell whether `stage` may compute the earlier `node` again.

        No choice permits that of a node that is computed once (`Graph.computed_once`). The stage
        after all first computations, which only schedules in order have, is `len(graph)`.
        """

    def once_after(self, graph: Graph) -> int | None:
        """Return the node behind which each value is either there or computed again, once.

        None where that is not asked for.
        """


@dataclass(frozen=True, slots=True)
class AnyNode:
    """All recomputations: every node, in every stage after its own."""

    def permits(self, graph: Graph, stage: int, node: int) -> bool:
        """Tell whether the stage is after the node's own."""
        return node < stage and node not in graph.computed_once

    def once_after(self, graph: Graph) -> int | None:
        """Return None: nodes are computed again as often as the stages permit."""
        return None


@dataclass(frozen=True, slots=True)
class ForwardNodes:
    """Recomputations of forward nodes, in every stage after their own."""

    def permits(self, graph: Graph, stage: int, node: int) -> bool:
        """Tell whether the node is a forward one."""
        is_forward = not graph.nodes[node].backward
        return node < stage and is_forward and node not in graph.computed_once

    def once_after(self, graph: Graph) -> int | None:
        """Return None: nodes are computed again as often as the stages permit."""
        return None


@dataclass(frozen=True, slots=True)
class ForwardNodesInBackwardStages:
    """Recomputations of forward nodes, in the stages of backward nodes and after all stages."""

    def permits(self, graph: Graph, stage: int, node: int) -> bool:
        """Tell whether the node is a forward one and the stage is not."""
        is_forward = stage < len(graph) and not graph.nodes[stage].backward
        may_run = not graph.nodes[node].backward and node not in graph.computed_once
        return node < stage and may_run and not is_forward

    def once_after(self, graph: Graph) -> int | None:
        """Return None: nodes are computed again as often as the stages permit."""
        return None


@dataclass(frozen=True, slots=True)
class SavedOrOnce:
    """Recomputations of forward nodes in backward stages, each once and only if it is not saved.

    Saved is what is in memory at the boundary between the passes and is read before it is computed
    again (`ScheduleClass.SAVED_OR_ONCE`).
    """

    def permits(self, graph: Graph, stage: int, node: int) -> bool:
        """Tell whether the node is a forward one and the stage is not."""
        boundary = boundary_of(graph)
        is_between = boundary is not None and node <= boundary < stage
        return is_between and node not in graph.computed_once

    def once_after(self, graph: Graph) -> int | None:
        """Return the last forward node."""
        return boundary_of(graph)


def permits_before_reading(
    choice: Recomputation, graph: Graph, cut: int, node: int, end: int
) -> bool:
    """Tell whether `node` may be computed again after the cut, in time for its next first reader.

    Parameters
    ----------
    choice, graph
        Recomputations that are allowed, and the graph.
    cut, node
        A node, and one up to it.
    end
        The last stage to look at: up to it, or to the first user of `node` after the cut.
    """
    readers = (user for user in graph.users[node] if cut < user <= end)
    return any(
        choice.permits(graph, stage, node) for stage in range(cut + 1, next(readers, end) + 1)
    )
