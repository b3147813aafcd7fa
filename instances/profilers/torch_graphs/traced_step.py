r"""Tracer of a training step in PyTorch into operations, without computing anything.

Ahead-of-time autograd (``aot_export_module``) runs the step on fake tensors, itself or as a front
(`step_fronts`) exports it, and records the forward
and the backward operations in one graph, as compilers do: mutations are replaced by new values, and
composite functions by the operators that run; `exported_step` says which.

An operation is *backward* if it depends on the gradient of the loss with respect to itself, and
*forward* otherwise.

A *view* shares the storage of what it views, and is no operation: what reads a view reads that
whole storage. Parameters, buffers and the input are resident, and no operations either. New
values of buffers (statistics of a batch normalisation) belong to the operation that makes them. An
operation that only such a value needs is one of the step as well, and its value is kept, unless it
follows from what is resident (a counter of steps).

A gradient whose strides are not those of its parameter is copied into them, as autograd does when
it accumulates. This is often so for gradients of fused models, which are then in memory twice for
a short time.

An operation with several results is one, whose results live as long as any of them, with two
exceptions. Where an ``output_mask`` lets its results be computed apart, gradients of parameters,
which are kept, are an operation of their own. Otherwise the gradient of a convolution's input would
be kept with that of its weights. (Some kernels crash on masks that autograd never gives them:
`TracedStep.with_whole` leaves these in one piece.) And where the backward pass reads some results
of a forward operation (the statistics of a normalisation, the mask of a dropout) and others not,
these and the others are two results, each with a life of its own (``.saved`` and ``.passing``): the
others are free when the forward pass has read them. The operation has no value then, and in the
graph they are its results (`Node.results`); in a trace they are two *selections* after it, which
take no time and call nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, fx, nn

from jettison.instances.core.errors import InputError
from jettison.instances.profilers.torch_graphs.exported_step import export_step
from jettison.instances.profilers.torch_graphs.operation_reader import (
    OperationReader,
    Source,
    TracedOperation,
    all_needed,
    is_random,
    mask_place,
    results_of,
    source_of,
)

_LAID_OUT = "_laid_out"
_FORMATS = (torch.contiguous_format, torch.channels_last, torch.channels_last_3d)


@dataclass(frozen=True, slots=True)
class TracedStep:
    """A traced training step: its operations, and the nodes of its inputs and results.

    Names of parameters and buffers are those in the step.

    Attributes
    ----------
    operations
        Operations that the loss, the gradients and the buffers need, forward ones first.
    module
        The trace; its attributes are constants.
    front
        Name of the front that the step was traced through.
    parameters, buffers
        Name by placeholder.
    inputs
        Placeholders of the inputs.
    changed_inputs
        Inputs that the step writes to.
    loss
        The loss.
    seed
        The operation that makes its gradient with respect to itself, a one.
    gradients
        The gradient of each trained parameter, by its name.
    new_buffers
        The new value of each buffer that the step writes to, by its name.
    joint_bytes
        For a node with two parts the workspace of a call that computes both, where that has been
        measured; None if the call crashes.
    """

    operations: tuple[TracedOperation, ...]
    module: fx.GraphModule
    front: str
    parameters: Mapping[str, str]
    buffers: Mapping[str, str]
    inputs: tuple[str, ...]
    changed_inputs: tuple[str, ...]
    loss: fx.Node
    seed: fx.Node
    gradients: Mapping[str, fx.Node]
    new_buffers: Mapping[str, fx.Node]
    joint_bytes: Mapping[fx.Node, int | None] = field(default_factory=dict)

    def with_whole(self, nodes: Collection[fx.Node]) -> TracedStep:
        """Return the trace with one operation for each of these nodes instead of two parts."""
        reader = _StepReader(
            self.module.graph,
            self.loss,
            [*self.gradients.values()],
            [*self.new_buffers.values()],
            whole=frozenset(nodes),
        )
        return replace(self, operations=reader.operations())


def trace_step(step: nn.Module, inputs: tuple[Tensor, ...]) -> TracedStep:
    """Trace a training step on fake tensors, without computing anything.

    Parameters
    ----------
    step
        Maps the inputs to the loss, a scalar.
    inputs
        Real or fake.

    Raises
    ------
    InputError
        If the step cannot be traced: control flow depends on values, no parameter is trained, or
        the loss is no scalar.
    """
    exported = export_step(step, inputs)
    graph = exported.module.graph
    gradients = _laid_out(graph, exported.gradients, step)
    reader = _StepReader(
        graph, exported.loss, [*gradients.values()], [*exported.new_buffers.values()]
    )
    return TracedStep(
        operations=reader.operations(),
        module=exported.module,
        front=exported.front,
        parameters=exported.parameters,
        buffers=exported.buffers,
        inputs=exported.inputs,
        changed_inputs=exported.changed_inputs,
        loss=exported.loss,
        seed=reader.seed,
        gradients=gradients,
        new_buffers=exported.new_buffers,
    )


def _laid_out(
    graph: fx.Graph, gradients: Mapping[str, fx.Node], step: nn.Module
) -> dict[str, fx.Node]:
    """Add the copies that autograd makes of gradients whose strides are not their parameters'."""
    found = dict(gradients)
    for name, node in gradients.items():
        parameter, gradient = step.get_parameter(name), node.meta["val"]
        dense = [layout for layout in _FORMATS if _is_dense(parameter, layout)]
        if dense and gradient.stride() != parameter.stride():
            with graph.inserting_after(node):
                copy = graph.create_node(
                    "call_function",
                    torch.ops.aten.clone.default,
                    (node,),
                    {"memory_format": dense[0]},
                    name=f"{node.name}{_LAID_OUT}",
                )
            copy.meta["val"] = gradient.clone(memory_format=dense[0])
            found[name] = copy
    return found


