"""Mutable graph from which presolve removes nodes and edges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from jettison.instances.remat_graph.graph import Graph, Node


class WorkingGraph:
    """Mutable graph for reductions, whose nodes keep their original positions.

    Parameters
    ----------
    graph
        The graph at the start.

    Attributes
    ----------
    inputs, users
        Neighbours of each node that is left.
    in_runs
        Operators with several results, and these, which no reduction touches.
    nodes
        The other fields of each node; their inputs are out of date.
    """

    def __init__(self, graph: Graph) -> None:
        self.in_runs = frozenset(
            place
            for operator, results in graph.results_after.items()
            for place in (operator, *results)
        )
        # An operator may be merged with others: what is left of it has no results of its own. Those
        # that are made by an operator without a value stay as they are.
        self.nodes: list[Node] = [
            node if place in self.in_runs else replace(node, result_of=None)
            for place, node in enumerate(graph.nodes)
        ]
        self.inputs = [set(inputs) for inputs in graph.inputs]
        self.users = [set(users) for users in graph.users]
        count = len(graph)
        self._next: list[int | None] = [*range(1, count), None]
        self._previous: list[int | None] = [None, *range(count - 1)]
        self._first: int | None = 0

    def __iter__(self) -> Iterator[int]:
        """Iterate over the nodes that are left, in order; the present one may be removed."""
        node = self._first
        while node is not None:
            following = self._next[node]
            yield node
            node = following

    def after(self, node: int) -> int | None:
        """Return the next node that is left."""
        return self._next[node]

    def before(self, node: int) -> int | None:
        """Return the node before it that is left."""
        return self._previous[node]

    def during_bytes(self, node: int) -> int:
        """Return the memory that computing a node takes: its value and its workspace."""
        return self.nodes[node].output_bytes + self.nodes[node].workspace_bytes

    def is_unread(self, node: int) -> bool:
        """Tell whether a value has no use, so that its node is computed once and freed."""
        return not self.users[node] and not self.nodes[node].keep

    def is_read_once(self, node: int) -> bool:
        """Tell whether each computation of a node need be read at most once.

        It has one reader, whose value can stay in its place.
        """
        if len(self.users[node]) != 1 or self.nodes[node].keep or node in self.in_runs:
            return False
        (reader,) = self.users[node]
        if reader in self.in_runs:
            return False
        return self.nodes[reader].output_bytes <= self.nodes[node].output_bytes

    def change(self, node: int, **fields: int | bool) -> None:
        """Change amounts or marks of a node."""
        self.nodes[node] = replace(self.nodes[node], **fields)  # type: ignore[arg-type]

    def remove_edge(self, source: int, reader: int) -> None:
        """Remove the edge from an input to a node."""
        self.inputs[reader].remove(source)
        self.users[source].remove(reader)

    def remove(self, node: int) -> None:
        """Take out a node that nothing reads."""
        for source in list(self.inputs[node]):
            self.remove_edge(source, node)
        following, previous = self._next[node], self._previous[node]
        if previous is None:
            self._first = following
        else:
            self._next[previous] = following
        if following is not None:
            self._previous[following] = previous

    def contract(self, node: int, workspace_bytes: int) -> int:
        """Merge a node into its only reader, which is returned, and give that a workspace."""
        (reader,) = self.users[node]
        self.remove_edge(node, reader)
        for source in self.inputs[node] - self.inputs[reader]:
            self.inputs[reader].add(source)
            self.users[source].add(reader)
        self.change(
            reader,
            duration_ns=self.nodes[reader].duration_ns + self.nodes[node].duration_ns,
            workspace_bytes=workspace_bytes,
            again=self.nodes[reader].again and self.nodes[node].again,
        )
        self.remove(node)
        return reader

    def reaches(self, node: int, reader: int) -> bool:
        """Tell whether a reader follows from a node by a path of two edges or more."""
        waiting = [user for user in self.users[node] if user < reader]
        seen = set(waiting)
        while waiting:
            for user in self.users[waiting.pop()]:
                if user == reader:
                    return True
                if user < reader and user not in seen:
                    seen.add(user)
                    waiting.append(user)
        return False

    def graph(self, original: Graph) -> tuple[Graph, tuple[int, ...]]:
        """Return what is left as a graph, and the position in `original` of each of its nodes."""
        positions = tuple(self)
        names = [node.name for node in self.nodes]
        left = tuple(
            replace(
                self.nodes[position],
                inputs=tuple(names[source] for source in sorted(self.inputs[position])),
            )
            for position in positions
        )
        return replace(original, nodes=left, repeated_blocks=()), positions
