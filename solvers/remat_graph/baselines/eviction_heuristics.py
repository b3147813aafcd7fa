r"""Eviction heuristics of dynamic tensor rematerialization: the cost of recomputing a value.

Source: Kirisame et al., ICLR 2021, arXiv:2006.09616, section 4 and its appendix on heuristics.
Operators are what runs again, values are what is evicted, and an operator may make several values
(`Node.result_of`). With :math:`o(i)` the operator that makes value :math:`i`, the parents of
:math:`i` are what :math:`o(i)` reads, and its children all values of all operators that read
:math:`i`; results of one operator are no neighbours. A value is evicted if it was made and is not
in memory. Each heuristic gives the duration of a set of operators, each of which counts once,

.. math::
    c(i) = \sum_{o \in O(i)} C_o, \qquad O(i) = \{o(i)\} \cup \{o(j) : j \in N(i)\},

and they differ in the neighbourhood :math:`N(i)`:

- :math:`h_{DTR}`: the evicted neighbourhood :math:`e^*(i)`, all values that are reached from
  :math:`i` over evicted ones only, along parents or along children;
- :math:`h_{DTR}^{eq}`: :math:`\tilde e^*(i)`, the union of the components of evicted values that
  touch :math:`i`, whatever the direction of their edges. Components are merged when a value is
  evicted and never split: one that is made again only takes its duration out of its component,
  which stands as it is (union-find; the paper's approximation);
- :math:`h_{local}`: nothing.

The paper's sum runs over values, so that an operator of which several results are evicted is paid
for several times. It runs once for all of them, and is counted once here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import Protocol

from jettison.instances.remat_graph.graph import Graph


class EvictionHeuristic(Protocol):
    """Heuristic cost of evicting a value, updated as values are made and evicted."""

    def made(self, value: int) -> None:
        """Record that a value is in memory."""

    def evicted(self, value: int) -> None:
        """Record that a value is no longer in memory."""

    def cost_ns(self, value: int, most_ns: int | None) -> int:
        """Return :math:`c(i)`, or any value above `most_ns` if it exceeds that."""


HeuristicFactory = Callable[["Dependencies"], EvictionHeuristic]


class Dependencies:
    """Dependencies between values, over operators with several results.

    Parameters
    ----------
    graph
        The instance.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    @cached_property
    def operators(self) -> tuple[int, ...]:
        """The operator that makes each value."""
        return self._graph.operators

    @cached_property
    def durations_ns(self) -> tuple[int, ...]:
        """Duration of the operator that makes each value."""
        return tuple(self._graph.nodes[operator].duration_ns for operator in self.operators)

    @cached_property
    def results(self) -> tuple[tuple[int, ...], ...]:
        """The further results of each operator, beside its own value."""
        found: list[list[int]] = [[] for _ in self.operators]
        for value, operator in enumerate(self.operators):
            if operator != value:
                found[operator].append(value)
        return tuple(map(tuple, found))

    @cached_property
    def parents(self) -> tuple[tuple[int, ...], ...]:
        """The values that the operator of each value reads."""
        return tuple(self._graph.inputs[operator] for operator in self.operators)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """All values of all operators that read each value."""
        return tuple(
            tuple(
                value
                for user in users
                if self.operators[user] == user
                for value in (user, *self.results[user])
            )
            for users in self._graph.users
        )


