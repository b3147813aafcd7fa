"""Forward and backward modules of a joint graph that follow a schedule literally."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import fx
from torch._functorch._aot_autograd.descriptors import (
    SavedForBackwardsAOTOutput,
    SavedForBackwardsNoVcCheckAOTOutput,
)
from torch.fx._lazy_graph_module import _make_graph_module

from jettison.instances.core.errors import InputError
from jettison.instances.profilers.torch_graphs.joint.joint_graph import JointGraph
from jettison.instances.profilers.torch_graphs.operation_reader import (
    Source,
    source_of,
)
from jettison.schedules.remat_graph.schedule import (
    GraphOperation,
    GraphOperationKind,
    GraphSchedule,
)
from jettison.torch.compilation.graph_writer import STATE, GraphWriter, draws

_NO_CHECK = "saved_tensor_with_no_vc_check"


@dataclass(frozen=True, slots=True)
class StepModules:
    """Forward and backward modules of a joint graph.

    The forward module takes the primals, and returns its outputs and then what the backward module
    takes: that, then the tangents.

    Attributes
    ----------
    forward, backward
        The modules.
    saved
        How many values go from one to the other.
    """

    forward: fx.GraphModule
    backward: fx.GraphModule
    saved: int


def write_modules(joint: JointGraph, schedule: GraphSchedule) -> StepModules:
    """Write the modules that run a schedule: each computation is one call, in its order.

    Everything up to the last computation that the outputs wait for is the forward pass. Values in
    memory there that the backward pass reads are saved; what draws random numbers again does so
    with the state of the generator from before its first run.

    Parameters
    ----------
    joint
        The joint graph.
    schedule
        A schedule of its instance that the replay accepts.

    Raises
    ------
    InputError
        If operators that draw random numbers run first in another order than in the model, or one
        that needs the gradient of an output runs before the outputs are complete.
    """
    return _Pair(joint, schedule).write()


class _Pair:
    def __init__(self, joint: JointGraph, schedule: GraphSchedule) -> None:
        self._joint = joint
        self._operations = schedule.operations
        first = _first_places(schedule.operations)
        self._split = 1 + max(
            (place for node, place in first.items() if not joint.graph.nodes[node].backward),
            default=-1,
        )
        self._repeated = _repeated(schedule.operations)
        self._forward = GraphWriter(self._no_such_value)
        # Node of the forward pass for each value that the backward pass gets from there.
        self._saved: dict[Source, fx.Node] = {}
        _check_order(joint, first, self._split)

    def write(self) -> StepModules:
        """Write both passes."""
        ends, forward = self._joint.ends, self._forward
        for node in ends.primals:
            forward.values[node, 0] = _placeholder(forward.graph, node)
        for node in self._joint.resident:
            forward.values[node, 0] = forward.graph.node_copy(node, forward.read)
        drawn: set[fx.Node] = set()
        self._run(forward, self._operations[: self._split], drawn)
        # Once to see what it reads of the forward pass, and again with all of that in place.
        self._write_backward({}, set(drawn))
        saved = list(dict.fromkeys(self._saved.values()))
        saved.sort(key=lambda node: bool(node.meta.get(_NO_CHECK, False)))
        backward = self._write_backward(dict.fromkeys(saved), drawn)
        outputs = _outputs(forward, ends.forward)
        for node in ends.forward_writes:
            _outputs(forward, [node.args[1]])
            forward.graph.node_copy(node, forward.read)
        checks: list[Any] = [
            SavedForBackwardsNoVcCheckAOTOutput(place)
            if node.meta.get(_NO_CHECK, False)
            else SavedForBackwardsAOTOutput(place)
            for place, node in enumerate(saved)
        ]
        forward.finish([*outputs, *saved], [*ends.forward_descriptions, *checks])
        return StepModules(
            forward=_make_graph_module(self._joint.module, forward.graph),
            backward=_make_graph_module(self._joint.module, backward.graph),
            saved=len(saved),
        )

    def _write_backward(
        self, places: dict[fx.Node, fx.Node | None], drawn: set[fx.Node]
    ) -> GraphWriter:
        """Write the backward pass, whose first inputs are these values of the forward pass."""
        ends = self._joint.ends

        def saved(source: Source) -> fx.Node:
            value = self._saved.setdefault(source, self._of_forward(source))
            place = places.get(value)
            if place is None:
                place = places[value] = _placeholder(backward.graph, value)
            return place

        backward = GraphWriter(saved)
        for value in places:
            places[value] = _placeholder(backward.graph, value)
        for node in ends.tangents:
            backward.values[node, 0] = _placeholder(backward.graph, node)
        self._run(backward, self._operations[self._split :], drawn)
        gradients = _outputs(backward, ends.backward)
        for node in ends.backward_writes:
            backward.graph.node_copy(node, backward.read)
        backward.finish(gradients, list(ends.backward_descriptions))
        for node in backward.graph.nodes:
            if node.op in {"call_function", "get_attr"}:
                node.meta["autograd_backward"] = True
        return backward

    def _run(
        self, writer: GraphWriter, operations: Sequence[GraphOperation], drawn: set[fx.Node]
    ) -> None:
        joint = self._joint
        for operation in operations:
            position, place = joint.owners[operation.node]
            item = joint.operations[position]
            if operation.kind is GraphOperationKind.FREE:
                # An operator without a value has none to free.
                if place is not None or len(item.stored) == 1:
                    writer.free((item.node, item.stored[0] if place is None else place))
            elif place is not None:
                writer.take(item, place)
            else:
                is_repeated = draws(item) and operation.node in self._repeated
                writer.compute(
                    item,
                    saves_state=is_repeated and item.node not in drawn,
                    uses_state=is_repeated and item.node in drawn,
                )
                drawn.add(item.node)

    def _no_such_value(self, source: Source) -> fx.Node:
        raise KeyError(f"the forward pass reads {source[0].name}, which is not in memory")

    def _of_forward(self, source: Source) -> fx.Node:
        """Return the node of the forward pass whose value the backward pass gets."""
        node, place = source
        forward = self._forward
        if source in self._saved:
            return self._saved[source]
        if place == STATE:
            return forward.states[node]
        if node not in self._joint.ends.written:
            return forward.values[source]
        # The forward pass ends by writing to it.
        clone = forward.graph.call_function(torch.ops.aten.clone.default, (forward.values[source],))
        clone.meta["val"] = node.meta["val"].clone()
        return clone


def _placeholder(graph: fx.Graph, node: fx.Node) -> fx.Node:
    found = graph.placeholder(node.name)
    found.meta = node.meta
    return found


def _outputs(writer: GraphWriter, outputs: Sequence[Any]) -> list[Any]:
    """Return the nodes of outputs; of those that were freed, the first value is still there."""
    found = []
    for item in outputs:
        if isinstance(item, fx.Node):
            source = source_of(item)
            if source not in writer.values and source in writer.first:
                writer.values[source] = writer.first[source]
            found.append(writer.read(item))
        else:
            found.append(item)
    return found


def _first_places(operations: Sequence[GraphOperation]) -> dict[int, int]:
    found: dict[int, int] = {}
    for place, operation in enumerate(operations):
        if operation.kind is not GraphOperationKind.FREE:
            found.setdefault(operation.node, place)
    return found


def _repeated(operations: Sequence[GraphOperation]) -> set[int]:
    seen: set[int] = set()
    found: set[int] = set()
    for operation in operations:
        if operation.kind is not GraphOperationKind.FREE:
            (found if operation.node in seen else seen).add(operation.node)
    return found


def _check_order(joint: JointGraph, first: dict[int, int], split: int) -> None:
    by_place = sorted(first, key=lambda node: first[node])
    items = [joint.operations[joint.owners[node][0]] for node in by_place]
    nodes = list(joint.module.graph.nodes)
    order = {node: place for place, node in enumerate(nodes)}
    drawn = list(dict.fromkeys(item.node for item in items if draws(item)))
    for before, after in pairwise(drawn):
        if order[before] > order[after]:
            raise InputError(
                f"{before.name} draws random numbers before {after.name}",
                field="schedule",
                expected="keep the model's order of such operators, or it draws other numbers",
            )
    late = set(joint.ends.tangents)
    for node in nodes:
        if not late.isdisjoint(node.all_input_nodes):
            late.add(node)
    for node, item in zip(by_place, items, strict=True):
        if item.node in late and first[node] < split:
            raise InputError(
                f"{item.name} needs the gradient of an output before the outputs are complete",
                field="schedule",
                expected="compute all forward nodes before those that need a tangent",
            )
