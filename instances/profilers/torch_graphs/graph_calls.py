"""Calls of the operators of a trace on tensors that are held in numbered registers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, fx

from jettison.instances.profilers.kernels.training_mode import in_training
from jettison.instances.profilers.torch_graphs.operation_reader import (
    Source,
    source_of,
)
from jettison.instances.profilers.torch_graphs.traced_step import (
    TracedStep,
)

# Tensors, and lists of them where a view has several results; None in a register that is free. A
# dictionary has only the registers that one operation reads.
Registers = list[Any] | dict[int, Any]


@dataclass(frozen=True, slots=True)
class Read:
    """Tensor in a register.

    Attributes
    ----------
    register
        Its number.
    node
        Its node in the trace; None for the gradient of the loss, as the caller gives it.
    """

    register: int
    node: fx.Node | None = None

    def __call__(self, registers: Registers) -> Any:
        """Return the tensor."""
        return registers[self.register]


@dataclass(frozen=True, slots=True)
class ReadEach:
    """List of tensors in registers, and of constants."""

    parts: tuple[Fill, ...]

    def __call__(self, registers: Registers) -> list[Any]:
        """Return the list."""
        return [part(registers) for part in self.parts]


@dataclass(frozen=True, slots=True)
class Constant:
    """Argument that is no tensor."""

    value: Any

    def __call__(self, registers: Registers) -> Any:
        """Return the argument."""
        return self.value


Fill = Read | ReadEach | Constant


@dataclass(frozen=True, slots=True)
class Call:
    """Call of an operator, with the registers of its arguments.

    Attributes
    ----------
    target
        The operator.
    arguments
        Its arguments, with None in the place of tensors.
    fills
        Positions of arguments that are tensors or hold some, and how to read them from registers.
    options
        The same for arguments by name, all of them.
    """

    target: Callable[..., Any]
    arguments: tuple[Any, ...]
    fills: tuple[tuple[int, Fill], ...]
    options: Mapping[str, Fill]

    def on(self, registers: Registers) -> Any:
        """Call the operator."""
        arguments = list(self.arguments)
        for place, fill in self.fills:
            arguments[place] = fill(registers)
        if not self.options:
            return self.target(*arguments)
        options = {name: fill(registers) for name, fill in self.options.items()}
        return self.target(*arguments, **options)


@dataclass(frozen=True, slots=True)
class View:
    """Call that makes a view of a tensor, and the register of the view."""

    register: int
    call: Call


class TraceRegisters:
    """Register numbers of a trace: one for each result, resident tensor and view.

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
        """Return the register of a result or resident tensor.

        With `first` it is the register of the result of the operation's first run, which is kept
        until the buffers that are computed from it have been written.
        """
        node, _ = source
        resident = node.op in {"placeholder", "get_attr"}
        return self._numbers.setdefault((source, first and not resident), len(self._numbers))

    def of_node(self, node: fx.Node, *, first: bool = False) -> int:
        """Return the register of a node: of a view, or of the result that it is."""
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
            target=_same
            if node.target is torch.ops.aten.detach.default
            else in_training(node.target),
            arguments=tuple(
                None if place in held else item for place, item in enumerate(arguments)
            ),
            fills=tuple((place, _fill(item, number)) for place, item in held.items()),
            options={name: _fill(item, number) for name, item in node.kwargs.items()},
        )

    def given(self, register: int) -> Call:
        """Return the call that returns the tensor in a register unchanged."""
        return Call(_same, (None,), ((0, Read(register)),), {})

    def views(self, nodes: Iterable[fx.Node], *, first: bool = False) -> dict[fx.Node, View]:
        """Return the views that lead to nodes, in an order in which they can be made."""
        found: dict[fx.Node, View] = {}
        for node in nodes:
            if node not in found and not self._is_result(node):
                found.update(self.views(node.all_input_nodes, first=first))
                found[node] = View(self.of_node(node, first=first), self.call(node, first=first))
        return found

    def sources(self, nodes: Iterable[fx.Node]) -> tuple[Source, ...]:
        """Return the results and resident tensors that nodes are or view."""
        found: dict[Source, None] = {}
        for node in nodes:
            if self._is_result(node):
                found[source_of(node)] = None
            else:
                found.update(dict.fromkeys(self.sources(node.all_input_nodes)))
        return tuple(found)

    def _is_result(self, node: fx.Node) -> bool:
        """Whether a node is a resident tensor or a result of an operation, and no view."""
        if node.target is operator.getitem:
            return node.args[0] in self._operations
        return node.op != "call_function" or node in self._operations


def _nodes_of(item: Any) -> list[fx.Node]:
    parts = item if isinstance(item, list | tuple) else [item]
    return [part for part in parts if isinstance(part, fx.Node)]


def _fill(item: Any, number: Callable[[fx.Node], int]) -> Fill:
    if isinstance(item, fx.Node):
        return Read(number(item), item)
    if _nodes_of(item):
        return ReadEach(tuple(_fill(part, number) for part in item))
    return Constant(item)


def _same(tensor: Tensor) -> Tensor:
    return tensor
