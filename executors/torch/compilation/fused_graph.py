r"""Joint graph as a compiler that fuses runs it: what lives inside of one kernel is no value.

Elementwise operators that only other elementwise operators and reductions read need no memory: a
kernel computes them on the way. In the joint graph each of them is a node with its size, so that
the steps of an activation function, or of the gradient of a norm, seem to need three or four
tensors where a kernel reads one and writes one. Here such a node is *inlined*: its readers read
what it reads, and take its time as well, each of them. Two kinds of nodes are:

- those whose inputs have together hardly more bytes than they have (:math:`\sum_u s_u \le (1 +
  \varepsilon) s_v`): whoever has the inputs need not keep the value;
- those with one reader that is no larger, where all that it reads besides was computed before:
  whoever has the result need not keep the value.

A value that a call of a library reads, a result of one, an output and a draw of random numbers stay
nodes. A schedule of the smaller graph is one of the joint graph in which inlined nodes are computed
right before their readers (`FusedGraph.unfused`). So what fits the smaller graph can be run; its
bounds hold for schedules of this form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import torch
from torch import fx

from jettison.instances.core.memory import Amount
from jettison.instances.profilers.torch_graphs.joint.joint_graph import JointGraph
from jettison.instances.profilers.torch_graphs.operation_reader import is_random, source_of
from jettison.instances.remat_graph.graph import Graph, Node
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.torch.accepted_replay import accepted_replay
from jettison.torch.compilation.operator_rates import is_fused

# Views that leave all numbers in their order.
_SAME_PLACES = frozenset(
    {
        torch.ops.aten.view.default,
        torch.ops.aten._unsafe_view.default,
        torch.ops.aten.unsqueeze.default,
        torch.ops.aten.squeeze.dim,
        torch.ops.aten.squeeze.dims,
    }
)
# Statistics of a norm, which are read beside a tensor, are a small part of it.
_MOST_EXCESS = Fraction(1, 8)


@dataclass(frozen=True)
class FusedGraph:
    """Joint graph without the values that kernels have inside.

    Attributes
    ----------
    joint
        The joint graph.
    planned
        The same with the smaller instance, for which schedules are found.
    parts
        For each node of the instance the nodes of the joint graph that it computes, by their
        positions there, in order; its value is that of the last one.
    inlined
        Positions in the joint graph that several nodes may compute, and nobody keeps.
    calls
        Positions in the joint graph that are calls of libraries.
    """

    joint: JointGraph
    planned: JointGraph
    parts: tuple[tuple[int, ...], ...]
    inlined: frozenset[int]
    calls: frozenset[int]

    def unfused(self, schedule: GraphSchedule) -> GraphSchedule:
        """Return a schedule of the joint graph, confirmed by the replay.

        An inlined node is computed once for all of its readers between two calls of libraries.
        """
        computed: list[int] = []
        fresh: set[int] = set()
        for node in schedule.computations:
            for part in self.parts[node]:
                if part in self.inlined:
                    if part in fresh:
                        continue
                    fresh.add(part)
                computed.append(part)
                if part in self.calls:
                    fresh.clear()
        graph = self.joint.graph
        found = GraphSchedule.from_computations(graph, computed)
        everything = sum(item.output_bytes + item.workspace_bytes for item in graph.nodes)
        accepted_replay(RematGraph(graph, Amount(everything)), found)
        return found


def fused_graph(
    joint: JointGraph,
    is_call: Callable[[fx.Node], bool],
    workspaces_bytes: Mapping[str, int],
) -> FusedGraph:
    """Return a joint graph with its inner values inlined.

    Parameters
    ----------
    joint
        The joint graph.
    is_call
        Whether a compiler calls a library for an operator.
    workspaces_bytes
        Workspaces of nodes, by name, as they were measured.
    """
    return _Fusion(joint, is_call).made(workspaces_bytes)


def no_fusion(joint: JointGraph) -> FusedGraph:
    """Return a joint graph with all of its values."""
    count = len(joint.graph)
    return FusedGraph(
        joint, joint, tuple((place,) for place in range(count)), frozenset(), frozenset()
    )


class _Fusion:
    def __init__(self, joint: JointGraph, is_call: Callable[[fx.Node], bool]) -> None:
        self._joint, self._graph = joint, joint.graph
        self._nodes = [joint.operations[owner].node for owner, _ in joint.owners]
        self._calls = [is_call(node) for node in self._nodes]
        # What each node reads when other nodes are a part of it, and these, as they are computed.
        self._reads: list[dict[int, None]] = []
        self._parts: list[list[int]] = []
        self._ancestors = _ancestors(self._graph)
        self._is_inner = [False] * len(self._graph)

    def made(self, workspaces_bytes: Mapping[str, int]) -> FusedGraph:
        """Return the smaller graph."""
        graph = self._graph
        for position in range(len(graph)):
            self._inline(position)
        inlined = frozenset(place for place, is_inner in enumerate(self._is_inner) if is_inner)
        self._join_in_place()
        kept = [position for position, is_inner in enumerate(self._is_inner) if not is_inner]
        nodes = tuple(self._node(position, workspaces_bytes) for position in kept)
        planned = replace(
            self._joint,
            graph=Graph(
                graph.name,
                nodes,
                provenance=graph.provenance,
                resident_bytes=graph.resident_bytes,
            ),
            owners=tuple(self._joint.owners[position] for position in kept),
            once=frozenset(
                place for place, position in enumerate(kept) if position in self._joint.once
            ),
        )
        return FusedGraph(
            joint=self._joint,
            planned=planned,
            parts=tuple((*self._parts[position], position) for position in kept),
            inlined=inlined,
            calls=frozenset(position for position, is_call in enumerate(self._calls) if is_call),
        )

    def _inline(self, position: int) -> None:
        """Find what a node reads, and whether it is inlined itself; its inputs are done."""
        reads: dict[int, None] = {}
        parts: dict[int, None] = {}
        for source in self._graph.inputs[position]:
            if self._is_inner[source]:
                parts |= dict.fromkeys((*self._parts[source], source))
                reads |= self._reads[source]
            else:
                reads[source] = None
        self._reads.append(reads)
        self._parts.append(sorted(parts))
        self._is_inner[position] = self._can_be_inner(position) and (
            self._is_no_smaller(position) or self._is_for_one(position)
        )

    def _join_in_place(self) -> None:
        """Join values with the elementwise operators that write over them."""
        readers: list[set[int]] = [set() for _ in self._reads]
        kept = [position for position, is_inner in enumerate(self._is_inner) if not is_inner]
        for position in kept:
            for source in self._reads[position]:
                readers[source].add(position)
        for position in kept:
            for source in list(self._reads[position]):
                if readers[source] == {position} and self._is_written_over(source, position):
                    self._is_inner[source] = True
                    del self._reads[position][source]
                    self._reads[position] = self._reads[source] | self._reads[position]
                    self._parts[position] = [
                        *self._parts[source],
                        source,
                        *self._parts[position],
                    ]
                    for other in self._reads[source]:
                        readers[other] = readers[other] - {source} | {position}
                    break

    def _is_written_over(self, source: int, position: int) -> bool:
        """Whether an operator writes over an input that nothing else reads."""
        nodes = self._graph.nodes
        item, made = nodes[source], nodes[position]
        return (
            item.has_value
            and made.has_value
            and item.result_of is None
            and made.result_of is None
            and (item.again or not made.again)
            and not item.keep
            and item.output_bytes == made.output_bytes
            and item.backward == made.backward
            and is_fused(self._nodes[position])
            and _has_its_places(self._nodes[position], self._nodes[source])
            and not any(is_random(self._nodes[part]) for part in (source, position))
            # It waits for nothing, and the inputs stay for no more than it saves.
            and all(other <= source for other in self._reads[position])
            and self._bytes(self._reads[source].keys() - self._reads[position].keys())
            <= made.output_bytes
        )

    def _node(self, position: int, workspaces_bytes: Mapping[str, int]) -> Node:
        node, nodes = self._graph.nodes[position], self._graph.nodes
        found = replace(
            node,
            inputs=tuple(nodes[source].name for source in self._reads[position]),
            duration_ns=node.duration_ns
            + sum(nodes[part].duration_ns for part in self._parts[position]),
        )
        measured = [
            workspaces_bytes[name]
            for name in (nodes[part].name for part in (*self._parts[position], position))
            if name in workspaces_bytes
        ]
        if not measured:
            return found
        results = self._graph.results_after.get(position, ())
        least = sum(nodes[result].output_bytes for result in results)
        return replace(found, workspace_bytes=max(*measured, least))

    def _can_be_inner(self, position: int) -> bool:
        node, graph = self._graph.nodes[position], self._graph
        return (
            node.has_value
            and node.result_of is None
            and node.again
            and not node.keep
            and is_fused(self._nodes[position])
            and not is_random(self._nodes[position])
            and len(graph.users[position]) > 0
            and all(self._is_generated(reader) for reader in graph.users[position])
        )

    def _is_generated(self, position: int) -> bool:
        """Whether a kernel of the compiler runs an operator, and can have its inputs inside."""
        if self._calls[position]:
            return False
        node = self._nodes[position]
        return is_fused(node) or torch.Tag.reduction in getattr(node.target, "tags", ())

    def _is_no_smaller(self, position: int) -> bool:
        """Whether the inputs have no more bytes; what is never freed counts with none."""
        read = self._bytes(self._reads[position])
        return read <= (1 + _MOST_EXCESS) * self._graph.nodes[position].output_bytes

    def _bytes(self, sources: Iterable[int]) -> int:
        nodes, held = self._graph.nodes, self._joint.once
        return sum(nodes[source].output_bytes for source in sources if source not in held)

    def _is_for_one(self, position: int) -> bool:
        """Whether its one reader is no larger, and waits for nothing else."""
        if len(self._graph.users[position]) != 1:
            return False
        (reader,) = self._graph.users[position]
        others = (source for source in self._graph.inputs[reader] if source != position)
        made = self._graph.nodes[reader]
        made_bytes = made.output_bytes if made.has_value else made.workspace_bytes
        return made_bytes <= self._graph.nodes[position].output_bytes and all(
            self._ancestors[position] >> other & 1 for other in others
        )


def _has_its_places(node: fx.Node, source: fx.Node) -> bool:
    """Whether an operator writes each number to the place where it has read one of a source."""
    if node.target is torch.ops.aten.clone.default:
        return False
    read = [item for item in node.all_input_nodes if source_of(item)[0] is source]
    return all(item is source or item.target in _SAME_PLACES for item in read)


def _ancestors(graph: Graph) -> list[int]:
    """Return for each node the nodes that it depends on, as the bits of a number."""
    found: list[int] = []
    for inputs in graph.inputs:
        bits = 0
        for source in inputs:
            bits |= found[source] | 1 << source
        found.append(bits)
    return found