class LocalCost:
    r"""Duration of the value's operator alone: :math:`h_{local}`."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._durations_ns = dependencies.durations_ns

    def made(self, value: int) -> None:
        """Do nothing: what is evicted does not count."""

    def evicted(self, value: int) -> None:
        """Do nothing: what is evicted does not count."""

    def cost_ns(self, value: int, most_ns: int | None) -> int:
        """Return the duration of the operator."""
        return self._durations_ns[value]


class NeighbourhoodCost:
    r"""Duration of the evicted neighbourhood :math:`e^*(i)`, found by search: :math:`h_{DTR}`."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._of = dependencies
        self._is_evicted = [False] * len(dependencies.operators)

    def made(self, value: int) -> None:
        """Take the value out of all neighbourhoods."""
        self._is_evicted[value] = False

    def evicted(self, value: int) -> None:
        """Add the value to the neighbourhoods that it touches."""
        self._is_evicted[value] = True

    def cost_ns(self, value: int, most_ns: int | None) -> int:
        """Search the neighbourhood: :math:`O(n + |E|)`, less where the most is passed early."""
        cost_ns = self._of.durations_ns[value]
        counted = {self._of.operators[value]}
        reached = {value}
        for neighbours in (self._of.parents, self._of.children):
            # Up along parents, then down along children, and not down from what was found above.
            open_values = [value]
            while open_values:
                for other in neighbours[open_values.pop()]:
                    if self._is_evicted[other] and other not in reached:
                        reached.add(other)
                        open_values.append(other)
                        if self._of.operators[other] not in counted:
                            counted.add(self._of.operators[other])
                            cost_ns += self._of.durations_ns[other]
                if most_ns is not None and cost_ns > most_ns:
                    return cost_ns
        return cost_ns


class ComponentCost:
    r"""Duration of the evicted components that touch a value: :math:`h_{DTR}^{eq}`.

    A component is a root of a union-find forest with the duration of its operators; of those with
    several results it counts the evicted ones, so that no operator is counted twice. Each eviction
    adds an element, which stays when its value is made again. Merging moves the smaller count into
    the larger one.
    """

    def __init__(self, dependencies: Dependencies) -> None:
        self._of = dependencies
        self._above: list[int] = []
        self._duration_ns: list[int] = []
        self._shared: list[Counter[int]] = []
        # The element of each evicted value.
        self._element: dict[int, int] = {}

    def made(self, value: int) -> None:
        """Take the value out of its component, which stays whole."""
        element = self._element.pop(value, None)
        if element is None:
            return
        root, operator = self._root(element), self._of.operators[value]
        if self._of.results[operator]:
            self._shared[root][operator] -= 1
            if self._shared[root][operator]:
                return
            del self._shared[root][operator]
        self._duration_ns[root] -= self._of.durations_ns[value]

    def evicted(self, value: int) -> None:
        """Make a component of the value, merged with all that it touches."""
        element, operator = len(self._above), self._of.operators[value]
        self._above.append(element)
        self._duration_ns.append(self._of.durations_ns[value])
        self._shared.append(Counter([operator] if self._of.results[operator] else []))
        for root in self._touching(value):
            self._merge(root, self._root(element))
        self._element[value] = element

    def cost_ns(self, value: int, most_ns: int | None) -> int:
        """Add up the components that touch the value; operators in several of them once."""
        operator = self._of.operators[value]
        cost_ns = self._of.durations_ns[value]
        counted: set[int] = {operator} if self._of.results[operator] else set()
        for root in self._touching(value):
            shared = self._shared[root].keys()
            twice = counted & shared
            counted |= shared
            cost_ns += self._duration_ns[root] - sum(self._of.durations_ns[one] for one in twice)
            if most_ns is not None and cost_ns > most_ns:
                break
        return cost_ns

    def _touching(self, value: int) -> list[int]:
        neighbours = (*self._of.parents[value], *self._of.children[value])
        return list(
            dict.fromkeys(
                self._root(self._element[other]) for other in neighbours if other in self._element
            )
        )

    def _root(self, element: int) -> int:
        while self._above[element] != element:
            self._above[element] = self._above[self._above[element]]
            element = self._above[element]
        return element

    def _merge(self, first: int, second: int) -> None:
        smaller, larger = sorted((first, second), key=lambda root: len(self._shared[root]))
        twice = self._shared[smaller].keys() & self._shared[larger].keys()
        self._above[smaller] = larger
        self._duration_ns[larger] += self._duration_ns[smaller]
        self._duration_ns[larger] -= sum(self._of.durations_ns[one] for one in twice)
        self._shared[larger].update(self._shared[smaller])
        self._shared[smaller].clear()