def _is_dense(tensor: Tensor, layout: torch.memory_format) -> bool:
    dimensions = {torch.channels_last: 4, torch.channels_last_3d: 5}.get(layout, tensor.dim())
    return tensor.dim() == dimensions and bool(tensor.is_contiguous(memory_format=layout))


class _StepReader(OperationReader):
    """Reader of an exported step, whose loss begins the backward pass.

    Nodes of `whole` are one operation each.
    """

    def __init__(
        self,
        graph: fx.Graph,
        loss: fx.Node,
        gradients: list[fx.Node],
        new_buffers: list[fx.Node],
        whole: frozenset[fx.Node] = frozenset(),
    ) -> None:
        nodes = list(graph.nodes)
        self._whole = whole
        self._loss = source_of(loss)
        kept = {self._loss, *map(source_of, gradients)}
        # A random draw that is not used advances the generator all the same.
        drawn = [node for node in nodes if is_random(node)]
        needed = all_needed(nodes, [loss, *gradients, *drawn])
        _add_needed_by_buffers(nodes, new_buffers, needed, kept)
        backward: set[fx.Node] = set()
        for node in nodes:
            if self._is_seed(node) or not backward.isdisjoint(node.all_input_nodes):
                backward.add(node)
        super().__init__(nodes, needed=needed, backward=backward, kept=kept)

    @property
    def seed(self) -> fx.Node:
        """The operation that makes the gradient of the loss with respect to itself."""
        found = next((node for node in self._nodes if self._is_seed(node)), None)
        if found is None:
            raise InputError(
                "no gradient depends on that of the loss",
                field="model",
                expected="give autograd functions a backward method that uses the gradient",
            )
        return found

    def operations(self) -> tuple[TracedOperation, ...]:
        """Return the operations, forward ones first."""
        return tuple(sorted(super().operations(), key=lambda operation: operation.backward))

    def _parts(self, node: fx.Node) -> list[tuple[str, tuple[int, ...]]]:
        """Return the parts of a node, each a name suffix with the results that it computes."""
        places = tuple(range(len(results_of(node))))
        if mask_place(node.target, node.args) is None or node in self._whole:
            return [("", places)]
        made = tuple(place for place in places if results_of(node)[place] is not None)
        weights = tuple(place for place in made if (node, place) in self._kept)
        others = tuple(place for place in made if place not in weights)
        return [(suffix, part) for suffix, part in (("", others), (".weights", weights)) if part]

    def _selected(self, operation: TracedOperation) -> tuple[int, ...]:
        """Return which results of an operation the backward pass reads; empty if it reads all."""
        node = operation.node
        if operation.backward or operation.keep or mask_place(node.target, node.args) is not None:
            return ()
        late = tuple(place for place in operation.stored if True in self._read[node, place])
        return late if len(late) < len(operation.stored) else ()

    def _is_seed(self, node: fx.Node) -> bool:
        return node.target is torch.ops.aten.ones_like.default and (
            source_of(node.args[0]) == self._loss
        )


def _add_needed_by_buffers(
    nodes: Sequence[fx.Node],
    new_buffers: Sequence[fx.Node],
    needed: set[fx.Node],
    kept: set[Source],
) -> None:
    """Add operations that only a buffer's new value needs, if they read values of the step."""
    of_step = {node for node in needed if node.op == "call_function"}
    more = all_needed(nodes, new_buffers) - needed
    for node in nodes:
        if node in more and not of_step.isdisjoint(node.all_input_nodes):
            of_step.add(node)
    for node in new_buffers:
        if node in of_step & more:
            needed |= all_needed(nodes, [node])
            source = source_of(node)
            # Another result of an operation that runs anyway is not kept with the rest of it.
            if source[0] in more:
                kept.add(source)
