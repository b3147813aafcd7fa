"""Joint graph of a model, as PyTorch's partitioner has it, as an instance."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, fx
from torch._subclasses.fake_tensor import unset_fake_temporarily

from jettison.instances.core.errors import InputError
from jettison.instances.core.provenance import Provenance
from jettison.instances.profilers.torch_graphs.operation_reader import (
    Source,
    TracedOperation,
    is_random,
    is_view,
    source_of,
)
from jettison.instances.profilers.torch_graphs.operator_cost import OperatorCost
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.node import Node, OperatorResult


@dataclass(frozen=True, eq=False, slots=True)
class JointInstance:
    """Joint graph as an instance, with the way back to the nodes of the joint graph.

    Attributes
    ----------
    graph
        The instance: operators that an output of the forward pass needs are forward, all others
        backward, and those that need no tangent come before their first reader. Tangents are
        backward nodes of no duration. A result that one of several getitems reads has its name.
    calls
        For each position the operator, None for tangents; results have that of their operator.
    positions
        The position of each operator.
    without_tangent
        Positions of the operators that need no tangent.
    written
        Inputs whose contents are others after the step: buffers, as a rule.
    """

    graph: Graph
    calls: tuple[fx.Node | None, ...]
    positions: Mapping[fx.Node, int]
    without_tangent: frozenset[int]
    written: frozenset[fx.Node]

    @property
    def repeatable(self) -> frozenset[int]:
        """Forward operators that may run again.

        Not what draws random numbers, communicates or writes, nor what reads an input whose
        contents are others by then.
        """
        return frozenset(
            position
            for call, position in self.positions.items()
            if not self.graph.nodes[position].backward
            and _may_repeat(call)
            and self.written.isdisjoint(source_of(item)[0] for item in call.all_input_nodes)
        )


def read_joint(
    graph: fx.Graph,
    forward: AbstractSet[fx.Node],
    cost: OperatorCost,
    *,
    outputs_kept: bool = True,
    name: str = "joint-graph",
) -> JointInstance:
    """Read a joint graph as an instance.

    Parameters
    ----------
    graph
        The joint graph; its nodes have fake values.
    forward
        Nodes that an output of the forward pass needs.
    cost
        Source of the durations.
    outputs_kept
        Whether the caller holds outputs of the forward pass to the end.
    name
        Of the instance.

    Raises
    ------
    InputError
        If a size is not known before the step.
    """
    reader = _Reader(graph, forward, cost, outputs_kept=outputs_kept)
    with outside_of_the_trace():
        reader.read()
    instance = Graph(name, tuple(reader.nodes), provenance=Provenance(source=cost.source))
    return JointInstance(
        graph=instance,
        calls=tuple(reader.calls),
        positions=dict(reader.positions),
        without_tangent=frozenset(
            position for call, position in reader.positions.items() if call not in reader.behind
        ),
        written=_written_inputs(graph),
    )


def needed_nodes(wanted: Iterable[Any]) -> set[fx.Node]:
    """Return nodes and what they need."""
    found: set[fx.Node] = set()
    stack = [item for item in wanted if isinstance(item, fx.Node)]
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            stack += node.all_input_nodes
    return found


def output_nodes(graph: fx.Graph) -> list[Any]:
    """Return the outputs of a graph."""
    return list(next(node for node in graph.nodes if node.op == "output").args[0])


def is_call(node: fx.Node) -> bool:
    """Tell whether a node runs an operator: it is no view and picks no result."""
    return node.op == "call_function" and node.target is not operator.getitem and not is_view(node)


@contextmanager
def outside_of_the_trace() -> Iterator[None]:
    """Run the block on real tensors, without gradients."""
    # A compiler calls its partitioner while its fake tensors are in force.
    with unset_fake_temporarily(), torch.no_grad():
        yield


def _written_inputs(graph: fx.Graph) -> frozenset[fx.Node]:
    """Return the inputs that the graph writes to, or that its caller does with an output."""
    output = next(node for node in graph.nodes if node.op == "output")
    inputs = [node for node in graph.nodes if node.op == "placeholder"]
    found = {
        node.args[0]
        for node in graph.nodes
        if node.target is torch.ops.aten.copy_.default and node.args[0] in inputs
    }
    described = {node.meta["desc"]: node for node in inputs if node.meta.get("desc") is not None}
    for description in output.meta.get("desc", ()):
        changed = getattr(description, "mutated_input", None)
        if changed in described:
            found.add(described[changed])
    return frozenset(found)


def _may_repeat(call: fx.Node) -> bool:
    target = call.target
    if is_random(call) or not isinstance(target, torch._ops.OpOverload):
        return False
    return not target._schema.is_mutable and "c10d" not in target.namespace


@dataclass(slots=True)
class _Reader:
    graph: fx.Graph
    forward: AbstractSet[fx.Node]
    cost: OperatorCost
    outputs_kept: bool = True
    nodes: list[Node] = field(default_factory=list)
    calls: list[fx.Node | None] = field(default_factory=list)
    positions: dict[fx.Node, int] = field(default_factory=dict)
    name_of: dict[Source, str] = field(default_factory=dict)
    behind: set[fx.Node] = field(default_factory=set)

    def read(self) -> None:
        outputs = output_nodes(self.graph)
        needed = needed_nodes(outputs)
        kept = {
            source_of(node)
            for node in outputs
            if isinstance(node, fx.Node) and (self.outputs_kept or node not in self.forward)
        }
        calls = [node for node in self.graph.nodes if node in needed and is_call(node)]
        tangents = [
            node for node in self.graph.nodes if node.op == "placeholder" and _is_tangent(node)
        ]
        read: dict[Source, None] = {}
        for call in calls:
            read.update(dict.fromkeys(source_of(item) for item in call.all_input_nodes))
        stored = read.keys() | kept
        for call in calls:
            if call in self.forward:
                self._add(call, stored, kept)
        for tangent in tangents:
            self._append(tangent.name, None, 0, _bytes(tangent.meta["val"]), (), late=True)
            self.name_of[tangent, 0] = tangent.name
        self.behind.update(tangents)
        for node in self.graph.nodes:
            if not self.behind.isdisjoint(node.all_input_nodes):
                self.behind.add(node)
        late = [call for call in calls if call not in self.forward]
        for call in (*(call for call in late if call in self.behind), *late):
            for item in _in_order(call, self.positions, set(late)):
                self._add(item, stored, kept)

    def _add(self, call: fx.Node, stored: AbstractSet[Source], kept: AbstractSet[Source]) -> None:
        if call in self.positions:
            return
        results = _results(call)
        sizes = [_bytes(item) for item in results]
        places = [place for place in range(len(results)) if (call, place) in stored]
        sources = dict.fromkeys(source_of(item) for item in call.all_input_nodes)
        inputs = tuple(
            dict.fromkeys(self.name_of[source] for source in sources if source in self.name_of)
        )
        duration_ns = operation_ns(call, self.cost)
        late = call not in self.forward
        unread = sum(sizes) - sum(sizes[place] for place in places)
        self.positions[call] = len(self.nodes)
        if len(places) < 2:
            self.nodes.append(
                Node(
                    name=call.name,
                    duration_ns=duration_ns,
                    output_bytes=sum(sizes[place] for place in places),
                    inputs=inputs,
                    workspace_bytes=unread,
                    backward=late,
                    keep=any((call, place) in kept for place in places),
                )
            )
            self.calls.append(call)
            self.name_of.update({(call, place): call.name for place in places})
            return
        picked = {user.args[1]: user.name for user in call.users if user.target is operator.getitem}
        names = {place: picked.get(place, f"{call.name}.{place}") for place in places}
        made = Node(
            name=call.name,
            duration_ns=duration_ns,
            inputs=inputs,
            workspace_bytes=unread,
            backward=late,
            results=tuple(
                OperatorResult(
                    name=names[place], output_bytes=sizes[place], keep=(call, place) in kept
                )
                for place in places
            ),
        )
        # Results have positions of their own behind that of the operator.
        run = made.run()
        self.nodes.extend(run)
        self.calls.extend(call for _ in run)
        self.name_of.update({(call, place): name for place, name in names.items()})

    def _append(
        self,
        name: str,
        call: fx.Node | None,
        duration_ns: int,
        size: int,
        inputs: tuple[str, ...],
        *,
        late: bool,
    ) -> None:
        self.nodes.append(
            Node(
                name=name,
                duration_ns=duration_ns,
                output_bytes=size,
                inputs=inputs,
                backward=late,
            )
        )
        self.calls.append(call)


def _in_order(
    call: fx.Node, placed: Mapping[fx.Node, int], late: AbstractSet[fx.Node]
) -> list[fx.Node]:
    """Return a backward operator behind those without a tangent that it needs first."""
    found: dict[fx.Node, None] = {}
    stack = [call]
    while stack:
        before = [
            source
            for item in stack[-1].all_input_nodes
            for source in (source_of(item)[0],)
            if source in late and source not in placed and source not in found
        ]
        if before:
            stack.append(before[0])
        else:
            found[stack.pop()] = None
    return list(found)


def _is_tangent(node: fx.Node) -> bool:
    return "tangents" in str(node.target)


def _results(call: fx.Node) -> tuple[Any, ...]:
    value = call.meta["val"]
    found = tuple(value) if isinstance(value, tuple | list) else (value,)
    for item in found:
        if isinstance(item, Tensor) and any(isinstance(size, torch.SymInt) for size in item.shape):
            raise InputError(
                f"{call.name} has a size that is not known before the step",
                field="model",
                expected="compile with dynamic=False: a policy is made for one shape",
            )
    return tuple(item if isinstance(item, Tensor) else None for item in found)


def _bytes(value: Any) -> int:
    return int(value.untyped_storage().nbytes()) if isinstance(value, Tensor) else 0


def operation_ns(call: fx.Node, cost: OperatorCost) -> int:
    """Return the duration of an operator of a joint graph."""
    return cost.spread_ns(_operation(call, _results(call)))[1]


def _operation(call: fx.Node, results: tuple[Any, ...]) -> TracedOperation:
    arguments, options = fx.node.map_arg((call.args, call.kwargs), lambda node: node.meta["val"])
    return TracedOperation(
        name=call.name,
        target=call.target,
        arguments=tuple(arguments),
        options=dict(options),
        results=results,
        inputs=(),
        output_bytes=0,
        unread_bytes=0,
        backward=False,
        keep=False,
        node=call,
        part=tuple(range(len(results))),
        stored=(),
    )
