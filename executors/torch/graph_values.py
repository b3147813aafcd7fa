"""The tensors of one step of a graph, by where they stand in its trace."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, fx

from jettison.instances.profilers.traced_step import Source, TracedStep, source_of

Values = dict[Source, Any]
_Registers = dict[fx.Node, Any]


class Reading:
    """Nodes as the tensors that they are now: results in memory, and views of them made afresh.

    Parameters
    ----------
    nodes
        What is read.
    traced
        The trace.

    Attributes
    ----------
    sources
        The results that have to be in memory.
    """

    def __init__(self, nodes: Sequence[fx.Node], traced: TracedStep) -> None:
        self._operations = {operation.node for operation in traced.operations}
        self._module = traced.module
        self._constants: _Registers = {}
        self._loads: list[tuple[fx.Node, Source]] = []
        self._views: list[tuple[fx.Node, Callable[..., Any], Fill]] = []
        seen: set[fx.Node] = set()
        for node in nodes:
            self._add(node, seen)
        self.sources: tuple[Source, ...] = tuple(dict.fromkeys(item for _, item in self._loads))

    def registers(self, values: Values) -> _Registers:
        """Return the tensors of the nodes, and of the views on the way to them."""
        found = dict(self._constants)
        for node, source in self._loads:
            found[node] = values[source]
        for node, target, fill in self._views:
            found[node] = fill.call(target, found)
        return found

    def _add(self, node: fx.Node, seen: set[fx.Node]) -> None:
        if node in seen:
            return
        seen.add(node)
        if node.op == "get_attr":
            self._constants[node] = getattr(self._module, str(node.target))
        elif node.op == "placeholder" or node in self._operations:
            self._loads.append((node, (node, 0)))
        elif node.target is operator.getitem and node.args[0] in self._operations:
            self._loads.append((node, source_of(node)))
        else:
            # A view, or what follows from resident tensors alone.
            for argument in node.all_input_nodes:
                self._add(argument, seen)
            # Nothing records a graph here, so that nothing has to be detached.
            target = _same if node.target is torch.ops.aten.detach.default else node.target
            self._views.append((node, target, Fill(node)))


class Fill:
    """The arguments of a node, with the tensors of this moment in place of nodes."""

    def __init__(self, node: fx.Node, changes: Mapping[int, Any] | None = None) -> None:
        arguments = [
            (changes or {}).get(place, argument) for place, argument in enumerate(node.args)
        ]
        self._arguments = [_filler(argument) for argument in arguments]
        self._options = {name: _filler(value) for name, value in node.kwargs.items()}

    def call(self, target: Callable[..., Any], registers: _Registers) -> Any:
        """Call the operator."""
        arguments = [fill(registers) for fill in self._arguments]
        if not self._options:
            return target(*arguments)
        options = {name: fill(registers) for name, fill in self._options.items()}
        return target(*arguments, **options)


def _same(tensor: Tensor) -> Tensor:
    return tensor


def _filler(item: Any) -> Callable[[_Registers], Any]:
    if isinstance(item, fx.Node):
        return operator.itemgetter(item)
    if isinstance(item, list | tuple) and any(isinstance(part, fx.Node) for part in item):
        parts = [_filler(part) for part in item]
        return lambda registers: [part(registers) for part in parts]
    return lambda registers: item
