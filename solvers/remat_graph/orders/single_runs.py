"""Steps that compute every operator once, in whatever order: what is in memory at each time.

An operator that makes its results and nothing else runs with them as one *unit*; every other node
is a unit of its own. A value is in memory from the run of its unit until the last of the units that
read it has run; a kept one stays, and one that nothing reads is gone right after. While a unit
runs, there is all that is stored before, and its *need*: its values and its workspace.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jettison.instances.remat_graph.graph import Graph


@dataclass(frozen=True, slots=True)
class Value:
    """Value of a unit that is read or kept.

    Attributes
    ----------
    size_bytes
        Its size.
    unit
        What makes it.
    readers
        The units that read it.
    is_kept
        Whether it stays to the end.
    """

    size_bytes: int
    unit: int
    readers: frozenset[int]
    is_kept: bool


class SingleRuns:
    """Graph as units that run once, with the values that pass between them.

    Parameters
    ----------
    graph
        The instance.

    Attributes
    ----------
    units
        For each unit, its nodes in order.
    values
        The values that are read by other units or kept, and have bytes.
    need_bytes
        For each unit, what is in memory for its own sake while it runs.
    before, after
        For each unit, those that it reads, and those that read it, also where no bytes pass.
    read
        For each unit, the positions of the values that it reads.
    made
        For each unit, the positions of its own values.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        unit_of: dict[int, int] = {}
        self.units: list[tuple[int, ...]] = []
        for node in range(len(graph)):
            if node not in unit_of:
                nodes = (node, *graph.results_after.get(node, ()))
                unit_of |= dict.fromkeys(nodes, len(self.units))
                self.units.append(nodes)
        self.need_bytes = [
            graph.nodes[nodes[0]].output_bytes + graph.nodes[nodes[0]].workspace_bytes
            for nodes in self.units
        ]
        self.before: list[set[int]] = [set() for _ in self.units]
        self.after: list[set[int]] = [set() for _ in self.units]
        self.read: list[list[int]] = [[] for _ in self.units]
        self.made: list[list[int]] = [[] for _ in self.units]
        self.values: list[Value] = []
        for node, item in enumerate(graph.nodes):
            unit = unit_of[node]
            readers = frozenset(unit_of[user] for user in graph.users[node]) - {unit}
            for reader in readers:
                self.before[reader].add(unit)
                self.after[unit].add(reader)
            if item.output_bytes and (readers or item.keep):
                for reader in readers:
                    self.read[reader].append(len(self.values))
                self.made[unit].append(len(self.values))
                self.values.append(Value(item.output_bytes, unit, readers, item.keep))

    def __len__(self) -> int:
        return len(self.units)

    def nodes_of(self, order: Iterable[int]) -> list[int]:
        """Return the nodes of units in an order."""
        return [node for unit in order for node in self.units[unit]]

    def units_of(self, nodes: Iterable[int]) -> list[int]:
        """Return the units of an order of nodes, each where its first node stands."""
        first = {nodes[0]: unit for unit, nodes in enumerate(self.units)}
        return [first[node] for node in nodes if node in first]

    def during_bytes(self, order: Sequence[int]) -> list[int]:
        """Return, for each place of an order of units, the bytes in memory while it runs."""
        unread = [len(value.readers) + value.is_kept for value in self.values]
        stored = 0
        found = []
        for unit in order:
            found.append(stored + self.need_bytes[unit])
            stored += sum(self.values[made].size_bytes for made in self.made[unit])
            for position in self.read[unit]:
                unread[position] -= 1
                if not unread[position]:
                    stored -= self.values[position].size_bytes
        return found

    def peak_bytes(self, order: Sequence[int]) -> int:
        """Return the peak of an order of units. :math:`O(n + |E|)`."""
        return max(self.during_bytes(order))
