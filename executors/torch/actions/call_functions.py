"""Functions on registers that call an operator of a trace, with its arguments looked up once."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from torch import fx

from jettison.instances.profilers.torch_graphs.graph_calls import (
    Call,
    Constant,
    Fill,
    Read,
    ReadEach,
)
from jettison.torch.actions.native_calls import NativeCalls

Values = list[Any]
Function = Callable[[Values], Any]


class CallFunctions:
    """Functions for calls, whose constant arguments stand in registers of their own.

    So the arguments of a call are looked up by one function of C.

    Parameters
    ----------
    values
        What the registers hold when a step begins; registers of constants are added behind.
    """

    def __init__(self, values: Values) -> None:
        self.values = values
        self._native = NativeCalls()

    def register(self, value: Any = None) -> int:
        """Return the number of a new register that holds this when a step begins."""
        self.values.append(value)
        return len(self.values) - 1

    def of(self, call: Call) -> Function:
        """Return the function that makes a call, and returns its result."""
        held = dict(call.fills)
        fills = [held.get(at, Constant(item)) for at, item in enumerate(call.arguments)]
        target = self._function(call, fills)
        has_lists = any(isinstance(item, ReadEach) for item in fills)
        if has_lists or not all(isinstance(item, Constant) for item in call.options.values()):
            return Call(target, call.arguments, call.fills, call.options).on
        options = {name: fill([]) for name, fill in call.options.items()}
        numbers = [
            item.register if isinstance(item, Read) else self.register(item([])) for item in fills
        ]
        return _calling(target, numbers, options)

    def _function(self, call: Call, fills: list[Fill]) -> Callable[..., Any]:
        """Return what calls the operator in the least time."""
        arguments = [_example(item) for item in fills]
        options = {name: _example(item) for name, item in call.options.items()}
        if any(item is _UNKNOWN for item in (*arguments, *options.values())):
            return call.target
        return self._native.of(call.target, arguments, options)


def _calling(target: Callable[..., Any], numbers: list[int], options: dict[str, Any]) -> Function:
    if options:
        return lambda values: target(*[values[at] for at in numbers], **options)
    if not numbers:
        return lambda values: target()
    if len(numbers) == 1:
        (one,) = numbers
        return lambda values: target(values[one])
    if len(numbers) == 2:
        one, two = numbers
        return lambda values: target(values[one], values[two])
    arguments = itemgetter(*numbers)
    return lambda values: target(*arguments(values))


# Mark of an argument of which the trace has no example.
_UNKNOWN = object()


def _example(fill: Fill) -> Any:
    """Return an argument like those of a call: a fake tensor in the place of a tensor."""
    if isinstance(fill, Constant):
        return fill.value
    if isinstance(fill, ReadEach):
        parts = [_example(part) for part in fill.parts]
        return _UNKNOWN if any(part is _UNKNOWN for part in parts) else parts
    return _value(fill.node)


def _value(node: fx.Node | None) -> Any:
    return _UNKNOWN if node is None else node.meta.get("val", _UNKNOWN)
