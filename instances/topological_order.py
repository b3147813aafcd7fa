"""Orders in which every node comes after its inputs."""

from __future__ import annotations

import graphlib
import heapq
from collections.abc import Iterable, Mapping


def find_cycle(inputs: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the names along one cycle, first name repeated at the end, or an empty list.

    `inputs` gives the predecessors of each name. :math:`O(n + |E|)`.
    """
    try:
        graphlib.TopologicalSorter(inputs).prepare()
    except graphlib.CycleError as error:
        cycle: list[str] = error.args[1]
        return cycle
    return []


def topological_order(inputs: Mapping[str, Iterable[str]]) -> list[str]:
    r"""Return a topological order that keeps the order of `inputs` where it can.

    The next node is always the first one, in the order of the mapping, that is ready. An order
    that is topological already comes back unchanged. :math:`O(n \log n + |E|)`.

    Raises
    ------
    graphlib.CycleError
        If there is none.
    """
    place = {name: position for position, name in enumerate(inputs)}
    sorter = graphlib.TopologicalSorter(inputs)
    sorter.prepare()
    order: list[str] = []
    waiting: list[tuple[int, str]] = []
    while sorter.is_active():
        for name in sorter.get_ready():
            heapq.heappush(waiting, (place[name], name))
        _, name = heapq.heappop(waiting)
        order.append(name)
        sorter.done(name)
    return order
