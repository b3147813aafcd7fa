"""Values that are in memory where a plan has them, instead of being inlined into later kernels.

Inductor does not write a value that is computed element by element: it puts the expression into
every kernel that reads it. Where such a kernel comes after a product, the inputs of the expression
stay in memory until then, two or three values where the plan has one. Measured on three residual
blocks in 40 % of the memory, the gradient of a sum waits as three tensors for a convolution that
is computed again.

Here a value that is read after another call of a library than the one before it is written by its
own kernel, with the strides that the plan has counted; and so is one of which calls read several
parts, each of which would be a copy.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, fx
from torch._inductor import lowering

_aten = torch.ops.aten
_CALLED = frozenset(
    {
        _aten.mm.default,
        _aten.addmm.default,
        _aten.bmm.default,
        _aten.baddbmm.default,
        _aten.convolution.default,
        _aten.convolution_backward.default,
    }
)
# Inductor's own mark: written to memory, with the strides of the traced value.
_REALIZE = "inductor_realize_to_strides"


def realize_across_calls(graph: fx.Graph) -> None:
    """Mark the values that are read in a later segment; for `post_grad_custom_post_pass`.

    A segment is what runs between two calls of libraries, as in `planned_kernels`. Nodes are in the
    order of the plan. :math:`O(n + |E|)`.
    """
    segment_of = segments(graph)
    for node in graph.nodes:
        if node.op != "call_function" or not isinstance(node.meta.get("val"), Tensor):
            continue
        # Inductor asks for the order of strides, which a number has none of.
        if is_call(node) or _is_view(node) or node.meta["val"].dim() == 0:
            continue
        is_read_later = any(segment_of[reader] > segment_of[node] for reader in _readers(node))
        if is_read_later or _has_called_parts(node):
            node.meta[_REALIZE] = True


def segments(graph: fx.Graph) -> dict[fx.Node, int]:
    """Return for each node how many calls of libraries come before it."""
    found: dict[fx.Node, int] = {}
    calls = 0
    for node in graph.nodes:
        found[node] = calls
        calls += is_call(node)
    return found


def _has_called_parts(node: fx.Node) -> bool:
    """Whether calls of libraries read several parts of a value, which is not copied in parts."""
    parts = [user for user in node.users if _is_view(user)]
    return sum(any(map(is_call, _readers(part))) for part in parts) > 1


def is_call(node: fx.Node) -> bool:
    """Whether Inductor calls a library for a node."""
    return node.target in _CALLED or node.target in lowering.fallbacks


def _readers(node: fx.Node) -> Iterator[fx.Node]:
    """Yield the nodes that read a value, itself or through views; not the end of the graph."""
    stack = [node]
    while stack:
        for user in stack.pop().users:
            if _is_view(user):
                stack.append(user)
            elif user.op != "output":
                yield user


def _is_view(node: fx.Node) -> bool:
    target = node.target
    if not isinstance(target, torch._ops.OpOverload):
        return False
    return any(
        item.alias_info is not None and not item.alias_info.is_write
        for item in target._schema.arguments
    )
