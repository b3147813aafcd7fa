"""Writer of one pass of a joint graph: computations in the order of a schedule, as fx nodes.

A value that is computed again is a new node, and what is read afterwards reads that. Views are
written where they are read first, once for each value that they view. Code that fx makes of a graph
lets go of a value after its last reader, which is where a schedule frees it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, fx
from torch._prims import rng_prims

from jettison.instances.profilers.torch_graphs.operation_reader import (
    Source,
    TracedOperation,
    is_random,
    source_of,
)


class GraphWriter:
    """Writer of one pass.

    Parameters
    ----------
    missing
        Called for a value or a state that nothing in this pass has made; returns its node.

    Attributes
    ----------
    graph
        What has been written.
    values
        Values in memory: the node of each in `graph`.
    first
        The first value of each source that this pass has computed.
    states
        The state of the generator before the first draw of each operator that draws again.
    """

    def __init__(self, missing: Callable[[Source], fx.Node]) -> None:
        self.graph = fx.Graph()
        self.values: dict[Source, fx.Node] = {}
        self.first: dict[Source, fx.Node] = {}
        self.states: dict[fx.Node, fx.Node] = {}
        self._missing = missing
        self._views: dict[Source, dict[fx.Node, fx.Node]] = {}
        self._pending: dict[fx.Node, fx.Node] = {}

    def read(self, node: fx.Node) -> fx.Node:
        """Return the present value of a node of the joint graph, with the views on the way."""
        source = source_of(node)
        if _is_value(node, source):
            return self._value(source, node)
        views = self._views.setdefault(source, {})
        if node not in views:
            views[node] = self.graph.node_copy(node, self.read)
        return views[node]

    def compute(self, item: TracedOperation, *, saves_state: bool, uses_state: bool) -> None:
        """Write the call of an operator, and its result if only one is read.

        Parameters
        ----------
        item
            The operator.
        saves_state, uses_state
            Whether it draws random numbers and keeps the state of the generator for later calls;
            whether it draws with such a state.
        """
        if saves_state:
            call = self._draw_first(item.node)
        elif uses_state:
            call = self._draw_again(item.node)
        else:
            call = self.graph.node_copy(item.node, self.read)
        call.meta[PLANNED] = item.name
        if isinstance(item.node.meta["val"], Tensor):
            self._put((item.node, 0), call)
            return
        self._pending[item.node] = call
        if len(item.stored) == 1:
            self.take(item, item.stored[0])

    def take(self, item: TracedOperation, place: int) -> None:
        """Write the choice of one result of the operator that has been called last."""
        result = self.graph.call_function(operator.getitem, (self._pending[item.node], place))
        twin = next(
            (user for user in item.node.users if user.args[1:] == (place,)),
            None,
        )
        result.meta = dict(twin.meta if twin is not None else {})
        result.meta["val"] = item.node.meta["val"][place]
        self._put((item.node, place), result)

    def free(self, source: Source) -> None:
        """Forget a value and its views."""
        self.values.pop(source, None)
        self._views.pop(source, None)

    def finish(self, outputs: list[Any], descriptions: list[Any]) -> None:
        """Write the output of the pass and check the graph."""
        output = self.graph.output(tuple(outputs))
        output.meta["desc"] = descriptions
        output.meta["output_stack_traces"] = [
            item.meta.get("stack_trace") if isinstance(item, fx.Node) else None for item in outputs
        ]
        self.graph.lint()

    def _value(self, source: Source, node: fx.Node) -> fx.Node:
        if source not in self.values:
            if node.op == "get_attr":
                self.values[source] = self.graph.node_copy(node)
            else:
                self.values[source] = self._missing(source)
        return self.values[source]

    def _put(self, source: Source, value: fx.Node) -> None:
        self._views.pop(source, None)
        self.values[source] = value
        self.first.setdefault(source, value)

    def _draw_first(self, node: fx.Node) -> fx.Node:
        """Write a draw that also returns the state of the generator before it."""
        arguments, options = fx.node.map_arg((node.args, node.kwargs), self.read)
        both = self.graph.call_function(
            rng_prims.run_and_save_rng_state, (node.target, *arguments), dict(options)
        )
        state = self.graph.call_function(operator.getitem, (both, 0))
        state.meta["val"] = _state_of(node)
        self.states[node] = state
        result = self.graph.call_function(operator.getitem, (both, 1))
        result.meta = dict(node.meta)
        return result

    def _draw_again(self, node: fx.Node) -> fx.Node:
        """Write a draw that begins with the state from before the first one."""
        if node not in self.states:
            self.states[node] = self._missing((node, STATE))
        arguments, options = fx.node.map_arg((node.args, node.kwargs), self.read)
        result = self.graph.call_function(
            rng_prims.run_with_rng_state,
            (self.states[node], node.target, *arguments),
            dict(options),
        )
        result.meta = dict(node.meta)
        return result


# Stands for the state of the generator where numbers of results stand.
STATE = -1
# Entry in the `meta` of a node: the name of the operator of the joint graph that it computes.
PLANNED = "planned_operator"


def draws(item: TracedOperation) -> bool:
    """Whether an operator draws random numbers."""
    return is_random(item.node)


def _is_value(node: fx.Node, source: Source) -> bool:
    if node is source[0]:
        return True
    return node.target is operator.getitem and node.args == source


def _state_of(node: fx.Node) -> Tensor:
    """Return a fake tensor like the state of the generator that an operator draws from."""
    value = node.meta["val"]
    drawn: Tensor = value if isinstance(value, Tensor) else value[0]
    state = (
        torch.get_rng_state() if drawn.device.type == "cpu" else torch.empty(16, dtype=torch.uint8)
    )
    mode = getattr(drawn, "fake_mode", None)
    return state if mode is None else mode.from_tensor(state)
