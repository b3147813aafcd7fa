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
of a forward operation (the statistics of a normalisation, the mask of a dropout) and others not, a
*selection* follows it, which takes no time and holds those: the others are free when the forward
pass has read them. The graph marks it as a result of the operation (`Node.result_of`). While both
are there, what the selection holds is counted twice, though it is there once.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, fx, nn

from jettison.instances.core.errors import InputError
from jettison.instances.profilers.torch_graphs.exported_step import export_step

_MASK = "output_mask"
_LAID_OUT = "_laid_out"
_FORMATS = (torch.contiguous_format, torch.channels_last, torch.channels_last_3d)
# Its schema does not say that it is a view.
_MORE_VIEWS = frozenset({torch.ops.aten._unsafe_view.default})


@dataclass(frozen=True, slots=True)
class TracedOperation:
    """One operation of a traced training step.

    Attributes
    ----------
    name
        Unique; ``.weights`` ends the name of the part that makes gradients of parameters.
    target
        The operator of PyTorch; ``operator.getitem`` for a selection.
    arguments, options
        What it is called with; tensors are fake ones.
    results
        What it makes, fake as well; None for a result that belongs to another part, or is absent.
    inputs
        Names of the operations whose results it reads, in the order in which it reads them.
    output_bytes
        Size of the results that something reads, or that are kept.
    unread_bytes
        Size of the other results, which are gone when it ends.
    kernel_bytes
        The most that its kernel allocates beside all results, where that has been measured.
    backward, keep
        As in `Node`.
    node
        Node of the graph of the trace.
    part
        The places of the results that it makes.
    stored
        Results that stay: something reads them, or they are kept.
    """

    name: str
    target: Any
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]
    results: tuple[Tensor | None, ...]
    inputs: tuple[str, ...]
    output_bytes: int
    unread_bytes: int
    backward: bool
    keep: bool
    node: fx.Node
    part: tuple[int, ...]
    stored: tuple[int, ...]
    kernel_bytes: int = 0

    @property
    def workspace_bytes(self) -> int:
        """Memory that it takes beside the results that stay, and gives back when it ends."""
        return self.unread_bytes + self.kernel_bytes

    @property
    def is_selection(self) -> bool:
        """Whether it computes nothing, and only holds on to results of the operation it reads."""
        return self.target is operator.getitem

    @property
    def operator_name(self) -> str:
        """The name of the operator; a selection has that of what takes one of several results."""
        return operator_name(self.target)


Source = tuple[fx.Node, int]


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


def source_of(node: fx.Node) -> Source:
    """Return the result that a node is or views: the node that computes it, and its number."""
    place = 0
    while node.op == "call_function":
        if node.target is operator.getitem:
            node, place = node.args
            if not is_view(node):
                return node, place
        if not is_view(node):
            break
        node, place = node.all_input_nodes[0], 0
    return node, place


def is_view(node: fx.Node) -> bool:
    """Whether a node is a view: it shares the storage of its input and is no operation."""
    if node.op != "call_function" or node.target is operator.getitem:
        return False
    if node.target in _MORE_VIEWS:
        return True
    schema = getattr(node.target, "_schema", None)
    return schema is not None and any(result.alias_info is not None for result in schema.returns)


