"""Reader of graphs of operators: nodes as operations with their results and what they read.

What is a view, a selection and a part of an operation is said in
`jettison.instances.profilers.torch_graphs.traced_step`, of which these are the operations.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, fx

from jettison.instances.core.errors import InputError

_MASK = "output_mask"
_DROPOUT = "dropout_p"
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
    is_parted
        Whether selections after it hold all of these, so that it has no value of its own.
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
    is_parted: bool = False

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
    """Whether a node draws random numbers; attention without dropout draws none."""
    if torch.Tag.nondeterministic_seeded not in getattr(node.target, "tags", ()):
        return False
    names = [argument.name for argument in node.target._schema.arguments]
    if _DROPOUT not in names:
        return True
    place = names.index(_DROPOUT)
    given = node.args[place] if place < len(node.args) else node.kwargs.get(_DROPOUT, 0.0)
    return bool(given != 0.0)


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
                found[-1] = parted = replace(found[-1], is_parted=True)
                others = tuple(place for place in parted.stored if place not in selected)
                for suffix, places in ((".passing", others), (".saved", selected)):
                    found.append(self._selection(parted, suffix, places))
                    names |= dict.fromkeys(((node, place) for place in places), found[-1].name)
        return tuple(found)

    def _operation(
        self,
        node: fx.Node,
        name: str,
        part: tuple[int, ...],
        inputs: tuple[str, ...],
    ) -> TracedOperation:
        arguments, options = fx.node.map_arg((node.args, node.kwargs), _value)
        results = results_of(node)
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

    def _selection(
        self, operation: TracedOperation, suffix: str, places: tuple[int, ...]
    ) -> TracedOperation:
        held = {place: operation.results[place] for place in places}
        return replace(
            operation,
            name=f"{operation.name}{suffix}",
            target=operator.getitem,
            arguments=(),
            options={},
            results=tuple(held.get(place) for place in range(len(operation.results))),
            inputs=(operation.name,),
            output_bytes=sum(_bytes(tensor) for tensor in held.values() if tensor is not None),
            unread_bytes=0,
            part=places,
            stored=places,
            is_parted=False,
        )

    def _parts(self, node: fx.Node) -> list[tuple[str, tuple[int, ...]]]:
        """Return the parts of a node, each a name suffix with the results that it computes."""
        return [("", tuple(range(len(results_of(node)))))]

    def _selected(self, operation: TracedOperation) -> tuple[int, ...]:
        """Return the results of an operation that are held apart from the others, if any."""
        return ()


def selected_places(operations: Iterable[TracedOperation]) -> dict[fx.Node, tuple[int, ...]]:
    """Return, for each node with selections, the places of the results that they hold."""
    found: dict[fx.Node, tuple[int, ...]] = {}
    for item in operations:
        if item.is_selection:
            found[item.node] = (*found.get(item.node, ()), *item.part)
    return found


def all_needed(nodes: Sequence[fx.Node], wanted: Iterable[fx.Node]) -> set[fx.Node]:
    """Return the nodes that these need, themselves included; `nodes` is in topological order."""
    found = set(wanted)
    for node in reversed(nodes):
        if node in found:
            found.update(node.all_input_nodes)
    return found


def _is_inner(node: fx.Node) -> bool:
    """Whether a node is a view or picks one of several results, and so is no operation."""
    return is_view(node) or node.target is operator.getitem


def results_of(node: fx.Node) -> tuple[Any, ...]:
    """Return the results of a node, fake tensors; None for what is none."""
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
