"""Graph with its nodes in another topological order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.graph import Graph


@dataclass(frozen=True)
class ReorderedGraph:
    """Graph with its nodes in another topological order, and the mapping between the two orders.

    Attributes
    ----------
    original
        The graph as it was given.
    order
        The nodes in the new order, by their numbers in `original`.

    Raises
    ------
    InputError
        If `order` does not name each node once, or has one before one of its inputs.
    """

    original: Graph
    order: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", tuple(self.order))
        if sorted(self.order) != list(range(len(self.original))):
            raise InputError(
                f"{len(self.order)} entries", field="order", expected="name each node once"
            )
        place_of = self.place_of
        for node, inputs in enumerate(self.original.inputs):
            for source in inputs:
                if place_of[source] > place_of[node]:
                    raise InputError(
                        f"node {node} comes before its input {source}",
                        field="order",
                        expected="give a topological order",
                    )

    @cached_property
    def place_of(self) -> tuple[int, ...]:
        """Position in the new order of each node of `original`."""
        places = [0] * len(self.order)
        for place, node in enumerate(self.order):
            places[node] = place
        return tuple(places)

    @cached_property
    def graph(self) -> Graph:
        """The graph in this order."""
        nodes = tuple(self.original.nodes[node] for node in self.order)
        return replace(self.original, nodes=nodes)

    def to_original(self, computations: Iterable[int]) -> tuple[int, ...]:
        """Return the numbers in `original` of some nodes of `graph`."""
        return tuple(self.order[place] for place in computations)