def is_random(node: fx.Node) -> bool:
    """Whether a node draws random numbers."""
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def operator_name(target: Any) -> str:
    """Return the name of what a node of a trace calls: ``aten.mm.default``, ``operator.getitem``.

    Functions that are no operators of PyTorch have their module and their name.
    """
    if isinstance(target, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
        return str(target)
    module = str(target.__module__).lstrip("_")
    return f"{module}.{target.__name__}"


def mask_place(target: Any, arguments: Sequence[Any]) -> int | None:
    """Return the position of the argument that selects the results to compute, if there is one."""
    schema = getattr(target, "_schema", None)
    names = [argument.name for argument in schema.arguments] if schema is not None else []
    place = names.index(_MASK) if _MASK in names else None
    return place if place is not None and place < len(arguments) else None


class OperationReader:
    """Reader of a graph of operators, which turns its nodes into operations.

    A *source* is a node whose result is no view, with the number of the result where there are
    several.

    Parameters
    ----------
    nodes
        The nodes of the graph, in its order.
    needed
        Those that something needs; the others are left out.
    backward
        Those of the backward pass.
    kept
        Sources that stay in memory to the end.
    """

    def __init__(
        self,
        nodes: Sequence[fx.Node],
        *,
        needed: AbstractSet[fx.Node],
        backward: AbstractSet[fx.Node],
        kept: AbstractSet[Source],
    ) -> None:
        self._nodes = nodes
        self._needed = needed
        self._backward = backward
        self._kept = kept
        # For each source, whether it is read in the forward pass, in the backward pass, or in both.
        self._read: dict[Source, set[bool]] = {}
        for node in nodes:
            if node in needed and not _is_inner(node):
                for argument in node.all_input_nodes:
                    self._read.setdefault(source_of(argument), set()).add(node in backward)

    def operations(self) -> tuple[TracedOperation, ...]:
        """Return the operations in the order of the graph."""
        names: dict[Source, str] = {}
        found: list[TracedOperation] = []
        for node in self._nodes:
            if node.op != "call_function" or node not in self._needed or _is_inner(node):
                continue
            sources = dict.fromkeys(source_of(argument) for argument in node.all_input_nodes)
            inputs = tuple(dict.fromkeys(names[source] for source in sources if source in names))
            for suffix, part in self._parts(node):
                name = f"{node.name}{suffix}"
                names.update(dict.fromkeys(((node, place) for place in part), name))
                found.append(self._operation(node, name, part, inputs))
            selected = self._selected(found[-1])
            if selected:
                found.append(self._selection(found[-1], selected))
                names.update(dict.fromkeys(((node, place) for place in selected), found[-1].name))
        return tuple(found)

    def _operation(
        self,
        node: fx.Node,
        name: str,
        part: tuple[int, ...],
        inputs: tuple[str, ...],
    ) -> TracedOperation:
        arguments, options = fx.node.map_arg((node.args, node.kwargs), _value)
        results = _results(node)
        masked = mask_place(node.target, node.args)
        if masked is not None:
            mask = [asked and place in part for place, asked in enumerate(arguments[masked])]
            arguments = (*arguments[:masked], mask, *arguments[masked + 1 :])
        made = {place: results[place] for place in part if results[place] is not None}
        stored = tuple(
            place for place in made if (node, place) in self._read or (node, place) in self._kept
        )
        return TracedOperation(
            name=name,
            target=node.target,
            arguments=tuple(arguments),
            options=dict(options),
            results=tuple(made.get(place) for place in range(len(results))),
            inputs=inputs,
            output_bytes=sum(_bytes(made[place]) for place in stored),
            unread_bytes=sum(_bytes(made[place]) for place in made.keys() - set(stored)),
            backward=node in self._backward,
            keep=any((node, place) in self._kept for place in part),
            node=node,
            part=part,
            stored=stored,
        )

    def _selection(self, operation: TracedOperation, places: tuple[int, ...]) -> TracedOperation:
        held = {place: operation.results[place] for place in places}
        return replace(
            operation,
            name=f"{operation.name}.saved",
            target=operator.getitem,
            arguments=(),
            options={},
            results=tuple(held.get(place) for place in range(len(operation.results))),
            inputs=(operation.name,),
            output_bytes=sum(_bytes(tensor) for tensor in held.values() if tensor is not None),
            unread_bytes=0,
            part=places,
            stored=places,
        )

    def _parts(self, node: fx.Node) -> list[tuple[str, tuple[int, ...]]]:
        """Return the parts of a node, each a name suffix with the results that it computes."""
        return [("", tuple(range(len(_results(node)))))]

    def _selected(self, operation: TracedOperation) -> tuple[int, ...]:
        """Return the results of an operation that a selection after it holds; empty for none."""
        return ()


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
        places = tuple(range(len(_results(node))))
        if mask_place(node.target, node.args) is None or node in self._whole:
            return [("", places)]
        made = tuple(place for place in places if _results(node)[place] is not None)
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


def all_needed(nodes: Sequence[fx.Node], wanted: Iterable[fx.Node]) -> set[fx.Node]:
    """Return the nodes that these need, themselves included; `nodes` is in topological order."""
    found = set(wanted)
    for node in reversed(nodes):
        if node in found:
            found.update(node.all_input_nodes)
    return found


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


def _is_inner(node: fx.Node) -> bool:
    """Whether a node is a view or picks one of several results, and so is no operation."""
    return is_view(node) or node.target is operator.getitem


def _results(node: fx.Node) -> tuple[Any, ...]:
    value = node.meta["val"]
    found = tuple(value) if isinstance(value, tuple | list) else (value,)
    return tuple(item if isinstance(item, torch.Tensor) else None for item in found)


def _value(node: fx.Node) -> Any:
    return node.meta["val"]


def _bytes(tensor: Tensor) -> int:
    if tensor.layout != torch.strided:
        raise InputError(
            "a gradient or another value of the step is not a dense tensor",
            field="model",
            expected="give dense gradients (sparse=False)",
        )
    return int(tensor.untyped_storage().nbytes())
