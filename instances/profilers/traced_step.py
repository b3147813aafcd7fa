r"""Trace a training step in PyTorch into operations, without computing anything.

Ahead-of-time autograd (``aot_export_module``) runs the step on fake tensors and records the forward
and the backward operations in one graph, as compilers do: mutations are replaced by new values, and
composite functions by the operators that run.

An operation is *backward* if it depends on the gradient of the loss with respect to itself, and
*forward* otherwise.

A *view* shares the storage of what it views, and is no operation: what reads a view reads that
storage, all of it. Parameters, buffers and the input are resident, and no operations either. New
values of buffers (statistics of a batch normalisation) belong to the operation that makes them.

An operation with several results is one, whose results live as long as any of them, with an
exception: where an ``output_mask`` lets its results be computed apart, gradients of parameters,
which are kept, are an operation of their own. Otherwise the gradient of a convolution's input would
be kept with that of its weights.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch._functorch.aot_autograd import aot_export_module

from jettison.instances.errors import InputError
from jettison.instances.zoo.workload import LossTuple

_MASK = "output_mask"
# Its schema does not say that it is a view.
_MORE_VIEWS = frozenset({torch.ops.aten._unsafe_view.default})


@dataclass(frozen=True, slots=True)
class TracedOperation:
    """One operation of the step.

    Attributes
    ----------
    name
        Unique; ``.weights`` ends the name of the part that makes gradients of parameters.
    target
        The operator of PyTorch.
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
    backward, keep
        As in `Node`.
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


def trace_step(step: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[TracedOperation, ...]:
    """Return the operations that the loss and its gradients need, forward ones first.

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
    try:
        with torch.enable_grad():
            module, signature = aot_export_module(
                LossTuple(step), inputs, trace_joint=True, output_loss_index=0
            )
    except (RuntimeError, ValueError, TypeError) as error:
        raise InputError(
            f"the step cannot be traced: {(str(error) or type(error).__name__).splitlines()[0]}",
            field="model",
            expected="give a scalar loss, trained parameters, and no control flow on values",
        ) from error
    # New values of buffers come first. The signature names the first of them where it means the
    # loss, so that the loss is taken by its place.
    place = len(signature.buffers_to_mutate) + len(signature.user_inputs_to_mutate)
    results = next(node for node in module.graph.nodes if node.op == "output").args[0]
    gradients = set(signature.backward_signature.gradients_to_parameters)
    return _Reader(module.graph, results[place], gradients).operations()


class _Reader:
    """Turns the nodes of an exported graph into operations.

    A *source* is a node whose result is no view, with the number of the result where there are
    several.
    """

    def __init__(self, graph: fx.Graph, loss: fx.Node, gradients: set[str]) -> None:
        self._nodes = list(graph.nodes)
        by_name = {node.name: node for node in self._nodes}
        self._gradients = {self._source(by_name[name]) for name in gradients}
        self._loss = self._source(loss)
        self._needed = self._all_needed([loss, *(by_name[name] for name in gradients)])
        self._read = {
            self._source(argument)
            for node in self._needed
            if not _is_view(node) and node.target is not operator.getitem
            for argument in node.all_input_nodes
        }

    def operations(self) -> tuple[TracedOperation, ...]:
        """Return the operations in order."""
        names: dict[tuple[fx.Node, int], str] = {}
        backward: set[fx.Node] = set()
        found: list[TracedOperation] = []
        for node in self._nodes:
            if node.op != "call_function":
                continue
            if self._is_seed(node) or not backward.isdisjoint(node.all_input_nodes):
                backward.add(node)
            if node not in self._needed or _is_view(node) or node.target is operator.getitem:
                continue
            sources = dict.fromkeys(self._source(argument) for argument in node.all_input_nodes)
            inputs = tuple(dict.fromkeys(names[source] for source in sources if source in names))
            for suffix, part in self._parts(node):
                name = f"{node.name}{suffix}"
                names.update(dict.fromkeys(((node, place) for place in part), name))
                found.append(self._operation(node, name, part, inputs, node in backward))
        return tuple(sorted(found, key=lambda operation: operation.backward))

    def _operation(
        self,
        node: fx.Node,
        name: str,
        part: tuple[int, ...],
        inputs: tuple[str, ...],
        backward: bool,
    ) -> TracedOperation:
        arguments, options = fx.node.map_arg((node.args, node.kwargs), _value)
        results = _results(node)
        mask_place = _mask_place(node)
        if mask_place is not None:
            mask = [asked and place in part for place, asked in enumerate(arguments[mask_place])]
            arguments = (*arguments[:mask_place], mask, *arguments[mask_place + 1 :])
        made = {place: results[place] for place in part if results[place] is not None}
        kept = self._gradients | {self._loss}
        used = {place for place in made if (node, place) in self._read | kept}
        return TracedOperation(
            name=name,
            target=node.target,
            arguments=tuple(arguments),
            options=dict(options),
            results=tuple(made.get(place) for place in range(len(results))),
            inputs=inputs,
            output_bytes=sum(_bytes(made[place]) for place in used),
            unread_bytes=sum(_bytes(made[place]) for place in made.keys() - used),
            backward=backward,
            keep=any((node, place) in kept for place in part),
        )

    def _parts(self, node: fx.Node) -> list[tuple[str, tuple[int, ...]]]:
        """Return the results of a node by the operation that makes them."""
        places = tuple(range(len(_results(node))))
        if _mask_place(node) is None:
            return [("", places)]
        made = tuple(place for place in places if _results(node)[place] is not None)
        weights = tuple(place for place in made if (node, place) in self._gradients)
        others = tuple(place for place in made if place not in weights)
        return [(suffix, part) for suffix, part in (("", others), (".weights", weights)) if part]

    def _is_seed(self, node: fx.Node) -> bool:
        return node.target is torch.ops.aten.ones_like.default and (
            self._source(node.args[0]) == self._loss
        )

    def _source(self, node: fx.Node) -> tuple[fx.Node, int]:
        place = 0
        while node.op == "call_function":
            if node.target is operator.getitem:
                node, place = node.args
                if not _is_view(node):
                    return node, place
            if not _is_view(node):
                break
            node, place = node.all_input_nodes[0], 0
        return node, place

    def _all_needed(self, wanted: list[fx.Node]) -> set[fx.Node]:
        found = set(wanted)
        for node in reversed(self._nodes):
            if node in found:
                found.update(node.all_input_nodes)
        return found


def _is_view(node: fx.Node) -> bool:
    if node.op != "call_function" or node.target is operator.getitem:
        return False
    if node.target in _MORE_VIEWS:
        return True
    schema = getattr(node.target, "_schema", None)
    return schema is not None and any(result.alias_info is not None for result in schema.returns)


def _mask_place(node: fx.Node) -> int | None:
    schema = getattr(node.target, "_schema", None)
    names = [argument.name for argument in schema.arguments] if schema is not None else []
    place = names.index(_MASK) if _MASK in names else None
    return place if place is not None and place < len(node.args) else None


def _results(node: fx.Node) -> tuple[Any, ...]:
    value = node.meta["val"]
    found = tuple(value) if isinstance(value, tuple | list) else (value,)
    return tuple(item if isinstance(item, torch.Tensor) else None for item in found)


def _value(node: fx.Node) -> Any:
    return node.meta["val"]


def _bytes(tensor: Tensor) -> int:
    return int(tensor.untyped_storage().nbytes())
