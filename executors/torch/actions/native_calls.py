"""Functions of PyTorch that call one operator, and how to find out that they do.

``torch.ops.aten.mm.default`` matches its arguments with a schema each time, ``torch.mm`` was
compiled for them: that takes half of the time, and a step calls thousands. Which function belongs
to an operator is not listed but tried: it is called on fake tensors like those of the trace, and
used only if what it dispatches is this operator alone, with these arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode


class NativeCalls:
    """Functions that have been tried, by operator and kinds of arguments."""

    def __init__(self) -> None:
        self._known: dict[Any, Callable[..., Any]] = {}
        # Tensors of one trace may be of several modes, which do not mix.
        self._mode = FakeTensorMode()

    def of(
        self, target: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]
    ) -> Callable[..., Any]:
        """Return a function that does what an operator does with arguments like these.

        Parameters
        ----------
        target
            The operator; anything else is returned as it is.
        arguments, options
            Its arguments, with fake tensors.
        """
        if not isinstance(target, torch._ops.OpOverload) or target.namespace != "aten":
            return target
        leaves, shape = pytree.tree_flatten((list(arguments), dict(options)))
        key = (target, str(shape), tuple(map(_kind, leaves)))
        if key not in self._known:
            given = pytree.tree_map_only(Tensor, self._like, (list(arguments), dict(options)))
            # Fake results as well: what makes random numbers of nothing must not draw any.
            with self._mode:
                self._known[key] = _function(target, *given)
        return self._known[key]

    def _like(self, tensor: Tensor) -> Tensor:
        with self._mode:
            return torch.empty_strided(
                tensor.size(), tensor.stride(), dtype=tensor.dtype, device=tensor.device
            )


def _function(
    target: torch._ops.OpOverload, arguments: Sequence[Any], options: Mapping[str, Any]
) -> Callable[..., Any]:
    name = target._opname
    for holder in (torch._C._VariableFunctions, torch._C._nn, torch.Tensor):
        function = getattr(holder, name, None)
        if function is not None and _calls_only(function, target, arguments, options):
            return function  # type: ignore[no-any-return]
    # What the overload itself calls, without the call of a Python function.
    return target._op  # type: ignore[no-any-return]


class _Calls(TorchDispatchMode):
    """Operators that run, with their arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[Any, tuple[Any, ...], Mapping[str, Any]]] = []

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        # Fake tensors ask for the device of what they view, which computes nothing.
        if func.namespace != "prim":
            self.found.append((func, args, kwargs or {}))
        return func(*args, **(kwargs or {}))


def _calls_only(
    function: Callable[..., Any],
    target: torch._ops.OpOverload,
    arguments: Sequence[Any],
    options: Mapping[str, Any],
) -> bool:
    """Whether a function dispatches one operator, with the arguments that it was called with."""
    found = []
    for call in (function, target):
        try:
            with torch.no_grad(), _Calls() as calls:
                call(*arguments, **options)
        except (
            AttributeError,
            IndexError,
            NotImplementedError,
            RuntimeError,
            TypeError,
            ValueError,
        ):
            # It takes other arguments than the operator, which may not run on fake tensors.
            return False
        found.append(calls.found)
    mine, theirs = found
    if len(mine) != 1 or len(theirs) != 1:
        return False
    (first, *given), (second, *expected) = mine[0], theirs[0]
    if first is not second or first is not target:
        return False
    leaves, shape = pytree.tree_flatten(tuple(given))
    others, other_shape = pytree.tree_flatten(tuple(expected))
    return shape == other_shape and all(map(_is_same, leaves, others))


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor) or isinstance(other, Tensor):
        return one is other
    return type(one) is type(other) and bool(one == other)


def _kind(leaf: Any) -> Any:
    """Return what decides which operator a function chooses: types, and values of what is small."""
    if isinstance(leaf, Tensor):
        return (Tensor, leaf.dtype, leaf.dim() == 0, leaf.device.type)
    return (type(leaf), leaf if isinstance(leaf, bool | int | float | str) else str(leaf))
