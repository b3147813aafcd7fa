"""Topological orders: every node comes after its inputs."""

from __future__ import annotations

import graphlib
import heapq
from collections.abc import Iterable, Mapping, Sequence

from jettison.instances.core.errors import InputError


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


def check_inputs(inputs: Mapping[str, Sequence[str]], field: str, noun: str) -> None:
    """Check the inputs of a graph: refuse unknown ones, cycles, and orders that do not fit.

    Parameters
    ----------
    inputs
        The inputs of each name, in the order of the graph.
    field
        Field of the entries, ``nodes`` say.
    noun
        Noun for an entry in messages.

    Raises
    ------
    InputError
        With the name; of a cycle with all names along it.
    """
    position_of = {name: position for position, name in enumerate(inputs)}
    for position, (reader, names) in enumerate(inputs.items()):
        for place, name in enumerate(names):
            where = f"{field}[{position}].inputs[{place}]"
            if name not in position_of:
                raise InputError(
                    f"{name!r} is not {noun} of the graph",
                    field=where,
                    expected=f"name {noun} of this graph",
                )
            if position_of[name] < position:
                continue
            cycle = find_cycle(inputs)
            if cycle:
                raise InputError(
                    f"the inputs form a cycle: {' -> '.join(cycle)}",
                    field=where,
                    expected="remove one of these inputs",
                )
            raise InputError(
                f"{name!r} comes after {reader!r}, which needs it",
                field=where,
                expected=f"list the {field} in a topological order",
            )
