"""Class of schedules in which each value is saved between the passes, or recomputed once."""

from __future__ import annotations

from collections.abc import Sequence

from jettison.instances.remat_graph.graph import Graph


def boundary_of(graph: Graph) -> int | None:
    """Return the last forward node, behind which all are backward ones; None if there is no such.

    Parameters
    ----------
    graph
        The instance; its backward nodes are marked, and come last. :math:`O(1)`, after the first
        time.
    """
    return graph.last_forward


def is_saved_or_once(graph: Graph, computations: Sequence[int]) -> bool:
    """Tell whether staged computations are of the class `ScheduleClass.SAVED_OR_ONCE`.

    Parameters
    ----------
    graph
        The instance.
    computations
        Staged ones of all nodes, none of them unread. :math:`O(k d)` for `k` of `d` inputs.
    """
    boundary = boundary_of(graph)
    if boundary is None:
        return False
    behind = boundary + 1
    if list(computations[:behind]) != list(range(behind)):
        return False
    read: set[int] = set()
    times = [0] * len(graph)
    for node in computations[behind:]:
        times[node] += 1
        if times[node] > 1 or (node <= boundary and node in read):
            return False
        read.update(graph.inputs[node])
    return True
