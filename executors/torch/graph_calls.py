"""Calls of the operators of a trace on the tensors of one step, which stand in numbered slots."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, fx

from jettison.instances.profilers.torch_graphs.traced_step import Source, TracedStep, source_of

# Tensors, and lists of them where a view has several results; None in a slot that is free.
Slots = list[Any]
_Fill = Callable[[Slots], Any]


@dataclass(frozen=True, slots=True)
class Call:
    """An operator, and where its arguments stand.

    Attributes
    ----------
    target
        The operator.
    arguments
        What it is called with, but for tensors.
    fills
        Places of arguments that are tensors or hold some, and how they are made of the slots.
    options
        The same for arguments by name, all of them.
    """

    target: Callable[..., Any]
    arguments: tuple[Any, ...]
    fills: tuple[tuple[int, _Fill], ...]
    options: Mapping[str, _Fill]

    def on(self, slots: Slots) -> Any:
        """Call the operator."""
        arguments = list(self.arguments)
        for place, fill in self.fills:
            arguments[place] = fill(slots)
        if not self.options:
            return self.target(*arguments)
        options = {name: fill(slots) for name, fill in self.options.items()}
        return self.target(*arguments, **options)


@dataclass(frozen=True, slots=True)
class View:
    """A view of what is in a slot, and the slot for it."""

    slot: int
    call: Call


class TraceSlots:
    """The slots of a trace: one for each result, for each resident tensor, and for each view.

    Parameters
    ----------
    traced
        The trace.
    """

    def __init__(self, traced: TracedStep) -> None:
        self._operations = {operation.node for operation in traced.operations}
        self._numbers: dict[tuple[Source, bool], int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def of(self, source: Source, *, first: bool = False) -> int:
        """Return the slot of a result or resident tensor.

        With `first` it is that of the result as its operation made it first, which stays until the
        buffers are written that follow from it.
        """
        node, _ = source
        resident = node.op in {"placeholder", "get_attr"}
        return self._numbers.setdefault((source, first and not resident), len(self._numbers))

    def of_node(self, node: fx.Node, *, first: bool = False) -> int:
        """Return the slot of a node: of a view, or of the result that it is."""
        return self.of(source_of(node) if self._is_result(node) else (node, 0), first=first)

    def call(
        self, node: fx.Node, changes: Mapping[int, Any] | None = None, *, first: bool = False
    ) -> Call:
        """Return the call of a node, with some arguments changed."""
        arguments = [
            (changes or {}).get(place, argument) for place, argument in enumerate(node.args)
        ]

        def number(other: fx.Node) -> int:
            return self.of_node(other, first=first)

        held = {place: item for place, item in enumerate(arguments) if _nodes_of(item)}
        return Call(
            # Nothing records a graph here, so that nothing has to be detached.
            target=_same if node.target is torch.ops.aten.detach.default else node.target,
            arguments=tuple(
                None if place in held else item for place, item in enumerate(arguments)
            ),
            fills=tuple((place, _fill(item, number)) for place, item in held.items()),
            options={name: _fill(item, number) for name, item in node.kwargs.items()},
        )

    def given(self, slot: int) -> Call:
        """Return the call that takes what is in a slot as it is."""
        return Call(_same, (None,), ((0, operator.itemgetter(slot)),), {})

    def views(self, nodes: Iterable[fx.Node], *, first: bool = False) -> dict[fx.Node, View]:
        """Return the views on the way to nodes, in the order in which they can be made."""
        found: dict[fx.Node, View] = {}
        for node in nodes:
            if node not in found and not self._is_result(node):
                found.update(self.views(node.all_input_nodes, first=first))
                found[node] = View(self.of_node(node, first=first), self.call(node, first=first))
        return found

    def sources(self, nodes: Iterable[fx.Node]) -> tuple[Source, ...]:
        """Return the results and resident tensors that nodes are, or are views of."""
        found: dict[Source, None] = {}
        for node in nodes:
            if self._is_result(node):
                found[source_of(node)] = None
            else:
                found.update(dict.fromkeys(self.sources(node.all_input_nodes)))
        return tuple(found)

    def _is_result(self, node: fx.Node) -> bool:
        """Whether a node is in memory: resident, or a result of an operation, and no view."""
        if node.target is operator.getitem:
            return node.args[0] in self._operations
        return node.op != "call_function" or node in self._operations


def _nodes_of(item: Any) -> list[fx.Node]:
    parts = item if isinstance(item, list | tuple) else [item]
    return [part for part in parts if isinstance(part, fx.Node)]


def _fill(item: Any, number: Callable[[fx.Node], int]) -> _Fill:
    if isinstance(item, fx.Node):
        return operator.itemgetter(number(item))
    if _nodes_of(item):
        parts = [_fill(part, number) for part in item]
        return lambda slots: [part(slots) for part in parts]
    return lambda slots: item


def _same(tensor: Tensor) -> Tensor:
    return tensor
