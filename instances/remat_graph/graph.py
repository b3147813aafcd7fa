"""Graph: a training step as operations with their inputs, for rematerialization (Checkmate)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.core.instance_document import InstanceDocument, read_each, read_provenance
from jettison.instances.core.names import checked_name, checked_unique
from jettison.instances.core.provenance import Provenance
from jettison.instances.core.topological_order import check_inputs
from jettison.instances.core.units import checked_amount
from jettison.instances.remat_graph.node import Node, OperatorResult, read_node, with_results

__all__ = ["Graph", "Node", "OperatorResult"]


@dataclass(frozen=True, repr=False)
class Graph(InstanceDocument):
    """Graph of operations, in a topological order.

    Attributes
    ----------
    name
        Name of the instance.
    nodes
        At least one node; each node comes after all of its inputs. Where one that is given has
        several results (`Node.results`), its place is taken by the operation, a node without a
        value, and the results, each a node that is one of its values (`Node.run`). So each tensor
        has a position of its own, and so has each operation.
    repeated_blocks
        Groups of blocks with the same structure (the layers of a transformer, say): each group is
        a tuple of blocks, each block a tuple of node names, position by position alike.
    provenance
        Provenance of the numbers.
    resident_bytes
        Bytes that are in memory all the time and in no node: parameters, buffers, the batch. They
        are taken off a card (`Card`), and are no part of any peak or limit of the graph; nor of
        its hash, since schedules do not depend on them. None where they are not known.

    Raises
    ------
    InputError
        If there is no node, a name occurs twice, an input is unknown, the inputs form a cycle
        (which is named), a node comes before one of its inputs, a node is a result of one that is
        a result itself, or an operator without a value is not followed by its results, is read by
        other nodes, or has a workspace that is smaller than its results.
    """

    kind = "graph"

    name: str
    nodes: tuple[Node, ...]
    repeated_blocks: tuple[tuple[tuple[str, ...], ...], ...] = ()
    provenance: Provenance = field(default_factory=Provenance, compare=False)
    resident_bytes: int | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        checked_name(self.name, "name")
        if not self.nodes:
            raise InputError("the graph is empty", field="nodes", expected="give at least one node")
        nodes = tuple(item for node in self.nodes for item in node.run())
        object.__setattr__(self, "nodes", nodes)
        if self.resident_bytes is not None:
            checked_amount(self.resident_bytes, "resident_bytes", "bytes")
        checked_unique([node.name for node in self.nodes], "nodes")
        check_inputs({node.name: node.inputs for node in self.nodes}, "nodes", "a node")
        self._check_results()
        for operator in self.results_after:
            self._check_results_after(operator)
        self._check_repeated_blocks()
        total = sum(node.output_bytes + node.workspace_bytes for node in self.nodes)
        if max(total, self.base_time_ns * len(self.nodes)) >= 2**60:
            raise InputError(
                "the sizes or the durations add up to more than 60 bits",
                field="nodes",
                expected="check their units: bytes and nanoseconds",
            )

    def _check_results(self) -> None:
        for position, operator in enumerate(self.operators):
            of = self.nodes[operator].result_of
            if of is not None:
                raise InputError(
                    f"{self.nodes[operator].name!r} is a result itself, of {of!r}",
                    field=f"nodes[{position}].result_of",
                    expected="name the node that runs the operator",
                )

    def _check_results_after(self, operator: int) -> None:
        node, results = self.nodes[operator], self.results_after[operator]
        where = f"nodes[{operator}]"
        if not results or self.users[operator] != tuple(results):
            raise InputError(
                f"{node.name!r} has no value, and its results do not come directly after it, or "
                "other nodes read it",
                field=where,
                expected="list its results, nodes with result_of, right after it, and read these",
            )
        results_bytes = sum(self.nodes[result].output_bytes for result in results)
        if node.workspace_bytes < results_bytes:
            raise InputError(
                f"{node.workspace_bytes} where the results have {results_bytes}",
                field=f"{where}.workspace_bytes",
                expected="include the results, which are in memory while the operator runs",
            )

    def _check_repeated_blocks(self) -> None:
        taken: set[str] = set()
        for place, group in enumerate(self.repeated_blocks):
            where = f"repeated_blocks[{place}]"
            if len({len(block) for block in group}) > 1:
                raise InputError(
                    "its blocks differ in length",
                    field=where,
                    expected="give blocks that match node by node",
                )
            for name in (name for block in group for name in block):
                if name not in self.position_of or name in taken:
                    raise InputError(
                        f"{name!r} is unknown or stands in two blocks",
                        field=where,
                        expected="name nodes of this graph, each in one block at most",
                    )
                taken.add(name)

    @classmethod
    def from_networkx(cls, graph: Any, *, name: str, provenance: Provenance | None = None) -> Graph:
        """Return the graph of a ``networkx.DiGraph`` whose nodes have the fields of `Node`.

        Parameters
        ----------
        graph
            Its edges lead from a value to what reads it. Attributes of nodes are fields of `Node`;
            ``duration_ns`` and ``output_bytes`` are needed. Nodes are named by their text, and
            ordered as they are where that is topological.
        name, provenance
            As the attributes.

        Raises
        ------
        InputError
            If it has no directions, an attribute is missing, unknown or wrong, two nodes have one
            name, or the edges form a cycle; the message names the node.
        """
        from jettison.instances.remat_graph.networkx_graph import graph_of_networkx

        return graph_of_networkx(graph, name, provenance or Provenance())

    def __len__(self) -> int:
        return len(self.nodes)

    @cached_property
    def position_of(self) -> Mapping[str, int]:
        """Position of each node by name."""
        return {node.name: position for position, node in enumerate(self.nodes)}

    @cached_property
    def inputs(self) -> tuple[tuple[int, ...], ...]:
        """For each node, the positions of its inputs, ascending."""
        return tuple(
            tuple(sorted(self.position_of[name] for name in node.inputs)) for node in self.nodes
        )

    @cached_property
    def operators(self) -> tuple[int, ...]:
        """For each node, the position of its operator: itself, unless it is a result of another."""
        return tuple(
            position if node.result_of is None else self.position_of[node.result_of]
            for position, node in enumerate(self.nodes)
        )

    @cached_property
    def results_after(self) -> Mapping[int, range]:
        """For each operator without a value, its results, which come directly after it."""
        found: dict[int, range] = {}
        for position, node in enumerate(self.nodes):
            if not node.has_value:
                end = position + 1
                while end < len(self) and self.operators[end] == position:
                    end += 1
                found[position] = range(position + 1, end)
        return found

    @cached_property
    def given_nodes(self) -> tuple[Node, ...]:
        """Nodes as files have them: an operation with several results is one node."""
        found: list[Node] = []
        place = 0
        while place < len(self):
            node = self.nodes[place]
            results = self.results_after.get(place, range(0))
            made = tuple(self.nodes[result] for result in results)
            folded = with_results(node, made)
            # A result may have marks of its own, in files that list it as a node.
            found += [folded] if folded.run() == (node, *made) else [node, *made]
            place += 1 + len(made)
        return tuple(found)

    def comes_in_a_run(self, node: int) -> bool:
        """Tell whether a node is a result of an operator without a value."""
        return self.operators[node] != node and not self.nodes[self.operators[node]].has_value

    @cached_property
    def computed_once(self) -> frozenset[int]:
        """Nodes that no schedule computes again: `Node.again` is false of them.

        So are the results that only their operator makes.
        """
        return frozenset(
            position
            for position, operator in enumerate(self.operators)
            if not self.nodes[operator].again
            and (operator == position or not self.nodes[operator].has_value)
        )

    @cached_property
    def users(self) -> tuple[tuple[int, ...], ...]:
        """For each node, the positions of the nodes that need it, ascending."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for position, inputs in enumerate(self.inputs):
            for source in inputs:
                found[source].append(position)
        return tuple(tuple(users) for users in found)

    @cached_property
    def last_forward(self) -> int | None:
        """Last forward node, behind which all are backward ones; None if there is no such."""
        first = next((i for i, node in enumerate(self.nodes) if node.backward), 0)
        if first == 0 or not all(node.backward for node in self.nodes[first:]):
            return None
        return first - 1

    @cached_property
    def base_time_ns(self) -> int:
        """Time of one step without any recomputation: a lower bound for every schedule."""
        return sum(node.duration_ns for node in self.nodes)

    @cached_property
    def store_all_peak_bytes(self) -> int:
        """Peak of the step that computes each node once, in the order given, and frees early.

        A value is freed right after its last user; a value without a user is freed at once unless
        it is kept. :math:`O(n + |E|)`.
        """
        remaining = [
            len(users) + node.keep for users, node in zip(self.users, self.nodes, strict=True)
        ]
        stored = peak = 0
        for position, node in enumerate(self.nodes):
            stored += node.output_bytes
            peak = max(peak, stored + node.workspace_bytes)
            for source in self.inputs[position]:
                remaining[source] -= 1
                if remaining[source] == 0:
                    stored -= self.nodes[source].output_bytes
            if remaining[position] == 0:
                stored -= node.output_bytes
        return peak

    @cached_property
    def least_peak_bound_bytes(self) -> int:
        """Memory floor: a memory below which no schedule of any kind exists.

        Each operation needs its inputs, its output and its workspace at once, and the kept values
        stand together at the end. Whether this much suffices is another question.
        """
        kept = sum(node.output_bytes for node in self.nodes if node.keep)
        return max(kept, *self._bytes_while_running)

    @cached_property
    def neediest_node(self) -> str | None:
        """First node that needs `least_peak_bound_bytes`; None if only the kept values need it."""
        largest = max(self._bytes_while_running)
        if largest < self.least_peak_bound_bytes:
            return None
        return self.nodes[self._bytes_while_running.index(largest)].name

    @cached_property
    def _bytes_while_running(self) -> tuple[int, ...]:
        """For each node, the bytes of its output, its workspace and its inputs together."""
        return tuple(
            node.output_bytes
            + node.workspace_bytes
            + sum(self.nodes[source].output_bytes for source in inputs)
            for node, inputs in zip(self.nodes, self.inputs, strict=True)
        )

    def content(self) -> dict[str, object]:
        """Return the fields of the JSON object that schedules depend on."""
        found: dict[str, object] = {
            "nodes": [node.to_json() for node in self.given_nodes],
        }
        if self.repeated_blocks:
            found["repeated_blocks"] = [
                [list(block) for block in group] for group in self.repeated_blocks
            ]
        return found

    def remarks(self) -> dict[str, object]:
        """Return the resident bytes, on which no schedule depends."""
        return {} if self.resident_bytes is None else {"resident_bytes": self.resident_bytes}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Graph:
        """Build the graph from parsed JSON that has passed the schema.

        Raises
        ------
        InputError
            If a value contradicts another; the field is named by its path.
        """
        return cls(
            name=document["name"],
            nodes=read_each(
                document,
                "nodes",
                read_node,
            ),
            repeated_blocks=tuple(
                tuple(tuple(block) for block in group)
                for group in document.get("repeated_blocks", [])
            ),
            provenance=read_provenance(document),
            resident_bytes=document.get("resident_bytes"),
        )
