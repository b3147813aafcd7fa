"""Moments that every schedule of a graph passes, and what is known to have run by then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.core.schedule_class import ScheduleClass


@dataclass(frozen=True, eq=False)
class KnownOrder:
    """Order of first computations, as far as it is known.

    Attributes
    ----------
    graph
        The graph.
    valid_for
        ``in-order``: first computations follow the order of the graph. ``all schedules``: it is
        only known that a node comes after its ancestors.

    Raises
    ------
    InputError
        If the class is another one.
    """

    graph: Graph
    valid_for: ScheduleClass = ScheduleClass.ALL
    _ancestors: list[int] = field(init=False, default_factory=list)
    _descendants: list[int] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        if self.valid_for not in {ScheduleClass.ALL, ScheduleClass.IN_ORDER}:
            raise InputError(
                f"{self.valid_for}",
                field="valid_for",
                expected=f"choose {ScheduleClass.ALL} or {ScheduleClass.IN_ORDER}",
            )
        if self.valid_for is ScheduleClass.IN_ORDER:
            return
        count = len(self.graph)
        above, below = [0] * count, [0] * count
        for node, inputs in enumerate(self.graph.inputs):
            for source in inputs:
                above[node] |= above[source] | 1 << source
        for node in range(count - 1, -1, -1):
            for user in self.graph.users[node]:
                below[node] |= below[user] | 1 << user
        self._ancestors.extend(above)
        self._descendants.extend(below)

    def before(self, node: int) -> list[int]:
        """Return the nodes that have been computed when a node starts for the first time."""
        if self.valid_for is ScheduleClass.IN_ORDER:
            return list(range(node))
        return _members(self._ancestors[node])

    def after(self, node: int) -> list[int]:
        """Return the nodes that have not, which are computed after it."""
        if self.valid_for is ScheduleClass.IN_ORDER:
            return list(range(node + 1, len(self.graph)))
        return _members(self._descendants[node])

    def precedes(self, first: int, second: int) -> bool:
        """Tell whether one node always starts before another one, for the first time."""
        if self.valid_for is ScheduleClass.IN_ORDER:
            return first < second
        return bool(self._ancestors[second] >> first & 1)

    @cached_property
    def head_ns(self) -> list[int]:
        """For each node, the time of what always runs before its first end, itself included."""
        return [
            self._time_ns(self.before(node)) + self.graph.nodes[node].duration_ns
            for node in range(len(self.graph))
        ]

    @cached_property
    def tail_ns(self) -> list[int]:
        """For each node, the time of what always runs after its first start, itself included."""
        return [
            self._time_ns(self.after(node)) + self.graph.nodes[node].duration_ns
            for node in range(len(self.graph))
        ]

    def _time_ns(self, nodes: Sequence[int]) -> int:
        return sum(self.graph.nodes[node].duration_ns for node in nodes)


def _members(mask: int) -> list[int]:
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


@dataclass(frozen=True, eq=False)
class PassedMoments:
    """Moments in the order in which every schedule passes them: first runs of some nodes.

    Each node gives two moments, the start and the end of its first computation. Window w is the
    time from moment w to the next one; window 0 begins with the step, and the last one ends with
    it. Moments are counted from 1: odd windows are the runs of the nodes.

    Attributes
    ----------
    order
        The order of first computations.
    nodes
        The nodes, each always before the next one.

    Raises
    ------
    InputError
        If two nodes may come the other way round, or a node is a result in a run.
    """

    order: KnownOrder
    nodes: tuple[int, ...]

    def __post_init__(self) -> None:
        for node in self.nodes:
            if self.order.graph.comes_in_a_run(node):
                raise InputError(
                    f"{self.order.graph.nodes[node].name!r} is a result of an operator",
                    field="nodes",
                    expected="name the operator",
                )
        for first, second in zip(self.nodes, self.nodes[1:], strict=False):
            if not self.order.precedes(first, second):
                raise InputError(
                    f"node {first} need not come before node {second}",
                    field="nodes",
                    expected=f"give nodes in an order that all schedules have: "
                    f"{self.order.valid_for}",
                )

    @property
    def windows(self) -> range:
        """The windows."""
        return range(2 * len(self.nodes) + 1)

    @property
    def moments(self) -> range:
        """The moments."""
        return range(1, 2 * len(self.nodes) + 1)

    def node(self, moment: int) -> int:
        """Return the node that starts or ends at a moment."""
        return self.nodes[(moment - 1) // 2]

    def is_run(self, window: int) -> bool:
        """Tell whether a window is the run of a node, in which nothing else is computed."""
        return window % 2 == 1

    @cached_property
    def run_before(self) -> list[frozenset[int]]:
        """For the start, each moment and the end, the nodes that have been computed by then."""
        found: list[frozenset[int]] = [frozenset()]
        for node in self.nodes:
            before = frozenset(self.order.before(node))
            found += [before, before | {node}]
        return [*found, frozenset(range(len(self.order.graph)))]

    @cached_property
    def still_to_run(self) -> list[frozenset[int]]:
        """For the start, each moment and the end, the nodes that have not been computed by then."""
        found: list[frozenset[int]] = [frozenset(range(len(self.order.graph)))]
        for node in self.nodes:
            after = frozenset(self.order.after(node))
            found += [after | {node}, after]
        return [*found, frozenset()]

    def first_runs(self, window: int) -> list[int]:
        """Return the nodes that are computed in a window for the first time, in all schedules."""
        return sorted(self.still_to_run[window] & self.run_before[window + 1])
